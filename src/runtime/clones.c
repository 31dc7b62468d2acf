/* src/runtime/clones.c - clone tracing: which thread makes which, for recordings.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread attaches by itself and does not know its maker.  So during a recording the maker leaves
 * a note under the address of the new thread's storage, which both know.  A note that is
 * overwritten, since many threads are made at once, only costs the recording that thread's
 * origin. */
#include "runtime/runtime.h"

#define NOTES 64u
static struct { uintptr_t tls; uint64_t born; uint32_t maker; } note[NOTES];
static uint32_t next;

void rt_trace_clone(uintptr_t tls)
{
    struct rt_thread *t = &rt_self;
    if (!tls || t->state != RT_ATTACHED || t->self.task == USF_NONE || !rt_has_own_self()) return;
    rt_list_lock();
    note[next % NOTES].tls = tls;
    note[next % NOTES].born = os_now();
    note[next++ % NOTES].maker = t->self.task;
    rt_list_unlock();
}

void rt_trace_origin(struct rt_thread *t)
{
    uintptr_t self = arch_thread_pointer();
    t->self.born = 0;
    t->self.maker = USF_NONE;
    if (!rt.sched.trace || !__atomic_load_n(&next, __ATOMIC_RELAXED)) return;
    rt_list_lock();
    for (unsigned i = 0; i < NOTES; i++) {
        if (note[i].tls != self) continue;
        t->self.born = note[i].born;
        t->self.maker = note[i].maker;
        note[i].tls = 0;
    }
    rt_list_unlock();
}
