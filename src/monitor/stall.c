/* src/monitor/stall.c - the scheduler lock's owner is alive and does not run.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that is stopped (Ctrl-Z, a debugger, a frozen cgroup) may be so in the middle of a
 * critical section, and all others wait for it.
 *   - Stopped by a signal: it is continued for the moment that it needs to leave the section, and
 *     stopped again.
 *   - It runs, and has been for seconds of its CPU time without giving the lock back: an operation
 *     of the policy that does not return.  Nothing can be done for its program; the others leave,
 *     and when it has ended the instance goes on under `coop`.
 *   - It is runnable, and gets no CPU at all: a real-time program has the one that it is bound to.
 *     It is unbound.
 *   - Stopped by a debugger, frozen, or if that does not help: the other processes leave the
 *     instance (h->stalled) and run unscheduled.  Their records are taken off once the lock moves
 *     again, and new processes may join. */
#include "monitor/internal.h"
#include "os/os.h"
#include "sched/owner.h"
#include <signal.h>
#include <unistd.h>

#define STOPPED_NS   40000000u      /* two looks at least, and those who wait have done so for as long before */
#define TRACED_NS    500000000u     /* by a tracer, which may not get a CPU for a while itself */
#define SLEEPS_NS    5000000000u    /* not stopped, but not running either: swapped out, or without a CPU */
#define STARVED_NS   50000000u      /* runnable, and its CPU time has not grown: far longer than from tick to tick, at which it grows */
#define ELSEWHERE_NS 3000000000u     /* in another container, which shows no sign of life: frozen, without a monitor; not just throttled */
#define ELSEWHERE_LOOKS 20u
#define LOOPS_NS     5000000000u     /* of CPU time, in one go with the lock: usf's own work takes milliseconds at most */
#define HELP_NS      20000000u      /* a stopped owner is continued for so long to give the lock back, */
#define HELPS        5u             /* ... up to so many times: on a busy machine it may not get a CPU in HELP_NS */

/* The next owner of the lock waits for a thread that gives way with a lease (sched/lease.c), so
 * that one counts as its owner, too. */
static bool owns(struct monitor *m, uint32_t name)
{
    if (lock_owner(&m->shm.h->lock) == name) return true;
    for (uint32_t i = 0; i < m->shm.h->nr_cores; i++)
        if (atomic_load(&m->sched.cores[i].lease.word) == name) return true;
    return false;
}

/* (The user who continues the program in these milliseconds finds it stopped again.)  The pid
 * is from the segment, so it is checked: it must name one process, which takes part. */
static bool help_out(struct monitor *m, int32_t pid, uint32_t name)
{
    if (pid <= 0 || !os_process_maps(pid, m->shm.dev, m->shm.ino) || kill(pid, SIGCONT)) return false;
    for (uint64_t until = os_now() + HELP_NS; owns(m, name) && os_now() < until; usleep(100))
        monitor_beats(m);       /* a monitor that is ended here would leave the stopped program running */
    kill(pid, SIGSTOP);
    return true;
}

/* Those who wait look at usf_header.stalled; the process `but` need not. */
static void rouse(struct monitor *m, uint32_t but)
{
    os_futex_wake(&m->shm.h->lock.word, INT32_MAX);
    sched_rouse(&m->sched, but);
}

/* The owner's process alone stays: it has the lock.  USF_MAX_PROCS: it is a monitor, and all
 * leave. */
static void declare_stalled(struct monitor *m, uint32_t proc)
{
    uint32_t none = 0;
    if (atomic_compare_exchange_strong(&m->shm.h->stalled, &none, proc + 1)) rouse(m, proc);
}

void monitor_condemn(struct monitor *m)
{
    shm_condemn(m->shm.h);
    rouse(m, USF_NONE);
    monitor_tell_deaths(m);
}

/* An exec ends all threads but one, wherever they are; the new program may be none of ours. */
static bool is_another_program(struct monitor *m, struct usf_proc *p)
{
    if (os_process_maps(p->pid, m->shm.dev, m->shm.ino)) return false;
    atomic_store(&p->replaced, 1);
    return true;
}

