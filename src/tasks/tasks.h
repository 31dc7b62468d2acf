/* src/tasks/tasks.h - the tasking runtime behind nosv.h.  SPDX-License-Identifier: Apache-2.0
 *
 * Tasks are private to their process.  A task is a record in the process's memory; ready tasks lie
 * in queues of the process.  Nothing here is shared with other processes: what the instance
 * schedules are the threads that execute tasks.
 *
 *   slot    the right to execute on one CPU: one per CPU that the process may use.  A thread
 *           executes tasks while it holds a slot; a slot has one holder or is idle.  The holder
 *           alone touches the slot's plain fields and the owner's end of its ring.
 *   exec    a thread that can hold a slot: a worker of ours, or a thread that has attached.
 *   task    what is executed.  A task that pauses keeps its thread, which sleeps without a slot.
 *
 * Task, enum tk_state:
 *   REST ─submit─► READY ─a slot's holder takes it─► RUNNING ─body ends─► ENDED ─events are 0─► REST | freed
 *                    ▲                                 │
 *                    ├─submit──────────── PAUSED ◄─────┤ pause
 *                    ├─woken, time over── WAITING ◄────┤ waitfor, join, a lock
 *                    └─submit, a mode──── SUSPENDED ◄──┘ suspend and return
 *
 * Slot:  IDLE (its bit in tk.idle is set) ─claim: the bit is cleared─► HELD ─release: the bit is set─► IDLE
 *
 * Rules:
 *   T1  each slot is idle or has one holder; who clears its idle bit is the holder;
 *   T2  a holder looks at all queues after it has set the idle bit, and a submitter looks at the
 *       idle bits after it has queued: one of them sees the other, so no ready task waits beside an
 *       idle slot;
 *   T3  a task is in one queue at most.  A parallel task is queued by tickets, one per execution;
 *   T4  who takes a task out of a queue executes it, or hands its slot to the thread that the task
 *       has. */
#ifndef USF_TASKS_TASKS_H
#define USF_TASKS_TASKS_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "nosv.h"
#include "nosv/affinity.h"
#include "os/os.h"
#include "tasks/lock.h"

#define TK_LINE 64
#define TK_API __attribute__((visibility("default")))

enum tk_state { TK_REST, TK_READY, TK_RUNNING, TK_PAUSED, TK_WAITING, TK_SUSPENDED, TK_ENDED };

enum tk_phase { TK_IN_BODY, TK_IN_END, TK_IN_COMPLETED };
enum tk_go { TK_NONE, TK_SEARCHING, TK_KEEP, TK_GO };      /* slot.c */
enum tk_wait { TK_AWAKE, TK_FOR_OTHERS, TK_FOR_TIME };   /* for a lock, a join, a completion; in waitfor */
#define TK_EARLY 4u                                      /* its next waitfor ends at once */

struct tk_exec;
struct tk_slot;

struct nosv_task_type {
    nosv_task_run_callback_t run;
    nosv_task_end_callback_t end;
    nosv_task_completed_callback_t completed;
    nosv_cost_function_t cost;
    void *metadata;
    char *label;                /* own copy, or null */
    uint32_t id;                /* for traces */
    bool lasts;                 /* NOSV_TYPE_INIT_LASTING */
    bool external;              /* without a run callback: of attached threads */
    struct nosv_task_type *next, *prev;     /* in one of type.c's lists */
    _Atomic bool dying;
    /* Tasks of it, as a sum: one number for each slot, which its holder changes, and the first for
     * threads without one. */
    uint32_t nr_counts;
    struct tk_count { _Alignas(TK_LINE) _Atomic int64_t n; } count[];
};

/* life: events in bits 0-31, executions that have not ended in bits 32-58, and flags.  The task
 * completes when both counts are 0.  While its completed callback runs, the executions' bits hold
 * `round`, the number of this completion (complete() in run.c), and TK_COMPLETED tells that number
 * from a number of executions. */
