/* usf/policy.h - write a scheduling policy for usf.  SPDX-License-Identifier: Apache-2.0
 *
 * A policy decides which ready task runs on which core.  It is a table of operations
 * (struct usf_policy_ops) over records that live in the instance's shared segment; the same
 * object code runs inside every participating process, in the monitor and in the simulator.
 *
 * Rules for every operation
 *   - it is called with the scheduler lock held, by any thread of any participating process:
 *     it must be short, must not block, allocate, call libc, make a system call or read a clock
 *     (the time is in usf_pol.now);
 *   - it keeps all its state in the `data` areas below (zeroed when the record is born, aligned to
 *     8 bytes; no pointers, ids only: every process maps the segment elsewhere);
 *   - it must be compiled with -mgeneral-regs-only: the gate does not save vector registers.  One
 *     compiled without is refused by the loader (USF_POLICY_API says so in bit 31);
 *   - an answer is checked by the caller: an illegal one (a task that is not ready, a core that
 *     does not exist) gets the policy replaced by `coop`, with a message that says why.
 *
 * Lifecycle of a task, as the policy sees it (docs/design.md has the state machine):
 *
 *   task_add ─► [ enqueue(why) ─► pick / select_core ─► started ... stopped ]* ─► task_remove
 *
 *   A ready task is either handed to an idle core at once (select_core) or queued (enqueue) until
 *   a core asks (pick).  A queued task that dies or must leave is taken out with dequeue.
 */
#ifndef USF_POLICY_H
#define USF_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef USF_CORES_MAX
#define USF_CORES_MAX  256u        /* a build of the simulator for larger machines has more */
#endif
#define USF_CORE_WORDS (USF_CORES_MAX / 64)     /* of a set of cores */
#define USF_GROUPS_MAX     2048u
#if USF_CORES_MAX == 256
#define USF_POLICY_API_VERSION 4u  /* bumped when anything below changes incompatibly */
#else       /* other records: an object for the one is refused by the other */
#define USF_POLICY_API_VERSION (4u | USF_CORE_WORDS << 8)
#endif
#define USF_POLICY_API_VECTOR  0x80000000u  /* compiled with vector registers */
#ifdef __SSE__
#define USF_POLICY_API (USF_POLICY_API_VERSION | USF_POLICY_API_VECTOR)
#else
#define USF_POLICY_API USF_POLICY_API_VERSION
#endif
#define USF_NONE       UINT32_MAX  /* no task, no core, no group */

#define USF_POL_TASK_DATA 32       /* bytes a policy has per task */
#define USF_POL_CORE_DATA (64 + 16 * USF_CORE_WORDS)   /* ... per core: 128 */
#define USF_POL_GROUP_DATA (16 * USF_CORES_MAX)        /* ... per group: 4096 */
#define USF_POL_DATA      (16 * USF_CORES_MAX)         /* ... per instance: 4096; the last 64 belong to the default queues */

/* Put it on the structs that are laid over data areas: struct USF_POLICY_STATE mine { ... }; */
#if defined(__GNUC__)
#define USF_POLICY_STATE __attribute__((may_alias))
#else
#define USF_POLICY_STATE
#endif

/* Why a task is put into the queues. */
enum usf_why {
    USF_WHY_NEW,      /* a thread attached */
    USF_WHY_WAKE,     /* what it waited for has happened */
    USF_WHY_RETURN,   /* it came back from a system call that had released its core */
    USF_WHY_YIELD,    /* it gave its core up by itself (sched_yield, a spin-wait) */
    USF_WHY_PREEMPT,  /* the progress guarantee took its core */
};

/* Where a task would like to run, or must. */
enum usf_affinity {
    USF_AFFINITY_ANY,    /* wherever its group may */
    USF_AFFINITY_CORE,   /* `affinity_id` is a core, */
    USF_AFFINITY_LLC,    /* ... a last-level cache, */
    USF_AFFINITY_NODE,   /* ... a NUMA node */
    USF_AFFINITY_MASK,   /* the cores of `mask` */
};

