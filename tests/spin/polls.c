/* tests/spin/polls.c - threads pass a turn round, and call a progress function while they wait.
 * SPDX-License-Identifier: Apache-2.0
 * Usage: polls TURNS yield|spin   yield: each round also calls sched_yield */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
int opal_progress(void);
static atomic_long turn;
static long turns;
static int yields;

static void *pass_turns(void *arg)
{
    for (long mine = (long)arg; mine < turns; mine += THREADS) {
        while (atomic_load(&turn) != mine) {
            opal_progress();
            if (yields) sched_yield();
        }
        atomic_store(&turn, mine + 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    if (argc != 3) return 2;
    alarm(60);
    turns = atol(argv[1]);
    yields = !strcmp(argv[2], "yield");
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, pass_turns, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("%ld\n", atomic_load(&turn));
    return 0;
}
