/* sim/internal.h - between the files of the simulator's engine.  SPDX-License-Identifier: Apache-2.0
 *
 * Threads are fibers: each executes its program's operations (fiber.c), and at one instant of
 * virtual time, until it asks for something that takes time (enum sim_req); then the engine goes on
 * with the next event.  What an operation costs is added to the thread's `debt` and paid with the
 * next time that it runs, or by the CPU before its next thread: so most operations take no event of
 * their own.
 *
 *   a thread on a CPU runs through   lead (the CPU still idles) ─► over (kernel, scheduler) ─► cold (caches) ─► rem (work, or busy-waiting)
 *
 * Invariants: a CPU's current thread is RUNNING and names that CPU; all else that is runnable is
 * QUEUED in the model of the kernel; a CPU whose thread will have something to do by itself has an
 * event.
 */
#ifndef USF_SIM_INTERNAL_H
#define USF_SIM_INTERNAL_H

#include "sched/carrier.h"
#include "sched/sched.h"
#include "sched/spinwait.h"
#include "sim/sim.h"

#define SIM_T0     1000000000ull        /* the clock begins here: 0 means "none" in many a record */
#define SIM_NEVER  UINT64_MAX
#define SIM_CYCLES_PER_NS 3u            /* of the time stamp counter */
#define SIM_SPEED  (1u << 20)           /* full */
#define SIM_ENDLESS (UINT64_MAX / 4)    /* as rem: until poked */

/* ---- events (heap.c): one per id at most, ordered by time ---------------------------------------- */
/* Those of one time: first what belongs to no CPU, by id, then CPUs, in an order that is hashed
 * from time and id.  So it is the same whenever an event was set (unproductive.c leaves some out),
 * and prefers no CPU. */
#define SIM_ID_BITS 24u
struct sim_heap_entry { uint64_t time, key; };  /* key: rank << SIM_ID_BITS | id */
static inline uint32_t sim_heap_id(struct sim_heap_entry e) { return (uint32_t)(e.key & ((1u << SIM_ID_BITS) - 1)); }
#define SIM_HEAP_NEAR 21u               /* the first entries: those of three levels */
struct sim_heap {
    struct sim_heap_entry *e;
    void *mem;                  /* ... lies in this, such that four children are a cache line */
    uint32_t *pos;              /* [ids]: index + 1 in e, 0: none */
    uint32_t nr, ids;
    uint32_t cpus;              /* ids below are CPUs */
    uint32_t fresh;             /* bit i: another has come to e[i], of the near ones, since somebody looked (engine.c) */
};
int  sim_heap_grow(struct sim_heap *h, uint32_t ids);
void sim_heap_set(struct sim_heap *h, uint32_t id, uint64_t time);     /* SIM_NEVER: none */
static inline void sim_heap_clear(struct sim_heap *h, uint32_t id) { if (h->pos[id]) sim_heap_set(h, id, SIM_NEVER); }
uint64_t sim_heap_key(const struct sim_heap *h, uint32_t id, uint64_t time);
bool sim_heap_pop(struct sim_heap *h, uint32_t *id, uint64_t *time);
void sim_heap_free(struct sim_heap *h);

/* ---- fibers (fiber.c) --------------------------------------------------------------------------- */
#define SIM_BLOCK  4096u    /* threads made at a time */
#define SIM_FRAMES 1280u    /* bytes of a stack: as deep as most are when they wait */

/* ---- threads ------------------------------------------------------------------------------------ */
enum sim_req { SIM_REQ_NONE, SIM_REQ_RUN, SIM_REQ_SLEEP, SIM_REQ_YIELD, SIM_REQ_MOVE, SIM_REQ_FLOAT, SIM_REQ_EXIT, SIM_REQ_FLUSH };
enum sim_mode { SIM_MODE_WORK, SIM_MODE_SPIN };
enum sim_how { SIM_HOW_NOT, SIM_HOW_SPINS, SIM_HOW_BLOCKS, SIM_HOW_KERNEL };    /* it waits for `granted`; the last: under usf, but not in it */

struct sim_queue { uint32_t head, tail, len; };     /* of waiters, ids + 1 */

struct sim_team;
struct sim_lock;
/* What most steps of a thread need comes first, whole lines of it: of a hundred thousand threads
 * hardly one is in the host's caches when its time comes, and the engine fetches these ahead. */