#define TK_EXECUTION (1ull << 32)
#define TK_EVENTS    (TK_EXECUTION - 1)
#define TK_COUNT     (TK_COMPLETED - 1)
#define TK_COMPLETED  (1ull << 59)   /* with TK_ACTIVE: its completed callback runs; else: a joinable task has completed, and its joiner is told */
#define TK_RESUMED   (1ull << 60)   /* a submit has come for a suspended task: who sets the second of these two queues it */
#define TK_SET_ASIDE (1ull << 61)   /* it is suspended, and its thread does not touch it any more */
#define TK_ACTIVE    (1ull << 62)   /* it was queued and has not completed */
#define TK_DESTROYED (1ull << 63)   /* nosv_destroy came meanwhile: the thread that completes it frees it */
#define TK_MAX_DEGREE ((1 << 27) - 1)

struct nosv_task {
    /* Line 0: all that the thread touches which executes a task, if another one has created it. */
    struct nosv_task *next;         /* in a list of tasks; T3 */
    struct nosv_task_type *type;
    struct tk_exec *exec;           /* the thread that it keeps while it does not run; null: a worker starts its body */
    _Atomic uint64_t life;          /* TK_EVENTS, TK_EXECUTION, flags */
    _Atomic int32_t blocking;       /* submits that are missing until it is ready; below 0: submits that came early */
    int32_t priority;
    nosv_affinity_t affinity;
    uint8_t state;                  /* enum tk_state; written by who owns the task in that phase; for asserts and tools */
    _Atomic uint8_t flags;          /* TK_F_* */
    uint16_t size_class;            /* pool.c */
    struct nosv_task *_Atomic waiter;   /* the tasks that have submitted it with NOSV_SUBMIT_BLOCKING, linked by next */
    _Atomic uint32_t waiting;       /* enum tk_wait: it sleeps, and who changes this to TK_AWAKE wakes it; TK_EARLY */
    uint32_t round;                 /* completions of this record, of all tasks that it has been */
    /* Line 1 */
    _Alignas(TK_LINE)
    uint64_t seq;                   /* order of entry into a heap; if it has yielded: what tk.served is when it is its turn */
    struct nosv_task *child, *sibling;  /* in a heap (heap.c) */
    _Atomic uintptr_t joiner;       /* join.c */
    union {
        struct nosv_task *parent;   /* of a ticket: the parallel task */
        void *result;
    };
    uint64_t suspend_args;
    union {
        uint32_t execution;         /* of a ticket: its number, from 0 */
        int32_t degree;
    };
    uint16_t metadata_size;
    uint8_t suspend_mode;
    _Atomic uint32_t cancelled;     /* 1: executions of a parallel task that have not begun are dropped */
    uint32_t queued;                /* TK_F_TIMED: when it became ready, in units of 1,024 ns; bit 0: it stands for TIME_EVERY tasks */
    _Alignas(TK_LINE) char metadata[];
};
_Static_assert(sizeof(struct nosv_task) == 2 * TK_LINE, "two lines");
#define TK_F_PARALLEL  1u
#define TK_F_JOINABLE  2u
#define TK_F_TICKET    4u
#define TK_F_ATTACHED  8u
#define TK_F_HAD_EVENTS 16u
#define TK_F_TO_EVENTS 32u          /* suspended: ready when its events are 0 */
#define TK_F_TIMED    128u          /* `queued` says since when it is ready: one of some is timed (place.c) */
#define TK_F_LATE      64u          /* in a heap: its waitfor is over, so that it goes first; seq is its deadline */

/* A FIFO of tasks under a lock. */
struct tk_list {
    _Alignas(TK_LINE)
    struct tk_lock lock;
    _Atomic uint32_t n;             /* written under the lock, read without it */
    struct nosv_task *head, *tail;
};

/* Ready tasks: those whose waitfor is over, by deadline; and the others by priority, higher first,
 * and by entry. */
struct tk_heap {
    _Alignas(TK_LINE)
    struct tk_lock lock;
    _Atomic uint32_t n;
    _Atomic int32_t top;            /* priority of the first of the others; meaningless while there is none */
    _Atomic uint64_t due;           /* deadline of the first whose waitfor is over; 0: there is none */
    struct nosv_task *late, *root;
};

