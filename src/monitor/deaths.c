/* src/monitor/deaths.c - processes that die, and the end of the instance.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record names (pid, start time).  The pidfd is opened by pid and the start time compared after
 * that: if it still is the registered process, the descriptor is its for good, however often the
 * pid is reused.  A record is taken off only while it still names the process that died: no other
 * process frees it then. */
#include "monitor/internal.h"
#include "os/os.h"
#include "sched/owner.h"
#include "trace/trace.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLL_MS     100         /* between two looks into /proc, for those without a pidfd */
#define MIN_LIFE_NS 1000000000u
#define CHANGED     USF_MAX_PROCS   /* epoll's name for the eventfd */

/* ---- the scheduler lock ---------------------------------------------------------------------- */

/* The process of this owner of the lock, or USF_NONE. */
static uint32_t proc_of(const struct monitor *m, uint32_t name)
{
    uint32_t proc = USF_NONE;
    if (name >= LOCK_NAME_PROC) proc = name - LOCK_NAME_PROC;
    else if (name - 1 < atomic_load(&m->shm.h->task_hwm)) proc = m->sched.tasks[name - 1].proc;
    return proc < atomic_load(&m->shm.h->proc_hwm) ? proc : USF_NONE;
}

/* Of another container: that one's monitor finds out, unless all of it has ended. */
static bool is_dead_elsewhere(struct monitor *m, uint32_t name, uint32_t proc, uint32_t namespace)
{
    if (namespace >= USF_MAX_NAMESPACES) return false;
    if (sharing_has_ended(m, namespace)) return true;
    look_at_owner_elsewhere(m, name, proc, namespace);
    return false;
}

static bool is_dead(struct monitor *m, uint32_t name)
{
    uint32_t proc = USF_NONE, namespace;
    monitor_beats(m);       /* however long we wait for the lock */
    if (!name || name >= LOCK_NAME_MONITOR + USF_MAX_NAMESPACES) return false;
    if (name >= LOCK_NAME_MONITOR) namespace = name - LOCK_NAME_MONITOR;
    else if ((proc = proc_of(m, name)) == USF_NONE) return false;
    else namespace = m->sched.procs[proc].namespace;
    if (namespace != m->shm.namespace) return is_dead_elsewhere(m, name, proc, namespace);
    if (proc == USF_NONE) return true;              /* our predecessor: we do not hold it */
    if (!shm_proc_is_alive(&m->sched.procs[proc])) return true;
    if (name < LOCK_NAME_PROC && monitor_thread_ended(&m->sched, name - 1)) return true;
    look_at_owner(m, name, proc);
    return false;
}

/* A thread that gives way with a lease (sched/lease.c) keeps the next owner of the lock waiting.
 * If that is another monitor, this one waits for it in turn.  So each monitor looks at such threads
 * of its own pid namespace.  True: one of them lives, and is looked after. */
static bool looks_after_lease(struct monitor *m)
{
    for (uint32_t i = 0; i < m->shm.h->nr_cores; i++) {
        struct usf_lease *l = &m->sched.cores[i].lease;
        uint32_t word = atomic_load(&l->word);
        if (word == USF_LEASE_NONE || word == USF_LEASE_OPEN || word == USF_LEASE_DEAD) continue;
        uint32_t proc = proc_of(m, word);
        if (proc == USF_NONE || m->sched.procs[proc].namespace != m->shm.namespace) continue;
        if (!is_dead(m, word)) return true;
        atomic_compare_exchange_strong(&l->word, &word, USF_LEASE_DEAD);
    }
    return false;
}

static bool name_is_dead(void *arg, uint32_t name)
{
    struct monitor *m = arg;
    bool locks = lock_owner(&m->shm.h->lock) == name;
    if (locks && looks_after_lease(m)) return false;
    if (is_dead(arg, name)) return true;
    sharing_let_in(arg);
    return false;
}

void monitor_lock(struct monitor *m)
{
    usf_lock_wanted(USF_RANK_MONITOR);
    pthread_mutex_lock(&m->lock);
    usf_lock_taken(USF_RANK_MONITOR);
}

void monitor_unlock(struct monitor *m)
{
    usf_lock_released(USF_RANK_MONITOR);
    pthread_mutex_unlock(&m->lock);
}

