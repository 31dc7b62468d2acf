/* src/sharing/helper.c - the per-user helper.  SPDX-License-Identifier: Apache-2.0
 *
 * The monitor of an instance that users share cannot signal other users' threads.  Without a
 * helper, a thread that reaches no scheduling point loses its core after a while (sched/watch.c)
 * and runs on beside the next one.  So each other user has a helper, a process of that user's.  It
 * signals the user's threads as the monitor would; a thread that gets the signal gives way, or
 * binds itself.  The helper takes no core and no lock, and binds no thread.
 *
 * It ends with the user's last program.  It becomes the monitor if that one has ended, and
 * removes the file in the end if its user has made it (/dev/shm is sticky).  If it is killed,
 * the next `usf run` starts another. */
#include "monitor/internal.h"
#include "os/os.h"
#include "sched/turn.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_NS    2000000u     /* while tasks wait */
#define IDLE_NS   20000000u     /* while no process would wake it */
#define LIFE_NS 3000000000u     /* without a program of its user, which may be about to join */

struct helper {
    struct monitor *m;
    uint64_t alone_since;
    uint64_t watched;           /* the namespace's `monitor` whose death will wake us */
    struct sched_seen seen[USF_MAX_CORES];
    struct sched_astray astray[USF_MAX_CORES];
};

/* The kernel drops the lock of the user's byte with its holder. */
static bool is_only_one(const struct monitor *m)
{
    static bool is;
    return is = is || sharing_lock_byte(&m->shm, 1 + (uint64_t)geteuid()) == 0;
}

static bool is_ours(int32_t pid) { return pid > 0 && kill(pid, 0) == 0; }

bool sharing_helper_is_wanted(const struct usf_namespace *sp, const char *name)
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
static void look_at_core(struct helper *p, uint32_t i, uint64_t now)
{
    struct sched *s = &p->m->sched;
    uint64_t w = atomic_load(&s->cores[i].word);
    struct sched_seen *seen = &p->seen[i];
    if (!sched_runs_on(s, i, w, now, seen)) return;
    uint64_t age = now - seen->since;
    bool due = turn_is_due(&s->cores[i].pol, now) && sched_is_waited_for(s, i);     /* the policy wants it back */
    if (!due && (age < TICK_NS || !sched_signal_is_due(s, age, seen->signalled))) return;
    seen->signalled = age;
    if (is_ours(monitor_pid_of(s, core_task(w)))) monitor_preempt(s, core_task(w));
}

/* The monitor cannot place another user's threads.  They place themselves: if the helper bound a
 * thread, that might come after the thread's exec, or after a call that has set its mask.  The
 * thread is not signalled in a system call, which the signal might end.  True: look again soon. */
static bool look_at_place(struct helper *p, uint32_t i, uint64_t now)
{
    struct sched *s = &p->m->sched;
    struct sched_astray *astray = &p->astray[i];
    bool is = sched_is_astray(s, i, astray, now);
    uint32_t task = core_task(astray->word);
    int32_t pid = astray->word ? monitor_pid_of(s, task) : 0;
    if (!is_ours(pid)) return false;
    if (is && !sched_is_provisional(&s->tasks[task]) && os_thread_state(pid, sched_thread_of(s, task)->tid) == 'R') monitor_preempt(s, task);
    return sched_is_newly_astray(astray);
}

/* ---- sleep until there is something to do ---------------------------------------------------- */

static void wake_helpers(struct usf_header *h)
{
    atomic_fetch_add(&h->helper_event, 1);
    os_futex_wake(&h->helper_event, INT32_MAX);
}

void sharing_tell_helpers_of_processes(struct monitor *m)
{
    if (shm_is_shared(m->options->name)) wake_helpers(m->shm.h);
}

/* A helper that sets its flag too late for this look of the monitor's is in time for the next
 * one. */
void sharing_tell_helpers_of_cores(struct monitor *m)
{
    struct usf_header *h = m->shm.h;
    bool needed = atomic_load(&h->nr_ready) || m->watcher.any_astray;
    if (needed && atomic_load_explicit(&h->helper_asleep, memory_order_relaxed) && atomic_exchange(&h->helper_asleep, 0))
        wake_helpers(h);
}

static struct helper helper;

/* A thread that waits for the death of the monitor that this pidfd names. */
static void *await_death(void *pidfd)
{
    struct pollfd p = {.fd = (int)(intptr_t)pidfd, .events = POLLIN};
    while (poll(&p, 1, -1) < 0 && errno == EINTR) {}
    close(p.fd);
    wake_helpers(helper.m->shm.h);
    return NULL;
}

/* Have the death of the monitor wake us.  False: that cannot be had. */
static bool is_told(struct helper *p)
{
    uint64_t word = atomic_load(&own_namespace(p->m)->monitor);
    if (p->watched == word) return true;
    int fd = (int)syscall(SYS_pidfd_open, (int32_t)word, 0);
    if (fd < 0) return false;
    if (monitor_thread(await_death, (void *)(intptr_t)fd)) {
        close(fd);
        return false;
    }
    p->watched = word;
    return true;
}

/* The monitor wakes us when processes have come or gone, when tasks wait, and when a thread is to
 * be placed. */
static void sleep_until(struct helper *p, uint32_t event, uint64_t deadline)
{
    struct usf_header *h = p->m->shm.h;
    atomic_store(&h->helper_asleep, 1);
    if (!atomic_load(&h->nr_ready)) os_futex_wait(&h->helper_event, event, deadline);
}

int sharing_helper_run(struct monitor *m)
{
    struct helper *p = &helper;
    struct usf_header *h = m->shm.h;
    uint32_t cores = h->nr_cores < USF_MAX_CORES ? h->nr_cores : USF_MAX_CORES;
    p->m = m;
    if (!is_only_one(m)) return HELPER_ENDS;
    prctl(PR_SET_NAME, "usf-helper");
    p->alone_since = os_now();
    for (;;) {
        uint32_t event = atomic_load(&h->helper_event);
        uint64_t now = os_now();
        bool waiting = atomic_load(&h->nr_ready) != 0, alone = !has_programs(m), retired = atomic_load(&h->state) == USF_INST_RETIRED;
        bool told = is_told(p), astray = false;
        if (!alone) p->alone_since = now;
        if (retired && shm_retire_if_empty(&m->shm, m->options->dir)) return HELPER_ENDS;
        if (!monitor_is_alive(own_namespace(m))) return HELPER_SUCCEEDS;
        if (now - p->alone_since > LIFE_NS) return HELPER_ENDS;
        for (uint32_t i = 0; i < cores && waiting; i++) look_at_core(p, i, now);
        for (uint32_t i = 0; i < cores; i++) astray |= look_at_place(p, i, now);
        if (waiting || astray) os_sleep(TICK_NS);
        else if (retired || !told) os_sleep(IDLE_NS);
        else sleep_until(p, event, alone ? p->alone_since + LIFE_NS + 1 : 0);
    }
}
