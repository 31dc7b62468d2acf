/* sim/linux/linux.h - models of the Linux scheduler.  SPDX-License-Identifier: Apache-2.0
 *
 * A pure data structure: per-CPU run queues with EEVDF or CFS for normal tasks and SCHED_RR /
 * SCHED_FIFO above them, wake-up placement, idle and periodic balancing.  It has no clock, no
 * threads and no output: the caller (the simulator's engine through sim/kernel.h, or a test) says
 * what happens and when, and asks who runs next.
 *
 * Use
 *     lx_wake, lx_block, lx_yield, lx_exit, lx_tick ... may ask for a reschedule of some CPUs: each
 *     such CPU has its bit in `resched`, and `on_resched` is called once when the bit is set.  The
 *     caller then calls lx_schedule(cpu) when that CPU gets round to it (at once where it is idle:
 *     an IPI; at the next scheduling point otherwise).  lx_schedule answers with the task that runs
 *     on from then on, or LX_NONE.
 *
 * States of a task
 *     SLEEPING --lx_wake--> RUNNABLE --lx_schedule--> RUNNING --lx_block--> SLEEPING or DELAYED
 *     RUNNING --lx_schedule (another one won)--> RUNNABLE;  RUNNING --lx_exit--> DEAD
 *     DELAYED: an EEVDF task that blocked with negative lag stays queued until it is eligible
 *     again.
 *
 * Invariants (lx_valid checks them)
 *     a task is in at most one queue, that of its `cpu`; queue.nr counts queued and running tasks
 *     (DELAYED included), queue.nr_delayed the DELAYED ones; the running one is not in the tree;
 *     sum_w = sum of weights of the fair tasks queued or running, sum_wv = sum of weight *
 *     vruntime.
 *
 * The models are made from published descriptions (papers, manual pages, Linux's documentation of
 * its schedulers and their settings) and from measured behaviour; they contain no kernel code.
 *
 * What is simplified: a task's load is its weight (no decaying averages), no groups, no bandwidth
 * limits, no frequency and no asymmetric capacity, a waker draws the tasks that it wakes however
 * many they are, no NUMA balancing (memory is the machine model's affair); running tasks are never
 * pushed away by balancing; timers fire when the caller says so (timer slack is its affair). */
#ifndef USF_SIM_LINUX_H
#define USF_SIM_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LX_NONE UINT32_MAX
#define LX_WEIGHT 1024u   /* of nice 0 */

__extension__ typedef __int128 lx_wide;

enum lx_fair { LX_EEVDF, LX_CFS };
enum lx_class { LX_NORMAL, LX_RR, LX_FIFO };
enum lx_state { LX_SLEEPING, LX_RUNNABLE, LX_RUNNING, LX_DELAYED, LX_DEAD };

/* Times in ns.  lx_defaults fills in what Linux has by default on so many CPUs. */
struct lx_config {
    enum lx_fair fair;
    uint64_t tick;            /* timer tick: 4 ms at 250 Hz, 1 ms at 1000 Hz */
    uint64_t base_slice;      /* EEVDF: 0.7 ms times the scale 1 + log2(min(8, CPUs)) */
    bool run_to_parity;       /* EEVDF: no wake-up preemption within the running task's slice */
    bool delay_dequeue;       /* EEVDF: who blocks with negative lag stays queued until it has paid */
    bool yield_forfeits;      /* EEVDF from 6.18: an eligible yielder also gives up the rest of its request */
    uint64_t latency;         /* CFS: period in which each runs once; 6 ms times the scale */
    uint64_t min_granularity; /* CFS: 0.75 ms times the scale */
    uint64_t wakeup_granularity; /* CFS: 1 ms times the scale */
    uint64_t rr_slice;        /* 100 ms */
    uint64_t migration_cost;  /* 0.5 ms: who ran within it is cache hot */
    uint64_t least_idle;      /* a CPU whose mean idle time is shorter does not look around when it falls idle: 10 us */
    uint32_t near_pct, far_pct; /* 117, 125: what a busier group must exceed, below one cache and across caches */
    uint32_t follow_pct;      /* 108: what the load of a task's last CPU must exceed for it to follow its waker */
    bool balance;             /* idle and periodic balancing */
};

/* Where a CPU is: dense indices, as in struct usf_pol_core. */
struct lx_topo { uint32_t phys, llc, node, package; };

