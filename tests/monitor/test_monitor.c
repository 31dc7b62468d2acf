/* tests/monitor/test_monitor.c - what the monitor does for an instance.  SPDX-License-Identifier: Apache-2.0 */
#include "monitor_test.h"
#include "../asleep.h"
#include "sched/lock.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>

struct shm_config test_config;
struct shm test_shm;

void test_make(unsigned nr_cores)
{
    struct os_cpuset mine;
    memset(&test_config.cpus, 0, sizeof test_config.cpus);
    os_getaffinity(0, &mine);
    for (unsigned c = 0, n = 0; c < 1024 && n < nr_cores; c++)
        if (os_cpu_isset(&mine, c)) os_cpu_set(&test_config.cpus, c), n++;
    if (shm_open_instance(&test_config, true, &test_shm)) {
        fprintf(stderr, "%s\n", test_shm.why);
        exit(1);
    }
}

pid_t test_monitor(bool no_pidfd)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct monitor_options o = {.name = test_config.name, .dir = test_config.dir, .min_life_ns = SECOND / 2,
                                    .no_pidfd = no_pidfd};
        alarm(50);
        _exit(monitor_run(&o));
    }
    EXPECT(SOON(monitor_is_alive(test_shm.h->namespace), 5), "the monitor does not start");
    return pid;
}

void test_bind(struct sched *s)
{
    char why[128];
    struct os_cpuset all;
    memset(s, 0, sizeof *s);
    memset(&all, 0xff, sizeof all);
    sched_bind(s, test_shm.h);
    s->shm_dir = test_config.dir;
    if (sched_use_policy(s, NULL, why, sizeof why)) exit(1);
    if (sched_proc_join(s, getpid(), os_start_time(getpid()), "member", &all, 0) < 0) exit(1);
}

int test_exit_code(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool on_disk(void)
{
    char path[SHM_PATH_MAX];
    shm_path(test_config.dir, test_config.name, geteuid(), path, sizeof path);
    return access(path, F_OK) == 0;
}

static bool has_attached(pid_t pid)
{
    for (uint32_t i = 0; i < atomic_load(&test_shm.h->task_hwm); i++) {
        struct usf_task *t = &shm_tasks(test_shm.h)[i];
        uint32_t state = atomic_load(&t->state), proc = atomic_load(&t->proc);
        if (state == USF_TASK_FREE || state == USF_TASK_NEW || proc >= atomic_load(&test_shm.h->proc_hwm)) continue;
        if (shm_procs(test_shm.h)[proc].pid == pid) return true;
    }
    return false;
}

/* A process with one attached thread that does nothing.  It may be killed from now on: one that dies before the monitor has been told of it
 * keeps its record until the monitor looks again, and one that dies while it claims a task keeps that. */
static pid_t member(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct sched s;
        struct sched_self me = {.task = USF_NONE};
        test_bind(&s);
        if (sched_attach(&s, &me, gettid(), "thread")) _exit(1);
        for (;;) sched_block(&s, &me, 0);
    }
    EXPECT(SOON(has_attached(pid), 10));
    return pid;
}

static unsigned records(void)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < atomic_load(&test_shm.h->proc_hwm); i++)
        n += atomic_load(&shm_procs(test_shm.h)[i].state) != USF_PROC_FREE;
    return n;
}

/* The monitor has looked since: it has seen another one come and die. */
static void let_it_look(void)
{
    unsigned n = records();
    pid_t another = member();
    EXPECT(SOON(records() == n + 1, 5), "%u records", records());
    kill(another, SIGKILL);
    EXPECT(SOON(records() == n, 5), "%u records", records());
    waitpid(another, NULL, 0);
}

static unsigned tasks(void)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < atomic_load(&test_shm.h->task_hwm); i++)
        n += atomic_load(&shm_tasks(test_shm.h)[i].state) != USF_TASK_FREE;
    return n;
}

static void ends(pid_t monitor)
{
    EXPECT(SOON(!on_disk(), 5), "the instance stays");
    EXPECT_EQ(test_exit_code(monitor), 0);
}