/* A task: one thread that takes part.  Owner: the scheduler; policies read, and write `data`. */
struct usf_pol_task {
    uint32_t id;         /* index in the task table */
    uint32_t group;      /* index of its group */
    uint32_t last_core;  /* core it ran on last, or USF_NONE */
    int32_t  priority;   /* higher first, within its group; 0 by default */
    /* Links for usf_fifo below.  `queued` is nonzero while the task is in a fifo. */
    uint32_t next, prev;
    uint32_t queued;
    uint32_t held;       /* 1 from enqueue until pick or dequeue; written by the scheduler alone */
    uint64_t ready_since; /* ns, usf_pol.now when it became ready, or was last named by pick and put back, since it busy-waits; set while held */
    uint8_t  data[USF_POL_TASK_DATA];
    uint64_t deadline;    /* ns, monotonic: earlier first among tasks of one priority; 0: none */
    uint32_t affinity_id; /* see affinity */
    uint8_t  affinity;    /* enum usf_affinity */
    uint8_t  strict;      /* 1: it may run there alone (usf_may_run); 0: it is a preference */
    uint8_t  pad[10];     /* reserved */
    uint64_t mask[USF_CORE_WORDS];  /* cores of the affinity mask that its thread has set, or of its strict place; none set: it has neither */
};

/* A core: one CPU of the instance. */
struct usf_pol_core {
    uint32_t id;      /* index in the core table */
    uint32_t cpu;     /* Linux CPU number */
    uint32_t node;    /* NUMA node   (dense index) */
    uint32_t llc;     /* last-level cache (dense index) */
    uint32_t package; /* socket      (dense index) */
    uint32_t current; /* task that runs on it, or USF_NONE */
    uint64_t since;   /* ns, when `current` was started */
    uint64_t give_way_at; /* the policy's: ns from which on `current` is made to give way if others are queued (the core then
                             asks pick); 0, as at each start of a task: when the progress guarantee says so */
    uint32_t phys;    /* physical core (dense index): hardware threads of one share it */
    uint32_t reserved;
    uint8_t  data[USF_POL_CORE_DATA];
    uint64_t keeps_until; /* the policy's: ns up to which `current` keeps the core without `yield` being asked again, as long as it yields in
                             a row (USF_ROW_NS); 0, as at each start of a task: it is asked each time */
};
#define USF_ROW_NS 100000u      /* yields that are no further apart are one wait; who runs for longer between two has worked */

/* What waits in a group's own queues, as its process has last told; zero for a group of plain
 * threads. */
struct usf_pol_work {
    uint32_t ready;      /* tasks */
    int32_t  priority;   /* the highest of theirs */
    uint64_t deadline;   /* ns, monotonic: the earliest of theirs; 0: none has one */
    uint64_t strict[USF_CORE_WORDS];  /* bit c: one of them may run on core c alone */
};

/* A group: the threads that a policy accounts for together.  A process that joins has one, and most
 * never have another.  A runtime inside a process may have a group of its own, with its own weight,
 * priority and cores; `proc` tells which groups are of one process. */
struct usf_pol_group {
    uint32_t id;
    uint32_t nr_tasks;   /* attached */
    uint32_t nr_ready;   /* queued */
    uint32_t weight;     /* 100 = normal */
    uint64_t busy_ns;    /* core time of its tasks so far, those that run now not counted */
    uint64_t cores[USF_CORE_WORDS];   /* bit c: its tasks may run on core c (cores, not CPU numbers) */
    int32_t  priority;   /* higher first; 0 = normal */
    uint32_t flags;      /* USF_GROUP_* */
    uint64_t progress;   /* pieces of work that it has finished (parallel regions), 0: unknown */
    /* The policy's: cores that the group is told to reckon with (CPU counts, affinity queries,
     * default team sizes); none set: all that it may use.  To change them, write them and then
     * raise share_gen. */
    uint64_t share[USF_CORE_WORDS];
    uint32_t share_gen;
    uint32_t width;      /* threads of its latest parallel region, 0: unknown */
    uint32_t proc;       /* number of its process: groups of one process have the same */
    uint32_t reserved0[3];
    struct usf_pol_work work;
    uint64_t reserved1[2];
    uint8_t  data[USF_POL_GROUP_DATA];
    uint64_t own[USF_CORE_WORDS];     /* with USF_GROUP_OWNS: those of `cores` that are its own among the groups of its process */
};