struct lx_task {
    uint32_t id, prog;        /* prog: the program it belongs to (for partitions and lending) */
    enum lx_state state;
    enum lx_class cls;
    uint32_t weight;          /* LX_WEIGHT = nice 0 */
    uint32_t rt_prio;         /* 1 .. 99 */
    uint32_t cpu;             /* its queue; SLEEPING: where it was last */
    const uint64_t *allowed;  /* bit c: CPU c; null: all.  The caller's, may change between calls */
    uint32_t bound;           /* the one CPU it may use, or LX_NONE: as `allowed` says */
    /* Fair tasks */
    int64_t vruntime, deadline; /* virtual ns */
    int64_t lag;              /* virtual ns it was owed when it was dequeued */
    uint64_t slice;           /* EEVDF request, ns */
    int64_t rest;             /* EEVDF: virtual ns of its request that were left when it was dequeued */
    int64_t shield;           /* EEVDF: virtual time up to which it may run undisturbed */
    bool fresh;               /* never placed yet */
    bool left_queue;          /* between lx_leave and lx_arrive */
    uint64_t user;            /* the caller's */
    /* Execution */
    uint64_t counted;         /* up to when its time is in `ran` */
    uint64_t ran, ran_before; /* in all; until it was picked */
    uint64_t last_ran;        /* when it left a CPU */
    uint64_t rr_used; bool to_tail; /* real time: of its slice; goes behind its equals at the next switch */
    /* Links: tree (fair), list (real time); ids + 1, 0 = none */
    uint32_t left, right, up; uint32_t heap; int64_t min_v;
    uint64_t seq;             /* order among equals: first come, first served */
    uint32_t next, prev;
};

struct lx_rt_list { uint32_t head, tail; };

struct lx_queue {
    uint32_t cpu, curr;       /* running task or LX_NONE */
    uint32_t nr, nr_delayed, nr_rt; /* queued and running; of them DELAYED; of them real time */
    uint32_t root;            /* fair tasks waiting: EEVDF by deadline, CFS by virtual runtime; id + 1 */
    uint32_t biased; int64_t bias; /* CFS: the task (id + 1) that counts as having had so much more (less) than it had */
    int64_t min_v;            /* CFS: monotonic */
    lx_wide sum_wv; uint64_t sum_w;
    uint64_t rt_map[2];
    struct lx_rt_list *rt;    /* 100 lists, born with the first real-time task */
    uint64_t idle_since, mean_idle;
    uint64_t next_balance[4]; /* per level: phys, llc, node, system */
    uint32_t failed[4];       /* per level: how often, of late, it was to take tasks and could have none */
};

struct lx_stats { uint64_t switches, wakes, migrations, preemptions, yields, pulls, balances; };

struct lx {
    struct lx_config cfg;
    uint32_t nr_cpus, nr_tasks, cap_tasks, words; /* words: uint64_t of a CPU set */
    struct lx_topo *topo;
    struct lx_queue *rq;
    struct lx_task **task;
    uint64_t *idle;           /* bit c: CPU c has nothing to run */
    uint64_t *resched;        /* bit c: CPU c is to call lx_schedule */
    uint32_t nr_idle, nr_overloaded, rt_waiting; /* CPUs; CPUs with two or more to run; real-time tasks that wait */
    uint32_t *span[4];        /* span[level][c]: dense index of c's domain at the level (level 3: all 0) */
    uint32_t *members[4], *first[4]; /* CPUs by domain: members[level][first[level][d] .. first[level][d + 1]) */
    uint32_t nr_span[4];
    uint32_t *dom_idle[4], *dom_nr[4]; uint64_t *dom_w[4]; /* by domain: idle CPUs, tasks to run, their weight */
    uint64_t next_for_idle;   /* when busy CPUs next balance on behalf of idle ones */
    uint32_t nr_rt;           /* real-time tasks alive */
    struct lx_stats stats;
    void (*on_resched)(void *arg, uint32_t cpu); void *arg; /* may be null */
    /* May be null.  Moves a queued task in the caller's books too, by lx_leave and lx_arrive.  Not
     * called within lx_schedule: there the task that it answers with may come from another CPU's
     * queue. */
    void (*mover)(void *arg, uint32_t task, uint32_t cpu);
    void (*visit)(void *arg, uint32_t cpu); /* may be null: the queue of another CPU, or its time, will be looked at */
    bool scheduling;
    uint64_t now;
    uint64_t *scratch;        /* one CPU set */
    uint64_t seq;
};