/* Killed ones are taken off, though nobody has waited for them; the last one's death ends it all. */
static int deaths(bool no_pidfd)
{
    test_make(0);
    pid_t monitor = test_monitor(no_pidfd), m[3];
    for (int i = 0; i < 3; i++) m[i] = member();
    EXPECT(SOON(tasks() == 3, 5), "%u", tasks());
    EXPECT_EQ(records(), 3);
    kill(m[1], SIGKILL);
    EXPECT(SOON(records() == 2 && tasks() == 2, 5), "%u records, %u tasks", records(), tasks());
    let_it_look();
    EXPECT_EQ(records(), 2);
    kill(m[0], SIGKILL);
    kill(m[2], SIGKILL);
    EXPECT(SOON(records() == 0 && tasks() == 0, 5));
    ends(monitor);
    for (int i = 0; i < 3; i++) waitpid(m[i], NULL, 0);
    return check_end();
}
static int test_deaths(void) { return deaths(false); }
static int test_polled(void) { return deaths(true); }

/* A record whose pid belongs to another process by now. */
static int test_reuse(void)
{
    test_make(0);
    struct usf_header *h = test_shm.h;
    int gone = shm_join_begin(h, test_config.dir, 0, getpid(), os_start_time(getpid()) + 1);
    int alive = shm_join_begin(h, test_config.dir, 0, getpid(), os_start_time(getpid()));
    pid_t monitor = test_monitor(false);
    EXPECT(SOON(atomic_load(&shm_procs(h)[gone].state) == USF_PROC_FREE, 5));
    let_it_look();
    EXPECT_EQ(atomic_load(&shm_procs(h)[alive].state), USF_PROC_JOINING);
    /* a record that is given to another process must not be taken off when the first one dies */
    pid_t child = member();
    EXPECT(SOON(records() == 2, 5));
    shm_leave(h, (uint32_t)alive);
    shm_join_begin(h, test_config.dir, 0, getpid(), os_start_time(getpid()));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    EXPECT(SOON(records() == 1, 5));
    let_it_look();
    EXPECT_EQ(records(), 1);
    for (uint32_t i = 0; i < 2; i++) shm_leave(h, i);
    kill(monitor, SIGKILL);
    waitpid(monitor, NULL, 0);
    EXPECT(shm_retire_if_empty(&test_shm, test_config.dir));
    return check_end();
}

/* A row of statistics whose `usf run` was killed, and whose pid is another process's by now. */
static int test_row(void)
{
    test_make(0);
    struct usf_run *r = shm_runs(test_shm.h);
    uint64_t owner = shm_run_owner(0, getpid());
    atomic_store(&r->owner, owner);
    EXPECT(shm_run_is_read(r, 0) && !shm_run_is_read(r, 1));
    EXPECT(!(owner >> 48) || r->start == (uint16_t)os_start_time(getpid()));
    atomic_store(&r->owner, (uint32_t)owner);       /* its start time is not known */
    EXPECT(shm_run_is_read(r, 0));
    r->start = (uint16_t)(os_start_time(getpid()) ^ 0x8000);
    EXPECT(!shm_run_is_read(r, 0));
    ends(test_monitor(false));
    return check_end();
}

static int test_single(void)
{
    test_make(0);
    pid_t first = test_monitor(false), others[8];
    int32_t pid = atomic_load(&test_shm.h->namespace[0].monitor_pid);
    EXPECT_EQ(pid, first);
    for (int i = 0; i < 8; i++) others[i] = test_monitor(false);
    for (int i = 0; i < 8; i++) EXPECT_EQ(test_exit_code(others[i]), 0);
    EXPECT_EQ(atomic_load(&test_shm.h->namespace[0].monitor_pid), first);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    EXPECT(!monitor_is_alive(test_shm.h->namespace));
    for (int i = 0; i < 8; i++) {       /* all at once, over a dead one's word */
        others[i] = fork();
        if (others[i] == 0) {
            struct monitor_options o = {.name = test_config.name, .dir = test_config.dir, .min_life_ns = SECOND};
            _exit(monitor_run(&o) + (atomic_load(&test_shm.h->namespace[0].monitor_pid) == 0 ? 10 : 0));
        }
    }
    int ended_last = 0;
    for (int i = 0; i < 8; i++) ended_last += test_exit_code(others[i]) == 10;
    EXPECT(ended_last >= 1, "nobody watched");
    EXPECT(!on_disk());
    struct monitor_options o = {.name = test_config.name, .dir = test_config.dir};
    EXPECT_EQ(monitor_run(&o), 1);      /* no such instance */
    return check_end();
}

