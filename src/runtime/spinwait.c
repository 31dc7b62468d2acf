/* src/runtime/spinwait.c - busy-wait loops become scheduling points.  SPDX-License-Identifier: Apache-2.0
 *
 * A patched loop runs as it was written for FREE_ROUNDS rounds, then enters the runtime once per chunk of rounds:
 *   nobody waits for a core      it goes on as it was written
 *   others wait                  it goes on for PATIENCE, then gives way, and looks once per turn; in short waits that follow
 *                                each other for IN_A_ROW
 * A release comes within some hundred nanoseconds if the awaited thread runs, and a switch costs some 2 us: a wait that ends
 * within that time costs less than the switch.  Sites whose last two waits took longer give way at once, but for one wait in
 * PROBES. */
#include <time.h>

#include "runtime/runtime.h"
#include "spin/spin.h"

/* Cycles, at the 2 to 4 GHz that CPUs have. */
#define PATIENCE    6000u
#define CHUNK       4000u       /* between two entries */
#define SOON        (4 * CHUNK) /* ... at most, while it does little else than wait */
#define IN_A_ROW    100000u     /* one long wait may be many short ones: a bounded loop within another loop */
#define FREE_ROUNDS 16u
#define SWITCHED    5000u       /* a yield to the kernel that took longer let another thread run */
#define ALONE       50000u      /* ... and one that did not is not repeated for so long */
#define PROBES      16u
#define LONG_WAITS  2u          /* in a row: the site's waits take long */
#define MAX_CHUNK   512u        /* rounds, also those of another loop that comes next */
#define VAIN_ROUNDS 32u
#define STRANGERS_NS 1000000u   /* the kernel gets to choose once in so long, while nothing of the instance waits */
#define STOP_WAIT_NS 2000000u

static struct sched_spin spins[USF_MAX_TASKS];

static bool would_leave(uint32_t place, const void *regs) { return spin_would_leave(place, regs); }

static struct spin_site *site_of(uint32_t place) { return &usf_spin_sites[place & ((1u << SPIN_SITE_BITS) - 1)]; }

/* The site's waits take long, or do not.  Written only when it changes: all threads that wait there share it. */
static void note(struct spin_site *s, bool is_long)
{
    uint8_t was = atomic_load_explicit(&s->long_waits, memory_order_relaxed);
    uint8_t is = is_long ? (uint8_t)(was < LONG_WAITS ? was + 1 : was) : 0;
    if (is != was) atomic_store_explicit(&s->long_waits, is, memory_order_relaxed);
}

static void begin_wait(struct rt_spin *w, uint32_t place, uint64_t now)
{
    if (w->began && !w->is_long) note(&usf_spin_sites[w->site], false);      /* the one before */
    uint8_t long_waits = atomic_load_explicit(&site_of(place)->long_waits, memory_order_relaxed);
    w->site = (uint16_t)place;
    w->began = now;
    w->patience = long_waits < LONG_WAITS || ++w->probes % PROBES == 0 ? PATIENCE : 0;
    w->is_long = false;
}

/* Chunks are made as long as CHUNK.  is_another: the one before was of another loop. */
static void set_chunk(struct rt_spin *w, uint64_t now, bool is_another)
{
    uint64_t took = now - w->looked;
    w->looked = now;
    w->in_a_row = took < SOON ? w->in_a_row + (uint32_t)took : 0;
    if (took > SOON || is_another) w->chunk = FREE_ROUNDS;
    else if (took < CHUNK / 2 && w->chunk < MAX_CHUNK) w->chunk *= 2;
    else if (took > 2 * CHUNK && w->chunk > FREE_ROUNDS) w->chunk /= 2;
}

/* True if the thread must yield when tasks wait. */
static bool is_over(struct rt_spin *w, uint64_t now)
{
    if (!w->is_long && now - w->began > PATIENCE) {
        w->is_long = true;
        note(&usf_spin_sites[w->site], true);
    }
    return now - w->began >= w->patience || w->in_a_row >= IN_A_ROW;
}

/* A wait that has not taken long yet does not become long by others' turns. */
static void gave_way(struct rt_spin *w, uint64_t now)
{
    w->looked = now;
    w->in_a_row = 0;
    if (!w->is_long) w->began = now;
}

/* Nobody that waits would have use for a turn now: do not ask again at once, asking takes the scheduler lock. */
static int32_t rounds_in_vain(const struct rt_thread *t, const struct spin_site *s)
{
    int32_t n = (int32_t)(t->self.vain < VAIN_ROUNDS ? t->self.vain : VAIN_ROUNDS);
    return s->loop.has_pause || s->kind == SPIN_SITE_POLL ? n : 16 * n;
}

