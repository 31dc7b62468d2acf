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

#define SIZEOF_NOSV_MUTEX 64
#define SIZEOF_NOSV_BARRIER 64
#define SIZEOF_NOSV_COND 64
#define SIZEOF_NOSV_RWLOCK 64
#define SIZEOF_NOSV_MUTEXATTR 32
#define SIZEOF_NOSV_BARRIERATTR 32
#define SIZEOF_NOSV_CONDATTR 32
#define SIZEOF_NOSV_RWLOCKATTR 32

typedef union nosv_mutex_ext { uint8_t size[SIZEOF_NOSV_MUTEX]; uint64_t align; } nosv_mutex_t;
typedef union nosv_barrier_ext { uint8_t size[SIZEOF_NOSV_BARRIER]; uint64_t align; } nosv_barrier_t;
typedef union nosv_cond_ext { uint8_t size[SIZEOF_NOSV_COND]; uint64_t align; } nosv_cond_t;
typedef union nosv_rwlock_ext { uint8_t size[SIZEOF_NOSV_RWLOCK]; uint64_t align; } nosv_rwlock_t;

typedef union nosv_mutexattr_ext { uint8_t size[SIZEOF_NOSV_MUTEXATTR]; uint64_t align; } nosv_mutexattr_t;
typedef union nosv_barrierattr_ext { uint8_t size[SIZEOF_NOSV_BARRIERATTR]; uint64_t align; } nosv_barrierattr_t;
typedef union nosv_condattr_ext { uint8_t size[SIZEOF_NOSV_CONDATTR]; uint64_t align; } nosv_condattr_t;
typedef union nosv_rwlockattr_ext { uint8_t size[SIZEOF_NOSV_RWLOCKATTR]; uint64_t align; } nosv_rwlockattr_t;

#define NOSV_MUTEX_INITIALIZER { { 0 } }
#define NOSV_COND_INITIALIZER { { 0 } }
#define NOSV_RWLOCK_INITIALIZER { { 0 } }

int nosv_mutexattr_init(nosv_mutexattr_t *attr);
int nosv_mutexattr_destroy(nosv_mutexattr_t *attr);
int nosv_mutex_init(nosv_mutex_t *mutex, const nosv_mutexattr_t *attr);
int nosv_mutex_destroy(nosv_mutex_t *mutex);
int nosv_mutex_lock(nosv_mutex_t *mutex);
int nosv_mutex_trylock(nosv_mutex_t *mutex);
int nosv_mutex_unlock(nosv_mutex_t *mutex);

int nosv_barrierattr_init(nosv_barrierattr_t *attr);
int nosv_barrierattr_destroy(nosv_barrierattr_t *attr);
int nosv_barrier_init(nosv_barrier_t *barrier, const nosv_barrierattr_t *attr, unsigned count);
int nosv_barrier_destroy(nosv_barrier_t *barrier);
int nosv_barrier_wait(nosv_barrier_t *barrier);

int nosv_condattr_init(nosv_condattr_t *attr);
int nosv_condattr_destroy(nosv_condattr_t *attr);
int nosv_cond_init(nosv_cond_t *cond, const nosv_condattr_t *attr);
int nosv_cond_destroy(nosv_cond_t *cond);
int nosv_cond_signal(nosv_cond_t *cond);
int nosv_cond_broadcast(nosv_cond_t *cond);
int nosv_cond_wait(nosv_cond_t *cond, nosv_mutex_t *mutex);
int nosv_cond_timedwait(nosv_cond_t *cond, nosv_mutex_t *mutex, const struct timespec *abstime);
int nosv_cond_wait_pthread(nosv_cond_t *cond, pthread_mutex_t *mutex);
int nosv_cond_timedwait_pthread(nosv_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *abstime);

int nosv_rwlockattr_init(nosv_rwlockattr_t *attr);
int nosv_rwlockattr_destroy(nosv_rwlockattr_t *attr);
int nosv_rwlock_init(nosv_rwlock_t *rwlock, const nosv_rwlockattr_t *attr);
int nosv_rwlock_destroy(nosv_rwlock_t *rwlock);
int nosv_rwlock_rdlock(nosv_rwlock_t *rwlock);
int nosv_rwlock_wrlock(nosv_rwlock_t *rwlock);
int nosv_rwlock_tryrdlock(nosv_rwlock_t *rwlock);
int nosv_rwlock_trywrlock(nosv_rwlock_t *rwlock);
int nosv_rwlock_unlock(nosv_rwlock_t *rwlock);

int nosv_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start_routine)(void *), void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
