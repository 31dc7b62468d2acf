/* src/sched/core.h - inside the scheduler room: dispatch under the lock.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SCHED_CORE_H
#define USF_SCHED_CORE_H

#include "base/base.h"
#include "os/os.h"
#include "sched/sched.h"

/* Tasks that were put on a core under the lock and are to be woken after it. */
#define KICKS_MAX (2 * SCHED_WAKE_BATCH)
struct kicks {
    uint32_t n;
    bool started;               /* some task was: the monitor is to see that it gets there */
    uint32_t task[KICKS_MAX];
};

/* Take the lock, note the time, follow a change of policy.  false: this process leaves, and the call
 * is to be abandoned (the lock is not held, me->task is USF_NONE). */
bool core_enter(struct sched *s, struct sched_self *me);
/* Release the lock, then wake whom `k` names, and the monitor if tasks wait. */
void core_leave(struct sched *s, struct sched_self *me, struct kicks *k);

/* All below: holds the scheduler lock. */
void core_set_state(struct sched *s, uint32_t task, unsigned from_mask, unsigned to);
/* Put a READY-to-be task on an idle core, or queue it. */
void core_place(struct sched *s, uint32_t task, enum usf_why why, struct kicks *k);
/* Queue it, whatever is idle. */
void core_enqueue(struct sched *s, uint32_t task, enum usf_why why);
void core_dequeue(struct sched *s, uint32_t task);
/* The task's group, which an attached one has. */
static inline struct usf_group *core_group(struct sched *s, uint32_t task) { return &s->groups[s->tasks[task].pol.group]; }
/* The next task for this core, taken out of the queues, or USF_NONE.  Those that busy-wait in vain are passed over;
 * if there are only such, CORE_ANY takes one of them.  CORE_NEAR leaves yielders of other cores alone for a millisecond: to fetch
 * one takes longer than most waits. */
enum core_need { CORE_ANY, CORE_USEFUL, CORE_NEAR };
uint32_t core_pick(struct sched *s, uint32_t core, enum core_need need);
/* `task` (which the core's word names) gives the core up: to `next`, or to nobody.  False: idle now. */
bool core_give(struct sched *s, uint32_t core, uint32_t task, uint32_t next, struct kicks *k);
/* The task is taken off: its core is free, if it has one, whatever its thread does with it at this moment. */
void core_drop(struct sched *s, uint32_t core, uint32_t task);
/* The policy knows it no more: it is GONE. */
void core_end_task(struct sched *s, uint32_t task);
/* Take the core from a task that is in a system call (AWAY, or its loan is TAKEN) or asleep unseen. */
bool core_take(struct sched *s, uint32_t core, uint64_t word, struct kicks *k);
/* Take cores that have been lent for too long, while tasks wait.  False: some are lent, but not yet for
 * long enough. */
bool core_take_lent(struct sched *s, struct kicks *k);
/* The same for those who make tasks ready, many times a microsecond on a large machine: unless somebody has just done it. */
void core_look_for_lent(struct sched *s, struct kicks *k);
/* If the core is free and tasks wait: dispatch. */
void core_fill(struct sched *s, uint32_t core, struct kicks *k);
void core_fill_all(struct sched *s, struct kicks *k);
/* policy.c.  Call the policy's init.  False: it refuses. */
bool core_begin_policy(struct sched *s);
/* Take the operations of the policy that is in force by now; if they are not here, coop is from now on, for all.  False: we are a monitor
 * that is to stand aside (s->unfit). */
bool core_follow_policy(struct sched *s);
/* A monitor whose container has not the object that is in force, and no programs that take part, must not take it from the others. */
bool core_stands_aside(struct sched *s);
/* Complete a change of policy whose maker has died, and follow it.  The caller tells the policy all that there is. */
void core_mend_policy(struct sched *s);
/* Another policy, as somebody asks for.  False: not that one, with a reason. */
bool core_set_policy(struct sched *s, const char *name, char *why, unsigned cap);
/* What is accounted for when a task that runs on the core stops, or starts.  Its group may change in between. */
void core_pause(struct sched *s, uint32_t core, uint32_t task);
void core_resume(struct sched *s, uint32_t core, uint32_t task);
/* As core_fill_all, however many cores are free. */
void core_fill_each(struct sched *s, struct kicks *k);
/* change.c.  A group's weight or priority, then all its ready tasks are queued anew. */
void core_change_group(struct sched *s, uint32_t group, uint32_t weight, int32_t priority);

