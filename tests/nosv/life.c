/* tests/nosv/life.c - threads that come, go and lack, and what a runtime leaves when it ends.  SPDX-License-Identifier: Apache-2.0
 *
 * The library's sources are linked with it, and perturbation points call __wrap_usf_point. */
#include <malloc.h>
#include <sys/resource.h>
#include <xmmintrin.h>

#include "../asleep.h"
#include "nosv_test.h"

void __real_usf_point(const char *name);
void __wrap_usf_point(const char *name);

static int at, ran, ended, stopped;
static __thread bool stops;                 /* this thread stops at a point */
static void runs(nosv_task_t task) { (void)task; add(&ran, 1); }

/* Every CPU executes a task. */
static void all_work(void)
{
    nosv_task_type_t type = type_of(runs, NULL, NULL);
    set(&ran, 0);
    for (int i = 0; i < nosv_get_num_cpus(); i++) OK(nosv_submit(placed(task_of(type, NULL, NOSV_CREATE_NONE), i), NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == nosv_get_num_cpus());
}

/* ---- threads outside of tasks ------------------------------------------------------------------------- */

/* The last shutdown has been called by the main thread, and must not return before this thread has left.
 * After looking in vain often enough it sleeps between two looks. */
static void stay_inside(void)
{
    set(&stopped, 1);
    while (get(&stopped) != 2) usleep(100);
    UNTIL(get(&ended) || sleeps_in(getpid(), SYS_nanosleep));
    CHECK_EQ(get(&ended), 0);
}

void __wrap_usf_point(const char *name)
{
    __real_usf_point(name);
    if (!stops || strcmp(name, "tasks.queued")) return;
    stops = false;
    stay_inside();
}

static void *submits(void *task)
{
    stops = true;
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    return NULL;
}

static void shut_down_beside(pthread_t thread)
{
    set(&stopped, 2);
    OK(nosv_shutdown());
    set(&ended, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* Its task has run, and it has not left nosv_submit. */
static void inside_submit(void)
{
    pthread_t thread;
    OK(nosv_init());
    all_work();
    set(&ran, 0);
    CHECK_EQ(pthread_create(&thread, NULL, submits, task_of(type_of(runs, NULL, NULL), NULL, NOSV_CREATE_NONE)), 0);
    while (get(&stopped) != 1) usleep(100);
    shut_down_beside(thread);
    CHECK_EQ(get(&ran), 1);
}

static void has_event(nosv_task_t task) { (void)task; OK(nosv_increase_event_counter(1)); add(&at, 1); }
static void in_callback(nosv_task_t task)
{
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_UNKNOWN);        /* this thread has no init */
    stay_inside();
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
}
static void *decreases(void *task) { OK(nosv_decrease_event_counter(task, 1)); return NULL; }

/* It has ended the last event of a task, whose completed callback it calls. */
static void inside_callback(void)
{
    pthread_t thread;
    OK(nosv_init());
    nosv_task_t task = task_of(type_of(has_event, NULL, in_callback), NULL, NOSV_CREATE_NONE);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&at));
    settle();
    CHECK_EQ(pthread_create(&thread, NULL, decreases, task), 0);
    while (get(&stopped) != 1) usleep(100);
    shut_down_beside(thread);
}

static void shuts_down(nosv_task_t task) { (void)task; CHECK_EQ(nosv_shutdown(), NOSV_ERR_INVALID_OPERATION); add(&ended, 1); }
static void shutdown_in_callback(void)
{
    OK(nosv_init());
    nosv_task_t task = task_of(type_of(has_event, NULL, shuts_down), NULL, NOSV_CREATE_NONE);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&at));
    settle();
    OK(nosv_decrease_event_counter(task, 1));
    UNTIL(get(&ended));
    OK(nosv_shutdown());
}

/* ---- what a worker is ---------------------------------------------------------------------------------- */

static void is_default(nosv_task_t task)
{
    sigset_t signals;
    CHECK_EQ(_mm_getcsr() & ~0x3fu, 0x1f80);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &signals), 0);
    CHECK(!sigismember(&signals, SIGUSR1));
    CHECK(sigismember(&signals, SIGUSR2));
    runs(task);
}

/* The thread that happens to make a worker rounds downwards, flushes denormals to zero, and has signals blocked. */
static void inherits_nothing(void)
{
    sigset_t signals;
    unsigned before = _mm_getcsr();
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &signals, NULL), 0);
    OK(nosv_init());
    nosv_task_type_t type = type_of(is_default, NULL, NULL);
    sigfillset(&signals);
    sigdelset(&signals, SIGALRM);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &signals, NULL), 0);
    _mm_setcsr(before | 0xa040u);
    OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    _mm_setcsr(before);
    UNTIL(get(&ran));
    OK(nosv_shutdown());
}

