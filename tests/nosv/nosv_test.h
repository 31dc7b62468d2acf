/* tests/nosv/nosv_test.h - what the tests of the tasking API share.  SPDX-License-Identifier: Apache-2.0
 *
 * A test checks results, order and counts, never time: eight copies of it may run at once. It ends itself after 60 s.
 * It exits with 0, with 1 after a message that names file and line, or with 77 and a reason. */
#ifndef NOSV_TEST_H
#define NOSV_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <nosv.h>
#include <nosv/affinity.h>
#include <nosv/hwinfo.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

#define OK(call) CHECK_EQ(call, NOSV_SUCCESS)
#define FOREVER ((uint64_t)-1)
#define NONE UINT64_C(0) /* any group's *_NONE */
#define SKIP(why) (puts("skipped: " why), exit(77))

/* Words that several threads use. */
static inline int add(int *n, int by) { return __atomic_add_fetch(n, by, __ATOMIC_SEQ_CST); }
static inline int get(int *n) { return __atomic_load_n(n, __ATOMIC_SEQ_CST); }
static inline void set(int *n, int to) { __atomic_store_n(n, to, __ATOMIC_SEQ_CST); }

static inline pid_t thread_id(void) { return (pid_t)syscall(SYS_gettid); }

static inline void ran_too_long(int sig)
{
    (void)sig;
    static const char text[] = "the test has not ended after 60 s\n";
    (void)!write(2, text, sizeof(text) - 1);
    _exit(1);
}

/* Let others run: for loops that wait for something. */
static inline void rest(void)
{
    if (nosv_self() && nosv_waitfor(200000, NULL) == NOSV_SUCCESS) return;
    usleep(200);
}
#define UNTIL(condition) while (!(condition)) rest()

static inline void begin(void)
{
    struct sigaction act;
    memset(&act, 0, sizeof(act));
    act.sa_handler = ran_too_long;
    sigaction(SIGALRM, &act, NULL);
    alarm(60);
}

static inline nosv_task_type_t type_of(nosv_task_run_callback_t run, nosv_task_end_callback_t end, nosv_task_completed_callback_t completed)
{
    nosv_task_type_t type = NULL;
    OK(nosv_type_init(&type, run, end, completed, "test", NULL, NULL, NOSV_TYPE_INIT_NONE));
    CHECK(type);
    return type;
}

/* A task whose metadata is one pointer. */
static inline nosv_task_t task_of(nosv_task_type_t type, void *pointer, nosv_flags_t flags)
{
    nosv_task_t task = NULL;
    OK(nosv_create(&task, type, sizeof(void *), flags));
    CHECK(task);
    *(void **)nosv_get_task_metadata(task) = pointer;
    return task;
}
static inline void *pointer_of(nosv_task_t task) { return *(void **)nosv_get_task_metadata(task); }

/* The process's first CPU, by its system id. */
static inline int first_cpu(void)
{
    int *cpus = nosv_get_available_cpus();
    CHECK(cpus);
    int cpu = cpus[0];
    free(cpus);
    return cpu;
}

/* Everything on one CPU: what runs there next is then decided by the order of the ready tasks alone. */
static inline nosv_affinity_t one_cpu(void)
{ return nosv_affinity_get((uint32_t)first_cpu(), NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT); }

static inline nosv_task_t pinned(nosv_task_t task)
{
    nosv_affinity_t affinity = one_cpu();
    nosv_set_task_affinity(task, &affinity);
    return task;
}

static inline nosv_task_t attach(void)
{
    nosv_task_t self = NULL;
    OK(nosv_attach(&self, NULL, "main", NOSV_ATTACH_NONE));
    CHECK(self && self == nosv_self());
    return self;
}

static inline nosv_task_t attach_pinned(void)
{
    nosv_task_t self = NULL;
    nosv_affinity_t affinity = one_cpu();
    OK(nosv_attach(&self, &affinity, "main", NOSV_ATTACH_NONE));
    return self;
}