/* A ring of ready tasks: the slot's holder appends and takes, others take the older half.  The
 * holder writes tail alone; a thread that takes moves head by compare-and-swap
 * (models/ring.pml). */
#define TK_RING 256u
struct tk_ring {
    _Alignas(TK_LINE) _Atomic uint32_t head;
    _Alignas(TK_LINE) _Atomic uint32_t tail;
    _Alignas(TK_LINE) struct nosv_task *_Atomic at[TK_RING];
};

struct tk_slot {
    _Alignas(TK_LINE)
    uint32_t id;                    /* logical CPU: 0 .. tk.nr_slots - 1 */
    uint32_t cpu;                   /* Linux CPU number */
    uint32_t node, core;            /* logical NUMA node and core */
    bool moved;                     /* tasks have come into its ring from elsewhere; who went idle meanwhile has not seen them */
    uint32_t served;                /* tasks that were taken here and had not yielded */
    uint32_t late_in_a_row;         /* tasks in nosv_waitfor that were taken here since then */
    struct { uint32_t executed, paused, stolen; uint64_t wait_ns; } n;   /* since they were last told to the instance (place.c) */
    struct nosv_task *successor;    /* submitted with NOSV_SUBMIT_IMMEDIATE: the next */
    struct tk_exec *workers;        /* idle ones that ran here last */
    uint32_t nr_workers;
    struct tk_ring ring;            /* tasks of priority 0 without affinity, */
    struct tk_list spill;           /* ... and those that came when the ring was full: younger than the ring's */
    struct tk_list yielded;         /* tasks that have yielded here; their seq: what tk.served is when it is their turn */
    struct tk_heap strict, preferred;
};

/* A thread that can execute tasks. */
struct tk_exec {
    _Alignas(TK_LINE)
    struct nosv_task *task;         /* what it executes, or null */
    struct tk_slot *slot;           /* the slot that it holds, or null; its own */
    uint32_t execution;             /* of a parallel task */
    _Atomic uint32_t bound;         /* Linux CPU that it is bound to, TK_UNBOUND; by the thread that gives it a slot, which may be before it is asleep */
    uint64_t place;                 /* what it has told the instance last: place.c */
    _Atomic int32_t tid;            /* 0: a new worker, which has not said it yet */
    bool masked;                    /* it is in mask.c's list */
    bool is_worker;
    bool suspends;                  /* nosv_suspend was called in this execution */
    bool parallel;                  /* its task is a parallel one, which may not block */
    bool inlined;                   /* its task runs on another one's stack */
    uint8_t phase;                  /* enum tk_phase: which callback of its task runs */
    bool unbound;                   /* it keeps its mask, wherever its slot is: NOSV_ATTACH_UNBOUND */
    uint32_t nested;                /* attaches in it beyond the first */
    uint64_t looked;                /* ns: its last yield for those whose time may be over (pause.c) */
    uint64_t since;                 /* ns: when it got its slot, or reached the last scheduling point where nothing else was ready */
    struct nosv_task *attached;     /* the task of the attach; null: a worker */
    struct nosv_task *behind;       /* its task, while stand_in stands for it */
    struct nosv_task **window;      /* submitted, and not queued yet */
    size_t window_size, window_n, window_room;
    /* Others write from here on. */
    _Alignas(TK_LINE)
    _Atomic uint32_t go;            /* enum tk_go; futex */
    struct tk_slot *given;          /* GO: its slot from now on */
    struct nosv_task *first;        /* ... and what it is to execute first, or null */
    struct tk_slot *searched;       /* SEARCHING: the slot that it holds; its own */
    struct tk_exec *next;           /* list of idle workers */
    /* Fixed, or under mask.c's lock */
    pthread_t thread;
    struct tk_exec *next_bound, *prev_bound;
    struct os_cpuset own_cpus;      /* the mask that the program knows of, */
    uint32_t own_mxcsr;             /* ... and how it computed */
    /* The record as which the thread sleeps in a completed callback of its task: that task's own
     * record may be another task's by then. */
    struct nosv_task stand_in;
};
#define TK_UNBOUND UINT32_MAX