/* Context switches of all threads of a process so far. */
/* Nothing but an event wakes any thread of it. */
static bool rests(pid_t monitor)
{
    char path[64];
    unsigned threads = 0, rest = 0;
    snprintf(path, sizeof path, "/proc/%d/task", monitor);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        threads += tid > 0;
        rest += tid > 0 && sleeps_for_ever(tid);
    }
    if (d) closedir(d);
    return threads && rest == threads;
}

static int test_idle(void)
{
    test_make(0);
    pid_t monitor = test_monitor(false), a = member(), b = member();
    EXPECT(SOON(tasks() == 2, 5));
    EXPECT(SOON(rests(monitor), 5));    /* it looks around for a while after each event */
    EXPECT_EQ(atomic_load(&test_shm.h->monitor_asleep), USF_MONITOR_ASLEEP(0));
    kill(a, SIGKILL);
    kill(b, SIGKILL);
    ends(monitor);
    waitpid(a, NULL, 0);
    waitpid(b, NULL, 0);
    return check_end();
}

/* It sleeps until the end of an instance that has no process: for longer than its least life. */
static bool lingers(pid_t monitor)
{
    struct asleep in;
    return is_asleep(monitor, &in) && (in.call == SYS_epoll_wait || in.call == SYS_epoll_pwait) && (int)in.arg[3] > 1000;
}

static int test_linger(void)
{
    test_make(0);
    test_shm.h->monitor_linger_ns = SECOND * 3;
    pid_t monitor = test_monitor(false);
    EXPECT(SOON(lingers(monitor), 5));
    pid_t a = member();                 /* in time: */
    EXPECT(SOON(rests(monitor), 5));    /* ... the end is put off */
    let_it_look();                      /* who comes and goes between two looks need not be seen */
    kill(a, SIGKILL);
    waitpid(a, NULL, 0);
    EXPECT(SOON(records() == 0, 5));
    uint64_t empty = os_now();
    ends(monitor);
    uint64_t end = os_now();
    EXPECT(end - empty > 2 * SECOND && end - empty < 6 * SECOND, "%lu ms after the last",
          (unsigned long)(end - empty) / 1000000);
    return check_end();
}

/* ---- with two threads for one core --------------------------------------------------------------- */

static struct sched sched;
static struct sched_self spinner = {.task = USF_NONE}, waiter = {.task = USF_NONE};
static _Atomic uint64_t signals, wrong_values;
static _Atomic int waiter_ran;

static void signalled(int sig, siginfo_t *info, void *context)
{
    uint64_t value = (uint64_t)info->si_value.sival_ptr;
    /* Who was given the core is told, too, if the kernel does not run it for long. */
    if (info->si_code == SI_QUEUE && value == (MONITOR_PREEMPT_MAGIC ^ waiter.task)) return;
    if (info->si_code != SI_QUEUE || value != (MONITOR_PREEMPT_MAGIC ^ spinner.task)) atomic_fetch_add(&wrong_values, 1);
    atomic_fetch_add(&signals, 1);
    if (!spinner.crit) sched_preempt(&sched, &spinner);
}

static void *wait_for_core(void *arg)
{
    if (sched_attach(&sched, &waiter, gettid(), "waiter")) exit(1);
    atomic_store(&waiter_ran, 1);
    sched_detach(&sched, &waiter, false);
    return arg;
}

static void take_core(void)
{
    struct sigaction a = {.sa_sigaction = signalled, .sa_flags = SA_SIGINFO};
    sigaction(MONITOR_PREEMPT_SIGNAL, &a, NULL);
    test_bind(&sched);
    EXPECT_EQ(sched_attach(&sched, &spinner, gettid(), "spinner"), 0);
}

static pthread_t want_core(void)
{
    pthread_t t;
    pthread_create(&t, NULL, wait_for_core, NULL);
    return t;
}

static pthread_t one_core(void)
{
    take_core();
    return want_core();
}

static void after_one_core(pthread_t t, pid_t monitor)
{
    pthread_join(t, NULL);
    sched_detach(&sched, &spinner, false);
    sched_proc_remove(&sched, sched.proc, true);
    kill(monitor, SIGKILL);
    waitpid(monitor, NULL, 0);
    EXPECT(shm_retire_if_empty(&test_shm, test_config.dir));
}

