/* tests/nosv/shared.c - takes part in an instance by its configuration.  SPDX-License-Identifier: Apache-2.0
 * usage: nosv-shared [thread] [handler]
 * Prints whether its threads are scheduled by usf, its task's included, then waits for a line.  thread: it has another one before.
 * handler: it has a signal handler, which runs before and after. */
#include "nosv_test.h"

#include <usf/usf.h>

extern char **environ;
static int scheduled = -1, signals;

static void on_signal(int sig)
{
    (void)sig;
    add(&signals, 1);
}

static void body(nosv_task_t task)
{
    (void)task;
    set(&scheduled, usf_task_is_scheduled() == 0);
}

static void *sleeps(void *arg)
{
    pause();
    return arg;
}

static void run_one(void)
{
    nosv_task_type_t type;
    nosv_task_t task;
    OK(nosv_type_init(&type, body, NULL, NULL, "body", NULL, NULL, NONE));
    OK(nosv_create(&task, type, 0, NONE));
    OK(nosv_submit(task, NONE));
    UNTIL(get(&scheduled) >= 0);
    OK(nosv_type_destroy(type, NONE));
}

static int vars(void)
{
    int n = 0;
    for (char **e = environ; *e; e++) n += !strncmp(*e, "USF_", 4) || !strncmp(*e, "LD_", 3);
    return n;
}

int main(int argc, char **argv)
{
    char line[8];
    int before = vars();
    pthread_t other;
    begin();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "thread")) CHECK_EQ(pthread_create(&other, NULL, sleeps, NULL), 0);
        if (!strcmp(argv[i], "handler")) CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
    }
    if (argc > 1 && !strcmp(argv[argc - 1], "handler")) raise(SIGUSR1);
    OK(nosv_init());
    CHECK_EQ(vars(), before);
    run_one();
    if (argc > 1 && !strcmp(argv[argc - 1], "handler")) {
        raise(SIGUSR1);
        CHECK_EQ(get(&signals), 2);
    }
    pid_t child = fork();
    if (child == 0) {
        scheduled = -1;
        OK(nosv_init());
        run_one();
        OK(nosv_shutdown());
        _exit(scheduled);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    printf("main %d task %d child %d\n", usf_task_is_scheduled() == 0, scheduled, WEXITSTATUS(status));
    fflush(stdout);
    CHECK(fgets(line, sizeof line, stdin));
    OK(nosv_shutdown());
    return 0;
}
