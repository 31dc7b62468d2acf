/* src/runtime/spinwait.c - busy-wait loops become scheduling points.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A patched loop enters the runtime when its rounds are used up.  How many it goes on by itself,
 * and when the thread gives way, is decided in src/sched/spinwait.c. */
#include <time.h>

#include "runtime/runtime.h"
#include "spin/spin.h"

/* A patch is put off if a thread has not stopped for so long: it has no CPU. */
#define STOP_WAIT_NS 2000000u

static struct sched_spin spins[USF_MAX_TASKS];

static bool probe(uint32_t place, const void *regs) { return spin_probe(place, regs); }

static struct spin_site *site_of(uint32_t place) { return &usf_spin_sites[place & ((1u << SPIN_SITE_BITS) - 1)]; }

/* Nothing of ours waits; programs outside the instance might. */
static void let_strangers_run(struct rt_thread *t)
{
    uint64_t now = os_now();
    if (now - t->yielded < SPIN_STRANGERS_NS) return;
    os_sched_yield();
    t->yielded = os_now();
}

/* The program's polling loop calls sched_yield itself: each yield of ours would be a second one per
 * round. */
static bool yields_itself(struct rt_spin *w)
{
    bool has = w->yields != w->yields_seen;
    w->yields_seen = w->yields;
    return has;
}

/* The thread's rounds are used up: how many more may it go on by itself? */
static uint32_t look(struct rt_thread *t, uint32_t place, struct spin_regs *regs, bool begins)
{
    struct spinwait *w = &t->spin.wait;
    struct spin_site *s = site_of(place);
    bool polls = s->kind == SPIN_SITE_POLL, kernel = rt.sched.kernel;
    sched_make_room(&rt.sched, &t->self);
    uint64_t now = os_cycles();
    spinwait_look(w, &s->long_waits, now, begins, t->self.home && !t->self.stays);
    if (polls && yields_itself(&t->spin)) return w->chunk;
    /* A kernel-scheduled thread queues for a core after a while: what it waits for may need the
     * CPU, and no task need be ready. */
    bool gives_way = sched_core_is_wanted(&rt.sched) || (!rt_has_core(t) && now - w->began > KERNEL_RUN_CYCLES);
    enum spinwait_others others = kernel ? SPINWAIT_UNKNOWN : gives_way ? SPINWAIT_READY : SPINWAIT_NONE;
    enum spinwait_next next = spinwait_next(w, now, others, polls);
    if (next == SPINWAIT_LET_STRANGERS) let_strangers_run(t);
    if (next != SPINWAIT_GIVE_WAY) return w->chunk;
    if (kernel) {
        os_sched_yield();
        return spinwait_yielded(w, now, os_cycles());
    }
    bool ran = sched_spin(&rt.sched, &t->self, place, spin_can_probe(place) ? regs : 0);
    spinwait_gave_way(w, os_cycles(), ran);
    return ran ? 0 : spinwait_rounds(t->self.unproductive, s->loop.has_pause || polls);
}

static void spin_round(uint32_t place, struct spin_regs *regs)
{
    struct rt_thread *t = &rt_self;
    struct spin_rounds *r = &usf_spin_rounds;
    bool begins = !r->entered;      /* one that polls has no beginning */
    if (place & SPIN_UNCOUNTED && --r->left >= 0) return;
    place &= ~SPIN_UNCOUNTED;
    r->left = SPIN_FREE_ROUNDS;
    if (USF_UNLIKELY(t->state != RT_ATTACHED || t->self.crit || usf_gate_vforked)) return;
    if (USF_UNLIKELY(t->self.task == USF_NONE) && !rt_enter()) return;
    r->entered = 1;
    r->left = (int32_t)look(t, place, regs, begins);
}

/* ---- live patching --------------------------------------------------------------------------- */

/* Back from a call already, whatever it has written down so far: no core is released any more, and
 * the core is its own.  It may have looked whether it may go on before we forbade it. */
static bool is_back(uint32_t task)
{
    const struct usf_task *t = &rt.sched.tasks[task];
    if (sched_is_provisional(t)) return false;
    uint32_t core = atomic_load(&((struct usf_task *)t)->core);
    uint64_t w = core < rt.sched.h->nr_cores ? atomic_load(&rt.sched.cores[core].word) : 0;
    return core_state(w) == USF_CORE_RUNNING && core_task(w) == task;
}

/* Is it executing the program's code, as far as we know?  A thread in SCHED_USER is, whatever its
 * task is: it may have lost its core while it computes. */
static bool may_run(const struct rt_thread *t)
{
    const volatile struct sched_self *self = &t->self;
    uint32_t task = self->task, where = self->where;
    if (where == SCHED_USER || where == SCHED_PARKED) return where == SCHED_USER;
    return task != USF_NONE && atomic_load(&rt.sched.tasks[task].state) == USF_TASK_RUNNING && is_back(task);
}

