/* src/threads/real.h - the functions that this room interposes, as the next object in line defines
 * them.  SPDX-License-Identifier: Apache-2.0
 *
 * Interposers may run before any constructor of ours, so every use goes through REAL, which looks
 * them up at the first one.  A function that this libc lacks stays null; no code can then be
 * calling ours. */
#ifndef USF_THREADS_REAL_H
#define USF_THREADS_REAL_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

int capset(void *header, const void *data);     /* exported by libc, declared nowhere */
pid_t _Fork(void);                              /* glibc >= 2.34 */

#define REAL_FUNCTIONS(X) \
    X(pthread_create) X(pthread_join) X(pthread_tryjoin_np) X(pthread_timedjoin_np) X(pthread_clockjoin_np) \
    X(pthread_detach) X(pthread_exit) X(pthread_cancel) X(pthread_kill) X(pthread_sigqueue) \
    X(pthread_key_create) X(pthread_key_delete) X(tss_create) X(tss_delete) \
    X(thrd_create) X(thrd_exit) \
    X(pthread_getattr_np) X(pthread_setattr_default_np) X(pthread_getcpuclockid) X(pthread_getschedparam) \
    X(pthread_setschedparam) X(pthread_setschedprio) X(pthread_setaffinity_np) X(pthread_getaffinity_np) X(pthread_setname_np) \
    X(prctl) X(sched_setaffinity) X(sched_getaffinity) X(sched_setscheduler) X(sched_setparam) X(setpriority) X(nice) \
    X(sigaltstack) X(gettid) X(syscall) X(unshare) X(setns) X(setfsuid) X(setfsgid) X(capset) X(ptrace) X(_Fork) \
    X(getloadavg)

struct real {
#define X(f) __typeof__(&f) f;
    REAL_FUNCTIONS(X)
#undef X
};
extern struct real real;
extern void *threads_real_syscall;
void real_init(void);

#define REAL(f) (*(__builtin_expect(real.f != NULL, 1) ? real.f : (real_init(), real.f)))

#endif
