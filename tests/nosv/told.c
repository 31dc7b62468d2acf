/* tests/nosv/told.c - executes tasks of two kinds, whose numbers test_told.py knows.  SPDX-License-Identifier: Apache-2.0
 * usage: nosv-told N [wait|queue|chain|suspend]
 * N tasks "plain", as many "outer" with one task in line; it waits for each.
 * With "wait" it says so and waits for a line before it ends.
 * With "queue" it does something else, for a process with one CPU: the first of N tasks of priority -5 waits for that line, after
 * 300 tasks without a priority.
 * With "chain" there are N rows of four tasks instead, of which each submits the next and waits for it.
 * With "suspend" there are N tasks that are suspended three times, until others have run. */
#include "nosv_test.h"

static nosv_task_type_t inner_type;

static void plain(nosv_task_t task) { (void)task; }

static void outer(nosv_task_t task)
{
    nosv_task_t inner;
    (void)task;
    OK(nosv_create(&inner, inner_type, 0, NONE));
    OK(nosv_submit(inner, NOSV_SUBMIT_INLINE));
    OK(nosv_destroy(inner, NONE));
}

static void say_done(void)
{
    char line[8];
    if (puts("done") < 0 || fflush(stdout)) abort();
    CHECK(fgets(line, sizeof line, stdin));
}

static bool has_said;

static void say_done_once(nosv_task_t task)
{
    (void)task;
    if (!has_said) has_said = true, say_done();
}

static void run_queue(nosv_task_type_t type, int n)
{
    nosv_task_type_t last;
    nosv_task_t *task = calloc((size_t)n + 300, sizeof *task);
    OK(nosv_type_init(&last, say_done_once, NULL, NULL, "last", NULL, NULL, NONE));
    for (int i = 0; i < n + 300; i++) {
        OK(nosv_create(&task[i], i < 300 ? type : last, 0, NOSV_CREATE_JOINABLE));
        if (i >= 300) nosv_set_task_priority(task[i], -5);
        OK(nosv_submit(task[i], NONE));
    }
    for (int i = 0; i < n + 300; i++) OK(nosv_join(task[i], NULL, FOREVER));
    OK(nosv_type_destroy(last, NONE));
    free(task);
}

static nosv_task_type_t link_type;

static nosv_task_t submit_link(int left)
{
    nosv_task_t task;
    OK(nosv_create(&task, link_type, sizeof left, NOSV_CREATE_JOINABLE));
    *(int *)nosv_get_task_metadata(task) = left;
    OK(nosv_submit(task, NONE));
    return task;
}

static void link_of_chain(nosv_task_t task)
{
    int left = *(int *)nosv_get_task_metadata(task);
    if (left == 0) return;
    nosv_task_t next = submit_link(left - 1);
    OK(nosv_yield(NONE));
    OK(nosv_waitfor(20000, NULL));
    OK(nosv_join(next, NULL, FOREVER));
}

static void run_chains(int n)
{
    OK(nosv_type_init(&link_type, link_of_chain, NULL, NULL, "link", NULL, NULL, NONE));
    for (int i = 0; i < n; i++) OK(nosv_join(submit_link(3), NULL, FOREVER));
    OK(nosv_type_destroy(link_type, NONE));
}

static void suspends(nosv_task_t task)
{
    int *left = nosv_get_task_metadata(task);
    if ((*left)-- == 0) return;
    OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_SUBMIT, 1));
    OK(nosv_suspend());
}

static void run_suspended(int n)
{
    OK(nosv_type_init(&link_type, suspends, NULL, NULL, "suspends", NULL, NULL, NONE));
    for (int i = 0; i < n; i++) OK(nosv_join(submit_link(3), NULL, FOREVER));
    OK(nosv_type_destroy(link_type, NONE));
}

static void run_all(nosv_task_type_t type, int n)
{
    for (int i = 0; i < n; i++) {
        nosv_task_t task;
        OK(nosv_create(&task, type, 0, NOSV_CREATE_JOINABLE));
        OK(nosv_submit(task, NONE));
        OK(nosv_join(task, NULL, FOREVER));
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    nosv_task_type_t types[2];
    nosv_task_t self;
    const char *how = argc > 2 ? argv[2] : "";
    begin();
    OK(nosv_init());
    OK(nosv_type_init(&types[0], plain, NULL, NULL, "plain", NULL, NULL, NONE));
    OK(nosv_type_init(&types[1], outer, NULL, NULL, "outer with a long label", NULL, NULL, NONE));
    OK(nosv_type_init(&inner_type, plain, NULL, NULL, NULL, NULL, NULL, NONE));
    OK(nosv_attach(&self, NULL, "main", NONE));
    if (strcmp(how, "queue") == 0) {
        run_queue(types[0], n);
    } else if (strcmp(how, "chain") == 0) {
        run_chains(n);
    } else if (strcmp(how, "suspend") == 0) {
        run_suspended(n);
    } else {
        run_all(types[0], n);
        run_all(types[1], n);
    }
    OK(nosv_detach(NONE));
    if (strcmp(how, "wait") == 0) say_done();
    for (int i = 0; i < 2; i++) OK(nosv_type_destroy(types[i], NONE));
    OK(nosv_type_destroy(inner_type, NONE));
    OK(nosv_shutdown());
    return 0;
}
