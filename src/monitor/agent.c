/* src/monitor/agent.c - a second watchman, for the programs of another user.  SPDX-License-Identifier: Apache-2.0
 *
 * The monitor of an instance that users share cannot signal other users' threads: one that computes without a scheduling
 * point would only be passed over after a while (sched/watch.c: deaf), and run on beside the next.  So each user but the
 * monitor's has an agent, which tells that user's threads to look at themselves, and does nothing else: it takes no core
 * and no lock, and binds no thread.  A thread that is told so gives way, or binds itself.  The agent ends with that user's
 * last program, becomes the monitor if there is none any more, and removes the file in the end, if that is its user's
 * (/dev/shm is sticky).  Should it be killed, the next `usf run` starts another, and until then things are as if there were
 * none. */
#include "monitor/internal.h"
#include "os/os.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_NS    2000000u     /* while tasks wait */
#define IDLE_NS   20000000u     /* while nobody would wake it */
#define LIFE_NS 3000000000u     /* without a program of its user, which may be about to join */

struct agent {
    struct monitor *m;
    uint64_t alone_since;
    uint64_t mourned;           /* the space's `monitor` whose death will wake us */
    struct { uint64_t word, progress, loan, since, nudged; } core[USF_MAX_CORES];
    struct sched_astray astray[USF_MAX_CORES];
};

/* One per user: a lock on a byte of the file that stands for the user, which the kernel drops with its holder. */
static bool is_only_one(const struct monitor *m)
{
    static bool is;
    return is = is || shm_lock_byte(&m->shm, 1 + (uint64_t)geteuid()) == 0;
}

static bool is_ours(int32_t pid) { return pid > 0 && kill(pid, 0) == 0; }

bool agent_is_wanted(const struct usf_space *sp, const char *name)
{
    int32_t pid = atomic_load(&sp->monitor_pid);
    return shm_is_shared(name) && pid > 0 && kill(pid, 0) && errno == EPERM;
}

static bool has_programs(const struct monitor *m)
{
    uint32_t n = atomic_load(&m->shm.h->proc_hwm);
    for (uint32_t i = 0; i < n && i < USF_MAX_PROCS; i++)
        if (atomic_load(&m->sched.procs[i].state) != USF_PROC_FREE && is_ours(m->sched.procs[i].pid)) return true;
    return false;
}

/* As the monitor does (sched/watch.c). */
static void look_at_core(struct agent *a, uint32_t i, uint64_t now)
{
    struct sched *s = &a->m->sched;
    uint64_t w = atomic_load(&s->cores[i].word), progress = atomic_load(&s->cores[i].progress);
    uint64_t loan = core_task(w) < USF_MAX_TASKS ? atomic_load(&s->tasks[core_task(w)].loan) : 0;
    if (w != a->core[i].word || progress != a->core[i].progress || loan != a->core[i].loan || core_state(w) != USF_CORE_RUNNING
        || loan & USF_LOAN_LENT) {
        a->core[i].word = w;
        a->core[i].progress = progress;
        a->core[i].loan = loan;
        a->core[i].since = now;
        a->core[i].nudged = 0;
        return;
    }
    uint64_t age = now - a->core[i].since, at = __atomic_load_n(&s->cores[i].pol.give_way_at, __ATOMIC_RELAXED);
    bool due = at && now >= at && sched_is_waited_for(s, i);        /* the policy wants it back */
    if (!due && (age < TICK_NS || !sched_nudge_is_due(s, age, a->core[i].nudged))) return;
    a->core[i].nudged = age;
    if (is_ours(monitor_pid_of(s, core_task(w)))) monitor_nudge(s, core_task(w));
}

/* The monitor cannot place another user's threads.  These place themselves: a bond that an agent makes may come after the
 * thread's exec, or after a call that has set its mask.  Not in the middle of a system call, which the signal might end.
 * True: look again soon. */
