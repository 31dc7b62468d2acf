/* src/sched/core.h - inside the scheduler room: dispatch under the lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SCHED_CORE_H
#define USF_SCHED_CORE_H

#include "base/base.h"
#include "os/os.h"
#include "sched/sched.h"

#define ST(x) ((x) < 32u ? 1u << (x) : 0u)   /* 0 for a damaged state */
#define WITHOUT_CORE (ST(USF_TASK_IN_KERNEL) | ST(USF_TASK_BY_KERNEL))     /* such a task queues for a core when it needs one */

/* Tasks that were put on a core under the lock, and whose threads are woken after its release. */
#define WAKES_MAX (2 * SCHED_WAKE_BATCH)
struct wakes {
    uint32_t n;
    bool started;               /* some task was put on a core: the monitor sees to it that it gets there */
    uint32_t task[WAKES_MAX];
};
/* An empty one.  Its array is not cleared: that would take longer than all other work on it. */
#define NO_WAKES(k) struct wakes k; k.n = 0; k.started = false

/* Take the lock, note the time, follow a change of policy.  False: this process leaves, and the
 * caller gives up (it does not own the lock, me->task is USF_NONE). */
bool core_enter(struct sched *s, struct sched_self *me);
/* The same for a yield, which concerns the own core alone: the others may keep their leases
 * (lease.c). */
bool core_enter_to_yield(struct sched *s, struct sched_self *me);
/* Release the lock, then wake the threads of the tasks in `k`, and the monitor if tasks wait. */
void core_leave(struct sched *s, struct sched_self *me, struct wakes *k);

/* The states that may follow each state, as ST() bits: the edges of docs/design.md, section 3. */
extern const uint16_t core_edges[USF_TASK_STATES];
/* Without the lock, by the one thread that may change the state now: a lease's, or the owner of a
 * record that no other thread looks at. */
static inline void core_pass_state(struct usf_task *t, unsigned from, unsigned to)
{
    usf_assert(atomic_load_explicit(&t->state, memory_order_relaxed) == from && (core_edges[from] & ST(to)));
    atomic_store_explicit(&t->state, to, memory_order_release);
}

/* ---- holds the scheduler lock, where nothing else is said --------------------------------------- */

void core_set_state(struct sched *s, uint32_t task, unsigned from_mask, unsigned to);
/* Put a READY-to-be task on an idle core, or queue it. */
void core_place(struct sched *s, uint32_t task, enum usf_why why, struct wakes *k);
/* Queue it, whatever is idle. */
void core_enqueue(struct sched *s, uint32_t task, enum usf_why why);
void core_dequeue(struct sched *s, uint32_t task);
/* The task's group, which an attached one has. */
static inline struct usf_group *core_group(struct sched *s, uint32_t task) { return &s->groups[s->tasks[task].pol.group]; }
/* A task of this process that takes part. */
static inline bool core_is_own(struct sched *s, uint32_t task)
{
    return task < atomic_load(&s->h->task_hwm) && usf_task_is_known(atomic_load(&s->tasks[task].state))
           && atomic_load(&s->tasks[task].proc) == s->proc;
}
/* The next task for this core, taken out of the queues, or USF_NONE.  Tasks whose spin is
 * unproductive are passed over; if there are no others, CORE_ANY and CORE_POLICY take one of them.
 * CORE_POLICY goes by the policy's order alone, the others by probe_pick where that is enough (32
 * tasks are probed at most). CORE_NEAR leaves yielders of other cores there for a millisecond,
 * unless probe_pick names one: to fetch one takes longer than most waits. */
enum core_need { CORE_POLICY, CORE_ANY, CORE_USEFUL, CORE_NEAR };
uint32_t core_pick(struct sched *s, uint32_t core, enum core_need need);
/* probe.c.  Is the task's spin unproductive: would it not end now?  (False: it would, or only
 * another process can tell.) */
bool core_is_unproductive(struct sched *s, uint32_t task);
/* The task has given its core up, is READY, and is queued next, or was just now.  If it busy-waits in a loop
 * that can be probed, it is in the list of spinners until it has a core again (or the list is full,
 * or of another rank). */
