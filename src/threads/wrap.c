/* src/threads/wrap.c - calls that the cache takes notice of and passes on.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "threads/real.h"
#include "threads/record.h"
#include "threads/threads.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>

void *threads_syscall_target(long nr, long a0, long a1);
void *threads_clone_target(long fn, long stack, long flags);

USF_EARLY const struct threads_watcher *threads_watcher;

static void child_of_watched(void)
{
    const struct threads_watcher *w = threads_watcher;
    if (w)
        w->in_child();
}

void threads_watch(const struct threads_watcher *w) { threads_watcher = w; }

bool threads_watch_forks(void) { return pthread_atfork(NULL, NULL, child_of_watched) == 0; }

/* Before a call that the gate may not see. */
static void tell(long nr, long a0, long a1)
{
    const struct threads_watcher *w = threads_watcher;
    if (w)
        w->call(nr, a0, a1);
    threads_note_call(nr, a0, a1);
}

THREADS_EXPORT int pthread_getattr_np(pthread_t th, pthread_attr_t *attr)
{
    int err = REAL(pthread_getattr_np)(th, attr);
    struct thread_rec *r = atomic_load(&threads_flags.on) ? cache_find(th) : NULL;
    if (err == 0 && r)
        pthread_attr_setdetachstate(attr, r->detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    return err;
}

/* The defaults have more fields than the cache follows. */
THREADS_EXPORT int pthread_setattr_default_np(const pthread_attr_t *attr)
{
    if (atomic_load(&threads_flags.on))
        cache_close();
    return REAL(pthread_setattr_default_np)(attr);
}

THREADS_EXPORT int pthread_setname_np(pthread_t th, const char *name)
{
    atomic_store(&threads_flags.names, true);
    return REAL(pthread_setname_np)(th, name);
}

THREADS_EXPORT int pthread_setaffinity_np(pthread_t th, size_t size, const cpu_set_t *cpus)
{
    tell(SYS_sched_setaffinity, 0, 0);
    return REAL(pthread_setaffinity_np)(th, size, cpus);
}

THREADS_EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
    tell(SYS_sched_setaffinity, pid, 0);
    return REAL(sched_setaffinity)(pid, size, cpus);
}

THREADS_EXPORT int pthread_getaffinity_np(pthread_t th, size_t size, cpu_set_t *cpus)
{
    tell(SYS_sched_getaffinity, 0, 0);
    return REAL(pthread_getaffinity_np)(th, size, cpus);
}

THREADS_EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
    tell(SYS_sched_getaffinity, pid, 0);
    return REAL(sched_getaffinity)(pid, size, cpus);
}

THREADS_EXPORT int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    tell(SYS_sched_setscheduler, pid, 0);
    return REAL(sched_setscheduler)(pid, policy, param);
}

THREADS_EXPORT int sched_setparam(pid_t pid, const struct sched_param *param)
{
    tell(SYS_sched_setparam, pid, 0);
    return REAL(sched_setparam)(pid, param);
}

THREADS_EXPORT int setpriority(__priority_which_t which, id_t who, int value)
{
    tell(SYS_setpriority, which, who);
    return REAL(setpriority)(which, who, value);
}

THREADS_EXPORT int nice(int by)
{
    tell(SYS_setpriority, PRIO_PROCESS, 0);
    return REAL(nice)(by);
}

THREADS_EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
    tell(SYS_sigaltstack, (long)stack, 0);
    return REAL(sigaltstack)(stack, old);
}

THREADS_EXPORT pid_t gettid(void)
{
    tell(SYS_gettid, 0, 0);
    return REAL(gettid)();
}

/* For syscall.S: the libc's syscall(), after taking notice of this one. */
void *threads_syscall_target(long nr, long a0, long a1)
{
    if (threads_call_matters(nr))
        tell(nr, a0, a1);
    return (void *)&REAL(syscall);
}

static void take_arguments(unsigned long a[4], va_list ap)
{
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, unsigned long);
}

THREADS_EXPORT int prctl(int op, ...)
{
    unsigned long a[4];
    va_list ap;
    va_start(ap, op);
    take_arguments(a, ap);
    va_end(ap);
    tell(SYS_prctl, op, 0);
    return REAL(prctl)(op, a[0], a[1], a[2], a[3]);
}

/* Some namespaces can be entered only by a process with a single thread, which it may believe
 * itself to be. */
THREADS_EXPORT int unshare(int flags)
{
    if (atomic_load(&threads_flags.on))
        threads_flush();
    tell(SYS_unshare, flags, 0);
    return REAL(unshare)(flags);
}

THREADS_EXPORT int setns(int fd, int type)
{
    if (atomic_load(&threads_flags.on))
        threads_flush();
    tell(SYS_setns, fd, type);
    return REAL(setns)(fd, type);
}

THREADS_EXPORT int setfsuid(uid_t id)
{
    tell(SYS_setfsuid, id, 0);
    return REAL(setfsuid)(id);
}

THREADS_EXPORT int setfsgid(gid_t id)
{
    tell(SYS_setfsgid, id, 0);
    return REAL(setfsgid)(id);
}

THREADS_EXPORT long ptrace(enum __ptrace_request op, ...)
{
    unsigned long a[4];
    va_list ap;
    va_start(ap, op);
    take_arguments(a, ap);
    va_end(ap);
    tell(SYS_ptrace, (long)op, 0);
    return REAL(ptrace)(op, a[0], a[1], a[2], a[3]);
}

/* fork() is libc's and does not come here. */
THREADS_EXPORT pid_t _Fork(void)
{
    tell(SYS_fork, 0, 0);
    return REAL(_Fork)();
}

/* libc's own names, so that nothing has to be looked up in a handler or after vfork. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* For syscall.S. */
void *threads_clone_target(long fn, long stack, long flags)
{
    (void)fn, (void)stack;
    tell(SYS_clone, flags, 0);
    return (void *)&__clone;
}

/* A handler that wants an alternate stack would find the runtime's. */
THREADS_EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
    if (act && act->sa_flags & SA_ONSTACK)
        tell(SYS_rt_sigaction, sig, 0);
    return __sigaction(sig, act, old);
}

THREADS_EXPORT int capset(void *header, const void *data)
{
    tell(SYS_capset, 0, 0);
    return REAL(capset)(header, data);
}

/* ---- CPU counts, which libc reads from sysfs: a process that has been told a share of the cores counts that ---------------- */

USF_EARLY const struct threads_share *_Atomic usf_threads_share;

long __sysconf(int name);       /* libc's: allocators ask before anything can be looked up */

THREADS_EXPORT long sysconf(int name)
{
    const struct threads_share *s = name == _SC_NPROCESSORS_ONLN ? atomic_load_explicit(&usf_threads_share, memory_order_acquire) : NULL;
    uint32_t n = s && s->is_told() ? s->cpus() : 0;
    return n ? (long)n : __sysconf(name);
}

/* libgomp takes the machine's load off a count of CPUs, if sizes of teams may vary.  The load
 * within a share is none: the others that make it have their own. */
THREADS_EXPORT int getloadavg(double load[], int n)
{
    const struct threads_share *s = atomic_load_explicit(&usf_threads_share, memory_order_acquire);
    int got = REAL(getloadavg)(load, n);
    if (got > 0 && s && s->is_told() && s->sizes_teams((uintptr_t)__builtin_return_address(0)))
        for (int i = 0; i < got; i++) load[i] = 0;
    return got;
}

THREADS_EXPORT int get_nprocs(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
