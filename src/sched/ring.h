/* src/sched/ring.h - event rings of a recording (`usf trace`).  SPDX-License-Identifier: Apache-2.0
 *
 * While an instance is recorded there is a file beside its segment (".usf-UID-NAME.trace", same
 * owner, mode 0600), made and removed by the recorder, and usf_header.trace is the recording's
 * number.  Each process that takes part maps the file when it next enters the scheduler, and takes
 * it out again when the number changes (src/trace/follow.c).
 *
 * The file has a ring for the owner of the scheduler lock, and one for each of the first
 * TRACE_TASKS tasks, which only its thread writes, in a critical section.  So each ring has one
 * writer at a time and one reader, the recorder:
 *
 *      head - tail <= size;  events [tail, head) are whole and the reader's;  head is the writer's to raise, tail the reader's
 *
 * A writer writes the event, then raises head.  If it is killed in between, the reader sees nothing
 * of the event, and the next owner of the lock, or thread with that record, writes the same place.
 * A full ring drops the event and counts it.  No side waits for the other.  models/trace.pml.
 *
 * The recorder makes rings real before it offers them (nr_rings): a full /dev/shm is an error
 * there, and no SIGBUS here.  The file ends behind the last of them, and grows.  A process maps all
 * of its place at once: that costs nothing, even where the process locks what it maps.
 */
#ifndef USF_SCHED_RING_H
#define USF_SCHED_RING_H

#include "os/os.h"
#include "sched/sched.h"

#define TRACE_MAGIC        0x31676e6972667375ull    /* "usfring1" */
#define TRACE_TASKS        4096u
#define TRACE_LOCK_EVENTS  65536u       /* powers of two */
#define TRACE_TASK_EVENTS  4096u

/* What an event says about `task`. */
enum trace_kind {
    TRACE_NONE = 0,
    /* under the scheduler lock */
    TRACE_STATE,        /* aux: from | to << 8 (enum usf_task_state); a: the core that it has or had, USF_NONE: none */
    TRACE_QUEUED,       /* aux: enum usf_why */
    TRACE_THREAD,       /* it takes part from now on.  a: pid | thread << 32; b: its process's record | its maker's task << 32 */
    TRACE_BORN,         /* a: ns when its maker made it; follows TRACE_THREAD */
    TRACE_NAME,         /* a, b: 16 bytes of the thread's name; aux: priority of its process */
    TRACE_PROCESS,      /* ... of its process's; aux: its weight */
    /* by the thread itself */
    TRACE_WAIT,         /* begins to wait on a futex.  a: its address */
    TRACE_WAITED,       /* ... and has done so.  aux: enum trace_end */
    TRACE_WOKE,         /* wakes another.  a: that task; b: the address that it waited on */
    TRACE_WORK,         /* begins to execute a task of a runtime above.  a, b: 16 bytes of the label of its kind */
    TRACE_WORKED,       /* ... and has ended it */
    TRACE_READY,        /* makes a task ready.  a: the task */
    TRACE_TAKEN,        /* has got a task to execute, whose TRACE_WORK follows (aux 0), or which goes on after a pause (1).  a: the task */
    TRACE_PAUSED,       /* its task waits, and lets others execute */
    TRACE_CALL,         /* is back from a system call.  aux: enum usf_wait_kind; a: usf_task.wait_addr; b: cycles that it took */
    /* by the recorder */
    TRACE_LOST,         /* a: events dropped by the ring `task` (0: the lock's, else task + 1) since the last look */
    TRACE_KINDS,
};
enum trace_end { TRACE_END_WOKEN = 0, TRACE_END_TIMEOUT, TRACE_END_SIGNAL, TRACE_END_OTHER };

struct trace_event {
    uint64_t ns;                /* CLOCK_MONOTONIC */
    uint16_t kind, aux;         /* enum trace_kind */
    uint32_t task;
    uint64_t a, b;
};

struct trace_ring {
    _Alignas(USF_CACHELINE)
    _Atomic uint64_t head;      /* events written so far; the writer's */
    _Atomic uint64_t lost;      /* ... and dropped */
    _Alignas(USF_CACHELINE)
    _Atomic uint64_t tail;      /* events read so far; the reader's */
    _Alignas(USF_CACHELINE)
    struct trace_event event[];
};