void probe_gives_way(struct sched *s, uint32_t task);
/* Do all ready tasks busy-wait, in this process and with the same rank?  Then: the first whose wait
 * is over and that may run on the core, taken out of the queues, or USF_NONE. */
bool probe_is_enough(struct sched *s);
uint32_t probe_pick(struct sched *s, uint32_t core);
/* The process joins: what is in the list was another's, a parent's for example. */
void probe_forget(struct sched *s);
/* `task` (which the core's word names) gives the core up to `next`; USF_NONE: the core becomes
 * idle, and the result is false. */
bool core_give(struct sched *s, uint32_t core, uint32_t task, uint32_t next, struct wakes *k);
/* The task is taken off: its core, if it has one, becomes free, whatever its thread does at this
 * moment. */
void core_drop(struct sched *s, uint32_t core, uint32_t task);
/* The policy knows it no more: it is GONE. */
void core_end_task(struct sched *s, uint32_t task);
/* Take the core from its task: that is in a system call (the core is RELEASED, or the provisional
 * release is TAKEN), asleep unseen, unresponsive, or may not run there; or its own thread takes it,
 * to become kernel-scheduled. */
bool core_take(struct sched *s, uint32_t core, uint64_t word, struct wakes *k);
/* Take cores that have been released provisionally for `lend`, while tasks wait.  False: some have
 * not been for so long yet. */
bool core_take_provisional(struct sched *s, struct wakes *k);
/* The same for wakers, unless it has just been done: on a large machine there are several wakes per
 * microsecond. */
void core_look_for_provisional(struct sched *s, struct wakes *k);
/* If the core is free and tasks wait: dispatch. */
void core_fill(struct sched *s, uint32_t core, struct wakes *k);
void core_fill_all(struct sched *s, struct wakes *k);
/* policy.c.  Call the policy's init.  False: it refuses. */
bool core_begin_policy(struct sched *s);
/* Take the operations of the policy in force.  If this process does not have them, coop is in force
 * from now on, for all.  False: we are a monitor that stands aside (s->unfit). */
bool core_follow_policy(struct sched *s);
/* True for a monitor whose container has neither the object in force nor members: it must not
 * replace the policy of the others. */
bool core_stands_aside(struct sched *s);
/* Complete a change of policy whose author has died, and follow it.  The caller tells the policy of
 * all groups and tasks. */
void core_mend_policy(struct sched *s);
/* Tell the policy of all groups and tasks, as if they came just now.  False: it refuses. */
bool core_tell_policy(struct sched *s);
/* Set another policy, as a tool has asked for.  False: not that one, with a reason. */
bool core_set_policy(struct sched *s, const char *name, char *why, unsigned cap);
/* The accounts when a task that runs on the core stops, or starts.  Its group may change in
 * between. */
void core_pause(struct sched *s, uint32_t core, uint32_t task);
void core_resume(struct sched *s, uint32_t core, uint32_t task);
/* As core_fill_all, however many cores are free. */
void core_fill_each(struct sched *s, struct wakes *k);
/* change.c.  A group's weight, priority or flags, then all its ready tasks are queued anew. */
void core_change_group(struct sched *s, uint32_t group, uint32_t weight, int32_t priority, uint32_t flags);

/* group.c.  The first group of the process at or after `from`; USF_NONE: there is no further
 * one. */
uint32_t core_next_group(struct sched *s, uint32_t proc, uint32_t from);
/* Without the lock, which it takes: the index of a free group record, or -errno, and then it has
 * not got the lock: -EAGAIN, -ENOSPC, -ENOMEM, -ESTALE.  further: not the first group of a process,
 * for each of which there is a record. */
int  core_enter_for_group(struct sched *s, struct sched_self *me, bool further);
struct group_traits {
    const char *name;
    uint32_t weight, flags;
    int32_t priority;
    const uint64_t *wants;      /* null: all bits set */
    uint32_t kind;              /* enum usf_group_kind */
};
/* The free record is a group of the process from now on; usf_proc.nr_groups counts it. */
void core_make_group(struct sched *s, uint32_t group, uint32_t proc, const struct group_traits *g);
/* All of a process that leaves; gone: what their tasks have counted. */
void core_end_groups(struct sched *s, uint32_t proc, struct usf_counters *gone);
/* What its cores are, and its own ones (none: it has none): from those of its process, and those
 * that other groups keep to themselves. */