struct sim_thread {
    struct sched_self self;
    void *deep;                 /* its frames, while they do not fit into SIM_FRAMES; or null */
    uint64_t stamp;
    void *sp;                   /* of its fiber, while it does not execute; null: it has ended */
    struct sim_inst *inst;      /* its program's instance */
    uint64_t lead, over, cold, rem, debt;
    uint64_t random;
    uint8_t  req, mode, how, granted, signal, in_os, yields;
    uint8_t  yielding;          /* its fiber stands at a yield within a busy-wait: it yields whenever it runs, until granted */
    uint8_t  on_enqueue;        /* it spins, and wants to be poked when another is queued on its CPU */
    uint8_t  timed, working;
    uint8_t  in_queue, useful;  /* under usf: it is in the policy's queues; ... and would do something but wait on (counted in sim.useful) */
    uint8_t  unproductive, at_rest; /* it waits busily, without end; ... and is left alone at that (counted in sim.at_rest) */
    uint8_t  shared;            /* what it waits for belongs to several programs */
    uint8_t  blocks;            /* usf: its core was taken in a call that might not have blocked: the next ones give it up */
    uint8_t  doing;             /* enum sim_op_kind */
    uint16_t memory;            /* of the work at hand */
    uint32_t mbps;
    uint64_t ready_at;          /* ns: since when it wants a CPU; 0: it does not, or has one */
    uint64_t slept_at;          /* ns: since when it waits; 0: it does not */
    const void *futex;          /* sleeps on this word */
    uint32_t last_cpu;
    uint32_t home;              /* node of its memory: where it first ran; SIM_NONE */
    uint32_t wait_next, wait_prev;      /* in a queue of waiters: id + 1; prev: unless it is the first */
    struct sim_queue *waits_in; /* ... this one; null: in none */
    uint64_t wait_since, granted_at;
    struct sim_lock *held;
    struct sim_team *team;      /* it is a member of, in the region at hand */
    uint32_t team_number, lost_turn;    /* within the team, the master being 0; who lost time when it was not there to take its turn */
    struct sim_team *own;       /* the last that it is the master of */
    _Alignas(64) struct sim_kthread k;
    uint64_t yields_until;      /* while yielding: ... or until then, ns; 0: no bound */
    struct spinwait spin;       /* usf: its busy-wait */
    uint64_t strangers_at;      /* usf: when it last let the kernel choose while it waited busily */
    uint32_t move_to, float_to; /* SIM_REQ_MOVE: CPU; SIM_REQ_FLOAT: the thread that goes on */
    uint32_t code;              /* that it executes, SIM_NO_CODE: member of a team */
    uint32_t number;            /* within its program */
    uint32_t children, parent, parent_number;   /* spawned and not ended; by whom */
    uint32_t next_of_inst, prev_of_inst;        /* id + 1; next: also of the free ones */
    uint32_t spin_at;           /* index + 1 in the list of spinners */
    struct sim_queue join, dock;        /* it waits for its children; for its team's next region, or for a slot */
    uint32_t slot, task;        /* that it holds, of the tasking runtime: index + 1; code + 1 of the task that it begins with */
    uint32_t deep_cap;
} __attribute__((aligned(64)));
/* The lines that are fetched: with what the model of the kernel under usf knows of it. */
#define SIM_THREAD_HOT offsetof(struct sim_thread, k.data[1])

struct sim_lock {
    uint32_t owner;             /* id + 1; 0: free */
    struct sim_queue q;
    struct sim_lock *next_held;
    uint64_t off_since;         /* ns: since when its owner has been without a CPU against its will; 0: it is not */
};
/* tasks.c.  Tasks that are ready, in order: one that has not begun has no thread (0), one that has
 * paused its own (id + 1). */
struct sim_ready { uint32_t code, thread; };
struct sim_ready_queue { struct sim_ready *at; uint32_t cap, first, nr; };
struct sim_runtime {
    struct sim_ready_queue *queue;      /* [nr_slots], and one of what threads without a slot submit; null: no task was ever submitted */
    uint8_t *held;              /* [nr_slots]: a thread has it; else it is idle */
    uint32_t *parked;           /* [nr_parked] workers without a slot */
    uint32_t nr_slots, nr_parked, parked_cap, left;     /* left: tasks that have not ended */
    struct sim_queue end;       /* threads that wait until none is left */
};
struct sim_barrier { uint32_t arrived; struct sim_queue q; };
struct sim_channel { uint64_t *stamp; uint32_t cap, first, nr; bool shared; struct sim_queue senders, receivers; struct sim_ready_queue paused; };
struct sim_graph { uint32_t *deps, *ready; uint32_t first, nr, done, left, begun; struct sim_queue q; };
struct sim_team {
    uint32_t master, level, width, nr, cap, arrived, code, round;
    uint8_t wait;
    struct sim_queue join;      /* the master waits for the others' arrival */
    uint32_t *member;           /* [nr] ids of threads besides the master */
    struct sim_barrier barrier;
    struct sim_barrier met;     /* barriers without parties: each team has its own, met by all in the same order */
    struct sim_team *next, *next_own;       /* of the program; of its master */
};