#define TK_MAX_CPUS 1024u
#define TK_MAX_NODES 64u
#define TK_IDLE_WORDS (TK_MAX_CPUS / 64)
struct tk_node { uint32_t system; struct tk_heap strict, preferred; };
struct tk_complex { uint64_t cpus[TK_IDLE_WORDS]; struct tk_heap strict, preferred; };

struct tk_process {
    /* Fixed between the first init and the last shutdown. */
    uint32_t nr_slots, nr_cores, nr_nodes;
    uint32_t nr_complexes;
    struct tk_slot *slots;
    struct tk_node *nodes;
    struct tk_complex *complexes;
    uint16_t slot_of[TK_MAX_CPUS];  /* by Linux CPU; UINT16_MAX: none */
    uint64_t quantum_ns;
    uint32_t spins;                 /* rounds that an idle slot's holder looks for work before it sleeps; UINT32_MAX: for ever */
    bool successors;                /* NOSV_SUBMIT_IMMEDIATE is followed */
    bool binds;                     /* threads are bound to their slot's CPU, by the kernel's masks */
    bool places;                    /* the process takes part in an instance: threads tell their places (usf/usf.h) */
    _Atomic bool recorded;          /* a recording of the instance is on: threads tell it what happens to tasks */
    struct os_cpuset cpus;          /* the process's mask when it began */
    sigset_t signals;               /* blocked in the thread of the first init, and in workers */
    uint64_t stack_size;            /* of workers; 0: as of any new thread */
    bool turbo;                     /* FTZ and DAZ in threads that execute tasks */
    nosv_affinity_t default_affinity;
    /* Hot */
    _Alignas(TK_LINE) _Atomic uint64_t idle[TK_IDLE_WORDS];     /* bit i: slot i is idle */
    _Alignas(TK_LINE) _Atomic uint32_t searching;   /* holders that look for work and are awake */
    _Atomic uint32_t looking;                       /* threads that have set a slot idle and look at the queues once more */
    _Alignas(TK_LINE) _Atomic uint32_t ordered;     /* tasks in heaps */
    _Atomic uint32_t nr_late;       /* ... whose waitfor is over */
    _Atomic uint32_t nr_yielded;    /* tasks that have yielded, and wait */
    _Atomic uint64_t seq;
    _Alignas(TK_LINE) _Atomic uint32_t served;      /* tasks that were taken while others had yielded, without those */
    struct tk_list inbox;           /* submitted by threads without a slot */
    struct tk_heap global;          /* priority other than 0, no affinity; all that are late, unless they are strict */
    /* Life */
    _Atomic uint32_t stopping;      /* 1: the last shutdown is under way */
    _Atomic uint32_t nr_workers;    /* threads of ours; futex while stopping */
    _Atomic uint32_t nr_attached;   /* threads of the program's that hold a slot, or wait for one */
    _Atomic bool told_ready;        /* the last summary that was told named ready tasks (place.c) ... */
    _Atomic uint64_t next_summary;  /* ns: ... and when the next one is due */
    _Atomic uint32_t nr_timed;      /* tasks that sleep until a time, which will be ready then */
};
extern struct tk_process tk;
extern __thread struct tk_exec *tk_self_exec __attribute__((tls_model("initial-exec")));

/* The task whose completed callback the thread calls; null from the moment on when that thread
 * destroys or submits it. */
extern __thread struct nosv_task *tk_completing __attribute__((tls_model("initial-exec")));

/* The calling thread, if it executes a task (or is attached). */
static inline struct tk_exec *tk_me(void) { return tk_self_exec; }
static inline struct nosv_task *tk_my_task(void) { struct tk_exec *e = tk_self_exec; return e ? e->task : 0; }
/* Is t the task that me executes?  In a completed callback that has destroyed its task, the same
 * record may be another task. */
