/* src/runtime/spinwait.c - busy-wait loops become scheduling points.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime.h"
#include "spin/spin.h"

#define SPIN_FREE_ROUNDS 64u    /* rounds of pure spinning before the kernel gets a chance */
#define STRANGERS_NS 1000000u    /* ... and from then on, while nothing of the instance waits */
#define STOP_WAIT_NS 2000000u
#define VAIN_PAUSES 32u

static struct sched_spin spins[USF_MAX_TASKS];

static bool would_leave(uint32_t place, const void *regs) { return spin_would_leave(place, regs); }

/* Nobody that waits would have use for a turn now: do not ask again at once, asking takes the scheduler lock. */
static void back_off(uint32_t vain)
{ for (uint32_t i = vain < VAIN_PAUSES ? vain : VAIN_PAUSES; i; i--) os_pause(); }

/* One round of a patched loop. */
static void spin_round(uint32_t place, struct spin_regs *regs)
{
    struct rt_thread *t = &rt_self;
    os_pause();
    if (USF_UNLIKELY(t->state != RT_ATTACHED || t->self.crit || usf_gate_vforked)) return;
    if (USF_UNLIKELY(t->self.task == USF_NONE) && !rt_enter()) return;
    if (!rt.sched.kernel) {
        if (atomic_load_explicit(&rt.sched.h->nr_ready, memory_order_relaxed)
            && sched_spin(&rt.sched, &t->self, place, regs)) {
            t->spins = 0;
            return;
        }
        back_off(t->self.vain);
        /* Nothing of ours waits; programs outside the instance might. */
        if (++t->spins % 256 == 0 && os_now() - t->yielded > STRANGERS_NS) {
            os_sched_yield();
            t->yielded = os_now();
        }
        return;
    }
    if (++t->spins > SPIN_FREE_ROUNDS) os_sched_yield();
}

/* ---- live patching ---------------------------------------------------------------------------- */

/* Back from a call already, whatever it has written down so far: nothing is lent any more, and the core is its own.  It may have
 * looked whether it may go on before we forbade it. */
static bool is_back(uint32_t task)
{
    const struct usf_task *t = &rt.sched.tasks[task];
    if (sched_has_lent(t)) return false;
    uint32_t core = atomic_load(&((struct usf_task *)t)->core);
    uint64_t w = core < rt.sched.h->nr_cores ? atomic_load(&rt.sched.cores[core].word) : 0;
    return core_state(w) == USF_CORE_RUNNING && core_task(w) == task;
}

/* Is it executing the program's code, as far as we know? */
static bool may_run(const struct rt_thread *t)
{
    const volatile struct sched_self *self = &t->self;
    uint32_t task = self->task, where = self->where;
    if (task == USF_NONE || where == SCHED_PARKED) return false;
    if (self->guest) return where == SCHED_USER;
    return atomic_load(&rt.sched.tasks[task].state) == USF_TASK_RUNNING && (where == SCHED_USER || is_back(task));
}

/* Stop every thread of this process that may be executing program code. */
static bool stop_others(struct rt_thread *me, uint32_t round)
{
    bool all = true;
    uint64_t until = os_now() + STOP_WAIT_NS;
    rt_list_lock();
    all = !atomic_load(&rt.nr_apart);
    for (struct rt_thread *t = rt.threads; t && all; t = t->next) {
        if (t == me || !may_run(t)) continue;
        if (os_thread_blocks(rt.pid, t->tid, RT_SIGNAL)) all = false;
        else os_signal_thread(rt.pid, t->tid, RT_SIGNAL, RT_STOP_MAGIC);
    }
    for (struct rt_thread *t = rt.threads; t && all; t = t->next) {
        if (t == me || t->self.task == USF_NONE) continue;
        while (may_run(t) && *(volatile uint32_t *)&t->stopped != round) {
            if (os_now() > until) {
                all = false;    /* it has not got the CPU: another time */
                break;
            }
            os_sched_yield();
        }
    }
    rt_list_unlock();
    return all;
}

static int patch(struct rt_thread *me, const struct spin_loop *l, uintptr_t fstart)
{
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong(&rt.patch_lock, &free, 1)) return -1;
    int site = -1;
    sched_crit_enter(&me->self);
    atomic_store(&rt.sched.patching, 1);
    uint32_t round = atomic_fetch_add(&rt.stop_round, 1) + 1;
    if (stop_others(me, round) && (site = spin_prepare((const uint8_t *)fstart, fstart, l)) >= 0)
        if (spin_commit((uint32_t)site)) site = -1;
    atomic_fetch_add(&rt.stop_round, 1);
    atomic_store(&rt.sched.patching, 0);
    os_futex_wake(&rt.sched.patching, INT32_MAX);
    sched_crit_leave(&rt.sched, &me->self);
    atomic_store(&rt.patch_lock, 0);
    return site;
}

/* ---- sites learned in earlier runs -------------------------------------------------------------- */

/* To recognise them anew takes a tenth of a millisecond each, and most processes never wait for anybody: a site in libc would slow
 * down every command of a shell script.  So they wait for the process's second thread, or until it is found busy for long while
 * others wait. */
static bool learned_due;

static void apply_learned(const struct gate_object *o, void *applied)
{
    int n = rt.settings.cache_dir[0] ? spin_apply_learned(rt.settings.cache_dir, o) : 0;
    if (n > 0 && rt.sched.proc != USF_NONE) rt.sched.procs[rt.sched.proc].spin_sites += (uint64_t)n;
    *(int *)applied += n;
}

int rt_apply_learned(void)
{
    int applied = 0;
    if (USF_LIKELY(learned_due)) return 0;
    learned_due = true;
    sched_crit_enter(&rt_self.self);
    gate_for_each_object(apply_learned, &applied);
    sched_crit_leave(&rt.sched, &rt_self.self);
    return applied;
}

void rt_find_spin(struct rt_thread *t, uintptr_t pc)
{
    struct gate_object o;
    struct spin_loop l;
    uintptr_t start, end;
    /* The loop is likely to be among them; others are found the next time. */
    if (!learned_due && rt.threads == t && !t->next && rt_apply_learned()) return;
    if (!gate_find_object(pc, &o) || !gate_function_bounds(&o, pc, &start, &end)) return;
    if (spin_recognise((const uint8_t *)start, start, end, pc, &l) != SPIN_YES) return;
    if (patch(t, &l, start) < 0) return;
    uint32_t proc = rt.sched.proc;
    if (proc != USF_NONE) rt.sched.procs[proc].spin_sites++;
    if (rt.settings.cache_dir[0]) spin_learn(rt.settings.cache_dir, &o, &l);
}

/* ---- on load ---------------------------------------------------------------------------------- */

void rt_object_loaded(const struct gate_object *o)
{
    int n = spin_apply_idioms(o);
    if (n > 0 && rt.sched.proc != USF_NONE) rt.sched.procs[rt.sched.proc].spin_sites += (uint64_t)n;
    if (rt.on && learned_due) apply_learned(o, &n);
}

void rt_spin_init(void)
{
    usf_spin_round = spin_round;
    rt.sched.would_leave = would_leave;
    rt.sched.spins = spins;
}