struct sim_view {               /* usf inside one program */
    struct sched s;
    struct carrier carrier;             /* whose address says that threads float (carrier.c) */
    struct usf_policy_ops inner;        /* the policy's own; those in s go through the engine's hooks */
    uint32_t gen;
};
struct sim_inst {               /* a program that runs */
    const struct sim_program *p;
    struct sim_program_stats *st;
    uint32_t index, nr_threads, next_number, threads;   /* threads: first, id + 1 */
    uint32_t share_gen, share;  /* when it last looked; cores */
    bool begun, ended;
    struct sim_barrier *barrier;
    struct sim_lock *lock;
    struct sim_channel *channel;
    struct sim_graph *graph;
    struct sim_team *teams;
    struct sim_runtime tasks;
    struct sim_view *view;
    _Atomic uint8_t long_waits;         /* usf, all its busy-waits as one loop: struct spinwait */
};

struct sim_cpu_state {
    uint32_t current;           /* thread, SIM_NONE */
    uint32_t last;              /* who ran before */
    uint32_t nr_queued;
    uint32_t demand_at;         /* index + 1 in its node's list of demanding CPUs */
    uint32_t speed;
    uint8_t  resched;
    uint8_t  smt;               /* its core has more hardware threads */
    uint8_t  unproductive;      /* enum sim_unproductive, unproductive.c */
    uint64_t begin;             /* accounted up to here */
    uint64_t carry;             /* ns of kernel time left by who has gone */
    uint64_t idle_since;
    uint64_t tick_at;
    uint64_t work, spin, kernel, idle;      /* ns */
    uint64_t data[SIM_KCPU_DATA / 8];
} __attribute__((aligned(64)));
/* Is a CPU whose threads do nothing but yield to each other simulated yield by yield, left alone,
 * or brought up to date? */
enum sim_unproductive { SIM_UNPRODUCTIVE_NOT, SIM_UNPRODUCTIVE_LEFT, SIM_UNPRODUCTIVE_CATCHES_UP };
struct sim_node_state { uint64_t demand; uint32_t factor, nr, *cpu; };

/* Of everything that happened, in any order: each trace adds k1 * ns + k2 * ns^2 + k3 to `sum`, the
 * k hashed from what it says.  The other sums are what the same again a period later adds. */
struct sim_hash { uint64_t sum, k1, k2, k2ns; };

struct sim {
    const struct sim_config *c;
    const struct sim_machine *m;
    const struct sim_kernel_ops *k;
    void *kdata;
    uint64_t now;
    struct sim_heap heap;
    struct sim_cpu_state *cpu;
    struct sim_node_state *node;
    uint32_t *phys_first, *phys_cpus, *phys_busy;       /* hardware threads of core p: phys_cpus[phys_first[p] .. phys_first[p+1]) */
    struct sim_thread **block; uint32_t nr_blocks;      /* of SIM_BLOCK threads each: thread i is [i / SIM_BLOCK][i % SIM_BLOCK] */
    uint32_t nr_threads, threads_live, free_thread;     /* so many were ever used; first free one, id + 1 */
    struct sim_inst *inst;
    uint32_t inst_left;
    struct sim_thread *self;            /* whose fiber executes; null: the engine */
    void *engine_sp;
    char *stack_end;
    struct sim_thread *on_stack;        /* whose frames lie there, or null */
    uint32_t id_monitor, id_balance, id_inst, id_thread;        /* first ids of events */
    uint32_t waker;                     /* CPU of who is waking, SIM_NONE */
    uint64_t wake_delay;                /* ... and how much later than now it comes to it */
    /* usf */
    struct usf_header *h;
    size_t segment;
    struct sim_view *monitor;
    struct sched_watcher *watcher;
    struct sched_spin *spins;
    uint64_t lock_free_at, looked_at;
    bool looks;
    uint32_t useful;            /* threads in the policy's queues that would do something but wait on */
    uint32_t at_rest, yield_at_rest;    /* those that have their core and wait, while none is useful; ... by yielding */
    uint64_t rest_ns;           /* of the latter: what a round of each takes outside of the scheduler's lock */
    uint32_t *spinner; uint32_t nr_spinners, cap_spinners, pokes;
    uint64_t keeps[USF_CORE_WORDS];     /* cores whose tasks wait busily and keep them by themselves (usf_keep); ... */
    bool asks;                          /* ... of which some may be asked again */
    /* what is to be told */
    struct sim_stats *st;
    struct sim_trace *trace;
    uint32_t nr_trace;
    struct sim_hash hash;
    uint64_t event_key;         /* of the event that is executed */
    uint32_t nr_working, nr_timers, nr_arrivals;
    uint64_t worked_at;
    uint64_t ops, ops_at;       /* operations executed at this instant */
    int error;
    char *why; unsigned cap;
};
#define SIM_TRACE_CAP 4096u
extern struct sim *sim_the;     /* the one that runs: for os.c */