static inline bool tk_is_own(const struct tk_exec *me, const struct nosv_task *t)
{ return me && t == me->task && (me->phase != TK_IN_COMPLETED || tk_completing == t); }
/* It has forked in a task's body, and this is the child: nothing of the runtime is there any more,
 * and the task is the parent's. */
static inline bool tk_is_orphan(const struct tk_exec *me) { return USF_UNLIKELY(tk_self_exec != me); }
bool tk_is_on(void);                /* between the first init and the last shutdown */
/* A thread without a slot calls what makes tasks ready or completes them: meanwhile the runtime
 * does not end.  0: it is not initialised. */
uint32_t tk_visit(void);
void tk_end_visit(uint32_t visit);  /* what tk_visit has returned */
/* NOSV_SUCCESS and the calling thread, which executes a task; or the error that says what is
 * missing. */
static inline int tk_in_task(struct tk_exec **me)
{
    *me = tk_me();
    if (USF_UNLIKELY(!tk_is_on())) return NOSV_ERR_NOT_INITIALIZED;
    return USF_LIKELY(*me && (*me)->task) ? NOSV_SUCCESS : NOSV_ERR_OUTSIDE_TASK;
}
static inline bool tk_is_strict(nosv_affinity_t place)
{ return place.level != NOSV_AFFINITY_LEVEL_NONE && place.type == NOSV_AFFINITY_TYPE_STRICT; }
bool tk_slot_is_in(const struct tk_slot *s, nosv_affinity_t place);
static inline bool tk_may_run(const struct nosv_task *t, const struct tk_slot *s)
{ return !tk_is_strict(t->affinity) || tk_slot_is_in(s, t->affinity); }
static inline bool tk_complex_has(const struct tk_complex *c, uint32_t cpu) { return c->cpus[cpu / 64] >> (cpu % 64) & 1; }

/* pool.c */
struct nosv_task *tk_task_alloc(size_t metadata_size);      /* not initialised but for size_class; or null */
void tk_task_free(struct nosv_task *t);
void tk_pool_reset(bool unmap);     /* all records are gone: in the child of a fork, and after the last shutdown */
size_t tk_pool_used(void);          /* bytes */

/* type.c */
/* Or null: no memory.  lasts: the last shutdown does not free it. */
struct nosv_task_type *tk_type_new(const char *label, bool external, bool lasts);
void tk_type_free(struct nosv_task_type *type);             /* has no tasks */
/* A task of it comes, goes. */
void tk_type_count(struct nosv_task_type *type, int64_t n);
void tk_types_drop(void);           /* free all, destroyed or not, whatever tasks they have */
void tk_forget_types(void);         /* in the child of a fork */

/* task.c, attach.c */
void tk_task_end(struct nosv_task *t);              /* it is freed, and its type has one less */
void tk_task_init(struct nosv_task *t, struct nosv_task_type *type, size_t metadata_size, uint8_t flags);
void tk_free_attached(struct nosv_task *t);
void tk_forget_tid(void);                           /* in the child of a fork */
void tk_watch_thread(struct tk_exec *me);           /* the calling thread may end while it executes tasks; null: not any more */

/* queue.c */
void tk_list_push(struct tk_list *l, struct nosv_task *t);
void tk_heap_push(struct tk_heap *h, struct nosv_task *t);
struct nosv_task *tk_heap_pop(struct tk_heap *h);
struct nosv_task *tk_heap_pop_late(struct tk_heap *h);      /* the first whose waitfor is over; tk_heap_pop: the first of the others */
struct nosv_task *tk_next(struct tk_slot *s);       /* holds s: the next task for it, from its own and the common queues */
struct nosv_task *tk_steal(struct tk_slot *s);      /* holds s, and tk_next has found none: what comes after all these */
bool tk_is_work(struct tk_slot *s);                 /* is there anything that s may execute? */
bool tk_is_plain_work(void);                        /* ... that any slot may? */
bool tk_is_strict_work(struct tk_slot *s);          /* ... that s may, and not all others? */
bool tk_is_late_work(struct tk_slot *s);            /* ... whose waitfor is over? */
/* Queue a task before all others: its waitfor is over since `deadline`, ns. */
void tk_queue_late(struct nosv_task *t, uint64_t deadline);
/* holds s: a task that has run there yields. */
void tk_queue_yielded(struct tk_slot *s, struct nosv_task *t);
void tk_put_back(struct nosv_task *t);               /* queue it, and wake no thread: it was taken, and no thread is to be had */
/* Queue a ready task, and see to it that some slot executes it.  me: the caller if it holds a slot,
 * else null. */