/* group.c.  The first group of the process at or after `from`; USF_NONE: there is no further one. */
uint32_t core_next_group(struct sched *s, uint32_t proc, uint32_t from);
/* Without the lock, which it takes: the index of a free group record, or -errno, and then it has not got the lock: -EAGAIN, -ENOSPC,
 * -ENOMEM, -ESTALE.  further: not the first group of a process, for each of which there is a record. */
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
/* It has no tasks. */
void core_end_group(struct sched *s, uint32_t group);
/* All of a process that leaves; gone: what their tasks have counted. */
void core_end_groups(struct sched *s, uint32_t proc, struct usf_counters *gone);
/* What its cores are, and its own ones (none: it has none): from those of its process, and those that other groups keep to themselves. */
void core_cores_of(struct sched *s, uint32_t group, uint64_t cores[USF_CORE_WORDS], uint64_t own[USF_CORE_WORDS]);
void core_set_cores(struct sched *s, uint32_t group);
/* confine.c.  The process gets these cores, which its groups divide anew. */
void core_confine(struct sched *s, uint32_t proc, const uint64_t cores[USF_CORE_WORDS]);
/* Monitor: the one that died was about to make a group, or to take a process off. */
void core_mend_groups(struct sched *s);
/* holds the lock.  A strict place where the process may use no core, or its group has none of its own, is a mere wish from now on. */
void core_settle_strict(struct sched *s, uint32_t task);
/* Replace a misbehaving policy by coop. */
void core_replace_policy(struct sched *s, const char *why);
void core_drop_policy(struct sched *s, const char *why);
/* For the expensive asserts, before `name` releases the lock (recover.c): all that is changed under it alone agrees. */
bool core_is_sound(struct sched *s, uint32_t name);

/* Counters of a task are changed under the lock, or by its own thread without it, and read by others at any time.  Where
 * another takes the record away meanwhile (an exec, a process that is cleared away) a count may be lost: no more than that. */
static inline uint64_t core_counted(const uint64_t *n) { return __atomic_load_n(n, __ATOMIC_RELAXED); }
static inline void core_count(uint64_t *n, uint64_t more) { __atomic_store_n(n, core_counted(n) + more, __ATOMIC_RELAXED); }

static inline void core_add_counters(struct usf_counters *to, const struct usf_counters *n)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)n;
    for (unsigned i = 0; i < sizeof *n / 8; i++) a[i] += core_counted(&b[i]);
}

/* contend.c.  The task's thread has slept and runs now.  If it was given a core: was it run so late that the CPU must have others to run?
 * Without the lock. */
void contend_judge(struct sched *s, const struct usf_task *t);
/* Take contended cores out of `idle`, unless no core of `may` is in use.  False: none is left. */
bool contend_avoid(struct sched *s, const uint64_t may[USF_CORE_WORDS], uint64_t idle[USF_CORE_WORDS]);

/* Without the lock. */
/* Does the task wait in a loop that it would not leave now?  (False: no, or another process knows.) */
bool core_is_in_vain(struct sched *s, uint32_t task);
/* at_end: by the caller's end, if that can be done. */
void core_kick(struct sched *s, uint32_t task, bool at_end);
/* Have the thread look at its task's state, unless another is executing that just now. */
void core_rouse(struct usf_thread *t);
void core_wake_monitor(struct sched *s, bool always);
void core_idle_set(struct sched *s, uint32_t core);
void core_idle_clear(struct sched *s, uint32_t core);
/* Wait until the own task is RUNNING, or was and is IN_KERNEL again.  0, -ETIMEDOUT, -EINTR. */
int  core_park(struct sched *s, struct sched_self *me, uint64_t deadline);
/* The same, after the core was given to another task.  -ETIMEDOUT also if the own one is READY: it is to wait for its turn. */
int  core_park_blocked(struct sched *s, struct sched_self *me, uint64_t deadline);
/* Park until the own task is put on a core, whatever happens, and arrive there. */
void core_wait_turn(struct sched *s, struct sched_self *me);
/* The thread has its core: bind it, count, go on. */
void core_arrive(struct sched *s, struct sched_self *me);

/* bind.c.  Holds the scheduler lock, before it is released: who places the threads from now on? */
void bind_choose(struct sched *s);
/* The task runs on a core outside of its own mask, and one of that is idle. */
bool bind_is_better_idle(struct sched *s, uint32_t task, uint32_t core);
/* True if no task was READY for UNBIND_NS: the caller unbinds the threads. */
bool bind_is_over(struct sched *s, uint64_t now);
/* Without the lock.  Check the binding of the task's thread, which owns the core; correct it if it is wrong.  _place: tid 0 is the calling
 * thread; another process's thread only with permission.  _release: restore the thread's own mask, whatever the mode. */
bool bind_is_placed(struct sched *s, uint32_t task, uint32_t core);
bool bind_has_mask(const struct usf_task *t);     /* one of its own */
void bind_place(struct sched *s, uint32_t task, uint32_t core, int32_t tid);
void bind_other(struct sched *s, uint32_t task, uint32_t core);
void bind_release(struct sched *s, uint32_t task, int32_t tid);

/* The calling thread is about to poll on this core: while the instance is UNBOUND it leaves a CPU that another of its threads is on. */
void bind_spread(struct sched *s, struct sched_self *me, uint32_t core);

/* Monitor: the core of a thread was taken that may be running, and does not know. */
void watch_took_unseen(struct sched *s, uint32_t task);

#define ST(x) ((x) < 32u ? 1u << (x) : 0u)   /* none, of a state that somebody has scribbled */
#endif
