/* src/sched/watch.c - the monitor's look at an instance.  SPDX-License-Identifier: Apache-2.0
 *
 * The policy is ticked at each look: each millisecond while tasks wait, sooner if something is due
 * sooner, and each ten while some run and none waits.  While tasks wait, the monitor sends the
 * preemption signal to a thread that has not reached a scheduling point for a millisecond: the
 * thread looks for a spin-wait, and gives way once the progress guarantee is due.  It takes cores:
 * those that are released provisionally for longer than `lend`, those of threads that sleep in a
 * call that the gate did not see, and those of unresponsive threads, which mask all signals or are
 * not run by the kernel. Such a thread goes on without a core, where the kernel places it,
 * until it comes to a scheduling point. */
#include "policy/policy.h"
#include "sched/core.h"
#include "sched/times.h"
#include "sched/watch.h"

static bool is_unresponsive(struct sched *s, uint32_t core, uint64_t now, uint64_t age, uint64_t ns)
{
    struct sched_watcher *m = s->watch;
    if (age < s->h->progress_ns) return false;
    if (!m->unresponsive[core]++) m->unresponsive_since[core] = now;
    return m->unresponsive[core] > UNRESPONSIVE_SIGNALS && now - m->unresponsive_since[core] >= ns;
}

bool sched_runs_on(const struct sched *s, uint32_t core, uint64_t w, uint64_t now, struct sched_seen *seen)
{
    struct sched_seen is = {.word = w, .progress = atomic_load(&s->cores[core].progress), .since = now};
    if (core_task(w) < USF_MAX_TASKS) is.release = atomic_load(&s->tasks[core_task(w)].release);
    bool same = is.word == seen->word && is.progress == seen->progress && is.release == seen->release;
    if (same && core_state(w) == USF_CORE_RUNNING && !(is.release & USF_RELEASE_PROVISIONAL)) return true;
    *seen = is;
    return false;
}

static bool runs_on(struct sched *s, uint32_t core, uint64_t w, uint64_t now)
{
    struct sched_watcher *m = s->watch;
    if (sched_runs_on(s, core, w, now, &m->seen[core])) return true;
    m->unresponsive[core] = 0;
    m->asleep[core] = 0;
    return false;
}

/* If the task's kernel thread sleeps: have it look.  Its park word is written, as an idle loop
 * looks at nothing else. */
static bool rouse_parked(struct sched *s, uint32_t task)
{
    struct usf_thread *t = sched_thread_of(s, task);
    if (!atomic_load(&t->parked)) return false;
    core_rouse(t);
    return true;
}

static bool look_at_running(struct sched *s, uint32_t core, uint64_t w, uint64_t now,
                            void (*preempt)(void *, uint32_t), char (*state)(void *, uint32_t), void *arg)
{
    struct sched_watcher *m = s->watch;
    if (!runs_on(s, core, w, now)) return false;
    uint64_t age = now - m->seen[core].since;
    if (age < WATCH_TICK_NS) return false;
    bool due = sched_signal_is_due(s, age, m->seen[core].signalled);
    if (!due && !m->asleep[core] && now - m->looked[core] < WATCH_AWAKE_NS) return false;
    m->looked[core] = now;
    char st = state(arg, core_task(w));
    if (st == 'X') {
        sched_lose_task(s, core, w, state, arg);
        return false;
    }
    if (st == 'S' || st == 'D' || st == 'T' || st == 't') {
        uint32_t looks = ++m->asleep[core];
        if (looks < WATCH_ASLEEP) return false;
        /* Parked although it was dispatched: its waker has died, or has had no CPU since.  Or the
         * thread is frozen, and cannot be woken. */
        if (looks < WATCH_WAKES && (st == 'S' || st == 'D') && rouse_parked(s, core_task(w))) return false;
        return true;
    }
    m->asleep[core] = 0;
    if (is_unresponsive(s, core, now, age, st == SCHED_ELSEWHERE ? UNRESPONSIVE_ELSEWHERE_NS : UNRESPONSIVE_NS)) return true;
    if (due) {
        m->seen[core].signalled = age;
        preempt(arg, core_task(w));
    }
    return false;
}

static uint64_t sample_running(struct sched *s, void (*preempt)(void *, uint32_t),
                               char (*state)(void *, uint32_t), void *arg)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm), running = 0, chosen = USF_NONE, n = 0;
    for (uint32_t k = 0; k < hwm && n < 64; k++) {
        uint32_t i = (s->watch->next_sample + k) % hwm;
        if (atomic_load_explicit(&s->tasks[i].state, memory_order_relaxed) != USF_TASK_RUNNING) continue;
        n++;
        if (state(arg, i) != 'R') continue;
        if (chosen == USF_NONE) chosen = i;
        running++;
    }
    /* Only oversubscription makes a spin-wait harmful; without it, look more and more rarely. */
    if (running > s->h->nr_cores && chosen != USF_NONE) {
        preempt(arg, chosen);
        s->watch->next_sample = chosen + 1;
        s->watch->quiet = 0;
    } else if (s->watch->quiet < SAMPLE_BACKOFF) {
        s->watch->quiet++;
    }
    return n ? SAMPLE_NS << s->watch->quiet : UINT64_MAX;
}

