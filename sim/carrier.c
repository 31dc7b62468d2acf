/* sim/carrier.c - threads that float, as the simulated machine has it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * This replaces src/sched/carrier.c, as os.c replaces src/os.  src/sched decides which hand-overs
 * float, by the same calls (core_leave, core_park) and the same conditions (carrier_claims).  The
 * switch takes one instant here and has no race, so the park word has its states without their
 * protocol.
 *
 * A thread and the kernel thread that executes it, or is kept for it, are one record (struct
 * sim_thread).  When a kernel thread goes on with another thread, the two records exchange their
 * kernel threads: here what src/sched knows of them, in go_on_with (cpu.c) what the model of the
 * kernel knows.  `tid` of struct usf_thread names the record.
 *
 * An idle loop takes no time: a thread that no other replaces sleeps, and is woken, as one that
 * does not float. */
#include "os/os.h"
#include "sched/carrier.h"
#include "sim/internal.h"

void carrier_begin(struct sched *s, struct sched_self *me)
{
    if (!me->floats) return;
    me->home = me->carrier = s->carriers;
    s->handovers = CARRIER_PAYS;
    me->next = 0;
}

bool carrier_prepare(struct sched *s, struct sched_self *me) { return true; }
void carrier_forget(struct sched *s, uint32_t task) {}
void carrier_make_room(struct sched *s, struct sched_self *me) {}
void carrier_await_home(struct sched *s, struct sched_self *me, uint64_t until) {}

bool carrier_claims(struct sched *s, struct sched_self *me, uint32_t task)
{
    if (me->where != SCHED_PARKED || me->next || !carrier_may_leave(s, me)) return false;
    struct usf_task *t = &s->tasks[task], *own = &s->tasks[me->task];
    uint32_t idle = USF_PARK_IDLE;
    if (atomic_load(&t->proc) != s->proc) return false;
    if (atomic_load(&t->core) != atomic_load(&own->core) || atomic_load(&own->state) == USF_TASK_RUNNING) return false;
    if (!atomic_compare_exchange_strong(&sched_thread_of(s, task)->park, &idle, USF_PARK_CLAIMED)) return false;
    me->next = task + 1;
    return true;
}

void carrier_flush(struct sched *s, struct sched_self *me)
{
    if (USF_LIKELY(!me->next)) return;
    uint32_t task = me->next - 1, place = sched_is_bound(s) ? atomic_load(&s->tasks[task].core) : USF_NONE;
    struct usf_thread *t = sched_thread_of(s, task);
    me->next = 0;
    if (atomic_load(&t->pinned) != place) sched_place_anew(s, me, task);
    atomic_store(&t->park, USF_PARK_GO);
    os_futex_wake(&t->park, 1);
}

/* What src/sched knows of their kernel threads changes hands. */
static struct sim_thread *exchange(struct sched *s, uint32_t task, uint32_t next)
{
    uint32_t number = atomic_load(&s->tasks[task].thread), other = atomic_load(&s->tasks[next].thread);
    int32_t tid = s->threads[number].tid, next_tid = s->threads[other].tid;
    atomic_store(&s->tasks[task].thread, other);
    atomic_store(&s->tasks[next].thread, number);
    s->threads[number].tid = next_tid;
    s->threads[other].tid = tid;
    atomic_store(&s->threads[number].park, USF_PARK_NONE);
    atomic_store(&s->threads[other].park, USF_PARK_IDLE);
    return sim_thread(sim_the, (uint32_t)next_tid - 1);
}

void carrier_leave(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    if (me->next) {
        uint32_t next = me->next - 1;
        me->next = 0;
        sim_float_to(exchange(s, me->task, next));
    } else {
        struct usf_thread *t = sched_thread_of(s, me->task);
        atomic_store(&t->park, USF_PARK_IDLE);
        os_futex_wait(&t->park, USF_PARK_IDLE, deadline);
    }
    atomic_store(&sched_thread_of(s, me->task)->park, USF_PARK_NONE);       /* another number, maybe */
}
