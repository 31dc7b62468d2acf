/* src/monitor/main.c - the monitor's process.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "monitor/internal.h"
#include "os/os.h"
#include "policy/policy.h"
#include "sched/owner.h"
#include "trace/trace.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define THREAD_STACK  (128 * 1024)
#define TIMER_SLACK   5000      /* ns: ticks are as short as 50 us */
#define SLICE_NS      100000    /* a short slice: it runs soon after it wakes, and never for long */

static struct monitor monitor;  /* one per process; large */

/* ---- one per pid namespace --------------------------------------------------------------------- */

static uint64_t own_word(void)
{
    int32_t pid = os_getpid();
    return (uint32_t)pid | os_start_time(pid) << 32;
}

/* Become the monitor.  False: there is one. */
static bool claim(struct usf_namespace *sp)
{
    uint64_t was = atomic_load(&sp->monitor), own = own_word();
    do
        if (monitor_is_alive(sp)) return false;
    while (!atomic_compare_exchange_strong(&sp->monitor, &was, own));
    return true;
}

static void resign(struct usf_namespace *sp)
{
    uint64_t own = own_word();
    atomic_compare_exchange_strong(&sp->monitor, &own, 0);
}

/* ---- the process ------------------------------------------------------------------------------- */

/* The kernel's struct sched_attr, as of its first version. */
struct sched_attr_v0 {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* What helps it to be in time, and never matters if it is refused. */
static void be_prompt(void)
{
    struct sched_attr_v0 a = {.size = sizeof a, .policy = SCHED_OTHER, .runtime = SLICE_NS};
    struct rlimit files;
    a.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &a, 0);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {    /* a pidfd per process */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* It may have been started by a thread that is bound to one core. */
static void use_all_cores(const struct sched *s)
{
    struct os_cpuset cpus;
    memset(&cpus, 0, sizeof cpus);
    for (uint32_t i = 0; i < s->h->nr_cores; i++) os_cpu_set(&cpus, s->cores[i].pol.cpu);
    os_setaffinity(0, &cpus);
}

/* Do programs take part, and none of this container? */
static bool is_for_others(struct monitor *m)
{
    uint32_t n = atomic_load(&m->shm.h->proc_hwm), others = 0;
    for (uint32_t i = 0; i < n && i < USF_MAX_PROCS; i++) {
        const struct usf_proc *p = &m->sched.procs[i];
        if (atomic_load(&p->state) == USF_PROC_FREE) continue;
        if (p->namespace == m->shm.namespace) return false;
        others++;
    }
    return others != 0;
}

/* The programs have their policy, but without a watchman threads that never block would stall the
 * others, and the dead would stay: where it cannot be loaded here, coop takes over for all.  `usf
 * ps` tells why.  A container that lacks the object must not take it from the others: it has no
 * monitor then, and its programs run unscheduled. */
static int bind_scheduler(struct monitor *m)
{
    char why[320] = "", unknown[160];
    struct usf_header *h = m->shm.h;
    const struct usf_policy_ops *user = NULL;
    sched_bind(&m->sched, h);
    m->sched.watch = &m->watcher;
    m->sched.shm_dir = m->options->dir;
    m->sched.instance = m->options->name;
    m->sched.follow = trace_follow;
    m->sched.namespace = m->shm.namespace;
    m->sched.remote_pin = true;
    if (shm_is_shared(m->options->name)) usf_format(why, sizeof why, "%s", SHARING_NO_OBJECTS);
    else if (h->policy_path[0]) user = policy_load_same(h->policy_path, &h->policy_hash, why, sizeof why);
    if (h->policy_path[0]) atomic_store(&own_namespace(m)->object, user ? USF_OBJECT_LOADED : USF_OBJECT_LACKED);
    if (!sched_use_policy(&m->sched, user, unknown, sizeof unknown)) return 0;
    if (!why[0]) usf_format(why, sizeof why, "%s", unknown);
    if (h->pidns != m->shm.pidns || is_for_others(m)) return usf_warn("%s", why), -ENOEXEC;
    monitor_replace_policy(m, why);
    return 0;
}

/* As the programs do.  Another monitor removes the instance. */
static void on_bug(void)
{
    shm_condemn(monitor.shm.h);
    _exit(1);
}

/* A thread that waits for the lock has waited for long: is its owner dead? */
static bool on_stuck(uint32_t owner)
{
    if (owner != LOCK_NAME_MONITOR + monitor.shm.namespace) monitor_recover_lock(&monitor);
    return false;
}

/* Where a thread cannot be told to look at itself there is no progress guarantee, and nothing is
 * better unscheduled. */
static int can_signal(void) { return os_signal_thread(os_getpid(), os_gettid(), 0, 0); }

int monitor_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int r = pthread_create(&thread, &attr, run, arg);
    pthread_attr_destroy(&attr);
    return -r;
}

/* To the process that started it, and waits for the answer: it watches, or this is why not. */
static void report(const struct monitor_options *o, int error)
{
    static bool told;
    if (o->report <= 0 || told) return;
    told = true;
    error = -error;
    while (write(o->report, &error, sizeof error) < 0 && errno == EINTR) {}
    close(o->report);
}

/* There is one.  True: it was another user's, and has ended since: ours takes over. */
static bool help_other(struct monitor *m)
{
    report(m->options, 0);
    if (!sharing_helper_is_wanted(own_namespace(m), m->options->name)) return false;
    be_prompt();
    sched_bind(&m->sched, m->shm.h);
    m->sched.namespace = m->shm.namespace;
    m->sched.remote_pin = true;
    use_all_cores(&m->sched);
    while (sharing_helper_run(m) == HELPER_SUCCEEDS)
        if (claim(own_namespace(m))) {
            prctl(PR_SET_NAME, "usf-monitor");
            return true;
        }
    return false;
}

int monitor_run(const struct monitor_options *o)
{
    struct monitor *m = &monitor;
    struct shm_config c = {.name = o->name, .dir = o->dir, .keep = true};
    m->options = o;
    int r = shm_open_instance(&c, false, &m->shm);
    if (r || (!claim(own_namespace(m)) && !help_other(m))) {
        if (r) {
            usf_warn("%s", m->shm.why);
            report(o, r);
        }
        return r ? 1 : 0;
    }
    USF_POINT("monitor.claimed");
    if (shm_is_condemned(m->shm.h)) {
        shm_discard_condemned(&m->shm, o->dir);
        trace_clean(NULL, o->dir, o->name);
        resign(own_namespace(m));
        report(o, -EBADMSG);
        return 1;
    }
    usf_on_bug = on_bug;
    m->started = os_now();
    pthread_mutex_init(&m->lock, NULL);
    be_prompt();
    monitor_lock(m);
    r = bind_scheduler(m);
    if (!r) r = deaths_prepare(m);
    if (!r) r = can_signal();
    if (!r) {
        use_all_cores(&m->sched);
        usf_lock_on_stuck = on_stuck;
        m->sched.policy_hung = atomic_exchange(&own_namespace(m)->looped, 0);
        monitor_recover_lock(m);        /* our predecessor may have died with it */
        sched_watch_begin(&m->sched);
        r = monitor_thread(watch_loop, m);
    }
    monitor_unlock(m);
    report(o, r);
    if (!r) deaths_loop(m);
    /* Never unlocked: who takes our place takes us for dead, and the other thread runs until we
     * have exited. */
    monitor_lock(m);
    resign(own_namespace(m));
    return r ? 1 : 0;
}

static void become_daemon(void)
{
    prctl(PR_SET_NAME, "usf-monitor");
    for (int sig = 1; sig < NSIG; sig++) signal(sig, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir("/")) usf_warn("the monitor keeps its directory busy: error %d", errno);
}

/* A policy's operation that does not return keeps us here for ever, with the lock.  Programs that
 * wait for that end us (hung.c), but there may be none left.  So at each second of CPU time that we
 * have used, which is hours of our work as a rule: no look has come to its end meanwhile, and we
 * have the lock?  Then our successor has coop take over. */
#define LOOK_AT_SELF_S 1
static void look_at_self(int sig)
{
    static uint64_t beat = UINT64_MAX;
    struct usf_header *h = monitor.shm.h;
    int saved = errno;
    (void)sig;
    if (h) {
        uint64_t is = atomic_load(&own_namespace(&monitor)->beat);
        bool owns = lock_owner(&h->lock) == LOCK_NAME_MONITOR + monitor.shm.namespace;
        if (is == beat && owns && atomic_load(&own_namespace(&monitor)->monitor) == own_word()) {
            atomic_store(&own_namespace(&monitor)->looped, 1);
            _exit(1);
        }
        beat = is;
    }
    errno = saved;
}

static void watch_self(void)
{
    struct sigaction act = {.sa_handler = look_at_self, .sa_flags = SA_RESTART};
    struct itimerval each = {{LOOK_AT_SELF_S, 0}, {LOOK_AT_SELF_S, 0}};
    if (sigaction(SIGPROF, &act, NULL) || setitimer(ITIMER_PROF, &each, NULL)) usf_warn("the monitor cannot look after itself: error %d", errno);
}

int usf_monitor_main(const char *instance, int report)
{
    struct monitor_options o = {.name = instance, .kept = true, .report = report};
    become_daemon();
    watch_self();
    return monitor_run(&o);
}