static void has_stack(nosv_task_t task)
{
    pthread_attr_t attr;
    size_t size;
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
    CHECK_EQ(pthread_attr_getstacksize(&attr, &size), 0);
    CHECK_EQ(size, 3 << 20);
    runs(task);
}
static void stack_size(void)
{
    setenv("NOSV_CONFIG_OVERRIDE", "misc.stack_size=3M", 1);
    OK(nosv_init());
    OK(nosv_submit(task_of(type_of(has_stack, NULL, NULL), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    OK(nosv_shutdown());
    CHECK_EQ(get(&ran), 1);
}

/* No thread is to be had at first: the task is executed when there is one, and nothing else happens. */
static void lacking(void)
{
    struct rlimit limit = {0, 0};
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages;
    OK(nosv_init());
    nosv_task_t task = task_of(type_of(runs, NULL, NULL), NULL, NOSV_CREATE_NONE);
    CHECK(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (1 << 20);
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    CHECK_EQ(get(&ran), 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    while (!get(&ran)) usleep(1000);
    OK(nosv_shutdown());
}

static void exits(nosv_task_t task)
{
    add(&at, 1);
    if (pointer_of(task)) pthread_exit(NULL);
    pthread_cancel(pthread_self());
    pthread_testcancel();
}
static void *exits_inline(void *how)
{
    attach();
    OK(nosv_submit(task_of(type_of(exits, NULL, NULL), how, NOSV_CREATE_NONE), NOSV_SUBMIT_INLINE));
    return NULL;
}

/* A thread that ends in a task, which is an error, gives its CPU back: others run, and the last shutdown returns. */
static void lost(void)
{
    OK(nosv_init());
    int n = nosv_get_num_cpus();
    nosv_task_type_t type = type_of(exits, NULL, NULL);
    for (int i = 0; i < 2 * n; i++) OK(nosv_submit(placed(task_of(type, i % 2 ? &at : NULL, NOSV_CREATE_NONE), i % n), NOSV_SUBMIT_NONE));
    UNTIL(get(&at) == 2 * n);
    all_work();
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, exits_inline, i % 2 ? &at : NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    CHECK_EQ(get(&at), 2 * n + 4);
    all_work();
    OK(nosv_shutdown());
    CHECK_EQ(nosv_get_num_cpus(), NOSV_ERR_NOT_INITIALIZED);
}

/* ---- what stays ------------------------------------------------------------------------------------------ */

static void rounds(int n)
{
    nosv_task_t task;
    for (int i = 0; i < n; i++) {
        OK(nosv_init());
        nosv_task_type_t type = type_of(runs, NULL, NULL), gone = type_of(runs, NULL, NULL);
        OK(nosv_create(&task, type, 0, NOSV_CREATE_NONE));
        OK(nosv_submit(task_of(gone, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        OK(nosv_type_destroy(gone, NOSV_TYPE_DESTROY_NONE));
        OK(nosv_attach(&task, NULL, "with an event", NOSV_ATTACH_NONE));
        OK(nosv_increase_event_counter(1));
        OK(nosv_detach(NOSV_DETACH_NONE));
        OK(nosv_shutdown());
    }
}

/* Types that were not destroyed, and tasks: with the last shutdown. */
static void nothing_stays(void)
{
    rounds(20);
    size_t before = mallinfo2().uordblks;
    rounds(200);
    CHECK(mallinfo2().uordblks < before + 32768);
    setenv("NOSV_CONFIG_OVERRIDE", "task_affinity.default=numa-0", 1);
    OK(nosv_init());
    CHECK_EQ(nosv_get_default_affinity().level, NOSV_AFFINITY_LEVEL_NUMA);
    OK(nosv_shutdown());
    CHECK_EQ(nosv_get_default_affinity().level, NOSV_AFFINITY_LEVEL_NONE);
}

/* CPUs that are in no list of topology.complex_sets are a set as well, and one that is in two belongs to the first. */
static void complex_sets(void)
{
    char text[100];
    OK(nosv_init());
    int n = nosv_get_num_cpus(), first = first_cpu();
    OK(nosv_shutdown());
    snprintf(text, sizeof(text), "[topology]\ncomplex_sets = [\"%d\", \"%d\"]\n", first, first);
    char path[] = "/tmp/nosv-life-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    setenv("NOSV_CONFIG", path, 1);
    OK(nosv_init());
    unlink(path);
    CHECK_EQ(nosv_get_num_domains(NOSV_TOPO_LEVEL_COMPLEX_SET), n > 1 ? 3 : 2);
    CHECK_EQ(nosv_get_num_cpus_in_domain(NOSV_TOPO_LEVEL_COMPLEX_SET, 0), 1);
    CHECK_EQ(nosv_get_num_cpus_in_domain(NOSV_TOPO_LEVEL_COMPLEX_SET, 1), 0);
    if (n > 1) CHECK_EQ(nosv_get_num_cpus_in_domain(NOSV_TOPO_LEVEL_COMPLEX_SET, 2), n - 1);
    OK(nosv_shutdown());
}

/* To ask is no scheduling point, for several tasks either. */
static void asks(void)
{
    nosv_task_t tasks[2];
    OK(nosv_init());
    attach_pinned();
    nosv_task_type_t type = type_of(runs, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        tasks[i] = pinned(task_of(type, NULL, NOSV_CREATE_JOINABLE));
        OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    }
    CHECK_EQ(nosv_wait_all(tasks, 2, 0), NOSV_ERR_TIMEOUT);
    CHECK_EQ(get(&ran), 0);
    OK(nosv_wait(tasks[0], FOREVER));
    tasks[1] = tasks[0];
    CHECK_EQ(nosv_join_all(tasks, NULL, 2, 0), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_join_all(tasks, NULL, 1, 0));
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
}

static const struct test_case cases[] = {
    {"inside-submit", inside_submit}, {"inside-callback", inside_callback}, {"shutdown-in-callback", shutdown_in_callback},
    {"inherits-nothing", inherits_nothing}, {"stack-size", stack_size}, {"lacking", lacking}, {"lost", lost},
    {"nothing-stays", nothing_stays}, {"complex-sets", complex_sets}, {"asks", asks},
};

int main(int argc, char **argv) { return run_cases(cases, sizeof(cases) / sizeof(*cases), false, argc, argv); }
