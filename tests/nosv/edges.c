/* tests/nosv/edges.c - what a review of the runtime has found, each case in a process of its own.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/compat.h>
#include <spawn.h>
#include <stdio.h>
#include <threads.h>

#include "nosv_test.h"

static int completions, ran, stage;
static void nothing(nosv_task_t task) { (void)task; }
static void runs(nosv_task_t task) { (void)task; add(&ran, 1); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

/* One task of a type with these callbacks, to its end. */
static void one(nosv_task_run_callback_t run, nosv_task_completed_callback_t completed, nosv_flags_t flags, nosv_affinity_t place)
{
    nosv_task_t task = task_of(type_of(run, NULL, completed), NULL, flags);
    nosv_set_task_affinity(task, &place);
    if (flags & NOSV_CREATE_PARALLEL) nosv_set_task_degree(task, 50);
    set(&completions, 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 1);
}

/* ---- completed callbacks ------------------------------------------------------------------------- */

static nosv_mutex_t mutex = NOSV_MUTEX_INITIALIZER;
static nosv_cond_t cond = NOSV_COND_INITIALIZER;

static void waits_for_condition(nosv_task_t task)
{
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    set(&stage, 1);
    while (get(&stage) < 2) CHECK_EQ(nosv_cond_wait(&cond, &mutex), 0);
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
    finish(task);
}
static void signals_condition(nosv_task_t task)
{
    (void)task;
    UNTIL(get(&stage) == 1);
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    set(&stage, 2);
    CHECK_EQ(nosv_cond_signal(&cond), 0);
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
}
static void condition_in_completed(void)
{
    OK(nosv_submit(task_of(type_of(signals_condition, NULL, finish), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    OK(nosv_submit(task_of(type_of(nothing, NULL, waits_for_condition), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 2);
}

/* Its task is gone, and the new one may have the same record. */
static nosv_task_type_t counted;
static void replaces_itself(nosv_task_t task)
{
    nosv_task_t next;
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_create(&next, counted, sizeof(void *), NOSV_CREATE_NONE));
    OK(nosv_submit(next, NOSV_SUBMIT_INLINE));
    OK(nosv_destroy(next, NOSV_DESTROY_NONE));
    OK(nosv_create(&next, counted, sizeof(void *), NOSV_CREATE_JOINABLE));
    OK(nosv_submit(next, NOSV_SUBMIT_NONE));
    OK(nosv_join(next, NULL, FOREVER));
    add(&completions, 1);
}
static void record_used_again(void)
{
    counted = type_of(runs, NULL, NULL);
    for (int i = 1; i <= 20; i++) {
        one(nothing, replaces_itself, NOSV_CREATE_NONE, nosv_get_default_affinity());
        CHECK_EQ(get(&ran), 2 * i);
    }
}

static void cancels(nosv_task_t task) { (void)task; nosv_cancel(NOSV_CANCEL_NONE); }
static void blocks(nosv_task_t task)
{
    CHECK(nosv_self() == task);
    OK(nosv_waitfor(1000, NULL));
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
    finish(task);
}
static void completed_after_cancel(void)
{ for (int i = 0; i < 20; i++) one(cancels, blocks, NOSV_CREATE_PARALLEL, nosv_get_default_affinity()); }

/* ---- tasks whose waitfor is over ----------------------------------------------------------------- */

static void polls(nosv_task_t task)
{
    (void)task;
    while (!get(&stage)) OK(nosv_waitfor(1000, NULL));
}
static void ends_it(nosv_task_t task) { (void)task; set(&stage, 1); }
static void late_ones_let_others_go(void)
{
    static const struct { bool strict; int priority; } victims[] = {{false, 0}, {false, 5}, {true, 0}, {true, 5}};
    nosv_task_type_t types[] = {type_of(polls, NULL, finish), type_of(ends_it, NULL, finish)};
    for (unsigned v = 0; v < 4; v++)
        for (int strict = 0; strict < 2; strict++) {
            set(&stage, 0);
            set(&completions, 0);
            for (int i = 0; i < 100; i++) {
                nosv_task_t task = task_of(types[0], NULL, NOSV_CREATE_NONE);
                OK(nosv_submit(strict ? pinned(task) : task, NOSV_SUBMIT_NONE));
            }
            nosv_task_t last = task_of(types[1], NULL, NOSV_CREATE_NONE);
            nosv_set_task_priority(last, victims[v].priority);
            OK(nosv_submit(victims[v].strict ? pinned(last) : last, NOSV_SUBMIT_NONE));
            UNTIL(get(&completions) == 101);
        }
}

/* ---- submit windows ------------------------------------------------------------------------------- */

static void destroys_held(nosv_task_t task)
{
    nosv_task_t held, other;
    (void)task;
    OK(nosv_set_submit_window_size(10));
    held = task_of(counted, NULL, NOSV_CREATE_NONE);
    OK(nosv_submit(held, NOSV_SUBMIT_NONE));
    OK(nosv_destroy(held, NOSV_DESTROY_NONE));      /* it goes when it has completed */
    other = task_of(counted, NULL, NOSV_CREATE_NONE);
    CHECK(other != held);
    OK(nosv_flush_submit_window());
    UNTIL(get(&ran) == 1);
    OK(nosv_destroy(other, NOSV_DESTROY_NONE));
}
static void held_and_destroyed(void)
{
    counted = type_of(runs, NULL, NULL);
    one(destroys_held, finish, NOSV_CREATE_NONE, nosv_get_default_affinity());
    CHECK_EQ(get(&ran), 1);
}

static void ends_its_thread(nosv_task_t task)
{
    (void)task;
    OK(nosv_set_submit_window_size(10));
    OK(nosv_submit(task_of(counted, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    pthread_exit(NULL);
}
static void held_by_a_thread_that_ends(void)
{
    counted = type_of(runs, NULL, finish);
    OK(nosv_submit(task_of(type_of(ends_its_thread, NULL, NULL), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == 1);
}

/* ---- children and threads ------------------------------------------------------------------------- */

static pid_t child;
static void forks(nosv_task_t task) { (void)task; child = fork(); }
static void forks_inline(nosv_task_t task)
{
    int status;
    nosv_task_t inner = task_of(counted, NULL, NOSV_CREATE_NONE);
    (void)task;
    OK(nosv_submit(inner, NOSV_SUBMIT_INLINE));
    if (!child) _exit(7);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 7 << 8);
    OK(nosv_destroy(inner, NOSV_DESTROY_NONE));
}
static void fork_in_line(void)
{
    counted = type_of(forks, NULL, NULL);
    int *nodes = nosv_get_available_numa_nodes(), *sets = nosv_get_available_domains(NOSV_TOPO_LEVEL_COMPLEX_SET);
    one(forks_inline, finish, NOSV_CREATE_NONE, nosv_affinity_get((uint32_t)nodes[0], NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_STRICT));
    one(forks_inline, finish, NOSV_CREATE_NONE, nosv_affinity_get((uint32_t)sets[0], NOSV_AFFINITY_LEVEL_USER_COMPLEX, NOSV_AFFINITY_TYPE_STRICT));
    one(forks_inline, finish, NOSV_CREATE_NONE, one_cpu());
    free(nodes);
    free(sets);
}

/* Programs and threads that a task starts may use all CPUs that its thread could use outside of tasks. */
static char all_cpus[16];
static int counts_cpus(void *count)
{
    cpu_set_t mask;
    CHECK(!sched_getaffinity(0, sizeof mask, &mask));
    *(int *)count = CPU_COUNT(&mask);
    return 0;
}
static int of_child(pid_t pid)
{
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status;
}
static void starts_programs(nosv_task_t task)
{
    char command[64], said[16] = "", *argv[] = {"sh", "-c", command, NULL};
    pid_t pid;
    thrd_t thread;
    int count = 0;
    (void)task;
    OK(nosv_waitfor(1000, NULL));       /* from here on it is bound */
    snprintf(command, sizeof command, "test `nproc` = %s", all_cpus);
    CHECK_EQ(system(command), 0);
    FILE *f = popen("nproc", "r");
    CHECK(f && fgets(said, sizeof said, f) && atoi(said) == atoi(all_cpus));
    CHECK_EQ(pclose(f), 0);
    CHECK_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
    CHECK_EQ(of_child(pid), 0);
    CHECK_EQ(posix_spawnp(&pid, "sh", NULL, NULL, argv, environ), 0);
    CHECK_EQ(of_child(pid), 0);
    if (!(pid = vfork())) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(9);
    }
    CHECK_EQ(of_child(pid), 0);
    CHECK_EQ(execl("/nowhere", "nowhere", (char *)NULL), -1);
    CHECK_EQ(errno, ENOENT);
    CHECK_EQ(thrd_create(&thread, counts_cpus, &count), thrd_success);
    CHECK_EQ(thrd_join(thread, NULL), thrd_success);
    CHECK_EQ(count, atoi(all_cpus));
    CHECK_EQ(sched_getcpu(), nosv_get_current_system_cpu());
    execlp("sh", "sh", "-c", command, (char *)NULL);
}
static void masks_of_programs(void)
{
    int count;
    counts_cpus(&count);
    snprintf(all_cpus, sizeof all_cpus, "%d", count);
    one(starts_programs, finish, NOSV_CREATE_NONE, nosv_get_default_affinity());
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"condition_in_completed", condition_in_completed}, {"record_used_again", record_used_again},
        {"completed_after_cancel", completed_after_cancel}, {"late_ones_let_others_go", late_ones_let_others_go},
        {"held_and_destroyed", held_and_destroyed}, {"held_by_a_thread_that_ends", held_by_a_thread_that_ends},
        {"fork_in_line", fork_in_line}, {"masks_of_programs", masks_of_programs}};
    return run_cases(cases, sizeof cases / sizeof *cases, true, argc, argv);
}
