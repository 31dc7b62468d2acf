/* tests/float/mix.h - threads that mix.  SPDX-License-Identifier: Apache-2.0
 *
 * They yield, hand a token round and wait for a time.  A thread that does so as well, between begin and end, is most often executed by
 * another's kernel thread. */
#ifndef FLOAT_MIX_H
#define FLOAT_MIX_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "../check.h"

#define MIXERS 4

static _Atomic bool over;
static pthread_mutex_t token_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t token_moved = PTHREAD_COND_INITIALIZER;
static unsigned token;

static void mix(void)
{
    for (int i = 0; i < 5; i++) sched_yield();
    pthread_mutex_lock(&token_lock);
    token++;
    pthread_cond_broadcast(&token_moved);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 20000;
    if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    if (token % 3) pthread_cond_timedwait(&token_moved, &token_lock, &t);
    pthread_mutex_unlock(&token_lock);
    sched_yield();
}

static void *mixer(void *arg)
{
    while (!over) mix();
    return arg;
}

static pthread_t mixers[MIXERS];
static void begin(void) { for (int i = 0; i < MIXERS; i++) CHECK(!pthread_create(&mixers[i], 0, mixer, 0)); }
static void end(void)
{
    over = true;
    for (int i = 0; i < MIXERS; i++) CHECK(!pthread_join(mixers[i], 0));
}

#endif