#define USF_GROUP_MALLEABLE 1u   /* follows a new share by itself, at its next parallel region */
#define USF_GROUP_NO_GANG   2u   /* is not to be coscheduled: its tasks run wherever there is room */
#define USF_GROUP_OWNS      4u   /* has cores of its own (usf_borrows) */

/* The instance, as seen from this process.  The struct itself is process-private; the records
 * it points at are shared. */
struct usf_pol {
    uint64_t now;          /* ns, monotonic; set before every call */
    uint64_t quantum;      /* ns, a group's turn on a core (option `quantum`) */
    uint64_t slice;        /* ns, time slice of policies that have one (option `slice`) */
    uint32_t flags;        /* USF_POL_* */
    uint32_t nr_cores;     /* cores 0 .. nr_cores-1 exist */
    uint32_t nr_tasks;     /* size of the task table: ids are below it */
    uint32_t nr_groups;    /* size of the group table */
    uint32_t task_stride, core_stride, group_stride;
    char *tasks, *cores, *groups;   /* bases; use the accessors */
    uint8_t *data;                 /* USF_POL_DATA bytes */
};

#define USF_POL_BLIND 1u   /* option `topology-blind`: do not look at nodes and caches */

static inline struct usf_pol_task *usf_task(struct usf_pol *p, uint32_t id)
{ return (struct usf_pol_task *)(void *)(p->tasks + (size_t)id * p->task_stride); }
static inline struct usf_pol_core *usf_core(struct usf_pol *p, uint32_t id)
{ return (struct usf_pol_core *)(void *)(p->cores + (size_t)id * p->core_stride); }
static inline struct usf_pol_group *usf_group(struct usf_pol *p, uint32_t id)
{ return (struct usf_pol_group *)(void *)(p->groups + (size_t)id * p->group_stride); }

/* ---- Sets of cores: USF_CORE_WORDS words, of which bit c of all is core c.  Cores are below USF_CORES_MAX. ------- */
static inline bool usf_cores_has(const uint64_t *set, uint32_t core) { return set[core / 64] >> (core % 64) & 1; }
static inline void usf_cores_add(uint64_t *set, uint32_t core) { set[core / 64] |= 1ull << (core % 64); }
static inline void usf_cores_remove(uint64_t *set, uint32_t core) { set[core / 64] &= ~(1ull << (core % 64)); }
static inline void usf_cores_clear(uint64_t *set)
{ for (uint32_t w = 0; w < USF_CORE_WORDS; w++) set[w] = 0; }
/* Cores 0 .. n-1 and no others. */
static inline void usf_cores_fill(uint64_t *set, uint32_t n)
{
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++)
        set[w] = n >= w * 64 + 64 ? ~0ull : n > w * 64 ? (1ull << (n % 64)) - 1 : 0;
}
static inline void usf_cores_copy(uint64_t *to, const uint64_t *from)
{ for (uint32_t w = 0; w < USF_CORE_WORDS; w++) to[w] = from[w]; }
static inline bool usf_cores_any(const uint64_t *set)
{
    uint64_t all = 0;
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++) all |= set[w];
    return all != 0;
}
static inline bool usf_cores_same(const uint64_t *a, const uint64_t *b)
{
    uint64_t differ = 0;
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++) differ |= a[w] ^ b[w];
    return !differ;
}
/* out may be a or b.  True: out is not empty. */
static inline bool usf_cores_and(uint64_t *out, const uint64_t *a, const uint64_t *b)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++) any |= out[w] = a[w] & b[w];
    return any != 0;
}
static inline bool usf_cores_andnot(uint64_t *out, const uint64_t *a, const uint64_t *b)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++) any |= out[w] = a[w] & ~b[w];
    return any != 0;
}
static inline bool usf_cores_or(uint64_t *out, const uint64_t *a, const uint64_t *b)
{
    uint64_t any = 0;
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++) any |= out[w] = a[w] | b[w];
    return any != 0;
}
/* How many cores both sets have.  Without the instruction the compiler would call its library,
 * which a policy must not. */