/* May run on one CPU alone, counted from 0 among those of the process. */
static inline nosv_task_t placed(nosv_task_t task, int cpu)
{
    int *cpus = nosv_get_available_cpus();
    nosv_affinity_t affinity = nosv_affinity_get((uint32_t)cpus[cpu % nosv_get_num_cpus()], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
    free(cpus);
    nosv_set_task_affinity(task, &affinity);
    return task;
}

/* Run a function on a thread of its own, and wait for it without holding a core. */
struct on_thread_ { void (*what)(void *); void *arg; int done; };
static inline void *on_thread_run_(void *p)
{
    struct on_thread_ *t = (struct on_thread_ *)p;
    t->what(t->arg);
    set(&t->done, 1);
    return NULL;
}
static inline void on_thread(void (*what)(void *), void *arg)
{
    struct on_thread_ t = {what, arg, 0};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, on_thread_run_, &t), 0);
    UNTIL(get(&t.done));
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* Run a function as the body of a task, and wait until that has completed. The calling thread is in no task. */
static inline void in_task_run_(nosv_task_t task) { ((void (*)(void))pointer_of(task))(); }
static inline void in_task_done_(nosv_task_t task) { add((int *)nosv_get_task_type_metadata(nosv_get_task_type(task)), 1); }
static inline void in_task(void (*what)(void), nosv_flags_t flags)
{
    int done = 0;
    nosv_task_type_t type;
    OK(nosv_type_init(&type, in_task_run_, NULL, in_task_done_, "in_task", &done, NULL, NOSV_TYPE_INIT_NONE));
    nosv_task_t task = task_of(type, (void *)what, flags);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&done));
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Until all that runs, and all that is ready, has been executed until it blocks or ends.  A task that comes later to a CPU runs when what
 * runs there has left it, and one of the lowest priority when all others that are ready have begun. */
static inline void settle_run_(nosv_task_t task) { (void)task; }
static inline void settle_done_(nosv_task_t task)
{
    int *done = (int *)nosv_get_task_type_metadata(nosv_get_task_type(task));
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    add(done, 1);
}
static inline void settle(void)
{
    int done = 0, n = nosv_get_num_cpus();
    nosv_task_type_t type;
    OK(nosv_type_init(&type, settle_run_, NULL, settle_done_, "settle", &done, NULL, NOSV_TYPE_INIT_NONE));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n; i++) OK(nosv_submit(placed(task_of(type, NULL, NOSV_CREATE_NONE), i), NOSV_SUBMIT_NONE));
        UNTIL(get(&done) == (round + 1) * n + round);
        if (round) break;
        nosv_task_t last = task_of(type, NULL, NOSV_CREATE_NONE);
        nosv_set_task_priority(last, -1000);
        OK(nosv_submit(last, NOSV_SUBMIT_NONE));
        UNTIL(get(&done) == n + 1);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Run a function in a child process, and require that it exits with 0. */
static inline void in_child(void (*what)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        alarm(50);
        what();
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

/* The main function of tests that are lists of cases: each in a child, or the one that the command line names. */
struct test_case { const char *name; void (*run)(void); };
static void (*test_chosen_)(void);
static inline void test_initialised_(void)
{
    OK(nosv_init());
    test_chosen_();
    OK(nosv_shutdown());
}
static inline int run_cases(const struct test_case *cases, size_t n, bool initialised, int argc, char **argv)
{
    begin();
    for (size_t i = 0; i < n; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name)) continue;
        test_chosen_ = cases[i].run;
        in_child(initialised ? test_initialised_ : cases[i].run);
    }
    return 0;
}

/* Resident memory in KiB. */
static inline long resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%*s %ld", &pages) == 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* An order of events: the first n of `what` are written. */
struct record { int next, n, what[256]; };
static inline void note(struct record *r, int what)
{
    int at = add(&r->next, 1) - 1;
    CHECK(at < 256);
    set(&r->what[at], what);
    add(&r->n, 1);
}
static inline void clear(struct record *r) { set(&r->next, 0); set(&r->n, 0); }

#endif