/* For how long the owner may be in this state. */
static uint64_t patience(const struct owner_look *o, int32_t pid)
{
    if (o->state == 'T') return 2 * STOPPED_NS;     /* asked only when no help is left to try */
    if (o->state == 't') return TRACED_NS;
    return os_cgroup_frozen("", pid) ? STOPPED_NS : SLEEPS_NS;
}

/* Its own monitor sees to it: unless that does not run, either. */
void look_at_owner_elsewhere(struct monitor *m, uint32_t name, uint32_t proc, uint32_t namespace)
{
    struct owner_look *o = &m->owner;
    uint64_t now = os_now(), signs = m->shm.h->moved_ns + atomic_load(&m->shm.h->namespace[namespace].beat);
    if (!owns(m, name)) return;
    if (o->name != name || o->signs != signs) *o = (struct owner_look){.name = name, .signs = signs, .first = now};
    if (++o->looks < ELSEWHERE_LOOKS || now - o->first < ELSEWHERE_NS) return;
    declare_stalled(m, proc != USF_NONE ? proc : USF_MAX_PROCS);
}

/* The time of the last move is that at which the lock was taken, if it has not moved for so
 * long. */
static bool loops(struct monitor *m, int32_t pid, int32_t tid)
{
    struct owner_look *o = &m->owner;
    uint64_t moved = m->shm.h->moved_ns, cpu = os_thread_cpu_ns(pid, tid);
    if (!cpu || moved != o->moved || tid != o->tid) {
        o->moved = moved;
        o->tid = tid;
        o->cpu = cpu;
        return false;
    }
    return cpu - o->cpu >= LOOPS_NS;
}

void look_at_owner(struct monitor *m, uint32_t name, uint32_t proc)
{
    struct owner_look *o = &m->owner;
    struct usf_proc *p = &m->sched.procs[proc];
    uint32_t task = name < LOCK_NAME_PROC ? name - 1 : USF_NONE;
    uint64_t now = os_now();
    if (!owns(m, name)) return;
    int32_t tid = task != USF_NONE ? sched_thread_of(&m->sched, task)->tid : p->pid;
    char state = os_thread_state(p->pid, tid);
    uint64_t ran = state == 't' ? os_thread_slices(p->pid, tid) : state == 'R' ? os_thread_cpu_ns(p->pid, tid) : 0;
    if (o->name != name) *o = (struct owner_look){.name = name, .first = now};
    if (now - o->first >= STOPPED_NS && !o->looked) {
        o->looked = true;
        if (is_another_program(m, p)) return;
    }
    if (state == 'R' && loops(m, p->pid, tid)) {
        m->sched.policy_hung = true;
        declare_stalled(m, proc);
        return;
    }
    if (o->state != state || o->ran != ran || (state == 'R' && !ran)) {         /* 0: this kernel does not tell */
        o->state = state;
        o->ran = ran;
        o->since = now;
        o->unbound = false;
        return;
    }
    if (state == 'R' && !o->unbound && task != USF_NONE && now - o->since >= STARVED_NS) {
        o->unbound = true;
        sched_unbind(&m->sched, task);
    }
    if (state == 'T' && now - o->since >= STOPPED_NS && o->helps < HELPS) {
        o->helps = help_out(m, p->pid, name) ? o->helps + 1 : HELPS;
    } else if (now - o->since >= patience(o, p->pid)) {
        declare_stalled(m, proc);
    }
}

void end_stall(struct monitor *m)
{
    m->owner = (struct owner_look){0};
    atomic_store(&m->shm.h->lock_waits, 0);
    uint32_t by = atomic_load(&m->shm.h->stalled);
    if (!by || by == USF_DAMAGED || !atomic_compare_exchange_strong(&m->shm.h->stalled, &by, 0)) return;
    sched_tell_monitor(m->shm.h);       /* each removes those of its pid namespace that have left meanwhile */
    monitor_tell_deaths(m);
}