void tk_queue(struct tk_exec *me, struct nosv_task *t);

/* slot.c */
bool tk_claim(struct tk_slot *s);                   /* it was idle: the caller holds it now */
void tk_pass_on(struct tk_slot *s);                 /* holds s, and does not go on with it: another thread does, or it is idle */
/* holds s: t goes on there, in its own thread or a worker.  False: its thread holds another slot
 * and goes on in that; the caller has s. */
bool tk_hand_over(struct tk_slot *s, struct nosv_task *t);
bool tk_goes_on(struct nosv_task *t);               /* ... which is so */
void tk_wake_all(void);                             /* every idle slot that there is work for */
void tk_wake_for(nosv_affinity_t place, uint32_t near);   /* a task was queued that may run there */
struct nosv_task *tk_take(struct tk_slot *s);       /* holds s: the next task for it, from any queue; or null */
/* holds s: what to execute next; looks for a while, until `deadline` at most (0: none).  Null:
 * there is nothing. */
struct nosv_task *tk_find(struct tk_exec *me, struct tk_slot *s, uint64_t deadline);
/* The calling thread's task has given up its slot (it may be queued again already): others run
 * there; returns when it has a slot again. */
void tk_block(struct tk_exec *me);
/* The same until `deadline` (0: none), for a task whose `waiting` is set.  False: the time is over,
 * and no thread has woken it. */
/* The thread sleeps as me->task from here to tk_sleep or tk_cancel_sleep.  False: a waitfor that is
 * over already; it does not sleep. */
bool tk_begin_sleep(struct tk_exec *me, enum tk_wait kind);
void tk_stand_in(struct tk_exec *me);               /* ... which is its stand-in, in a completed callback */
void tk_step_back(struct tk_exec *me);
void tk_cancel_sleep(struct tk_exec *me);           /* no thread has had a reason to wake it */
bool tk_sleep(struct tk_exec *me, uint64_t deadline);
/* False: it does not sleep so, or another one has woken it.  True: the caller has it, and queues
 * it: no other thread touches it before. */
bool tk_end_sleep(struct nosv_task *t, enum tk_wait kind);
void tk_wake_early(struct nosv_task *t);
bool tk_wake(struct nosv_task *t, enum tk_wait kind);       /* both */
bool tk_is_place(nosv_affinity_t place);            /* has it a slot? */
void tk_go_home(struct tk_exec *me);                /* the caller's task goes on where its strict affinity allows, if not here */
void tk_resumed(struct tk_exec *me);                /* its task goes on, in its slot */
void tk_go_on(struct tk_exec *me);                  /* a thread that has attached: returns with a slot */
void tk_bind(struct tk_exec *e, const struct tk_slot *s);
uint32_t tk_cpu(const struct tk_exec *me);          /* holds a slot: the Linux CPU that the calling thread is on */
/* place.c: the calling thread is about to execute t in its slot, under `usf run`; it executes none
 * any more. */
void tk_place(struct tk_exec *me, const struct nosv_task *t);
void tk_end_place(struct tk_exec *me);
/* The same, for `usf ps` and recordings: an execution begins in its slot, has ended.  Inline ones,
 * too. */
void tk_begin_execution(struct tk_exec *me, const struct nosv_task *t, struct nosv_task *taken);    /* taken: t, or its ticket */
void tk_end_execution(void);
/* Under `usf run`: t is about to be queued; the calling thread's task pauses (for recordings
 * alone), and goes on. */