/* What Linux takes by default on so many CPUs. */
void lx_defaults(struct lx_config *cfg, enum lx_fair fair, uint32_t nr_cpus, uint32_t hz);
uint32_t lx_weight_of_nice(int nice);

/* False: no memory.  Topologies are copied. */
bool lx_init(struct lx *lx, const struct lx_config *cfg, const struct lx_topo *topo, uint32_t nr_cpus);
void lx_fini(struct lx *lx);

/* A new task, SLEEPING on `cpu` (the creator's; LX_NONE: 0).  lx_wake_new places it.  LX_NONE: no
 * memory. */
uint32_t lx_task_new(struct lx *lx, uint32_t prog, enum lx_class cls, uint32_t weight, uint32_t rt_prio, uint32_t cpu);

/* A new task's first wake-up, and any later one.  `waker`: the CPU that wakes, LX_NONE for a timer
 * or device (then taken for the task's last CPU).  Answers with the CPU it was put on. */
uint32_t lx_wake_new(struct lx *lx, uint32_t task, uint32_t waker, uint64_t now);
uint32_t lx_wake(struct lx *lx, uint32_t task, uint32_t waker, uint64_t now);
/* The same in the steps that sim/kernel.h has: where to; it is queued there (where it has to be
 * asked of, too, if it blocked and is still queued); is it to run at once?  lx_arrive(LX_FOR_MOVE)
 * follows lx_leave. */
enum lx_why { LX_FOR_NEW, LX_FOR_WAKE, LX_FOR_MOVE };
uint32_t lx_select(struct lx *lx, uint32_t task, uint32_t waker, enum lx_why why, uint64_t now);
void lx_arrive(struct lx *lx, uint32_t task, uint32_t cpu, enum lx_why why, uint64_t now);
void lx_leave(struct lx *lx, uint32_t task, uint64_t now);
bool lx_preempts(struct lx *lx, uint32_t task, uint64_t now);
/* The task that runs there goes back into the queue; lx_schedule then chooses among all. */
void lx_put(struct lx *lx, uint32_t cpu, uint64_t now);
/* The two halves of lx_tick: the running task's turn; balancing on behalf of a CPU that has
 * something to do. */
void lx_tick_running(struct lx *lx, uint32_t cpu, uint64_t now);
void lx_balance(struct lx *lx, uint32_t cpu, uint64_t now);
/* The task that runs on the CPU blocks, ends, yields. Follow with lx_schedule. */
void lx_block(struct lx *lx, uint32_t cpu, uint64_t now);
void lx_exit(struct lx *lx, uint32_t cpu, uint64_t now);
void lx_yield(struct lx *lx, uint32_t cpu, uint64_t now);
/* A task that does not run goes for good. */
void lx_kill(struct lx *lx, uint32_t task, uint64_t now);

/* Who runs on the CPU from now on; pulls from others if there is nobody. */
uint32_t lx_schedule(struct lx *lx, uint32_t cpu, uint64_t now);
/* The timer tick of a busy CPU, every cfg.tick.  Not needed while lx_tick_needed says no. */
void lx_tick(struct lx *lx, uint32_t cpu, uint64_t now);
bool lx_tick_needed(const struct lx *lx, uint32_t cpu);

bool lx_valid(const struct lx *lx);

/* ---- Between the files of this folder -------------------------------------------------------- */
static inline bool lx_bit(const uint64_t *set, uint32_t c) { return set[c / 64] >> (c % 64) & 1; }
static inline void lx_bit_set(uint64_t *set, uint32_t c) { set[c / 64] |= UINT64_C(1) << (c % 64); }
static inline void lx_bit_clear(uint64_t *set, uint32_t c) { set[c / 64] &= ~(UINT64_C(1) << (c % 64)); }
static inline bool lx_may(const struct lx_task *t, uint32_t c)
{ return t->bound != LX_NONE ? c == t->bound : !t->allowed || lx_bit(t->allowed, c); }
static inline uint32_t lx_runnable(const struct lx_queue *q) { return q->nr - q->nr_delayed; }
static inline int64_t lx_virtual(uint64_t ns, uint32_t weight) { return (int64_t)(ns * LX_WEIGHT / weight); }

void lx_resched(struct lx *lx, uint32_t cpu);
void lx_count(struct lx *lx, struct lx_queue *q, int nr, int64_t weight); /* after q->nr or nr_delayed changed by nr */
/* Put in / take out of the queue of t->cpu, whatever its class.  Taking out a running task leaves
 * `curr`. */
