/* src/sched/alarm.c - deadlines of threads that float (alarm.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/alarm.h"

#include "sched/carrier.h"
#include "sched/thread.h"

/* holds alarm_lock.  Wakes the threads whose deadline is over, and returns the one with the
 * earliest deadline of the rest, or USF_NONE.  Only threads that a carrier is kept for count: any
 * other is about to go on, or alarm_look follows when a carrier is kept for it. */
static uint32_t find_earliest(struct sched *s, uint64_t *deadline)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm), found = USF_NONE;
    uint64_t now = os_now(), least = 0;
    usf_xassert(usf_lock_is_held(USF_RANK_ALARM));
    for (uint32_t i = 0; i < hwm; i++) {
        uint64_t d = alarm_deadline(s, i);
        if (!d || !usf_park_is_kept(atomic_load(&sched_thread_of(s, i)->park))) continue;
        if (d <= now) core_wake(s, i, false);
        else if (!least || d < least) least = d, found = i;
    }
    *deadline = least;
    return found;
}

uint64_t alarm_set(struct sched *s, uint32_t number, uint64_t deadline)
{
    if (!deadline && USF_LIKELY(atomic_load_explicit(&s->alarm_by, memory_order_relaxed) != number + 1)) return 0;
    carrier_lock(&s->alarm_lock, USF_RANK_ALARM);
    uint64_t alarm = atomic_load(&s->alarm);
    if (deadline && (!alarm || deadline < alarm)) {
        atomic_store(&s->alarm_by, number + 1);
        atomic_store(&s->alarm, alarm = deadline);
    }
    bool mine = atomic_load(&s->alarm_by) == number + 1;
    USF_POINT("alarm.set");
    carrier_unlock(&s->alarm_lock, USF_RANK_ALARM);
    return mine ? alarm : 0;
}

/* Have a carrier that sleeps, or is about to, look again how long it may sleep.  The park word
 * tells it: a wake-up alone is lost on a carrier that is only about to sleep.  False: it is kept
 * for no thread by now. */
static bool have_look(struct sched *s, uint32_t number)
{
    uint32_t idle = USF_PARK_IDLE;
    USF_POINT("alarm.have_look");
    return atomic_compare_exchange_strong(&s->threads[number].park, &idle, USF_PARK_LOOK) || idle == USF_PARK_LOOK;
}

/* The next carrier is told after it has the alarm: if it stops sleeping at once, it must find in
 * alarm_by, which it reads without the lock, that the alarm is its own to give away. */
void alarm_move(struct sched *s, uint32_t number, bool stays)
{
    if (USF_LIKELY(atomic_load_explicit(&s->alarm_by, memory_order_relaxed) != number + 1)) return;
    uint32_t next = USF_NONE, by = number;
    uint64_t deadline;
    carrier_lock(&s->alarm_lock, USF_RANK_ALARM);
    if (atomic_load(&s->alarm_by) == number + 1) {
        do {
            atomic_store(&s->alarm, 0);         /* before the deadlines are read: alarm_look */
            USF_POINT("alarm.none");
            next = find_earliest(s, &deadline);
            if (next != USF_NONE && !stays) by = atomic_load(&s->tasks[next].thread);
            atomic_store(&s->alarm, deadline);
            atomic_store(&s->alarm_by, next == USF_NONE ? 0 : by + 1);
        } while (next != USF_NONE && !stays && !have_look(s, by));
    }
    carrier_unlock(&s->alarm_lock, USF_RANK_ALARM);
    if (next != USF_NONE && by != number) os_futex_wake(&s->threads[by].park, 1);
}

/* alarm_move clears the alarm before it reads the deadlines.  So either it reads this deadline, or
 * no alarm is found here. */
void alarm_look(struct sched *s, uint32_t number, uint32_t task)
{
    uint64_t deadline = alarm_deadline(s, task), alarm = atomic_load(&s->alarm);
    if (USF_UNLIKELY(deadline && (!alarm || deadline < alarm)) && have_look(s, number)) os_futex_wake(&s->threads[number].park, 1);
}