/* Wake tasks that were put on a core and not woken: the waker died, was stopped, or has had no CPU
 * since. A needless wake does no harm.  True: some core is in use. */
static bool wake_parked(struct sched *s, uint64_t now)
{
    bool used = false;
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        uint64_t w = atomic_load(&s->cores[i].word);
        if (core_state(w) != USF_CORE_RUNNING) continue;
        used = true;
        if (!runs_on(s, i, w, now)) continue;
        s->watch->unresponsive[i] = s->watch->asleep[i] = 0;       /* counted only while tasks wait */
        rouse_parked(s, core_task(w));
    }
    return used;
}

bool sched_is_quiet(struct sched *s)
{
    if (atomic_load(&s->h->nr_ready)) return false;
    for (uint32_t i = 0; i < s->h->nr_cores && !s->kernel; i++) {
        if (core_state(atomic_load(&s->cores[i].word)) == USF_CORE_RUNNING) return false;
    }
    return true;
}

/* A spin-wait that ends by itself within a tick (after so many rounds the thread blocks) is found
 * only by a look, now and then, at the thread of a core that switches a lot.  The looks become
 * rarer while they find nothing. */
static void sample_core(struct sched *s, uint64_t now, void (*preempt)(void *, uint32_t),
                        char (*state)(void *, uint32_t), void *arg)
{
    struct sched_watcher *m = s->watch;
    if (now - m->sampled < m->sample_pause) return;
    uint32_t core = m->next_sample++ % s->h->nr_cores;
    uint64_t w = atomic_load(&s->cores[core].word);
    bool switches = ((core_seq(w) - core_seq(m->seen[core].word)) & 0xffffff) >= SAMPLE_SWITCHES;
    if (core_state(w) != USF_CORE_RUNNING || !switches || state(arg, core_task(w)) != 'R') return;
    uint32_t proc = s->tasks[core_task(w)].proc;    /* gone, if the thread has ended meanwhile */
    if (proc >= s->h->max_procs) return;
    uint64_t sites = s->procs[proc].spin_sites;
    uint64_t pause = sites != m->sites ? 0 : m->sample_pause + m->sample_pause / SAMPLE_PAUSE_PART;
    m->sites = sites;
    m->sampled = now;
    m->sample_pause = pause < SAMPLE_NS ? SAMPLE_NS : pause > SAMPLE_MAX_NS ? SAMPLE_MAX_NS : pause;
    preempt(arg, core_task(w));
}

/* The task's thread has been in one burst since the last look.  Has it computed for long in that,
 * or waited for a CPU? */
static bool computes(struct sched *s, uint32_t task, struct usf_thread *k)
{
    uint32_t proc = s->tasks[task].proc;        /* gone, if the thread has ended meanwhile */
    if (proc >= s->h->max_procs) return false;
    uint64_t now = os_thread_cpu_ns(s->procs[proc].pid, k->tid), was = atomic_load_explicit(&k->burst_cpu_ns, memory_order_relaxed);
    if (!now) return true;                      /* this kernel does not tell */
    if (!was) atomic_store_explicit(&k->burst_cpu_ns, now, memory_order_relaxed);
    return was && now > was && now - was >= KERNEL_RUN_LONG_NS;
}

/* The signal makes a kernel-scheduled thread that computes queue for a core. */
static void look_at_kernel_run(struct sched *s, void (*preempt)(void *, uint32_t), char (*state)(void *, uint32_t), void *arg)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm), asked = 0, last = USF_NONE;
    for (uint32_t n = 0; n < hwm; n++) {
        uint32_t i = (s->watch->next_by_kernel + n) % hwm;
        struct usf_task *t = &s->tasks[i];
        if (atomic_load_explicit(&t->state, memory_order_relaxed) != USF_TASK_BY_KERNEL || !sched_is_ours(s, i)) continue;
        uint32_t burst = atomic_load_explicit(&t->bursts, memory_order_relaxed);
        struct usf_thread *k = &s->threads[atomic_load_explicit(&t->thread, memory_order_relaxed)];
        if (burst != atomic_load_explicit(&k->bursts_seen, memory_order_relaxed)) {
            atomic_store_explicit(&k->bursts_seen, burst, memory_order_relaxed);
            atomic_store_explicit(&k->burst_cpu_ns, 0, memory_order_relaxed);
        } else if (asked < KERNEL_RUN_LOOKS) {
            asked++;
            last = i;
            if (state(arg, i) == 'R' && computes(s, i, k)) preempt(arg, i);
        }
    }
    if (last != USF_NONE) s->watch->next_by_kernel = last + 1;
}