/* Stop every thread of this process that may be executing program code. */
static bool stop_others(struct rt_thread *me, uint32_t round)
{
    bool all = true;
    uint64_t until = os_now() + STOP_WAIT_NS;
    rt_list_lock();
    all = !atomic_load(&rt.nr_opted_out);
    for (struct rt_thread *t = rt.threads; t && all; t = t->next) {
        if (t == me || !may_run(t)) continue;
        int32_t tid = rt_kernel_tid(t);
        if (os_thread_blocks(rt.pid, tid, RT_SIGNAL)) all = false;
        else os_signal_thread(rt.pid, tid, RT_SIGNAL, RT_STOP_MAGIC);
    }
    for (struct rt_thread *t = rt.threads; t && all; t = t->next) {
        if (t == me) continue;
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
    usf_lock_taken(USF_RANK_PATCH);
    atomic_store(&rt.sched.patching, 1);
    uint32_t round = atomic_fetch_add(&rt.stop_round, 1) + 1;
    usf_dassert(round & 1 && me == &rt_self);
    if (stop_others(me, round) && (site = spin_prepare(fstart, l)) >= 0)
        if (spin_commit((uint32_t)site)) site = -1;
    atomic_fetch_add(&rt.stop_round, 1);
    atomic_store(&rt.sched.patching, 0);
    os_futex_wake(&rt.sched.patching, INT32_MAX);
    usf_lock_released(USF_RANK_PATCH);
    sched_crit_leave(&rt.sched, &me->self);
    atomic_store(&rt.patch_lock, 0);
    return site;
}

/* ---- sites learned in earlier runs ----------------------------------------------------------- */

/* To recognise them anew takes a tenth of a millisecond each, and most processes never wait for
 * another thread: a site in libc would slow down every command of a shell script.  So they wait for
 * the process's second thread, or until its only one is found near a site while others wait. */
static bool learned_applied;

static void apply_learned(const struct gate_object *o, void *applied)
{
    int n = rt.settings.cache_dir[0] ? spin_apply_learned(rt.settings.cache_dir, o) : 0;
    if (n > 0 && rt.sched.proc != USF_NONE) rt.sched.procs[rt.sched.proc].spin_sites += (uint64_t)n;
    *(int *)applied += n;
}

int rt_apply_learned(void)
{
    int applied = 0;
    if (USF_LIKELY(learned_applied)) return 0;
    learned_applied = true;
    sched_crit_enter(&rt_self.self);
    gate_for_each_object(apply_learned, &applied);
    sched_crit_leave(&rt.sched, &rt_self.self);
    return applied;
}

/* ---- a thread that is found busy for long ---------------------------------------------------- */

/* A search in a large function takes a millisecond, and a thread that computes is found busy again
 * and again.  After a search that finds nothing, the next one comes when the thread has computed
 * for so many times as long. */
#define SEARCH_SHARE 128u

static bool find(struct rt_thread *t, uintptr_t pc)
{
    const char *dir = rt.settings.cache_dir;
    struct gate_object o;
    struct spin_loop l;
    uintptr_t start, end;
    if (!gate_find_object(pc, &o)) return false;
    /* The loop is likely to be among them; others are found the next time. */
    bool alone = rt.threads == t && !t->next;
    if (!learned_applied && dir[0] && alone && spin_is_near_learned(dir, &o, pc) && rt_apply_learned()) return true;
    if (!gate_function_bounds(&o, pc, &start, &end)) return false;
    if (spin_recognise((const uint8_t *)start, start, end, pc, &l) != SPIN_YES) return false;
    if (patch(t, &l, start) < 0) return true;       /* perhaps the next time */
    uint32_t proc = rt.sched.proc;
    if (proc != USF_NONE) rt.sched.procs[proc].spin_sites++;
    if (dir[0]) spin_learn(dir, &o, &l);
    return true;
}

void rt_find_spin(struct rt_thread *t, uintptr_t pc)
{
    struct rt_spin *w = &t->spin;
    uint64_t began = rt_cpu_time(t);
    bool is_early = began >= w->searched && began - w->searched < SEARCH_SHARE * w->search_took;     /* a fork's child begins at 0 */
    if (is_early || find(t, pc)) return;
    w->searched = rt_cpu_time(t);
    w->search_took = w->searched - began;
}

/* ---- on load --------------------------------------------------------------------------------- */

static uint64_t early_sites;        /* patched while the process stands by */

void rt_tell_early_sites(void)
{
    if (rt.sched.proc != USF_NONE) rt.sched.procs[rt.sched.proc].spin_sites += early_sites;
}

void rt_object_loaded(const struct gate_object *o)
{
    int n = spin_apply_idioms(o);
    if (n > 0 && rt.sched.proc != USF_NONE) rt.sched.procs[rt.sched.proc].spin_sites += (uint64_t)n;
    else if (n > 0) early_sites += (uint64_t)n;
    if (rt.on && learned_applied) apply_learned(o, &n);
}

void rt_spin_init(void)
{
    usf_spin_round = spin_round;
    rt.sched.probe = probe;
    if (!rt_is_without(USF_WITHOUT_PROBES)) rt.sched.spins = spins;
}