/* A thread that never comes to a scheduling point is told, and gives way. */
static int test_progress(void)
{
    test_make(1);
    pid_t monitor = test_monitor(false);
    uint64_t start = os_now();
    pthread_t t = one_core();
    while (!atomic_load(&waiter_ran) && os_now() < start + 10 * SECOND) {}
    printf("the waiter ran after %lu ms, %lu preemption signals\n", (unsigned long)(os_now() - start) / 1000000,
           (unsigned long)signals);
    EXPECT(waiter_ran && signals > 0);
    EXPECT_EQ(wrong_values, 0);
    after_one_core(t, monitor);
    return check_end();
}

/* A core released provisionally for a system call that takes long is given on. */
static int test_provisional(void)
{
    test_make(1);
    pid_t monitor = test_monitor(false);
    pthread_t t = one_core();
    uint64_t start = os_now();
    sched_leave_core(&sched, &spinner, false);
    while (!atomic_load(&waiter_ran) && os_now() < start + 10 * SECOND) usleep(1000);
    sched_return_core(&sched, &spinner);
    EXPECT(waiter_ran, "the core was not given on");
    after_one_core(t, monitor);
    return check_end();
}

/* While a core is in use and nothing waits the monitor naps.  A task that begins to wait wakes it:
 * else provisionally released cores would not be taken before it has slept its time.  It is
 * stopped, so that it cannot have woken up by itself. */
static int test_naps(void)
{
    test_make(1);
    pid_t monitor = test_monitor(false);
    take_core();
    _Atomic uint32_t *asleep = &test_shm.h->monitor_asleep;
    bool naps = false;
    for (int tries = 0; tries < 1000 && !naps; tries++) {
        EXPECT(SOON(atomic_load(asleep) == USF_MONITOR_NAPS(0), 10), "it is %u", atomic_load(asleep));
        kill(monitor, SIGSTOP);
        waitpid(monitor, NULL, WUNTRACED);
        naps = atomic_load(asleep) == USF_MONITOR_NAPS(0);
        if (!naps) kill(monitor, SIGCONT);
    }
    EXPECT(naps);
    uint32_t event = atomic_load(&test_shm.h->monitor_event);
    pthread_t t = want_core();
    EXPECT(SOON(atomic_load(asleep) == 0, 10));
    EXPECT(SOON(atomic_load(&test_shm.h->monitor_event) != event, 10));     /* after the flag, by another thread */
    sched_leave_core(&sched, &spinner, false);
    kill(monitor, SIGCONT);
    EXPECT(SOON(waiter_ran, 10), "the core was not given on");
    sched_return_core(&sched, &spinner);
    after_one_core(t, monitor);
    return check_end();
}

/* A process dies with the scheduler lock; the others go on. */
static int test_lock(void)
{
    test_make(0);
    pid_t monitor = test_monitor(false), survivor = member();
    EXPECT(SOON(tasks() == 1, 5));
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        if (child == 0) {
            struct sched s;
            test_bind(&s);
            lock_acquire(&test_shm.h->lock, lock_name(USF_NONE, s.proc, 0));
            raise(SIGKILL);
        }
        waitpid(child, NULL, 0);
        pid_t next = member();          /* takes the lock on its way */
        EXPECT(SOON(tasks() == 2 && records() == 2, 10), "%u tasks, %u records", tasks(), records());
        kill(next, SIGKILL);
        waitpid(next, NULL, 0);
        EXPECT(SOON(tasks() == 1, 5));
    }
    /* the monitor itself */
    kill(monitor, SIGKILL);
    waitpid(monitor, NULL, 0);
    pid_t owner = fork();
    if (owner == 0) {
        lock_acquire(&test_shm.h->lock, LOCK_NAME_MONITOR);
        raise(SIGKILL);
    }
    waitpid(owner, NULL, 0);
    monitor = test_monitor(false);
    kill(survivor, SIGKILL);
    waitpid(survivor, NULL, 0);
    EXPECT(SOON(records() == 0, 10));
    ends(monitor);
    return check_end();
}

/* Each container has a monitor of its own to look for; and who looks without the lock says nothing about that. */
static int test_looks(void)
{
    struct sched s;
    test_make(0);
    test_bind(&s);
    uint64_t moved = test_shm.h->moved_ns;
    EXPECT(moved);
    usleep(100000);
    for (s.namespace = 0; s.namespace < 2; s.namespace++) {
        EXPECT(sched_look_is_due(&s), "in pid namespace %u", s.namespace);
        EXPECT(atomic_load(&test_shm.h->namespace[s.namespace].looked) > moved);
    }
    EXPECT(test_shm.h->moved_ns == moved);
    s.namespace = 0;
    sched_proc_remove(&s, s.proc, false);
    ends(test_monitor(false));
    return check_end();
}