static bool look_at_place(struct agent *a, uint32_t i, uint64_t now)
{
    struct sched *s = &a->m->sched;
    struct sched_astray *astray = &a->astray[i];
    bool is = sched_is_astray(s, i, astray, now);
    uint32_t task = core_task(astray->word);
    int32_t pid = astray->word ? monitor_pid_of(s, task) : 0;
    if (!is_ours(pid)) return false;
    if (is && !sched_has_lent(&s->tasks[task]) && os_thread_state(pid, sched_thread_of(s, task)->tid) == 'R') monitor_nudge(s, task);
    return sched_is_newly_astray(astray);
}

/* ---- sleep until there is something to do -------------------------------------------------------- */

static void wake_agents(struct usf_header *h)
{
    atomic_fetch_add(&h->agent_event, 1);
    os_futex_wake(&h->agent_event, INT32_MAX);
}

void agents_look_at_processes(struct monitor *m)
{
    if (shm_is_shared(m->options->name)) wake_agents(m->shm.h);
}

/* One that does not see the tasks and sets its flag too late for this look of the monitor's is in time for the next. */
void agents_look_at_cores(struct monitor *m)
{
    struct usf_header *h = m->shm.h;
    bool needed = atomic_load(&h->nr_ready) || m->watcher.any_astray;
    if (needed && atomic_load_explicit(&h->agent_asleep, memory_order_relaxed) && atomic_exchange(&h->agent_asleep, 0))
        wake_agents(h);
}

static struct agent agent;

/* A thread that ends with the monitor whose pidfd this is. */
static void *mourn(void *pidfd)
{
    struct pollfd p = {.fd = (int)(intptr_t)pidfd, .events = POLLIN};
    while (poll(&p, 1, -1) < 0 && errno == EINTR) {}
    close(p.fd);
    wake_agents(agent.m->shm.h);
    return NULL;
}

/* See that we are woken when the monitor dies.  False: that cannot be had. */
static bool will_mourn(struct agent *a)
{
    uint64_t word = atomic_load(&own_space(a->m)->monitor);
    if (a->mourned == word) return true;
    int fd = (int)syscall(SYS_pidfd_open, (int32_t)word, 0);
    if (fd < 0) return false;
    if (monitor_thread(mourn, (void *)(intptr_t)fd)) {
        close(fd);
        return false;
    }
    a->mourned = word;
    return true;
}

/* The monitor wakes us when processes have come or gone, when tasks wait, and when a thread is to be placed. */
static void sleep_until(struct agent *a, uint32_t event, uint64_t deadline)
{
    struct usf_header *h = a->m->shm.h;
    atomic_store(&h->agent_asleep, 1);
    if (!atomic_load(&h->nr_ready)) os_futex_wait(&h->agent_event, event, deadline);
}

int agent_run(struct monitor *m)
{
    struct agent *a = &agent;
    struct usf_header *h = m->shm.h;
    uint32_t cores = h->nr_cores < USF_MAX_CORES ? h->nr_cores : USF_MAX_CORES;
    a->m = m;
    if (!is_only_one(m)) return AGENT_ENDS;
    prctl(PR_SET_NAME, "usf-agent");
    a->alone_since = os_now();
    for (;;) {
        uint32_t event = atomic_load(&h->agent_event);
        uint64_t now = os_now();
        bool waiting = atomic_load(&h->nr_ready) != 0, alone = !has_programs(m), retired = atomic_load(&h->state) == USF_INST_RETIRED;
        bool told = will_mourn(a), astray = false;
        if (!alone) a->alone_since = now;
        if (retired && shm_retire_if_empty(&m->shm, m->options->dir)) return AGENT_ENDS;
        if (!monitor_is_alive(own_space(m))) return AGENT_SUCCEEDS;
        if (now - a->alone_since > LIFE_NS) return AGENT_ENDS;
        for (uint32_t i = 0; i < cores && waiting; i++) look_at_core(a, i, now);
        for (uint32_t i = 0; i < cores; i++) astray |= look_at_place(a, i, now);
        if (waiting || astray) os_sleep(TICK_NS);
        else if (retired || !told) os_sleep(IDLE_NS);
        else sleep_until(a, event, alone ? a->alone_since + LIFE_NS + 1 : 0);
    }
}