void monitor_recover_lock(struct monitor *m)
{
    usf_xassert(usf_lock_is_held(USF_RANK_MONITOR));
    sched_recover(&m->sched, name_is_dead, m);
    end_stall(m);
    if (!m->sched.policy_hung) return;
    m->sched.policy_hung = false;       /* it has come back after all: others have left because of it */
    monitor_replace_policy(m, SCHED_POLICY_HUNG);
}

void monitor_replace_policy(struct monitor *m, const char *why)
{
    usf_xassert(usf_lock_is_held(USF_RANK_MONITOR));
    sched_replace_policy(&m->sched, why, name_is_dead, m);
    end_stall(m);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* All processes that are watched without a pidfd are counted. */
static bool watched_is_valid(const struct monitor *m)
{
    uint32_t polled = 0;
    for (uint32_t i = 0; i < USF_MAX_PROCS; i++) {
        const struct watched *w = &m->watched[i];
        if (w->pid < 0) return false;
        polled += w->pid && w->fd < 0;
    }
    return polled == m->nr_polled;
}

static void unwatch(struct monitor *m, struct watched *w)
{
    if (!w->pid) return;
    if (w->fd >= 0) close(w->fd);
    else m->nr_polled--;
    w->pid = 0;
}

static bool names(const struct usf_proc *p, uint32_t namespace, const struct watched *w)
{
    return atomic_load(&p->state) != USF_PROC_FREE && p->namespace == namespace && p->pid == w->pid && p->start_time == w->start_time;
}

static void reap(struct monitor *m, uint32_t i)
{
    struct watched *w = &m->watched[i];
    usf_dassert(i < USF_MAX_PROCS);
    monitor_beats(m);
    monitor_lock(m);
    if (names(&m->sched.procs[i], m->shm.namespace, w)) {
        monitor_recover_lock(m);
        USF_POINT("monitor.reap");
        sched_proc_remove(&m->sched, i, false);
        sched_tell_monitor(m->shm.h);   /* it may have taken the monitors' bits and died before it woke them */
    }
    monitor_unlock(m);
    sharing_tell_helpers_of_processes(m);
    unwatch(m, w);
}

/* pid: as it was when it was looked at; the process may have left since. */
static void watch(struct monitor *m, uint32_t i, int32_t pid)
{
    struct usf_proc *p = &m->sched.procs[i];
    struct watched *w = &m->watched[i];
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};
    usf_dassert(i < USF_MAX_PROCS && !w->pid && pid > 0);
    *w = (struct watched){.pid = pid, .start_time = p->start_time, .fd = -1};
    if (!m->options->no_pidfd) w->fd = (int)syscall(SYS_pidfd_open, w->pid, 0);
    if (w->fd >= 0 && epoll_ctl(m->epoll, EPOLL_CTL_ADD, w->fd, &e)) {
        close(w->fd);
        w->fd = -1;
    }
    if (w->fd < 0) m->nr_polled++;
    if (!shm_proc_is_alive(p)) reap(m, i);
}

/* It has left without the lock, whose holder did not run; now that moves again. */
static void take_off_deserter(struct monitor *m, uint32_t i)
{
    if (atomic_load(&m->shm.h->stalled) || atomic_load(&m->sched.procs[i].state) != USF_PROC_ACTIVE) return;
    monitor_lock(m);
    sched_proc_remove(&m->sched, i, true);
    monitor_unlock(m);
}