void lx_enqueue(struct lx *lx, struct lx_task *t, enum lx_why why);
void lx_dequeue(struct lx *lx, struct lx_task *t);
void lx_move(struct lx *lx, struct lx_task *t, uint32_t to); /* a RUNNABLE task that does not run */
void lx_compete(struct lx *lx, struct lx_task *t);            /* t was just queued: is it to run at once? */
uint64_t lx_charge(const struct lx *lx, struct lx_task *t);   /* the ns that t has run since it was last charged */

/* fair.c */
void lx_fair_account(struct lx *lx, struct lx_queue *q);      /* brings the running fair task up to lx->now */
void lx_fair_enqueue(struct lx *lx, struct lx_queue *q, struct lx_task *t, enum lx_why why);
void lx_fair_dequeue(struct lx *lx, struct lx_queue *q, struct lx_task *t);
struct lx_task *lx_fair_pick(struct lx *lx, struct lx_queue *q); /* q->curr competes if it is fair and RUNNING */
void lx_fair_set(struct lx *lx, struct lx_queue *q, struct lx_task *t);  /* t leaves the tree and runs */
void lx_fair_put(struct lx *lx, struct lx_queue *q, struct lx_task *t);  /* t ran, stays runnable */
void lx_fair_wakeup(struct lx *lx, struct lx_queue *q, struct lx_task *t);
void lx_fair_tick(struct lx *lx, struct lx_queue *q);
void lx_fair_yield(struct lx *lx, struct lx_queue *q, struct lx_task *t);
bool lx_fair_delay(struct lx *lx, struct lx_queue *q, struct lx_task *t); /* blocks: stays queued as DELAYED? */
void lx_fair_undelay(struct lx *lx, struct lx_queue *q, struct lx_task *t); /* woken while DELAYED */
bool lx_eligible(const struct lx_queue *q, int64_t vruntime);
int64_t lx_average(const struct lx_queue *q);
void lx_cfs_advance(const struct lx *lx, struct lx_queue *q);

/* unproductive.c: `id`: the tasks that run or are queued on the CPU and only yield.  For how many
 * ns from now on is surely no other chosen? */
enum { LX_UNPRODUCTIVE = 16 }; /* of them at most */
uint64_t lx_unproductive_ns(const struct lx *lx, uint32_t cpu, const uint32_t *id, uint32_t nr, uint64_t yield_ns);
uint64_t lx_unproductive_most(const struct lx *lx, uint32_t cpu, const uint32_t *id, uint32_t nr, int64_t dv, int64_t dd, uint64_t n);
void lx_unproductive_skip(struct lx *lx, uint32_t cpu, const uint32_t *id, uint32_t nr, int64_t dv, int64_t dd, const uint64_t *ran, uint64_t n, uint64_t ns);

/* tree.c: a treap; EEVDF keeps it by deadline with the least vruntime below each node. */
void lx_tree_add(struct lx *lx, struct lx_queue *q, struct lx_task *t);
void lx_tree_del(struct lx *lx, struct lx_queue *q, struct lx_task *t);
struct lx_task *lx_tree_first(const struct lx *lx, const struct lx_queue *q);
struct lx_task *lx_tree_next(const struct lx *lx, const struct lx_task *t);
struct lx_task *lx_tree_pick(const struct lx *lx, const struct lx_queue *q); /* eligible, earliest deadline */
static inline struct lx_task *lx_at(const struct lx *lx, uint32_t link) { return link ? lx->task[link - 1] : NULL; }

/* rt.c */
void lx_rt_enqueue(struct lx *lx, struct lx_queue *q, struct lx_task *t, bool head);
void lx_rt_dequeue(struct lx *lx, struct lx_queue *q, struct lx_task *t);
struct lx_task *lx_rt_first(struct lx *lx, const struct lx_queue *q);
void lx_rt_tick(struct lx *lx, struct lx_queue *q, struct lx_task *t);
uint32_t lx_rt_place(struct lx *lx, struct lx_task *t, uint32_t prev);
void lx_rt_pull(struct lx *lx, struct lx_queue *q);
/* place.c */
uint32_t lx_place_new(struct lx *lx, struct lx_task *t, uint32_t waker);
uint32_t lx_place_wake(struct lx *lx, struct lx_task *t, uint32_t waker);
uint32_t lx_any_allowed(struct lx *lx, const struct lx_task *t, uint32_t near);
/* balance.c */
bool lx_pull_one(struct lx *lx, uint32_t cpu);
void lx_periodic(struct lx *lx, uint32_t cpu);
#endif
