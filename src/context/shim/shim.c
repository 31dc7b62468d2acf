/* src/context/shim/shim.c - the first library of each context.  SPDX-License-Identifier: Apache-2.0
 *
 * A context's libraries find these functions before libc's.  Each context has a copy, so that the
 * copy which is called tells the context.  Nothing is called here but the table: what would be
 * found under libc's names is this file. */
#undef _FILE_OFFSET_BITS        /* open and open64 are two names here */
#include "context/shim/table.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>

#include "context/shim/shim.h"

SHIM struct usf_context *usf_shim_context;
SHIM const struct shim_calls *usf_shim_calls;

/* ---- the environment ------------------------------------------------------------------------------- */

SHIM char **environ;
extern SHIM char **__environ __attribute__((alias("environ")));
extern SHIM char **_environ __attribute__((alias("environ")));

SHIM char *getenv(const char *name) { return CALL(getenv, name); }
SHIM char *secure_getenv(const char *name) { return CALL(getenv, name); }
SHIM char *__secure_getenv(const char *name) { return CALL(getenv, name); }
SHIM int setenv(const char *name, const char *value, int overwrite) { return CALL(setenv, name, value, overwrite); }
SHIM int unsetenv(const char *name) { return CALL(unsetenv, name); }
SHIM int putenv(char *text) { return CALL(putenv, text); }
SHIM int clearenv(void) { return usf_shim_calls->clearenv(usf_shim_context); }

/* ---- CPUs ------------------------------------------------------------------------------------------- */

SHIM int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask) { return CALL(sched_getaffinity, pid, size, mask); }
SHIM int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask) { return CALL(sched_setaffinity, pid, size, mask); }
SHIM int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *mask) { return CALL(pthread_getaffinity_np, thread, size, mask); }
SHIM int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *mask) { return CALL(pthread_setaffinity_np, thread, size, mask); }
SHIM int pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *mask) { return CALL(pthread_attr_setaffinity_np, attr, size, mask); }
SHIM long sysconf(int name) { return CALL(sysconf, name); }
SHIM long __sysconf(int name) { return CALL(sysconf, name); }
SHIM int get_nprocs(void) { return usf_shim_calls->nprocs(usf_shim_context); }
SHIM int get_nprocs_conf(void) { return usf_shim_calls->nprocs_conf(usf_shim_context); }
/* std::thread::hardware_concurrency() */
SHIM unsigned _ZNSt6thread20hardware_concurrencyEv(void) { return (unsigned)usf_shim_calls->nprocs(usf_shim_context); }

SHIM long syscall(long nr, long a, long b, long c, long d, long e, long f) { return CALL(syscall, nr, a, b, c, d, e, f); }

/* ---- files ------------------------------------------------------------------------------------------ */

static mode_t mode_of(int flags, va_list rest) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0; }

#define OPENAT(at, path, flags, mode) (may_be_special(path) ? CALL(openat, at, path, flags, mode) : usf_shim_calls->libc_openat(at, path, flags, mode))
#define OPENED(at, path, flags) \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest); \
    return OPENAT(at, path, flags, mode)

SHIM int open(const char *path, int flags, ...) { OPENED(AT_FDCWD, path, flags); }
SHIM int open64(const char *path, int flags, ...) { OPENED(AT_FDCWD, path, flags); }
SHIM int openat(int at, const char *path, int flags, ...) { OPENED(at, path, flags); }
SHIM int openat64(int at, const char *path, int flags, ...) { OPENED(at, path, flags); }
SHIM int __open_2(const char *path, int flags) { return OPENAT(AT_FDCWD, path, flags, 0); }
SHIM int __open64_2(const char *path, int flags) { return OPENAT(AT_FDCWD, path, flags, 0); }
SHIM int shm_open(const char *name, int flags, mode_t mode) { return CALL(shm_open, name, flags, mode); }
SHIM int shm_unlink(const char *name) { return CALL(shm_unlink, name); }
SHIM FILE *fopen(const char *path, const char *mode) { return may_be_special(path) ? CALL(fopen, path, mode) : usf_shim_calls->libc_fopen(path, mode); }
SHIM FILE *fopen64(const char *path, const char *mode) { return may_be_special(path) ? CALL(fopen, path, mode) : usf_shim_calls->libc_fopen(path, mode); }

/* ---- threads and libraries -------------------------------------------------------------------------- */

SHIM int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg)
{ return CALL(pthread_create, thread, attr, routine, arg); }
SHIM int thrd_create(void *thread, int (*routine)(void *), void *arg) { return CALL(thrd_create, thread, routine, arg); }

/* std::thread::_M_start_thread(std::unique_ptr<std::thread::_State>, void (*)()): a class that is
 * not trivial is passed by its address.  _State has a virtual destructor, in places 0 and 1 (the
 * second frees it), and _M_run. */
struct state { void (**virtuals)(struct state *); };

static void *run_state(void *p)
{
    struct state *s = p;
    s->virtuals[2](s);
    s->virtuals[1](s);
    return 0;
}

SHIM void _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(pthread_t *thread, struct state **state, void (*depends)(void))
{
    (void)depends;
    int r = CALL(pthread_create, thread, 0, run_state, *state);
    if (r) usf_shim_calls->thread_failed(r);
    else *state = 0;
}

SHIM void *dlopen(const char *path, int flags) { return CALL(dlopen, path, flags, __builtin_return_address(0)); }