static inline struct sim_thread *sim_thread(const struct sim *s, uint32_t id) { return &s->block[id / SIM_BLOCK][id % SIM_BLOCK]; }
static inline void sim_fetch(const void *at, size_t size) { for (size_t i = 0; i < size; i += 64) __builtin_prefetch((const char *)at + i, 1); }
static inline bool sim_under_usf(const struct sim *s) { return s->h != 0; }

/* engine.c */
void sim_fail(struct sim *s, int error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void sim_trace(struct sim *s, uint32_t kind, uint32_t thread, uint32_t cpu, uint32_t aux);
void sim_trace_flush(struct sim *s);
/* In a fiber: */
void sim_request(struct sim_thread *t, enum sim_req req);
void sim_busy(struct sim_thread *t, enum sim_mode mode, uint64_t ns);      /* runs so long; signals are handled */
void sim_poke(struct sim *s, struct sim_thread *t);     /* ends its busy-wait, if it is in one and runs */
struct sim_thread *sim_thread_new(struct sim *s, struct sim_inst *i, uint32_t code);   /* null: error set */
void sim_thread_gone(struct sim *s, struct sim_thread *t);
void sim_inst_end(struct sim *s, struct sim_inst *i);
void sim_mark_ready(struct sim *s, struct sim_thread *t);
/* fiber.c */
bool sim_block_add(struct sim *s);
int  sim_fibers_init(struct sim *s);
void sim_fibers_free(struct sim *s);
void sim_fiber_begin(struct sim *s, struct sim_thread *t, void (*run)(void));
void sim_fiber_end(struct sim *s, struct sim_thread *t);
bool sim_fiber_run(struct sim *s, struct sim_thread *t);
void sim_fiber_fetch(const struct sim *s, const struct sim_thread *t);
/* cpu.c */
int  sim_cpus_init(struct sim *s);
void sim_cpus_free(struct sim *s);
void sim_account(struct sim *s, uint32_t cpu);
void sim_set_event(struct sim *s, uint32_t cpu);
void sim_cpu_event(struct sim *s, uint32_t cpu);
void sim_retime(struct sim *s, uint32_t cpu);
void sim_wake(struct sim *s, struct sim_thread *t, enum sim_kwhy why);      /* ASLEEP or NEW */
void sim_schedule(struct sim *s, uint32_t cpu);
void sim_stop(struct sim *s, uint32_t cpu, enum sim_stop why);  /* its thread is off it, in no queue yet */
void sim_queue_leave(struct sim *s, struct sim_thread *t);
void sim_float_to(struct sim_thread *to);       /* os.c.  In a fiber: its kernel thread goes on with that one, which waits */
void sim_take_off(struct sim *s, struct sim_thread *t);         /* wherever it is: it ends */
void sim_bind(struct sim *s, struct sim_thread *t, uint32_t cpu);
void sim_step_unproductive(struct sim *s, uint32_t cpu, struct sim_thread *t); /* its next yield, without its fiber */
/* unproductive.c */
void sim_unproductive_leave(struct sim *s, uint32_t cpu); /* a thread of the CPU has just yielded to another: may it be left alone? */
void sim_unproductive_catch_up(struct sim *s, uint32_t cpu); /* it was left alone: up to now, and ordinarily from there */
bool sim_is_unproductive(const struct sim *s, const struct sim_thread *t);
/* Before anything is done to a thread that may be queued, or run. */
static inline void sim_touch(struct sim *s, const struct sim_thread *t)
{
    if ((t->k.state == SIM_K_QUEUED || t->k.state == SIM_K_RUNNING) && s->cpu[t->k.cpu].unproductive == SIM_UNPRODUCTIVE_LEFT) sim_unproductive_catch_up(s, t->k.cpu);
}
/* speed.c */
void sim_speed_start(struct sim *s, uint32_t cpu);
void sim_speed_stop(struct sim *s, uint32_t cpu);
void sim_speed_demand(struct sim *s, uint32_t cpu, bool on);
uint32_t sim_speed_of(struct sim *s, uint32_t cpu);
uint64_t sim_cold(struct sim *s, struct sim_thread *t, uint32_t cpu);
/* usf.c, segment.c */
int  sim_usf_init(struct sim *s);
void sim_usf_free(struct sim *s);
int  sim_usf_join(struct sim *s, struct sim_inst *i);
void sim_usf_leave(struct sim *s, struct sim_inst *i);
void sim_usf_attach(struct sim_thread *t);
void sim_usf_detach(struct sim_thread *t);
void sim_usf_wait(struct sim_thread *t, enum sim_wait how);
void sim_usf_wake(struct sim_thread *t, const uint32_t *threads, unsigned n);
void sim_kernel_sleep(struct sim_thread *t, uint64_t ns);      /* run.c */
void sim_usf_sleep(struct sim_thread *t, uint64_t ns, bool certain);
void sim_usf_yield(struct sim_thread *t);
void sim_usf_signal(struct sim_thread *t);      /* the preemption signal's handler */
void sim_usf_granted(struct sim_thread *t);     /* what it waits for */
void sim_usf_look(struct sim *s);               /* the monitor's event */
void sim_usf_after(struct sim *s);              /* after each step of a fiber */
struct sim_thread *sim_usf_thread(const struct sim *s, uint32_t number);   /* that of a usf_thread; null: it has ended */
void sim_usf_fetch(const struct sim *s, const struct sim_thread *t);        /* the records of a thread that is about to do something, */
void sim_usf_fetch_core(const struct sim *s, uint32_t cpu);                 /* ... and of its core */
bool sim_usf_check(struct sim *s);
uint32_t sim_usf_width(struct sim *s, struct sim_inst *i);
struct usf_header *sim_segment_new(const struct sim_config *c, size_t *size);
void sim_segment_free(struct usf_header *h, size_t size);
/* tasks.c */
void sim_submit(struct sim_thread *t, uint32_t code, uint32_t n);
void sim_task_pause(struct sim_thread *t, struct sim_channel *c);       /* until the channel has a message */
bool sim_task_goes_on(struct sim_thread *waker, struct sim_channel *c); /* a message has come: one that has paused takes it; false: none has */
void sim_task_join(struct sim_thread *t, enum sim_wait how);            /* until no task is left */
void sim_work(struct sim_thread *t);                                    /* a worker */
void sim_tasks_drop(struct sim_runtime *r);
/* run.c: what a fiber executes; sync.c: what it waits for */
void sim_thread_run(void);
void sim_execute(struct sim_thread *t, uint32_t code);
struct sim_thread *sim_create(struct sim_thread *t, uint32_t code);
uint64_t sim_thread_random(struct sim_thread *t);
void sim_wait(struct sim_thread *t, struct sim_queue *q, enum sim_wait how);   /* until granted */
void sim_grant(struct sim_thread *waker, struct sim_queue *q, uint32_t n);     /* to the first n */
void sim_queue_push(struct sim *s, struct sim_queue *q, struct sim_thread *t);
struct sim_thread *sim_queue_pop(struct sim *s, struct sim_queue *q);
void sim_barrier(struct sim_thread *t, struct sim_barrier *b, uint32_t parties, enum sim_wait how);
void sim_lock(struct sim_thread *t, struct sim_lock *l, enum sim_wait how);
void sim_unlock(struct sim_thread *t, struct sim_lock *l);
void sim_send(struct sim_thread *t, struct sim_channel *c, uint32_t capacity, uint32_t n, enum sim_wait how);
void sim_recv(struct sim_thread *t, struct sim_channel *c, uint32_t n, enum sim_wait how);
void sim_lost_cpu(struct sim *s, struct sim_thread *t);     /* ... against its will; and has one again */
void sim_has_cpu(struct sim *s, struct sim_thread *t);
int  sim_inst_make(struct sim *s, struct sim_inst *i);
int  sim_inst_channels(struct sim_inst *i);
void sim_inst_drop(struct sim_inst *i);
void sim_inst_free(struct sim_inst *i);
/* engine.c */

#endif
