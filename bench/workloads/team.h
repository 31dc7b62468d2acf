/* bench/workloads/team.h - start n pthreads, time them from the common start to the last end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEAM_H
#define TEAM_H

#include "workload.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline double team_run(int threads, void *(*fn)(void *))
{
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    if (!t) die("out of memory");
    double t0 = now_s();
    for (long i = 1; i < threads; i++)
        if (pthread_create(&t[i], NULL, fn, (void *)i)) die("pthread_create failed");
    fn((void *)0);
    for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
    double s = now_s() - t0;
    free(t);
    return s;
}

static inline long futex_wait(void *addr, uint32_t val)
{ return syscall(SYS_futex, addr, FUTEX_WAIT_PRIVATE, val, NULL, NULL, 0); }
static inline long futex_wake(void *addr, int n)
{ return syscall(SYS_futex, addr, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0); }

#endif
