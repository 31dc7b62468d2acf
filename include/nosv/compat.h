/* nosv/compat.h - locks that block a task.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_COMPAT_H
#define NOSV_COMPAT_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "../nosv.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ==== nosv_mutex_init - locks that block a task, not its core ====
 *
 * Counterparts of the functions of <pthread.h>. While a task waits in one of these, its core
 * executes other tasks. The objects lie in the caller's memory and must not be copied. Those of
 * static storage may be initialised with NOSV_MUTEX_INITIALIZER and so on; an object whose bytes
 * are all zero is initialised. A barrier needs nosv_barrier_init. A program that does not destroy
 * an object loses no memory.
 *
 * All functions return 0 or a positive error number of <errno.h>, and do not change errno. Errors
 * that several functions have:
 *     EINVAL   the object is NULL; in functions that may wait and in nosv_*_try*: the calling task
 *              is parallel
 *     ESRCH    the calling thread is in no task (see nosv(3))
 * Attributes must be NULL or initialised; there is nothing to set in them. nosv_*attr_init and
 * nosv_*attr_destroy return 0, or EINVAL for NULL.
 *
 * All functions are thread-safe. None is async-signal-safe. The functions that lock or wait are
 * scheduling points if they have to wait, and flush the submit window then. The others are not. */

#define SIZEOF_NOSV_MUTEX 64
#define SIZEOF_NOSV_BARRIER 64
#define SIZEOF_NOSV_COND 64
#define SIZEOF_NOSV_RWLOCK 64
#define SIZEOF_NOSV_MUTEXATTR 32
#define SIZEOF_NOSV_BARRIERATTR 32
#define SIZEOF_NOSV_CONDATTR 32
#define SIZEOF_NOSV_RWLOCKATTR 32

/* The bytes are the library's. Their number and alignment is part of the binary interface. */
typedef union nosv_mutex_ext { uint8_t bytes[SIZEOF_NOSV_MUTEX]; uint64_t align; } nosv_mutex_t;
typedef union nosv_barrier_ext { uint8_t bytes[SIZEOF_NOSV_BARRIER]; uint64_t align; } nosv_barrier_t;
typedef union nosv_cond_ext { uint8_t bytes[SIZEOF_NOSV_COND]; uint64_t align; } nosv_cond_t;
typedef union nosv_rwlock_ext { uint8_t bytes[SIZEOF_NOSV_RWLOCK]; uint64_t align; } nosv_rwlock_t;

typedef union nosv_mutexattr_ext { uint8_t bytes[SIZEOF_NOSV_MUTEXATTR]; uint64_t align; } nosv_mutexattr_t;
typedef union nosv_barrierattr_ext { uint8_t bytes[SIZEOF_NOSV_BARRIERATTR]; uint64_t align; } nosv_barrierattr_t;
typedef union nosv_condattr_ext { uint8_t bytes[SIZEOF_NOSV_CONDATTR]; uint64_t align; } nosv_condattr_t;
typedef union nosv_rwlockattr_ext { uint8_t bytes[SIZEOF_NOSV_RWLOCKATTR]; uint64_t align; } nosv_rwlockattr_t;

#define NOSV_MUTEX_INITIALIZER { { 0 } }
#define NOSV_COND_INITIALIZER { { 0 } }
#define NOSV_RWLOCK_INITIALIZER { { 0 } }

int nosv_mutexattr_init(nosv_mutexattr_t *attr);
int nosv_mutexattr_destroy(nosv_mutexattr_t *attr);

/* Initialise a mutex: unlocked. Destroy one: nothing may wait for it, and it must not be used again
 * before it is initialised.
 *
 * Return 0, or
 *     EINVAL   mutex is NULL
 *     EBUSY    nosv_mutex_destroy: the mutex is locked; it stays as it is
 *
 * Context: any thread, initialised or not. */
int nosv_mutex_init(nosv_mutex_t *mutex, const nosv_mutexattr_t *attr);
int nosv_mutex_destroy(nosv_mutex_t *mutex);

/* Lock a mutex; wait while it is locked. Waiting tasks get it in the order in which they came.
 *
 * Returns 0, or
 *     EINVAL    mutex is NULL, or the calling task is parallel
 *     ESRCH     the calling thread is in no task
 *     EDEADLK   the calling task has it
 *
 * Context: task. Scheduling point. */
int nosv_mutex_lock(nosv_mutex_t *mutex);

/* Lock a mutex if that needs no waiting.
 *
 * Returns 0, or
 *     EBUSY    it is locked, perhaps by the calling task
 *     EINVAL   mutex is NULL, or the calling task is parallel
 *     ESRCH    the calling thread is in no task
 *
 * Context: task. */
int nosv_mutex_trylock(nosv_mutex_t *mutex);

/* Unlock a mutex, and hand it to the task that has waited longest.
 *
 * Returns 0, or
 *     EPERM    the calling task does not have it
 *     EINVAL   mutex is NULL
 *     ESRCH    the calling thread is in no task
 *
 * Context: task. */
int nosv_mutex_unlock(nosv_mutex_t *mutex);

/* ==== nosv_barrier_init - barriers of tasks ==== */

int nosv_barrierattr_init(nosv_barrierattr_t *attr);
int nosv_barrierattr_destroy(nosv_barrierattr_t *attr);

/* Initialise a barrier for count tasks. Destroy one.
 *
 * Return 0, or
 *     EINVAL   barrier is NULL; nosv_barrier_init: count is 0
 *     EBUSY    nosv_barrier_destroy: a task waits at it; it stays as it is
 *
 * Context: any thread, initialised or not. */
