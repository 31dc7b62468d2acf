/* Contexts on stacks of 4 KiB that lie one beside the other, in several threads.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define THREADS  8
#define CONTEXTS 16
#define STACK    4096
#define TURNS    40

struct ring {
    ucontext_t back, context[CONTEXTS];
    char stacks[CONTEXTS][STACK];
    unsigned long sum[CONTEXTS];
    int at;
};
static __thread struct ring *mine;

static void run(void)
{
    struct ring *r = mine;
    int i = r->at;
    unsigned long x = (unsigned long)i;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int k = 0; k < 20000; k++) x = (x * 6364136223846793005ul + 1442695040888963407ul) ^ x >> 13;
        r->sum[i] += x;
        if (turn % 8 == 0) sched_yield();
        r->at = (i + 1) % CONTEXTS;
        swapcontext(&r->context[i], &r->context[r->at]);
    }
    swapcontext(&r->context[i], &r->back);
}

static void *body(void *arg)
{
    unsigned long *sum = arg;
    struct ring *r = mine = aligned_alloc(64, (sizeof *r + 63) & ~63ul);
    memset(r, 0, sizeof *r);
    for (int i = 0; i < CONTEXTS; i++) {
        getcontext(&r->context[i]);
        r->context[i].uc_stack.ss_sp = r->stacks[i];
        r->context[i].uc_stack.ss_size = STACK;
        makecontext(&r->context[i], run, 0);
    }
    swapcontext(&r->back, &r->context[0]);
    for (int i = 0; i < CONTEXTS; i++) *sum += r->sum[i];
    free(r);
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    unsigned long sum[THREADS] = {0}, all = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, body, &sum[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL), all += sum[i];
    printf("%lu\n", all);
    return 0;
}
