/* tests/futex/message.c - two threads send each other messages by words that are waited for with 2, and by one that is waited for with 4.
 * SPDX-License-Identifier: Apache-2.0
 * One sort must not be far slower than the other.  They take turns, and the median turns count: what else runs on the machine slows down all. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 31, ROUNDS = 300, SORTS = 3, TIMES = 10 };

/* 0: nothing; 1: a message, and nobody waited; `waiting`; `sent`: a message, for whom waited. */
static const struct sort { const char *name; unsigned waiting, sent; } sorts[SORTS] = {
    {"waits with 4", 4, 5},
    {"waits with 2, woken by 3", 2, 3},         /* no value of a lock */
    {"waits with 2, woken by 1", 2, 1},         /* a lock that the woken thread has */
};
struct box { _Alignas(64) _Atomic unsigned word; };
static struct box to, from;

static void post(struct box *b, const struct sort *s)
{
    unsigned none = 0;
    if (atomic_compare_exchange_strong(&b->word, &none, 1)) return;
    atomic_store(&b->word, s->sent);
    syscall(SYS_futex, &b->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await(struct box *b, const struct sort *s)
{
    unsigned none = 0;
    if (atomic_compare_exchange_strong(&b->word, &none, s->waiting))
        while (atomic_load(&b->word) == s->waiting) syscall(SYS_futex, &b->word, FUTEX_WAIT_PRIVATE, s->waiting, NULL, NULL, 0);
    atomic_store(&b->word, 0);
}

static void *answer(void *arg)
{
    for (int i = 0; i < TURNS * SORTS * ROUNDS; i++) {
        const struct sort *s = &sorts[i / ROUNDS % SORTS];
        await(&to, s);
        post(&from, s);
    }
    return arg;
}

static long turn(const struct sort *s)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < ROUNDS; i++) {
        post(&to, s);
        await(&from, s);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
}

static int later(const void *a, const void *b) { return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b); }

int main(void)
{
    static long took[SORTS][TURNS];
    pthread_t t;
    int bad = 0;
    alarm(90);
    pthread_create(&t, NULL, answer, NULL);
    for (int i = 0; i < TURNS; i++)
        for (int s = 0; s < SORTS; s++) took[s][i] = turn(&sorts[s]);
    pthread_join(t, NULL);
    for (int s = 0; s < SORTS; s++) {
        qsort(took[s], TURNS, sizeof **took, later);
        double times = (double)took[s][TURNS / 2] / (double)took[0][TURNS / 2];
        printf("%s: %.1f times the first\n", sorts[s].name, times);
        bad |= times > TIMES;
    }
    return bad;
}