/* Follow the process table: which processes came, left, or are others now. */
static void look_at_processes(struct monitor *m)
{
    uint32_t hwm = atomic_load(&m->shm.h->proc_hwm), taken = 0, elsewhere = 0;
    bool left = false;
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_proc *p = &m->sched.procs[i];
        struct watched *w = &m->watched[i];
        if (w->pid && !names(p, m->shm.namespace, w)) {
            unwatch(m, w);
            left = true;
        }
        int32_t pid = p->pid;
        if (atomic_load(&p->state) == USF_PROC_FREE || pid <= 0) continue;
        uint32_t namespace = p->namespace;
        if (namespace != m->shm.namespace) {
            if (namespace < USF_MAX_NAMESPACES) elsewhere |= 1u << namespace;
            continue;
        }
        if (!w->pid) watch(m, i, pid);
        else if ((w->fd < 0 || atomic_load(&p->replaced)) && !shm_proc_is_alive(p)) reap(m, i);
        if (atomic_load(&p->deserted)) take_off_deserter(m, i);
        if (atomic_load(&p->state) != USF_PROC_FREE) taken++;
    }
    usf_xassert(watched_is_valid(m));
    m->sharing.elsewhere = elsewhere;
    if (left) sharing_tell_helpers_of_processes(m);
    bool idle = elsewhere && !taken;
    if (atomic_exchange(&m->idle, idle) && !idle) sched_tell_monitor(m->shm.h);       /* the other thread dozes */
    if (taken || elsewhere) m->empty_since = 0;
    else if (!m->empty_since) m->empty_since = os_now();
}

/* ---- the end --------------------------------------------------------------------------------- */

static uint64_t end_of_life(const struct monitor *m)
{
    uint64_t min = m->options->min_life_ns ? m->options->min_life_ns : MIN_LIFE_NS;
    uint64_t by_age = m->started + min, by_empty = m->empty_since + m->shm.h->monitor_linger_ns;
    return by_age > by_empty ? by_age : by_empty;
}

/* A `usf run` waits for the statistics of a run of which no process is there just now: one may be
 * between two programs. */
#define READ_AGAIN_NS 20000000u
static bool is_read(const struct monitor *m)
{
    for (uint32_t i = 0; i < m->shm.h->max_runs; i++)
        if (shm_run_is_read(&shm_runs(m->shm.h)[i], m->shm.namespace)) return true;
    return false;
}

/* Milliseconds to wait: -1 for ever. */
static int patience(const struct monitor *m)
{
    if (m->empty_since) {
        uint64_t now = os_now(), end = end_of_life(m);
        uint64_t ms = end > now ? (end - now) / 1000000 + 1 : 0;
        return ms > INT32_MAX ? INT32_MAX : (int)ms;
    }
    return m->nr_polled || m->sharing.elsewhere ? POLL_MS : -1;
}

int deaths_prepare(struct monitor *m)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = CHANGED};
    m->epoll = epoll_create1(EPOLL_CLOEXEC);
    m->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->epoll < 0 || m->changed < 0 || epoll_ctl(m->epoll, EPOLL_CTL_ADD, m->changed, &e)) return -errno;
    return epoll_wait(m->epoll, &e, 1, 0) < 0 ? -errno : 0;     /* rather no monitor than one that goes round and round */
}

static void handle(struct monitor *m, uint32_t what)
{
    uint64_t drained;
    if (what < USF_MAX_PROCS) reap(m, what);
    else while (read(m->changed, &drained, sizeof drained) < 0 && errno == EINTR) {}
}

void deaths_loop(struct monitor *m)
{
    struct epoll_event e[64];
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        if (shm_is_condemned(m->shm.h)) {
            monitor_condemn(m);         /* it may have been a program that found out */
            shm_discard_condemned(&m->shm, m->options->dir);
            trace_clean(NULL, m->options->dir, m->options->name);
            return;
        }
        if (atomic_load(&m->sched.unfit)) return;       /* core_stands_aside */
        supervisor_look(m);
        sharing_look_for_ended(m);
        look_at_processes(m);
        if (atomic_fetch_and(&m->shm.h->lock_stuck, ~own_bit(m)) & own_bit(m)) {
            monitor_lock(m);
            monitor_recover_lock(m);
            monitor_unlock(m);
        }
        if (m->empty_since && os_now() >= end_of_life(m)) {
            bool read = is_read(m);
            if (!read && shm_retire_if_empty(&m->shm, m->options->dir)) {
                trace_clean(NULL, m->options->dir, m->options->name);   /* a recorder that was killed */
                return;
            }
            m->empty_since = os_now() + (read ? READ_AGAIN_NS : 0);     /* or a process has just come */
        }
        int n = epoll_pwait(m->epoll, e, sizeof e / sizeof *e, patience(m), &none);
        for (int i = 0; i < n; i++) handle(m, e[i].data.u32);
    }
}