struct trace_map {              /* the file begins with this */
    uint64_t magic;
    uint32_t gen;               /* usf_header.trace while it is on */
    uint32_t event_size;        /* sizeof(struct trace_event), for builds that differ */
    _Atomic uint32_t nr_rings;  /* tasks below have a ring */
    uint32_t reserved;
    uint64_t call_cycles;       /* calls that took less are not told */
    _Atomic uint64_t homeless;  /* events of tasks that had none */
    /* The time is (cycles * mult >> 32) + offset: the recorder puts the offset right at each look,
     * some hundred times a second. mult 0: this machine's cycle counters are not to be trusted, ask
     * the kernel. */
    uint64_t mult;
    _Atomic uint64_t offset;
};

/* ---- where things lie ------------------------------------------------------------------------- */
#define TRACE_PAGE 4096u
#define TRACE_RING_BYTES(n) ((sizeof(struct trace_ring) + (uint64_t)(n) * sizeof(struct trace_event) + TRACE_PAGE - 1) & ~(uint64_t)(TRACE_PAGE - 1))
#define TRACE_OFF_LOCK  ((uint64_t)TRACE_PAGE)
#define TRACE_OFF_TASKS (TRACE_OFF_LOCK + TRACE_RING_BYTES(TRACE_LOCK_EVENTS))
#define TRACE_SIZE      (TRACE_OFF_TASKS + TRACE_TASKS * TRACE_RING_BYTES(TRACE_TASK_EVENTS))

static inline struct trace_ring *trace_lock_ring(struct trace_map *m) { return (struct trace_ring *)((char *)m + TRACE_OFF_LOCK); }
static inline struct trace_ring *trace_task_ring(struct trace_map *m, uint32_t task)
{ return (struct trace_ring *)((char *)m + TRACE_OFF_TASKS + task * TRACE_RING_BYTES(TRACE_TASK_EVENTS)); }

_Static_assert(sizeof(struct trace_event) == 32, "two events a line");
_Static_assert(sizeof(struct trace_map) <= TRACE_PAGE, "one page");

/* ---- ring.c: writers and the reader ------------------------------------------------------------ */
/* One writer at a time.  n: size of the ring. */
void trace_put(struct trace_ring *r, uint32_t n, const struct trace_event *e);
/* The reader: up to `max` events, in order; their number.  *lost is raised by what a head takes
 * with it that is no count of this ring: a writer that the last recording has left behind in the
 * middle of an event, or one that scribbles. */
uint32_t trace_get(struct trace_ring *r, uint32_t n, struct trace_event *out, uint32_t max, uint64_t *lost);

/* Holds the scheduler lock; the recording is on (s->trace). */
void trace_locked(struct sched *s, enum trace_kind kind, uint32_t aux, uint32_t task, uint64_t a, uint64_t b);
/* Holds the scheduler lock: the thread has come. */
void trace_thread(struct sched *s, const struct sched_self *me);
/* By the thread itself, outside.  ns 0: now.  Without a record, nothing. */
void trace_own(struct sched *s, struct sched_self *me, uint64_t ns, enum trace_kind kind, uint32_t aux, uint64_t a, uint64_t b);
/* Is back from a system call that began at me->called. */
void trace_call(struct sched *s, struct sched_self *me);

static inline bool trace_is_on(const struct sched *s) { return USF_UNLIKELY(s->trace != 0); }
static inline uint64_t trace_ns(const struct trace_map *m, uint64_t cycles) { return (uint64_t)((unsigned __int128)cycles * m->mult >> 32); }
static inline uint64_t trace_now(const struct trace_map *m)
{ return m->mult ? trace_ns(m, os_cycles()) + atomic_load_explicit(&((struct trace_map *)m)->offset, memory_order_relaxed) : os_now(); }
/* Before a wait begins: its time, if a recording needs it. */
static inline uint64_t trace_time(const struct sched *s)
{
    const struct trace_map *m = s->trace;
    return USF_UNLIKELY(m != 0) ? trace_now(m) : 0;
}

#endif
