/* src/threads/attr.c - what a pthread_attr_t asks for.  SPDX-License-Identifier: Apache-2.0 */
#include "threads/real.h"
#include "threads/record.h"

#include <string.h>

static size_t default_stack, default_guard;

static void read_sizes(const pthread_attr_t *attr, size_t *stack, size_t *guard)
{
    pthread_attr_getstacksize(attr, stack);
    pthread_attr_getguardsize(attr, guard);
}

/* The defaults change only through pthread_setattr_default_np, which closes the cache. */
void attr_init(void)
{
    pthread_attr_t attr;
    if (pthread_getattr_default_np(&attr) == 0) {
        read_sizes(&attr, &default_stack, &default_guard);
        pthread_attr_destroy(&attr);
    }
}

static bool has_own_stack(const pthread_attr_t *attr)
{
    void *low = NULL;
    size_t size = 0;
    /* Without one libc reports a stack that ends at address 0. */
    return pthread_attr_getstack(attr, &low, &size) != 0 || (uintptr_t)low + size != 0;
}

static bool has_affinity(const pthread_attr_t *attr)
{
    unsigned char set[1024];
    if (pthread_attr_getaffinity_np(attr, sizeof set, (cpu_set_t *)set) != 0)
        return true;
    /* Without one libc reports every CPU that fits. */
    for (size_t i = 0; i < sizeof set; i++)
        if (set[i] != 0xff)
            return true;
    return false;
}

void attr_read(const pthread_attr_t *attr, struct plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->plain = true;
    plan->stack = default_stack;
    plan->guard = default_guard;
    if (!attr)
        return;
    int detach = PTHREAD_CREATE_JOINABLE, inherit = PTHREAD_INHERIT_SCHED;
    read_sizes(attr, &plan->stack, &plan->guard);
    pthread_attr_getdetachstate(attr, &detach);
    pthread_attr_getinheritsched(attr, &inherit);
    plan->detached = detach == PTHREAD_CREATE_DETACHED;
    plan->plain = inherit == PTHREAD_INHERIT_SCHED && !has_own_stack(attr) && !has_affinity(attr);
#ifdef PTHREAD_ATTR_NO_SIGMASK_NP
    plan->has_mask = pthread_attr_getsigmask_np(attr, &plan->mask) == 0;
#endif
}