static inline uint32_t usf_cores_common(const uint64_t *a, const uint64_t *b)
{
    uint32_t n = 0;
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++) {
        uint64_t x = a[w] & b[w];
        x -= x >> 1 & 0x5555555555555555ull;
        x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
        n += (uint32_t)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56);
    }
    return n;
}
static inline uint32_t usf_cores_count(const uint64_t *set) { return usf_cores_common(set, set); }
/* First core at or after `from`; USF_NONE: there is none.  All of a set:
 * for (uint32_t c = 0; (c = usf_cores_next(set, c)) != USF_NONE; c++) */
static inline uint32_t usf_cores_next(const uint64_t *set, uint32_t from)
{
    uint64_t mask = ~0ull << (from % 64);
    for (uint32_t w = from / 64; w < USF_CORE_WORDS; w++, mask = ~0ull)
        if (set[w] & mask) return w * 64 + (uint32_t)__builtin_ctzll(set[w] & mask);
    return USF_NONE;
}

/* First core of a & b at or after `from`, going around; USF_NONE: no such core. */
static inline uint32_t usf_next_core(const uint64_t *a, const uint64_t *b, uint32_t from)
{
    uint32_t w = from / 64 % USF_CORE_WORDS;
    uint64_t mask = ~0ull << (from % 64);
    for (uint32_t i = 0; i <= USF_CORE_WORDS; i++, w = (w + 1) % USF_CORE_WORDS, mask = ~0ull) {
        uint64_t m = a[w] & b[w] & mask;
        if (m) return w * 64 + (uint32_t)__builtin_ctzll(m);
    }
    return USF_NONE;
}

/* The core of `set` that is nearest to `core`: itself, else one of its cache, of its node (sets
 * that the policy keeps for each core), any. USF_NONE: the set is empty. */
static inline uint32_t usf_nearest_core(const uint64_t *set, const uint64_t *same_llc, const uint64_t *same_node, uint32_t core)
{
    if (usf_cores_has(set, core)) return core;
    if (!usf_cores_any(set)) return USF_NONE;
    uint32_t found = usf_next_core(set, same_llc, core);
    if (found == USF_NONE) found = usf_next_core(set, same_node, core);
    return found != USF_NONE ? found : usf_next_core(set, set, core);
}

/* May tasks of this group run on this core?  (The group's cores, not a thread's hint.) */
static inline bool usf_allowed(struct usf_pol *p, uint32_t group, uint32_t core)
{ return core < USF_CORES_MAX && usf_cores_has(usf_group(p, group)->cores, core); }

/* Set give_way_at of a core (0: no time).  Threads look at it without the scheduler's lock. */
static inline void usf_give_way(struct usf_pol_core *core, uint64_t at)
{ __atomic_store_n(&core->give_way_at, at, __ATOMIC_RELAXED); }

/* Set keeps_until of a core (0: ask).  Threads look at it without the scheduler's lock, too, which
 * they would otherwise take in each round. */
static inline void usf_keep(struct usf_pol_core *core, uint64_t until)
{ __atomic_store_n(&core->keeps_until, until, __ATOMIC_RELAXED); }

/* Does the task's affinity, strict or preferred, include this core?  (core < nr_cores) */
static inline bool usf_is_affine(struct usf_pol *p, const struct usf_pol_task *t, uint32_t core)
{
    const struct usf_pol_core *c = usf_core(p, core);
    switch (t->affinity) {
    case USF_AFFINITY_CORE: return core == t->affinity_id;
    case USF_AFFINITY_LLC: return c->llc == t->affinity_id;
    case USF_AFFINITY_NODE: return c->node == t->affinity_id;
    case USF_AFFINITY_MASK: return usf_cores_has(t->mask, core);
    }
    return true;
}

