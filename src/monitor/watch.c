/* src/monitor/watch.c - look at the cores while tasks wait or run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "monitor/internal.h"
#include "os/os.h"
#include "trace/trace.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define CHECK_NS 1000000000u    /* from one look at all records to the next, while there is something to do; */
#define CHECK_AGAIN_NS 100000000u       /* ... when they seemed to be damaged */
#define IDLE_NS 100000000u      /* while the processes are all other monitors' */

static struct os_looks looks;   /* only the thread that watches the cores uses it, in the monitor as in a helper */

int32_t monitor_pid_of(const struct sched *s, uint32_t task)
{
    uint32_t proc = task < USF_MAX_TASKS ? s->tasks[task].proc : USF_NONE;
    return proc < s->h->max_procs ? s->procs[proc].pid : 0;
}

void monitor_preempt(const struct sched *s, uint32_t task)
{
    int32_t pid = monitor_pid_of(s, task), tid = sched_thread_of(s, task)->tid;
    if (!sched_is_ours(s, task) || pid <= 0) return;
    if (os_look_at_thread(&looks, pid, tid).blocked >> (MONITOR_PREEMPT_SIGNAL - 1) & 1) return;
    os_signal_thread(pid, tid, MONITOR_PREEMPT_SIGNAL, MONITOR_PREEMPT_MAGIC ^ task);
}

static void preempt(void *sched, uint32_t task) { monitor_preempt(sched, task); }

bool monitor_thread_ended(const struct sched *s, uint32_t task)
{
    int32_t pid = monitor_pid_of(s, task);
    struct usf_thread *thread = sched_thread_of(s, task);
    int32_t tid = thread->tid;
    if (pid <= 0 || !os_thread_ended(pid, tid)) return false;
    USF_POINT("monitor.ended");
    return sched_thread_of(s, task) == thread && thread->tid == tid;
}

static char thread_state(void *arg, uint32_t task)
{
    struct sched *s = arg;
    int32_t pid = monitor_pid_of(s, task), tid = sched_thread_of(s, task)->tid;
    if (!sched_is_ours(s, task)) return SCHED_ELSEWHERE;
    char st = pid > 0 ? os_look_at_thread(&looks, pid, tid).state : 0;
    return (!st || st == 'Z') && monitor_thread_ended(s, task) ? 'X' : st;
}

/* Sleep until monitor_event changes.  Those who make tasks wait or put them on cores look at
 * monitor_asleep without a full barrier: a store of theirs may become visible just after we looked.
 * It does within microseconds, so a second look after a doze sees what the first missed, and a
 * thread that comes later sees the flag. */
static void sleep_until_event(struct sched *s, struct usf_header *h, uint32_t event)
{
    os_forget_looks(&looks);
    atomic_fetch_or(&h->monitor_asleep, USF_MONITOR_ASLEEP(s->namespace));
    if (sched_is_quiet(s) && os_futex_wait(&h->monitor_event, event, os_now() + WATCH_DOZE_NS) == -ETIMEDOUT &&
        sched_is_quiet(s))
        os_futex_wait(&h->monitor_event, event, 0);
    atomic_fetch_and(&h->monitor_asleep, ~USF_MONITOR_ASLEEP(s->namespace));
}

/* No task waited at the last look.  Once one waits, cores that are released provisionally must be
 * taken before the next look is due, so a task that begins to wait wakes the monitor, after
 * WATCH_LEAST_NS at the earliest.  After `lend` instead, a load whose tasks never wait for long
 * would wake it twenty times as often, on the very CPUs that are wanted.  So such a core may be
 * taken WATCH_LEAST_NS late. */
static void nap(struct sched *s, struct usf_header *h, uint32_t event, uint64_t ns)
{
    uint64_t now = os_now(), least = ns < WATCH_LEAST_NS ? ns : WATCH_LEAST_NS;
    if (os_futex_wait(&h->monitor_event, event, now + least) != -ETIMEDOUT || ns <= least) return;
    atomic_fetch_or(&h->monitor_asleep, USF_MONITOR_NAPS(s->namespace));
    if (!atomic_load(&h->nr_ready)) os_futex_wait(&h->monitor_event, event, now + ns);
    atomic_fetch_and(&h->monitor_asleep, ~USF_MONITOR_NAPS(s->namespace));
}

/* A program of a user's can write over what all share.  Two looks, for it may be a record that
 * changes without the lock. */
static void look_for_damage(struct monitor *m)
{
    char why[160];
    uint64_t now = os_now();
    usf_xassert(usf_lock_is_held(USF_RANK_MONITOR));
    if (now < m->check_at) return;
    bool valid = sched_check(&m->sched, why, sizeof why);
    m->check_at = now + (valid ? CHECK_NS : CHECK_AGAIN_NS);
    m->doubts = valid ? 0 : m->doubts + 1;
    if (m->doubts < 2 || shm_is_condemned(m->shm.h)) return;
    usf_warn("instance '%s' is damaged: %s; its programs run unscheduled from now on", m->options->name, why);
    monitor_condemn(m);
}

/* A recorder that was killed has left its number and its file. */
static void look_for_recorder(struct monitor *m)
{
    uint64_t now = os_now();
    if (!atomic_load_explicit(&m->shm.h->trace, memory_order_relaxed) || now < m->recorder_at) return;
    m->recorder_at = now + CHECK_NS;
    trace_clean(m->shm.h, m->options->dir, m->options->name);
}

/* A tool asks for another policy, or for something for a process. */
static void answer(struct monitor *m)
{
    const struct usf_policy_ask *a = &m->shm.h->policy_ask;
    if (atomic_load(&a->asked) == atomic_load(&a->answered)) return;
    monitor_lock(m);
    sched_answer(&m->sched);
    monitor_unlock(m);
}

static uint64_t look(struct monitor *m)
{
    monitor_lock(m);
    uint64_t next = sched_watch(&m->sched, preempt, thread_state, &m->sched);
    look_for_damage(m);
    monitor_unlock(m);
    sharing_tell_helpers_of_cores(m);
    monitor_beats(m);
    return next;
}

void monitor_tell_deaths(struct monitor *m)
{
    uint64_t one = 1;
    if (m->changed <= 0) return;        /* it has not begun, and will look at all */
    while (write(m->changed, &one, sizeof one) < 0 && errno == EINTR) {}
}

void *watch_loop(void *arg)
{
    struct monitor *m = arg;
    struct usf_header *h = m->shm.h;
    usf_dassert(m->sched.namespace == m->shm.namespace && m->sched.watch == &m->watcher);
    uint32_t seen = atomic_load(&h->monitor_event) - 1;
    atomic_store(&own_namespace(m)->monitor_tid, os_gettid());
    for (;;) {
        uint32_t event = atomic_load(&h->monitor_event);
        if (event != seen) {
            monitor_tell_deaths(m);
            sharing_tell_helpers_of_processes(m);
        }
        seen = event;
        quota_look(m);
        answer(m);
        look_for_recorder(m);
        if (atomic_load(&m->sched.unfit)) {
            monitor_tell_deaths(m);
            return NULL;
        }
        if (atomic_load(&m->idle)) {    /* the first process of our own that comes is met after IDLE_NS, if it does not tell us */
            os_futex_wait(&h->monitor_event, event, os_now() + IDLE_NS);
            continue;
        }
        uint64_t next = look(m);
        if (next == UINT64_MAX) sleep_until_event(&m->sched, h, event);
        else nap(&m->sched, h, event, next);
    }
    return NULL;
}