static void note_unseen(struct sched *s, uint32_t task)
{
    struct sched_watcher *m = s->watch;
    if (!sched_is_ours(s, task)) return;
    if (m->nr_unseen == SCHED_UNSEEN_MAX)           /* the first has slept for longest; it queues at its next call */
        __builtin_memmove(m->unseen, m->unseen + 1, --m->nr_unseen * sizeof *m->unseen);
    m->unseen[m->nr_unseen++] = (struct sched_unseen){.task = task, .lost_in_calls = core_counted(&s->tasks[task].n.lost_in_calls)};
}

/* The task's core was taken while its thread slept (in a page fault, in a call that has no handler,
 * stopped), or while it ran: it is unresponsive, or its process has lost the core.  The thread goes
 * on without a scheduling point, until a signal makes it queue.  It is not bound to the core's CPU
 * meanwhile: that is another task's, and a real-time program may keep the thread from ever running
 * there. */
void watch_took_unseen(struct sched *s, uint32_t task)
{
    sched_unbind(s, task);
    note_unseen(s, task);
}

/* A new monitor does not know the list of the last one: it notes all tasks without a core. */
void sched_watch_begin(struct sched *s)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm; i++)
        if (atomic_load(&s->tasks[i].state) == USF_TASK_IN_KERNEL) note_unseen(s, i);
}

static bool is_unseen(struct sched *s, const struct sched_unseen *u)
{
    struct usf_task *t = &s->tasks[u->task];
    return atomic_load(&t->state) == USF_TASK_IN_KERNEL && core_counted(&t->n.lost_in_calls) == u->lost_in_calls;
}

/* Signal those that were awake at two looks: they are not just on their way to a call.  True: some
 * were awake now. */
static bool look_at_unseen(struct sched *s, void (*preempt)(void *, uint32_t), char (*state)(void *, uint32_t), void *arg)
{
    struct sched_watcher *m = s->watch;
    uint32_t kept = 0;
    bool any = false;
    for (uint32_t i = 0; i < m->nr_unseen; i++) {
        struct sched_unseen u = m->unseen[i];
        if (!is_unseen(s, &u)) continue;
        bool awake = state(arg, u.task) == 'R';
        if (awake && u.awake) preempt(arg, u.task);
        u.awake = awake;
        m->unseen[kept++] = u;
        any = any || awake;
    }
    m->nr_unseen = kept;
    return any;
}

/* ---- give_way_at ------------------------------------------------------------------------------- */
/* The policy says when a core's task must give way: at the end of a time slice, or now, because it
 * has chosen another task. */

bool sched_is_waited_for(struct sched *s, uint32_t core)
{
    for (uint32_t g = 0, n = atomic_load(&s->h->group_hwm); g < n && g < USF_MAX_GROUPS; g++)
        if (s->groups[g].pol.nr_ready && usf_allowed(&s->pol, g, core)) return true;
    return false;
}

/* holds the lock.  Find the cores whose give_way_at has come.  Called after the policy's tick,
 * which may have set it.  ns until the next one is due. */
static uint64_t find_due(struct sched *s)
{
    struct sched_watcher *m = s->watch;
    uint64_t now = os_now(), next = UINT64_MAX;
    m->nr_due = 0;
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        uint64_t at = __atomic_load_n(&s->cores[i].pol.give_way_at, __ATOMIC_RELAXED), w = atomic_load(&s->cores[i].word);
        if (!at || core_state(w) != USF_CORE_RUNNING || sched_is_provisional(&s->tasks[core_task(w)])) continue;
        if (at <= now && m->given_word[i] == w && now - m->given[i] < GIVE_AGAIN_NS) at = m->given[i] + GIVE_AGAIN_NS;
        if (at > now) {
            if (at - now < next) next = at - now;
            continue;
        }
        if (!sched_is_waited_for(s, i)) continue;
        m->given[i] = now;
        m->given_word[i] = w;
        m->due[m->nr_due++] = core_task(w);
        if (GIVE_AGAIN_NS < next) next = GIVE_AGAIN_NS;
    }
    return next > GIVE_LEAST_NS ? next : GIVE_LEAST_NS;
}

/* One monitor calls it for all, under the lock. */
static void tick(struct sched *s)
{
    if (s->h->ticker != s->namespace && s->pol.now - s->h->ticked_ns < WATCH_TICKER_NS) return;
    s->h->ticker = s->namespace;
    s->h->ticked_ns = s->pol.now;
    s->ops.tick(&s->pol);
}