/* Nothing of ours waits; programs outside the instance might. */
static void let_strangers_run(struct rt_thread *t)
{
    uint64_t now = os_now();
    if (now - t->yielded < STRANGERS_NS) return;
    os_sched_yield();
    t->yielded = os_now();
}

/* The policy `linux`: the kernel knows who waits. */
static int32_t kernel_round(struct rt_spin *w, uint64_t now)
{
    if (now - w->alone < ALONE) return (int32_t)w->chunk;
    os_sched_yield();
    uint64_t after = os_cycles();
    gave_way(w, after);
    if (after - now > SWITCHED) return 0;
    w->alone = after;
    return (int32_t)w->chunk;
}

/* The program's polling loop calls sched_yield itself: each yield of ours would be a second one per round. */
static bool yields_itself(struct rt_spin *w)
{
    bool has = w->yields != w->yields_seen;
    w->yields_seen = w->yields;
    return has;
}

/* The thread's rounds are used up: how many more may it go on by itself? */
static int32_t look(struct rt_thread *t, uint32_t place, struct spin_regs *regs, bool begins)
{
    struct rt_spin *w = &t->spin;
    bool poll = site_of(place)->kind == SPIN_SITE_POLL;
    uint64_t now = os_cycles();
    set_chunk(w, now, w->site != (uint16_t)place);
    if (begins) begin_wait(w, place, now);
    if (poll && yields_itself(w)) return (int32_t)w->chunk;
    bool over = is_over(w, now) || poll;
    if (rt.sched.kernel) return over ? kernel_round(w, now) : (int32_t)w->chunk;
    if (!atomic_load_explicit(&rt.sched.h->nr_ready, memory_order_relaxed)) {
        if (w->is_long) let_strangers_run(t);
        return (int32_t)w->chunk;
    }
    if (!over) return (int32_t)w->chunk;
    bool ran = sched_spin(&rt.sched, &t->self, place, regs);
    gave_way(w, os_cycles());
    return ran ? 0 : rounds_in_vain(t, site_of(place));
}

static void spin_round(uint32_t place, struct spin_regs *regs)
{
    struct rt_thread *t = &rt_self;
    struct spin_rounds *r = &usf_spin_rounds;
    bool begins = !r->entered || t->spin.site != (uint16_t)place;     /* one that polls has no beginning */
    if (place & SPIN_UNCOUNTED && --r->left >= 0) return;
    place &= ~SPIN_UNCOUNTED;
    r->left = FREE_ROUNDS;
    if (USF_UNLIKELY(t->state != RT_ATTACHED || t->self.crit || usf_gate_vforked)) return;
    if (USF_UNLIKELY(t->self.task == USF_NONE) && !rt_enter()) return;
    r->entered = 1;
    r->left = look(t, place, regs, begins);
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
        int32_t tid = rt_kernel_tid(t);
        if (os_thread_blocks(rt.pid, tid, RT_SIGNAL)) all = false;
        else os_signal_thread(rt.pid, tid, RT_SIGNAL, RT_STOP_MAGIC);
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
    usf_lock_taken(USF_RANK_PATCH);
    atomic_store(&rt.sched.patching, 1);
    uint32_t round = atomic_fetch_add(&rt.stop_round, 1) + 1;
    if (stop_others(me, round) && (site = spin_prepare((const uint8_t *)fstart, fstart, l)) >= 0)
        if (spin_commit((uint32_t)site)) site = -1;
    atomic_fetch_add(&rt.stop_round, 1);
    atomic_store(&rt.sched.patching, 0);
    os_futex_wake(&rt.sched.patching, INT32_MAX);
    usf_lock_released(USF_RANK_PATCH);
    sched_crit_leave(&rt.sched, &me->self);
    atomic_store(&rt.patch_lock, 0);
    return site;
}

/* ---- sites learned in earlier runs -------------------------------------------------------------- */

/* To recognise them anew takes a tenth of a millisecond each, and most processes never wait for anybody: a site in libc would slow
 * down every command of a shell script.  So they wait for the process's second thread, or until its only one is found near a site
 * while others wait. */
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

/* ---- a thread that is found busy for long ------------------------------------------------------- */

/* A search in a large function takes a millisecond, and a thread that computes is found busy again and again. */
#define SEARCH_SHARE 128u   /* after a search that finds nothing, the next one comes when the thread has computed for so many times as long */

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

/* ---- on load ---------------------------------------------------------------------------------- */

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
    rt.sched.would_leave = would_leave;
    if (!rt_is_without(USF_WITHOUT_TRIALS)) rt.sched.spins = spins;
}
