/* tests/float/says.c [stays | can] - says whether its threads float.  SPDX-License-Identifier: Apache-2.0
 *
 * `can`: exit status 77 on a machine where no thread does.  Two threads yield to each other; "floats": one has been executed by another's kernel thread.  With `stays` one of them has set its
 * nice value, says "stays", and goes on when standard input ends. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "raw.h"

#define YIELDS 20000

static atomic_bool away;
static pthread_barrier_t both;

static void *yields(void *arg)
{
    pthread_barrier_wait(&both);
    for (int i = 0; i < YIELDS; i++) {
        sched_yield();
        if (is_away()) atomic_store(&away, true);
    }
    return arg;
}

static void *stays(void *arg)
{
    CHECK(!setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1));
    CHECK(puts("stays") >= 0 && !fflush(stdout));
    while (getchar() != EOF) {}
    return arg;
}

int main(int argc, char **argv)
{
    bool to_stay = argc > 1 && !strcmp(argv[1], "stays");
    pthread_t t;
    if (argc > 1 && !strcmp(argv[1], "can")) return floats() ? 0 : 77;
    CHECK(!pthread_barrier_init(&both, NULL, 2));
    CHECK(!pthread_create(&t, NULL, to_stay ? stays : yields, NULL));
    if (!to_stay) yields(NULL);
    CHECK(!pthread_join(t, NULL));
    if (!to_stay) CHECK(puts(atomic_load(&away) ? "floats" : "at home") >= 0);
    return 0;
}