void core_cores_of(struct sched *s, uint32_t group, uint64_t cores[USF_CORE_WORDS], uint64_t own[USF_CORE_WORDS]);
void core_set_cores(struct sched *s, uint32_t group);
/* confine.c.  Without the lock: the instance's cores that are among the CPUs.  False: none is. */
bool core_of_cpus(struct sched *s, const struct os_cpuset *cpus, uint64_t cores[USF_CORE_WORDS]);
/* The process gets these cores, which its groups divide anew. */
void core_confine(struct sched *s, uint32_t proc, const uint64_t cores[USF_CORE_WORDS]);
/* Monitor: the one that died was about to make a group, or to take a process off. */
void core_mend_groups(struct sched *s);
/* A strict affinity counts as a preference from now on if the process has no core at that place, or
 * its group none of its own. */
void core_settle_strict(struct sched *s, uint32_t task);
/* Replace a misbehaving policy by coop. */
void core_replace_policy(struct sched *s, const char *why);
void core_drop_policy(struct sched *s, const char *why);
/* sound.c.  Of a core that is not IDLE: the task that its word names is RUNNING, and names it. */
bool core_is_rightly_held(struct sched *s, uint32_t core, uint64_t word);
/* For asserts: S1 as far as the core's own record has it.  Not while the instance is mended. */
bool core_is_valid(struct sched *s, uint32_t core);
/* For asserts: an ACTIVE group's record by itself. */
bool group_is_valid(struct sched *s, uint32_t group);
/* For the expensive asserts, before `name` releases the lock: all that is changed under it alone
 * agrees. */
bool core_is_sound(struct sched *s, uint32_t name);

/* ---- with the lock or without, where nothing else is said ---------------------------------------- */

/* Counters of a task change under the lock, or by its own thread without it, and are read at any
 * time. A count may be lost when the record is freed at the same time (an exec, the removal of a
 * dead process). */
static inline uint64_t core_counted(const uint64_t *n) { return __atomic_load_n(n, __ATOMIC_RELAXED); }
static inline void core_count(uint64_t *n, uint64_t more) { __atomic_store_n(n, core_counted(n) + more, __ATOMIC_RELAXED); }

static inline void core_add_counters(struct usf_counters *to, const struct usf_counters *n)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)n;
    for (unsigned i = 0; i < sizeof *n / 8; i++) a[i] += core_counted(&b[i]);
}

/* How long a thread looks before it blocks, or polls its idle core, ns.  That pays while waits on
 * the core have lately been short. */
static inline uint64_t core_look_ns(const struct sched *s, struct usf_core *c)
{
    uint64_t max = s->h->poll_max_ns, avg = atomic_load_explicit(&c->poll_avg, memory_order_relaxed);
    return avg <= max ? max : max / LOOK_LESS;
}

/* Is a core idle that the task's group may use, of `within` if that is not null?  On a large machine
 * others may be, of other partitions.  Holds the lock. */
static inline bool core_has_idle(const struct sched *s, uint32_t task, const uint64_t *within)
{
    const uint64_t *cores = s->groups[s->tasks[task].pol.group].pol.cores;
    uint64_t any = 0;
    for (unsigned w = 0; w < USF_CORE_WORDS; w++) any |= atomic_load(&s->h->idle[w]) & cores[w] & (within ? within[w] : ~0ull);
    return any != 0;
}

/* lease.c.  Holds the lock: the calling thread has yielded on the core.  `running` has it now:
 * another task, or the thread's own, since no other had use for it.  Lease to the core the tasks
 * that could run there next, if that may be done now. */
void lease_make(struct sched *s, struct sched_self *me, uint32_t core, uint32_t running);
/* Holds the lock.  End all leases; yields: or that of the own core alone.  Returns one in which a
 * thread gives way just now, and which has not ended. */