/* Between two looks another has noted what the monitor had used of the CPU, and knew of another monitor. */
static bool end_hung(void)
{
    struct usf_missed *missed = &test_shm.h->namespace[0].missed;
    if (atomic_load(&missed->looks) == 1) atomic_fetch_add(&missed->cpu_us, 1000000);
    return monitor_end_hung(test_shm.h, 0, NULL) > 0;
}

/* A stopped monitor is found to hang however often it is looked at, and is not taken for one that a policy keeps. */
static int test_hung(void)
{
    test_make(0);
    pid_t monitor = test_monitor(false);
    EXPECT(SOON(monitor_is_alive(test_shm.h->namespace), 5));
    kill(monitor, SIGSTOP);
    for (int i = 0; i < 20; i++) EXPECT(!monitor_end_hung(test_shm.h, 0, NULL), "ended although there is nothing to do");
    atomic_store(&test_shm.h->lock_stuck, 1);
    atomic_store(&test_shm.h->lock.word, LOCK_NAME_MONITOR);
    bool ended = false;     /* by many that wait, each of whom looks at times of its own: every millisecond */
    EXPECT(SOON(ended = ended || end_hung(), 10));
    if (!ended) kill(monitor, SIGKILL);
    EXPECT(waitpid(monitor, NULL, 0) == monitor && !monitor_is_alive(test_shm.h->namespace));
    EXPECT(!atomic_load(&test_shm.h->namespace[0].looped));
    monitor = test_monitor(false);
    ends(monitor);
    return check_end();
}

/* A process in the monitor's place; busy: it wants the CPU, else it sleeps. */
static pid_t stand_in(bool busy)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(50);
        for (;;)
            if (!busy) pause();
    }
    return pid;
}

/* A monitor that does not get a CPU for 0.2 s is not looked for in /proc; one that has ended is missed at once if its last
 * sign of life has been noted, however new that is. */
static int test_silent(void)
{
    test_make(0);
    struct usf_namespace *sp = &test_shm.h->namespace[0];
    pid_t monitor = stand_in(false);
    atomic_store(&sp->monitor, (uint32_t)monitor);
    atomic_fetch_add(&sp->beat, 1);
    EXPECT(monitor_shows_life(sp));
    uint64_t now = os_now();
    atomic_store(&sp->missed.since, now - SECOND / 5);
    bool shows = monitor_shows_life(sp);
    EXPECT(shows || os_now() - now > SECOND / 30);       /* or this test did not get a CPU for as long */
    atomic_store(&sp->missed.since, os_now() - SECOND / 3);
    EXPECT(!monitor_shows_life(sp));
    atomic_store(&sp->missed.since, os_now());
    kill(monitor, SIGKILL);
    EXPECT(waitpid(monitor, NULL, 0) == monitor);
    EXPECT(!monitor_shows_life(sp));
    atomic_store(&sp->monitor, 0);
    EXPECT(!monitor_shows_life(sp));
    ends(test_monitor(false));
    return check_end();
}

/* Somebody looks who cannot read /proc: he has no descriptor left. */
static int look_blindly(const struct monitor_own *own)
{
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
        if (os_thread_state(getpid(), getpid())) _exit(77);
        int r = monitor_end_hung(test_shm.h, 0, own);
        _exit(r < 0 ? -r : r ? 100 : 0);
    }
    return test_exit_code(pid);
}

/* A stopped monitor that has the lock may be at work for all he knows: it is given time.  Nor does he know of what it does with that, nor
 * whether another user's is a monitor. */