int nosv_barrier_init(nosv_barrier_t *barrier, const nosv_barrierattr_t *attr, unsigned count);
int nosv_barrier_destroy(nosv_barrier_t *barrier);

/* Wait until count tasks have called this. The barrier may be used again at once, and a task that
 * has returned may destroy it.
 *
 * Returns PTHREAD_BARRIER_SERIAL_THREAD (negative) in one of the tasks, 0 in the others, or
 *     EINVAL   barrier is NULL or not initialised, or the calling task is parallel
 *     ESRCH    the calling thread is in no task
 *
 * Context: task. Scheduling point. */
int nosv_barrier_wait(nosv_barrier_t *barrier);

/* ==== nosv_cond_init - condition variables of tasks ==== */

int nosv_condattr_init(nosv_condattr_t *attr);
int nosv_condattr_destroy(nosv_condattr_t *attr);

/* Initialise a condition variable. Destroy one.
 *
 * Return 0, or
 *     EINVAL   cond is NULL
 *     EBUSY    nosv_cond_destroy: a task waits for it; it stays as it is
 *
 * Context: any thread, initialised or not. */
int nosv_cond_init(nosv_cond_t *cond, const nosv_condattr_t *attr);
int nosv_cond_destroy(nosv_cond_t *cond);

/* Wake the task that has waited longest; wake all waiting tasks. Without one there is no effect.
 *
 * Return 0, or
 *     EINVAL   cond is NULL
 *
 * Context: any thread. */
int nosv_cond_signal(nosv_cond_t *cond);
int nosv_cond_broadcast(nosv_cond_t *cond);

/* Unlock the mutex and wait for a signal, which together are one step for other tasks; lock the
 * mutex before returning. A task may wake without a signal: test the condition in a loop.
 * nosv_cond_timedwait waits until abstime at the latest, a time of CLOCK_MONOTONIC; NULL is no
 * limit. tv_nsec may lie outside of 0 to 999999999; the time is what it comes to.
 *
 * Return 0, or
 *     ETIMEDOUT   nosv_cond_timedwait: the time has come; the mutex is locked
 *     EINVAL      cond or mutex is NULL, or the calling task is parallel
 *     ESRCH       the calling thread is in no task
 *     EPERM       the calling task does not have the mutex
 *
 * Context: task. Scheduling points. */
int nosv_cond_wait(nosv_cond_t *cond, nosv_mutex_t *mutex);
int nosv_cond_timedwait(nosv_cond_t *cond, nosv_mutex_t *mutex, const struct timespec *abstime);

/* The same with a pthread_mutex_t, which the calling thread has locked. Its own errors are
 * returned. The clock is CLOCK_MONOTONIC here too.
 *
 * Context: task. Scheduling points. */
int nosv_cond_wait_pthread(nosv_cond_t *cond, pthread_mutex_t *mutex);
int nosv_cond_timedwait_pthread(nosv_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *abstime);

/* ==== nosv_rwlock_init - read-write locks of tasks ====
 *
 * Any number of readers or one writer have the lock. Writers come first: while one waits, no new
 * reader gets the lock, and waiting writers get it before waiting readers. */

int nosv_rwlockattr_init(nosv_rwlockattr_t *attr);
int nosv_rwlockattr_destroy(nosv_rwlockattr_t *attr);

/* Initialise a read-write lock: unlocked. Destroy one.
 *
 * Return 0, or
 *     EINVAL   rwlock is NULL
 *     EBUSY    nosv_rwlock_destroy: it is locked; it stays as it is
 *
 * Context: any thread, initialised or not. */
int nosv_rwlock_init(nosv_rwlock_t *rwlock, const nosv_rwlockattr_t *attr);
int nosv_rwlock_destroy(nosv_rwlock_t *rwlock);

/* Lock for reading; for writing. Wait while that is not possible.
 *
 * Return 0, or
 *     EINVAL    rwlock is NULL, or the calling task is parallel
 *     ESRCH     the calling thread is in no task
 *     EDEADLK   the calling task has it for writing
 *
 * Context: task. Scheduling points. */
int nosv_rwlock_rdlock(nosv_rwlock_t *rwlock);
int nosv_rwlock_wrlock(nosv_rwlock_t *rwlock);

/* Lock for reading, for writing, if that needs no waiting.
 *
 * Return 0, or
 *     EBUSY    it would have to wait; for reading also while a writer waits
 *     EINVAL   rwlock is NULL, or the calling task is parallel
 *     ESRCH    the calling thread is in no task
 *
 * Context: task. */
int nosv_rwlock_tryrdlock(nosv_rwlock_t *rwlock);
int nosv_rwlock_trywrlock(nosv_rwlock_t *rwlock);

/* Give the lock back, which the calling task has for reading or for writing.
 *
 * Returns 0, or
 *     EPERM    it is not locked, or another task has it for writing
 *     EINVAL   rwlock is NULL
 *     ESRCH    the calling thread is in no task
 *
 * Context: task. */
int nosv_rwlock_unlock(nosv_rwlock_t *rwlock);

/* ==== nosv_pthread_create - a thread that is attached from its start ==== */

/* Create a thread as pthread_create does, and attach it: start_routine is called in a task with the
 * default affinity and without a label. When it returns, or calls pthread_exit, the thread detaches
 * and ends. pthread_join gives what it returned. The thread owns no nosv_init, and the process must
 * stay initialised until it has ended.
 *
 * Returns 0, or
 *     EINVAL   thread or start_routine is NULL, an attribute is invalid, or the process is not
 *              initialised
 *     EAGAIN   memory or threads are exhausted
 *     EPERM    the attributes need a right that the process has not
 *
 * Context: any thread. Not a scheduling point. */
int nosv_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start_routine)(void *), void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
