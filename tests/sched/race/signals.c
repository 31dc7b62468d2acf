/* tests/sched/race/signals.c - signals where they could come, and perturbation points.  SPDX-License-Identifier: Apache-2.0 */
#include "race.h"

/* A busy-wait that others may try: while they do, the thread is still in it. */
struct probe { _Atomic uint32_t alive; };

bool probe(uint32_t place, const void *regs)
{
    static _Atomic uint32_t tried;
    const struct probe *x = regs;
    CHECK(atomic_load_explicit(&x->alive, memory_order_relaxed) == place);
    return mix(place + atomic_fetch_add_explicit(&tried, 1, memory_order_relaxed)) % 4 == 0;
}

void spin(struct thread *t)
{
    struct probe x = {.alive = below(t, 1000) + 1};
    sched_spin(&t->v->s, &t->self, x.alive, &x);
    atomic_store_explicit(&x.alive, 0, memory_order_relaxed);
}

static void handler(struct thread *t)
{
    if (!is_in(t)) return;
    struct sched *s = &t->v->s;
    uint32_t id = atomic_load(&threads[below(t, THREADS)].id);
    unsigned what = below(t, 5);
    if (what == 0) {
        if (e.strays && id != USF_NONE) sched_wake(s, &t->self, &id, 1);
        return;
    }
    exit_core(t);
    if (what == 1) {
        int r = sched_block(s, &t->self, os_now() + below(t, 100000));
        CHECK(r == 0 || r == -ETIMEDOUT || r == -EINTR);
    } else if (what == 2) {
        sched_preempt(s, &t->self);
    } else if (what == 3) {
        sched_yield_core(s, &t->self, false);
    }
    enter_core(t);
}

/* As src/runtime/signals.c enters a handler. */
static void take_signal(struct thread *t)
{
    uint32_t where = t->self.where, interrupted;
    bool certain = t->certain, inside = t->inside, returned = false;
    struct sync_waiter *waiter = t->sync.waiter;
    if (waiter) sync_cancel(&t->v->y, &t->sync);
    if (where == SCHED_PARKED) sched_interrupt(&t->v->s, &t->self);
    else if (where == SCHED_IN_CALL || where == SCHED_RETURNING) returned = sched_interrupt_call(&t->v->s, &t->self);
    interrupted = t->self.interrupted;
    t->self.interrupted = 0;
    t->self.where = SCHED_USER;
    t->sync.waiter = 0;
    if (!inside) enter_core(t);
    handler(t);
    if (!inside) exit_core(t);
    t->sync.waiter = waiter;
    t->self.interrupted |= interrupted;
    t->self.where = where;
    if (returned) sched_leave_core(&t->v->s, &t->self, certain);
}

static void maybe_signal(struct thread *t)
{
    if (!t || !t->attached || t->self.crit || t->depth >= 2 || !e.handlers) return;
    if (next(&point_rng) % (t->depth ? 4 * e.handlers : e.handlers)) return;
    t->depth++;
    take_signal(t);
    t->depth--;
}

void after_crit(struct sched_self *me) { if (self && me == &self->self) maybe_signal(self); }

/* In place of src/os/point.c. */
void usf_point(const char *name)
{
    uint64_t x = next(&point_rng);
    (void)name;
    switch (x % 64) {
    case 0: usleep((unsigned)(x >> 32) % 200); break;
    case 1: case 2: os_sched_yield(); break;
    case 3: case 4: case 5: for (unsigned n = (x >> 32) % 2000; n; n--) os_pause(); break;
    default: break;
    }
    maybe_signal(self);
}