static int test_blind(void)
{
    test_make(0);
    struct usf_missed *missed = &test_shm.h->namespace[0].missed;
    struct monitor_own own = {.dev = test_shm.h->file_dev, .ino = test_shm.h->file_ino};
    pid_t monitor = test_monitor(false);
    kill(monitor, SIGSTOP);
    EXPECT(waitpid(monitor, NULL, WUNTRACED) == monitor);
    atomic_store(&test_shm.h->lock_stuck, 1);
    atomic_store(&test_shm.h->lock.word, LOCK_NAME_MONITOR);
    EXPECT_EQ(look_blindly(NULL), 0);       /* begins to count */
    atomic_store(&missed->looks, 100);
    atomic_store(&missed->cpu_us, 1);
    atomic_store(&missed->since, os_now() - SECOND);
    EXPECT_EQ(look_blindly(NULL), 0);
    atomic_store(&missed->since, os_now() - 10 * SECOND);
    EXPECT_EQ(look_blindly(&own), EPERM);
    EXPECT(waitpid(monitor, NULL, WNOHANG) == 0);
    EXPECT_EQ(look_blindly(NULL), 100);
    EXPECT(waitpid(monitor, NULL, 0) == monitor && !monitor_is_alive(test_shm.h->namespace));
    EXPECT(!atomic_load(&test_shm.h->namespace[0].looped));
    ends(test_monitor(false));
    return check_end();
}

/* One that wants the CPU may not get it: its successor would not, either. */
static int test_starved(void)
{
    test_make(0);
    struct usf_namespace *sp = &test_shm.h->namespace[0];
    pid_t monitor = stand_in(true);
    atomic_store(&sp->monitor_pid, monitor);
    atomic_store(&test_shm.h->lock_stuck, 1);
    EXPECT_EQ(monitor_end_hung(test_shm.h, 0, NULL), 0);       /* begins to count */
    atomic_store(&sp->missed.looks, 100);
    atomic_store(&sp->missed.since, os_now() - SECOND);
    EXPECT_EQ(monitor_end_hung(test_shm.h, 0, NULL), 0);
    atomic_store(&sp->missed.since, os_now() - 10 * SECOND);
    EXPECT_EQ(monitor_end_hung(test_shm.h, 0, NULL), 1);
    EXPECT_EQ(test_exit_code(monitor), -SIGKILL);
    EXPECT(!atomic_load(&sp->looped));
    atomic_store(&test_shm.h->lock_stuck, 0);
    ends(test_monitor(false));
    return check_end();
}

/* Another thread, which read the clock later, begins to count anew: the monitor has just shown life. */
static int test_anew(void)
{
    test_make(0);
    struct usf_namespace *sp = &test_shm.h->namespace[0];
    pid_t monitor = stand_in(false);
    atomic_store(&sp->monitor_pid, monitor);
    atomic_store(&test_shm.h->lock_stuck, 1);
    EXPECT_EQ(monitor_end_hung(test_shm.h, 0, NULL), 0);       /* begins to count */
    atomic_store(&sp->missed.looks, 100);
    atomic_store(&sp->missed.since, os_now() + 50 * SECOND);
    EXPECT_EQ(monitor_end_hung(test_shm.h, 0, NULL), 0);
    atomic_store(&sp->missed.looks, 3);
    atomic_store(&sp->missed.since, os_now() - SECOND);
    atomic_store(&sp->missed.last, os_now() + 50 * SECOND);
    EXPECT_EQ(monitor_end_hung(test_shm.h, 0, NULL), 0);
    EXPECT(waitpid(monitor, NULL, WNOHANG) == 0, "it was ended");
    kill(monitor, SIGKILL);
    waitpid(monitor, NULL, 0);
    atomic_store(&sp->monitor, 0);
    atomic_store(&test_shm.h->lock_stuck, 0);
    ends(test_monitor(false));
    return check_end();
}

static const struct { const char *name; int (*run)(void); } all[] = {
    {"deaths", test_deaths}, {"polled", test_polled}, {"reuse", test_reuse}, {"row", test_row}, {"single", test_single},
    {"idle", test_idle}, {"linger", test_linger}, {"progress", test_progress}, {"provisional", test_provisional}, {"naps", test_naps},
    {"lock", test_lock}, {"daemon", test_daemon}, {"revive", test_revive}, {"exec", test_exec},
    {"hung", test_hung}, {"blind", test_blind}, {"starved", test_starved}, {"anew", test_anew}, {"silent", test_silent}, {"looks", test_looks},
};

int main(int argc, char **argv)
{
    static char name[USF_NAME_MAX];
    if (argc >= 3 && !strcmp(argv[1], "monitor")) return usf_monitor_main(argv[2], argc > 3 ? atoi(argv[3]) : 0);    /* as the tool does */
    check_begin(50);
    if (argc != 2) return 1;
    snprintf(name, sizeof name, "test-monitor-%s-%d", argv[1], getpid());
    test_config.name = name;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name)) return all[i].run();
    return 1;
}
