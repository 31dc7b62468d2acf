/* tests/nosv/fork.c - children of fork, and exec.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int completions;
static void run(nosv_task_t task) { (void)task; }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void use(void)
{
    nosv_task_type_t type = type_of(run, NULL, finish);
    set(&completions, 0);
    for (int i = 0; i < 50; i++) OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 50);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A child is not initialised, in no task, and may begin anew. */
static void child(void)
{
    CHECK(!nosv_self());
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_NOT_INITIALIZED);
    CHECK_EQ(nosv_get_num_cpus(), NOSV_ERR_NOT_INITIALIZED);
    CHECK_EQ(nosv_detach(NOSV_DETACH_NONE), NOSV_ERR_NOT_INITIALIZED);
    for (int i = 0; i < 2; i++) {
        OK(nosv_init());
        use();
        attach();
        use();
        OK(nosv_detach(NOSV_DETACH_NONE));
        OK(nosv_shutdown());
        CHECK_EQ(nosv_shutdown(), NOSV_ERR_NOT_INITIALIZED);
    }
}
static void grandchild(void) { OK(nosv_init()); use(); in_child(child); use(); OK(nosv_shutdown()); }
static void does_nothing(void) {}
static void execs(void) { execl("/bin/true", "true", (char *)NULL); _exit(1); }

/* From a task of a worker; from an attached thread; while tasks run. */
static void from_task(void) { in_child(child); in_child(does_nothing); in_child(execs); }
/* A child that returns from the body, and does not exec or exit there, ends: the task is its parent's. */
static pid_t forked;
static void returns(nosv_task_t task)
{
    (void)task;
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid) forked = pid;
}
static void returning(nosv_flags_t flags)
{
    int status;
    nosv_task_type_t type = type_of(returns, NULL, finish);
    set(&completions, 0);
    OK(nosv_submit(task_of(type, NULL, flags), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 1);
    CHECK_EQ(waitpid(forked, &status, 0), forked);
    CHECK_EQ(status, 0);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

static int stop;
static void busy(nosv_task_t task) { (void)task; while (!get(&stop)) OK(nosv_yield(NOSV_YIELD_NONE)); }
static void while_tasks_run(void)
{
    nosv_task_type_t type = type_of(busy, NULL, finish);
    set(&stop, 0);
    set(&completions, 0);
    int n = 2 * nosv_get_num_cpus();
    for (int i = 0; i < n; i++) OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    for (int i = 0; i < 5; i++) in_child(child);
    in_child(execs);
    set(&stop, 1);
    UNTIL(get(&completions) == n);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* exec without a shutdown: the new program begins anew. */
static char *self_path;
static void execs_itself(void)
{
    OK(nosv_init());
    attach();
    execl(self_path, self_path, "again", (char *)NULL);
    _exit(1);
}

int main(int argc, char **argv)
{
    begin();
    self_path = argv[0];
    if (argc > 1) {
        child();
        return 0;
    }
    in_child(child);
    in_child(execs_itself);
    OK(nosv_init());
    use();
    in_child(child);
    in_child(grandchild);
    in_child(does_nothing);
    in_child(execs);
    in_task(from_task, NOSV_CREATE_NONE);
    returning(NOSV_CREATE_NONE);
    returning(NOSV_CREATE_PARALLEL);
    while_tasks_run();
    use();
    attach();
    from_task();
    use();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    in_child(child);
    return 0;
}