static inline bool tk_is_recorded(void) { return USF_UNLIKELY(atomic_load_explicit(&tk.recorded, memory_order_relaxed)); }
void tk_tell_ready(struct nosv_task *t);
void tk_tell_pause(void);
void tk_tell_resume(struct tk_exec *me);
void tk_tell_counts(struct tk_slot *s);             /* holds s: its counts are the calling thread's from now on */
void tk_tell_idle(struct tk_slot *s);               /* the same, where no task was found */

/* mask.c: the thread is bound from now on; is no longer. */
void tk_mask_add(struct tk_exec *e);
void tk_mask_remove(struct tk_exec *e, bool restore);     /* restore: the calling thread gets its mask back */
void tk_mask_forget(void);          /* in the child of a fork */
void tk_own_mask(struct tk_exec *me, struct os_cpuset *out);
/* libc's function behind ours.  Looked up at the first use: threads that do so at once find the
 * same. */
void *tk_look_up(void *_Atomic *at, const char *name);
#define TK_REAL(name) ({ static void *_Atomic real_; (__typeof__(&name))tk_look_up(&real_, #name); })

/* worker.c */
void tk_idle_worker(struct tk_slot *s, struct tk_exec *e);      /* holds s */
struct tk_exec *tk_take_worker(struct tk_slot *s);  /* holds s: an idle one, or a new one, or null */
void tk_stop_workers(void);         /* holds all slots; after it no other thread looks at them */
void tk_lose_worker(struct tk_exec *me);            /* its thread ends in a callback */
void tk_forget_workers(void);       /* in the child of a fork */
void tk_default_math(void);         /* the calling thread computes as IEEE says, however its creator does */
uint32_t tk_turbo(void);            /* in the calling thread; what was before, for: */
void tk_end_turbo(uint32_t before);
void tk_park(struct tk_exec *me);                   /* until it has a slot */

/* run.c */
void tk_run(struct tk_exec *me, struct nosv_task *t);
void tk_end_work(struct nosv_task *t, uint64_t n);  /* an execution, or n events have ended: it may complete */

/* submit.c */
void tk_make_ready(struct tk_exec *me, struct nosv_task *t);    /* its blocking count has come to 0 */
void tk_flush(struct tk_exec *me);
void tk_end_window(struct tk_exec *me);             /* its task ends: what is held back is submitted */
static inline void tk_flush_if_any(struct tk_exec *me) { if (USF_UNLIKELY(me->window_n)) tk_flush(me); }

/* timer.c */
bool tk_start_timer(void);          /* false: no thread is to be had */
void tk_look_again(void);           /* no thread was to be had for a ready task: the timer soon tries again */
/* Queue it at this time, ns.  False: no memory. */
bool tk_queue_at(struct nosv_task *t, uint64_t ns);
size_t tk_timed(void);              /* tasks that wait so */
void tk_stop_timer(void);
void tk_forget_timer(void);         /* in the child of a fork */

/* config.c: what the configuration says, into tk.  0, or a NOSV_ERR_*, said. */
struct tk_lists { uint32_t n; char at[64][128]; };      /* of CPUs */
struct tk_config {
    char isolation[16], instance[64], policy[16], binding[256], affinity[32], affinity_policy[16];
    struct tk_lists complexes, numa;
    uint64_t quantum_ns, spins, stack_size;
    bool successors, turbo;
};
void tk_config_read(struct tk_config *c);
/* instance.c: take part in the instance that the configuration asks for, if the process does not
 * yet.  What is wrong is said. */
void tk_join_instance(const struct tk_config *c);
/* topology.c: slots, nodes, complexes. */
int tk_topology_make(const struct tk_config *c);
void tk_topology_drop(void);

/* join.c: the task is submitted; its completed callback has returned, and the waiter is told. */
void tk_joinable_begin(struct nosv_task *t);
void tk_joinable_done(struct nosv_task *t);
bool tk_has_waiter(struct nosv_task *t);
bool tk_is_joined(struct nosv_task *t);      /* it has completed, and no thread is about to say so */

#endif