/* Nothing waits.  Programs may begin and end while no task ever waits, so policies that divide
 * cores need a tick all the same. */
static void tick_of_busy(struct sched *s)
{
    struct sched_self me = {.task = USF_NONE};
    NO_WAKES(k);
    bool known = s->policy_gen == atomic_load_explicit(&s->h->policy_gen, memory_order_relaxed);
    bool idle = s->ops.tick == usf_policy_defaults.tick || s->ops.flags & USF_POLICY_TICK_WAITING;
    if ((known && idle) || !core_enter(s, &me)) return;
    tick(s);
    core_leave(s, &me, &k);
}

/* ---- a starving policy ------------------------------------------------------------------------- */
/* A core is free, a ready task may run there, and pick names none: the policy has lost a task, or
 * keeps it. No order of tasks explains that, so the policy is replaced. */
static bool has_use(struct sched *s, uint32_t core)
{
    for (uint32_t i = 0, hwm = atomic_load(&s->h->task_hwm); i < hwm; i++)
        if (atomic_load(&s->tasks[i].state) == USF_TASK_READY && usf_may_run(&s->pol, i, core)) return true;
    return false;
}

/* holds the lock; the core has just been offered */
static void look_if_starving(struct sched *s, uint32_t core, struct wakes *k)
{
    struct sched_watcher *m = s->watch;
    char why[96];
    unsigned st = core_state(atomic_load(&s->cores[core].word));
    if (!usf_core_is_free(st) || !has_use(s, core)) {
        m->starving[core] = 0;
        return;
    }
    if (!m->starving[core]++) m->starving_since[core] = s->pol.now;
    if (m->starving[core] < STARVING_LOOKS || s->pol.now - m->starving_since[core] < STARVING_NS) return;
    m->starving[core] = 0;
    if (policy_find(s->h->policy) == usf_builtin_policies[0]) return;      /* there is nothing to replace it by */
    usf_format(why, sizeof why, "pick left core %u free for a second while a task waited that may run there", core);
    core_replace_policy(s, why);
    core_fill_all(s, k);
}

uint64_t sched_watch(struct sched *s, void (*preempt)(void *arg, uint32_t task),
                     char (*state)(void *arg, uint32_t task), void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    NO_WAKES(k);
    uint64_t now = os_now(), next = WATCH_TICK_NS;
    if (s->kernel) return sample_running(s, preempt, state, arg);
    s->watch->any_astray = sched_watch_binding(s, s->watch->astray);
    bool awake = look_at_unseen(s, preempt, state, arg);
    if (!atomic_load(&s->h->nr_ready)) {
        __builtin_memset(s->watch->starving, 0, sizeof s->watch->starving);
        if (bind_is_over(s, now) && core_enter(s, &me)) core_leave(s, &me, &k);
        /* One that sleeps is looked at again when a task runs or waits. */
        if (wake_parked(s, now) || awake) {
            s->watch->quiet = 0;
            tick_of_busy(s);
            return WATCH_BUSY_NS;
        }
        return ++s->watch->quiet > WATCH_QUIET ? UINT64_MAX : WATCH_BUSY_NS;
    }
    s->watch->quiet = 0;
    sample_core(s, now, preempt, state, arg);
    look_at_kernel_run(s, preempt, state, arg);
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        uint64_t w = atomic_load(&s->cores[i].word);
        unsigned st = core_state(w);
        bool take = false;
        if (st == USF_CORE_RUNNING) {
            s->watch->starving[i] = 0;
            take = look_at_running(s, i, w, now, preempt, state, arg);
        } else if (usf_core_is_free(st)) {
            take = w == s->watch->seen[i].word; /* free for two looks while tasks wait: a thread died in a
                                                   dispatch, or the tasks wait for other cores */
            s->watch->seen[i].word = w;
            if (!take) s->watch->starving[i] = 0;
        }
        if (!take || !core_enter(s, &me)) continue;
        if (st != USF_CORE_RUNNING) {
            core_fill(s, i, &k);
            look_if_starving(s, i, &k);
        } else if (core_take(s, i, w, &k)) watch_took_unseen(s, core_task(w));
        core_leave(s, &me, &k);
        k.n = 0;
    }
    if (core_enter(s, &me)) {
        tick(s);
        if (!core_take_provisional(s, &k) && s->h->lend_ns < next) next = s->h->lend_ns;
        uint64_t due = find_due(s);
        if (due < next) next = due;
        core_leave(s, &me, &k);
        for (uint32_t i = 0; i < s->watch->nr_due; i++) preempt(arg, s->watch->due[i]);
    }
    return next;
}
