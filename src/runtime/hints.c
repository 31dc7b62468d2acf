/* src/runtime/hints.c - calls that find nothing are yield hints.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "runtime/runtime.h"
#include "sched/times.h"

/* A thread that repeats calls which find nothing waits in its own way, perhaps for a thread that
 * has no core.  So HINT_CALLS of them in a row, with none between them that has found what it asked
 * for, are a yield hint. */

static void give_a_turn(struct rt_thread *t)
{
    uint64_t from = os_now();
    sched_yield_core(&rt.sched, &t->self, false);
    if (os_now() - from < HINT_LONG_NS) t->pause = 0;
    else t->pause = !t->pause ? HINT_FIRST_PAUSE : t->pause < HINT_LAST_PAUSE ? 2 * t->pause : HINT_LAST_PAUSE;
    t->hints_off = t->pause;
}

bool rt_says_not_yet(long r)
{ return r == -EAGAIN || r == -EBUSY || r == -EEXIST || r == -ENOMSG || r == -EALREADY || r == -EINPROGRESS; }

long rt_not_yet(struct rt_thread *t, long r)
{
    bool gives_way = sched_core_is_wanted(&rt.sched) || !rt_has_core(t);    /* a kernel-scheduled thread queues for a core */
    if (!gives_way || t->state != RT_ATTACHED || rt_is_without(USF_WITHOUT_HINTS)) return r;
    uint64_t now = os_now();
    if (now - t->tried > HINT_SOON_NS || t->releases - t->tried_releases > 1) t->tries = 0;
    t->tries++;
    t->tried_releases = t->releases;
    if (t->tries >= HINT_CALLS && (!t->hints_off || !t->hints_off--)) {
        give_a_turn(t);
        now = os_now();
    }
    t->tried = now;
    return r;
}