/* Groups of one process may own some of its cores.  A task of such a group borrows a core that the
 * group does not own: it runs there until a task of the process's group that owns the core needs
 * it.  Tasks of a group that owns no cores borrow none. */
static inline bool usf_owns(struct usf_pol *p, uint32_t group, uint32_t core)
{
    const struct usf_pol_group *g = usf_group(p, group);
    return g->flags & USF_GROUP_OWNS && usf_cores_has(g->own, core);
}
static inline bool usf_borrows(struct usf_pol *p, uint32_t group, uint32_t core)
{ return usf_group(p, group)->flags & USF_GROUP_OWNS && !usf_owns(p, group, core); }
/* Does the group own the core, so that it may take the core back from a task of group `other`? */
static inline bool usf_may_reclaim(struct usf_pol *p, uint32_t group, uint32_t other, uint32_t core)
{ return usf_borrows(p, other, core) && usf_owns(p, group, core) && usf_group(p, group)->proc == usf_group(p, other)->proc; }

/* May this task run on this core?  Its group may, and its own affinity, if strict, allows it. */
static inline bool usf_may_run(struct usf_pol *p, uint32_t task, uint32_t core)
{
    const struct usf_pol_task *t = usf_task(p, task);
    return usf_allowed(p, t->group, core) && (!t->strict || usf_is_affine(p, t, core));
}

/* The kernel schedules; of usf only the spin-waits are in force, each round one sched_yield.  No
 * other operation is ever called. */
#define USF_POLICY_KERNEL 1u

/* No effect any more.  (Until API 4 the kernel was free to run another ready task than the one that
 * pick had named.) */
#define USF_POLICY_SWAP 2u

/* It may let a ready task wait without bound while others run (programs one after another, strict
 * priorities between groups): `usf policy check` then measures how long tasks wait, and asks for no
 * bound. */
#define USF_POLICY_CAN_STARVE 4u

/* Its tick has something to do only while tasks wait, and is not called at other times. */
#define USF_POLICY_TICK_WAITING 8u

/* For usf's own policies; ignored in those of users.  While only tasks of one group are ready,
 * those that yield on a core may take turns there for up to a millisecond without the policy being
 * asked, in the order in which pick named them.  started is called for the first of these turns,
 * and stopped for the last. */
#define USF_POLICY_LEASES 16u

/* The operations.  Every one but `name` may be null: the default is given.  enqueue, pick and
 * dequeue belong together: all three or none. */
struct usf_policy_ops {
    uint32_t api;              /* USF_POLICY_API */
    uint32_t size;             /* sizeof(struct usf_policy_ops) */
    const char *name;          /* [a-z0-9_-]{1,31} */
    const char *description;   /* one line, for `usf policy list` */
    uint64_t flags;            /* USF_POLICY_* below; unknown ones are refused */

    /* The instance starts using the policy; data areas are zero.  Nonzero: refused.  Default: 0.
     * If it takes over while programs run (usf policy set, the death of a thread inside an
     * operation) group_add and task_add follow for all there are, enqueue for those that are ready,
     * and started for those that run. */
    int (*init)(struct usf_pol *p);
    /* A group / task joins or leaves (a leaving task is in no queue).  A task that changes its
     * group leaves and joins.  Default: nothing. */
    void (*group_add)(struct usf_pol *p, uint32_t group);
    void (*group_remove)(struct usf_pol *p, uint32_t group);
    void (*task_add)(struct usf_pol *p, uint32_t task);
    void (*task_remove)(struct usf_pol *p, uint32_t task);

