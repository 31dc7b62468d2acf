/* src/sched/contend.c - cores whose CPUs other programs use.  SPDX-License-Identifier: Apache-2.0
 *
 * The kernel runs a thread that is woken on a busy CPU only after the slice of the thread that runs
 * there, some 3 ms.  Threads that hand over to each other every few microseconds would wait for
 * that at each wake-up on such a core, while the waker's core could run the woken thread next.  So
 * a core is contended for a while after a thread was run late there, and each time in a row for
 * twice as long.  Meanwhile a woken task that may run anywhere is not placed there while another
 * core is in use: that core takes the task when its thread gives way.  If no thread does within the
 * monitor's next two looks, some 1 to 2 ms, the monitor dispatches the task to the contended
 * core. */
#include "sched/core.h"
#include "sched/times.h"

#define MS_NS 1000000u

/* usf_core.contended: the time until which it is, ns, without its lowest bits, which have the
 * length of that, ms. */
#define PAUSE_BITS 0xffffull

static bool is_contended(const struct sched *s, uint32_t core)
{ return s->pol.now < (atomic_load_explicit(&s->cores[core].contended, memory_order_relaxed) & ~PAUSE_BITS); }

/* IN_KERNEL: its core was taken before it ran there. */
void contend_judge(struct sched *s, const struct usf_task *t)
{
    uint32_t core = atomic_load(&((struct usf_task *)t)->core), state = atomic_load(&((struct usf_task *)t)->state);
    if ((state != USF_TASK_RUNNING && state != USF_TASK_IN_KERNEL) || core >= s->h->nr_cores || s->no_contention) return;
    uint64_t given = t->start_ns, now = os_now();
    struct usf_core *c = &s->cores[core];
    uint64_t was = atomic_load_explicit(&c->contended, memory_order_relaxed), pause = was & PAUSE_BITS, until = was & ~PAUSE_BITS;
    if (now > given + CONTENDED_LATE_NS) {
        pause = pause < CONTENDED_MIN_MS ? CONTENDED_MIN_MS : 2 * pause > CONTENDED_MAX_MS ? CONTENDED_MAX_MS : 2 * pause;
        atomic_store_explicit(&c->contended, ((now + pause * MS_NS) & ~PAUSE_BITS) | pause, memory_order_relaxed);
        atomic_fetch_or(&s->h->contended[core / 64], 1ull << (core % 64));
    } else if (pause && now > until + 2 * pause * MS_NS) {
        atomic_store_explicit(&c->contended, until, memory_order_relaxed);
    }
}

/* holds the lock */
bool contend_avoid(struct sched *s, const uint64_t may[USF_CORE_WORDS], uint64_t idle[USF_CORE_WORDS])
{
    uint64_t any = 0, in_use = 0, left = 0;
    for (unsigned i = 0; i < USF_CORE_WORDS; i++) {
        any |= idle[i] & atomic_load_explicit(&s->h->contended[i], memory_order_relaxed);
        in_use |= may[i] & ~atomic_load_explicit(&s->h->idle[i], memory_order_relaxed);
        left |= idle[i];
    }
    if (USF_LIKELY(!any) || !in_use) return left != 0;
    left = 0;
    for (unsigned i = 0; i < USF_CORE_WORDS; i++) {
        for (uint64_t m = idle[i] & atomic_load_explicit(&s->h->contended[i], memory_order_relaxed); m; m &= m - 1) {
            if (is_contended(s, i * 64 + (uint32_t)__builtin_ctzll(m))) idle[i] &= ~(m & -m);
            else atomic_fetch_and(&s->h->contended[i], ~(m & -m));
        }
        left |= idle[i];
    }
    return left != 0;
}
