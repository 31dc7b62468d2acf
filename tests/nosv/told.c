/* tests/nosv/told.c - executes tasks of two kinds, whose numbers test_told.py knows.  SPDX-License-Identifier: Apache-2.0
 * usage: nosv-told N
 * N tasks "plain", as many "outer" with one task in line; it waits for each.
 * With a second argument it says so and waits for a line before it ends. */
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
    char line[8];
    begin();
    OK(nosv_init());
    OK(nosv_type_init(&types[0], plain, NULL, NULL, "plain", NULL, NULL, NONE));
    OK(nosv_type_init(&types[1], outer, NULL, NULL, "outer with a long label", NULL, NULL, NONE));
    OK(nosv_type_init(&inner_type, plain, NULL, NULL, NULL, NULL, NULL, NONE));
    OK(nosv_attach(&self, NULL, "main", NONE));
    run_all(types[0], n);
    run_all(types[1], n);
    OK(nosv_detach(NONE));
    if (argc > 2 && (puts("done"), fflush(stdout)) == 0) CHECK(fgets(line, sizeof line, stdin));
    for (int i = 0; i < 2; i++) OK(nosv_type_destroy(types[i], NONE));
    OK(nosv_type_destroy(inner_type, NONE));
    OK(nosv_shutdown());
    return 0;
}