struct usf_lease *lease_end(struct sched *s, struct sched_self *me, bool yields);
/* Holds the lock.  The policy gets back the tasks of those that have ended. */
void lease_give_back(struct sched *s);
/* Holds the lock.  The policy is about to be given all READY tasks. */
void lease_drop(struct sched *s);
/* Monitor: holds the lock.  Waits until no thread gives way with a lease, and ends those whose
 * threads have died in that.  True: there were such, and the caller mends what the lock protects.
 * Then, or with `all`, no lease is left, and the policy does not have the tasks. */
bool lease_mend(struct sched *s, bool all, bool (*is_dead)(void *arg, uint32_t name), void *arg);
/* Without the lock.  The calling thread yields: another has had its turn.  Its core has no lease
 * for that; or the next tasks of the lease busy-wait, and would wait on. */
enum lease_turn { LEASE_NONE, LEASE_GAVE, LEASE_NOBODY };
enum lease_turn lease_yield(struct sched *s, struct sched_self *me);

/* contend.c.  The task's thread has slept and runs now.  If it was given a core and ran late there,
 * or lost the core before it ran, the core is contended from now on.  Without the lock. */
void contend_judge(struct sched *s, const struct usf_task *t);
/* Take contended cores out of `idle`, unless no core of `may` is in use.  False: none is left. */
bool contend_avoid(struct sched *s, const uint64_t may[USF_CORE_WORDS], uint64_t idle[USF_CORE_WORDS]);

/* Wake the task's thread.  at_end: by the caller's end, if that can be done. */
void core_wake(struct sched *s, uint32_t task, bool at_end);
/* Have the thread look at its task's state, unless another is executing that just now. */
void core_rouse(struct usf_thread *t);
void core_idle_set(struct sched *s, uint32_t core);
void core_idle_clear(struct sched *s, uint32_t core);
/* Without the lock, as the next three.  Wait until the own task is neither READY nor BLOCKED, or
 * the process leaves.  0, -ETIMEDOUT, -EINTR. */
int  core_park(struct sched *s, struct sched_self *me, uint64_t deadline);
/* The same, after the core was given to another task.  -ETIMEDOUT also if the own task is READY:
 * the caller waits for a core then. */
int  core_park_blocked(struct sched *s, struct sched_self *me, uint64_t deadline);
/* Park until the own task is put on a core, whatever happens, and arrive there. */
void core_wait_turn(struct sched *s, struct sched_self *me);
/* The thread has its core: bind it, count, go on. */
void core_arrive(struct sched *s, struct sched_self *me);

/* bind.c.  Holds the scheduler lock, before its release: choose the mode of binding. */
void bind_choose(struct sched *s);
/* Holds the lock.  The task runs on a core outside of its own mask, and a core of its mask is
 * idle. */
bool bind_is_better_idle(struct sched *s, uint32_t task, uint32_t core);
/* True if no task was READY for UNBIND_NS: the caller unbinds the threads. */
bool bind_is_over(struct sched *s, uint64_t now);
/* Check the binding of the task's thread, which owns the core.  Correct it: _place of the calling
 * thread, _other of another, of another process only with permission.  _release: restore the calling
 * thread's own mask, whatever the mode. */
bool bind_is_placed(struct sched *s, uint32_t task, uint32_t core);
/* Two tasks are alike if they may run on the same CPUs while UNBOUND.  If they are not, a kernel
 * thread that has the mask of one, and goes on with the other, has the wrong mask.  A kernel thread
 * that is bound to a core's CPU is right for every task that has the core. */
bool bind_is_alike(const struct usf_task *a, const struct usf_task *b);
void bind_forget(struct sched *s, uint32_t task);   /* what it may run on has changed */
void bind_place(struct sched *s, uint32_t task, uint32_t core);
void bind_other(struct sched *s, uint32_t task, uint32_t core);
void bind_release(struct sched *s, uint32_t task);

/* The calling thread is about to poll on this core: while the instance is UNBOUND it leaves a CPU
 * where another thread of the instance is. */
void bind_spread(struct sched *s, struct sched_self *me, uint32_t core);

/* Monitor: holds the lock.  The core of a thread was taken that may be running, and has not noticed
 * it. */
void watch_took_unseen(struct sched *s, uint32_t task);

#endif