    /* A task became ready and some cores are idle: name an idle core (bit set in `idle`) for it, or
     * USF_NONE to have it queued.  Default: last core, then same cache, same node, any, if
     * allowed. */
    uint32_t (*select_core)(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS]);
    /* Queue a ready task.  Default: one FIFO for the whole instance; yielders in a second one. */
    void (*enqueue)(struct usf_pol *p, uint32_t task, enum usf_why why);
    /* Take the next task for this core out of the queues, or USF_NONE.  It must be allowed there.
     * If the core has a `current` one, that yields or is made to give way, and goes on if the
     * answer is USF_NONE; otherwise the core is then idle. */
    uint32_t (*pick)(struct usf_pol *p, uint32_t core);
    /* Take this task out of the queues (it is queued). */
    void (*dequeue)(struct usf_pol *p, uint32_t task);
    /* `task` runs on `core` and yields while others are queued: true = switch (it is enqueued with
     * USF_WHY_YIELD, then pick is called), false = let it go on (usf_keep: for how long the answer
     * holds).  Default: true. */
    bool (*yield)(struct usf_pol *p, uint32_t core, uint32_t task);
    /* A task was put on / taken off a core.  Default: nothing. */
    void (*started)(struct usf_pol *p, uint32_t core, uint32_t task);
    void (*stopped)(struct usf_pol *p, uint32_t core, uint32_t task);
    /* Called by the monitor about once a millisecond while tasks wait, and each ten or so while
     * some run and none waits.  Default: nothing. */
    void (*tick)(struct usf_pol *p);
    /* A group's weight, priority, flags or cores, or a queued task's priority, deadline or affinity
     * (it has been taken out with dequeue, and is enqueued anew after) have changed.  Default:
     * nothing. */
    void (*group_changed)(struct usf_pol *p, uint32_t group);
};
/* A later header of the same API version may append operations; `size` tells how many an object
 * has.  An older, shorter table loads (the rest are the defaults); a newer, longer one does if all
 * that this version does not know is null. */
#define USF_POLICY_SIZE_MIN offsetof(struct usf_policy_ops, group_changed)

/* What a policy's shared object exports:  const struct usf_policy_ops usf_policy = { ... }; */
#if defined(__GNUC__)
#define USF_POLICY_EXPORT __attribute__((visibility("default")))
#else
#define USF_POLICY_EXPORT
#endif

/* ---- FIFO of tasks, linked by id through the task records.  A zeroed fifo is empty. ---------- */
/* Invariant: len == number of tasks linked; head/tail are id+1 (0 = none); each linked task has
 * queued != 0; links are id+1 as well. */
struct usf_fifo { uint32_t head, tail, len; };

static inline void usf_fifo_push(struct usf_pol *p, struct usf_fifo *f, uint32_t id)
{
    struct usf_pol_task *t = usf_task(p, id);
    t->next = 0;
    t->prev = f->tail;
    t->queued = 1;
    if (f->tail) usf_task(p, f->tail - 1)->next = id + 1;
    else f->head = id + 1;
    f->tail = id + 1;
    f->len++;
}
static inline void usf_fifo_remove(struct usf_pol *p, struct usf_fifo *f, uint32_t id)
{
    struct usf_pol_task *t = usf_task(p, id);
    if (t->prev) usf_task(p, t->prev - 1)->next = t->next;
    else f->head = t->next;
    if (t->next) usf_task(p, t->next - 1)->prev = t->prev;
    else f->tail = t->prev;
    t->next = t->prev = t->queued = 0;
    f->len--;
}
static inline uint32_t usf_fifo_pop(struct usf_pol *p, struct usf_fifo *f)
{
    if (!f->head) return USF_NONE;
    uint32_t id = f->head - 1;
    usf_fifo_remove(p, f, id);
    return id;
}
/* First task in the fifo that may run on `core`, removed; or USF_NONE. */
static inline uint32_t usf_fifo_pop_allowed(struct usf_pol *p, struct usf_fifo *f, uint32_t core)
{
    for (uint32_t i = f->head; i; i = usf_task(p, i - 1)->next)
        if (usf_may_run(p, i - 1, core)) {
            usf_fifo_remove(p, f, i - 1);
            return i - 1;
        }
    return USF_NONE;
}

#ifdef __cplusplus
}
#endif
#endif
