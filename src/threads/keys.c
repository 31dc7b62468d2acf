/* src/threads/keys.c - thread-specific data: which keys exist, and their destructors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * libc runs the destructors only when a thread really ends, so keys are recorded as they are made.
 * Values stay libc's. */
#include "threads/real.h"
#include "threads/record.h"

#include <limits.h>

static struct {
    _Atomic bool exists;
    void (*_Atomic destroy)(void *);
} keys[PTHREAD_KEYS_MAX];
static _Atomic unsigned keys_end;            /* one above the highest key ever made */

static void key_made(unsigned key, void (*destroy)(void *))
{
    if (key >= PTHREAD_KEYS_MAX)
        return;
    atomic_store(&keys[key].destroy, destroy);
    atomic_store(&keys[key].exists, true);
    unsigned end = atomic_load(&keys_end);
    while (end <= key && !atomic_compare_exchange_weak(&keys_end, &end, key + 1))
        ;
}

static void key_deleted(unsigned key)
{
    if (key < PTHREAD_KEYS_MAX)
        atomic_store(&keys[key].exists, false);
}

THREADS_EXPORT int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    int err = REAL(pthread_key_create)(key, destroy);
    if (err == 0)
        key_made(*key, destroy);
    return err;
}

/* An old name of the same function, still exported. */
int __pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
THREADS_EXPORT int __pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    return pthread_key_create(key, destroy);
}

THREADS_EXPORT int pthread_key_delete(pthread_key_t key)
{
    key_deleted(key);
    return REAL(pthread_key_delete)(key);
}

THREADS_EXPORT int tss_create(tss_t *key, tss_dtor_t destroy)
{
    int err = REAL(tss_create)(key, destroy);
    if (err == thrd_success)
        key_made(*key, destroy);
    return err;
}

THREADS_EXPORT void tss_delete(tss_t key)
{
    key_deleted(key);
    REAL(tss_delete)(key);
}

/* One pass in ascending order, as libc's.  Values are set to null before the destructor sees
 * them. */
static bool destroy_once(bool call)
{
    bool any = false;
    for (unsigned k = 0; k < atomic_load_explicit(&keys_end, memory_order_acquire); k++) {
        void *value = atomic_load_explicit(&keys[k].exists, memory_order_relaxed) ? pthread_getspecific(k) : NULL;
        if (!value)
            continue;
        any = true;
        pthread_setspecific(k, NULL);
        void (*destroy)(void *) = atomic_load(&keys[k].destroy);
        if (call && destroy)
            destroy(value);
    }
    return any;
}

void keys_run_destructors(void)
{
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++)
        if (!destroy_once(true))
            return;
    destroy_once(false);                     /* destructors that never stop setting values lose them */
}
