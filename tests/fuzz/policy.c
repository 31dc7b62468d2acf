/* tests/fuzz/policy.c - what a policy answers, right or wrong, to the scheduler itself.  SPDX-License-Identifier: Apache-2.0
 *
 * An instance in memory of its own whose tasks have no threads: the input says what they do, and what the policy answers.
 * After each step the instance's invariants hold; whatever the policy did, `coop` in its place then runs every task. */
#include "fuzz.h"
#include "policy/policy.h"
#include "sched/core.h"
#include "shm/internal.h"

#include <sys/mman.h>

enum { CORES = 4, PROCS = 3, TASKS = 12 };

static struct sched S;
static struct sched_self me;
static struct usf_header *h;
static struct shm_layout at;
static struct fuzz_input in;

/* ---- the input's policy ------------------------------------------------------------------------- */
struct USF_POLICY_STATE state { struct usf_fifo ready; };
static struct usf_fifo *ready(struct usf_pol *p) { return &((struct state *)(void *)p->data)->ready; }

static void bad_enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    (void)why;
    if (fuzz_u8(&in) % 16 != 15) usf_fifo_push(p, ready(p), task);      /* else: forgotten */
}
static void bad_dequeue(struct usf_pol *p, uint32_t task)
{
    if (usf_task(p, task)->queued) usf_fifo_remove(p, ready(p), task);
}
static uint32_t bad_pick(struct usf_pol *p, uint32_t core)
{
    uint8_t how = fuzz_u8(&in);
    if (how < 200) return usf_fifo_pop_allowed(p, ready(p), core);
    if (how < 210) return usf_fifo_pop(p, ready(p));    /* perhaps not allowed there */
    if (how < 220) return ready(p)->head ? ready(p)->head - 1 : USF_NONE;   /* and left in its queue */
    if (how < 230) return fuzz_u8(&in) % TASKS;
    if (how < 240) return fuzz_u32(&in);
    return USF_NONE;
}
static uint32_t bad_select(struct usf_pol *p, uint32_t task, const uint64_t idle[4])
{
    uint8_t how = fuzz_u8(&in);
    if (how < 180) return usf_policy_defaults.select_core(p, task, idle);
    if (how < 200) return fuzz_u8(&in) % CORES;
    if (how < 220) return fuzz_u32(&in);
    return USF_NONE;
}
static bool bad_yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    (void)p, (void)core, (void)task;
    return fuzz_u8(&in) & 1;
}
static const struct usf_policy_ops bad_ops = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "input", .enqueue = bad_enqueue, .dequeue = bad_dequeue,
    .pick = bad_pick, .select_core = bad_select, .yield = bad_yield,
};

/* ---- the instance ------------------------------------------------------------------------------- */
void fuzz_start(void)
{
    shm_layout_of(SHM_FULL_SIZES, &at);
    h = mmap(NULL, at.total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h == MAP_FAILED) exit(1);
}

static void make_instance(uint8_t options)
{
    memset(h, 0, sizeof *h);
    shm_note_layout(h, &at);
    h->nr_cores = CORES;
    h->quantum_ns = h->progress_ns = 20000000;
    h->lend_ns = 1;
    atomic_store(&h->state, USF_INST_READY);
    snprintf(h->policy, sizeof h->policy, "%s", options & 2 ? "coop" : options & 4 ? "fifo" : "input");
    snprintf(h->policy_path, sizeof h->policy_path, "%s", options & 6 ? "" : "/input");
    atomic_store(&h->task_hwm, USF_TASK_CHUNK);
    atomic_store(&h->proc_hwm, USF_PROC_CHUNK);
    atomic_store(&h->group_hwm, USF_GROUP_CHUNK);
    memset((char *)h + at.off_cores, 0, CORES * sizeof(struct usf_core));
    memset((char *)h + at.off_procs, 0, USF_PROC_CHUNK * sizeof(struct usf_proc));
    memset((char *)h + at.off_groups, 0, USF_GROUP_CHUNK * sizeof(struct usf_group));
    memset((char *)h + at.off_tasks, 0, USF_TASK_CHUNK * sizeof(struct usf_task));
    memset(&S, 0, sizeof S);
    sched_bind(&S, h);
    for (uint32_t i = 0; i < CORES; i++) {
        S.cores[i].pol = (struct usf_pol_core){.id = i, .cpu = i, .node = i / 2, .llc = i / 2, .current = USF_NONE};
        atomic_store(&S.cores[i].word, core_word(USF_CORE_IDLE, USF_NONE, 1));
        core_idle_set(&S, i);
    }
    char why[128];
    FUZZ_CHECK(sched_use_policy(&S, &bad_ops, why, sizeof why) == 0 && S.ops.init(&S.pol) == 0);
    me = (struct sched_self){.task = USF_NONE};
}

static bool exists(uint32_t proc) { return atomic_load(&S.procs[proc].state) == USF_PROC_ACTIVE; }

static void add_proc(uint32_t i, uint8_t mask)
{
    struct usf_proc *p = &S.procs[i];
    memset(p, 0, sizeof *p);
    p->pid = 1;
    p->cores[0] = p->may[0] = mask & 15 ? mask & 15 : 15;
    p->group = i;
    core_make_group(&S, i, i, &(struct group_traits){.name = "", .weight = 100});
    atomic_store(&p->state, USF_PROC_ACTIVE);
}

static void add_task(uint32_t i, uint32_t proc, struct wakes *k)
{
    struct usf_task *t = &S.tasks[i];
    memset(t, 0, sizeof *t);
    t->proc = proc;
    t->claim = (uint16_t)(proc + 1);
    t->core = USF_NONE;
    t->thread = i;
    S.threads[i].pinned = USF_NONE;
    t->pol = (struct usf_pol_task){.id = i, .group = proc, .last_core = USF_NONE};
    atomic_store(&t->state, USF_TASK_NEW);
    S.groups[proc].pol.nr_tasks++;
    S.ops.task_add(&S.pol, i);
    core_place(&S, i, USF_WHY_NEW, k);
}

/* ---- steps: under the lock, as the scheduler's own callers make them ----------------------------- */
static void give(uint32_t core, uint32_t task, unsigned to, struct wakes *k)
{
    uint32_t next;
    if (to == USF_TASK_READY) {
        if (!atomic_load(&h->nr_ready) || !S.ops.yield(&S.pol, core, task)) return;
        next = core_pick(&S, core, CORE_USEFUL);
        if (next == USF_NONE) return;
        core_give(&S, core, task, next, k);
        core_set_state(&S, task, ST(USF_TASK_RUNNING), USF_TASK_READY);
        core_enqueue(&S, task, USF_WHY_YIELD);
        core_fill_all(&S, k);       /* it may be allowed where the others are not */
    } else {
        next = core_pick(&S, core, CORE_ANY);
        core_give(&S, core, task, next, k);
        core_set_state(&S, task, ST(USF_TASK_RUNNING), to);
    }
}

static void run_core(uint32_t core, uint8_t what, struct wakes *k)
{
    uint64_t w = atomic_load(&S.cores[core].word);
    uint32_t task = core_task(w);
    switch (core_state(w)) {
    case USF_CORE_IDLE: core_fill(&S, core, k); return;
    case USF_CORE_RELEASED:
        if (what & 1) core_take(&S, core, w, k);
        else {
            atomic_store(&S.cores[core].word, core_word(USF_CORE_RUNNING, task, core_seq(w) + 1));
            core_idle_clear(&S, core);
        }
        return;
    case USF_CORE_RUNNING:
        if (!sched_is_provisional(&S.tasks[task])) break;
        if (what & 1) {
            atomic_fetch_or(&S.tasks[task].release, USF_RELEASE_TAKEN);
            core_take(&S, core, w, k);
        }
        atomic_fetch_and(&S.tasks[task].release, ~(uint64_t)USF_RELEASE_BITS);
        return;
    }
    switch (what % 5) {
    case 0: case 1: give(core, task, USF_TASK_BLOCKED, k); break;
    case 2: give(core, task, USF_TASK_READY, k); break;
    case 3: atomic_fetch_or(&S.tasks[task].release, USF_RELEASE_PROVISIONAL); break;
    default:
        atomic_store(&S.cores[core].word, core_word(USF_CORE_RELEASED, task, core_seq(w) + 1));
        core_idle_set(&S, core);
        core_fill(&S, core, k);
    }
}

static void task_step(uint32_t which, uint8_t what, struct wakes *k)
{
    uint32_t i = which % TASKS;
    unsigned st = atomic_load(&S.tasks[i].state);
    uint32_t proc = what % PROCS;
    if (st == USF_TASK_FREE && exists(proc)) add_task(i, proc, k);
    else if (st == USF_TASK_BLOCKED) core_place(&S, i, USF_WHY_WAKE, k);
    else if (st == USF_TASK_IN_KERNEL) core_place(&S, i, USF_WHY_RETURN, k);
}

static void locked_step(uint8_t op, uint8_t what, struct wakes *k)
{
    if (op == 30 && !exists(what % PROCS)) add_proc(what % PROCS, what >> 4);
    else if (op == 29) core_take_provisional(&S, k);
    else if (op == 28) S.ops.tick(&S.pol);
    else if (op & 1) run_core(op / 2 % CORES, what, k);
    else task_step(what >> 2, what, k);
}

static void step(void)
{
    uint8_t op = fuzz_u8(&in) % 32, what = fuzz_u8(&in);
    uint32_t gen = atomic_load(&h->policy_gen);
    struct wakes k = {0};
    if (op == 31 && exists(what % PROCS)) sched_proc_remove(&S, what % PROCS, false);
    FUZZ_CHECK(core_enter(&S, &me));
    if (op != 31) locked_step(op, what, &k);
    /* What a policy that has just been replaced kept from idle cores, the monitor's next look puts there. */
    if (gen != atomic_load(&h->policy_gen)) core_fill_all(&S, &k);
    k.n = 0;        /* nobody is there to be woken */
    core_leave(&S, &me, &k);
}

/* ---- what holds --------------------------------------------------------------------------------- */
static bool on_a_core(uint32_t task)
{
    uint32_t core = atomic_load(&S.tasks[task].core);
    uint64_t w = core < CORES ? atomic_load(&S.cores[core].word) : 0;
    return core_state(w) != USF_CORE_IDLE && core_task(w) == task;
}

/* S1 and S4 of sched.h, whatever the policy does; S5 if it is one of ours. */
static void check(void)
{
    char why[200];
    bool ours = strcmp(h->policy, "input") != 0;
    if (!sched_is_valid(&S, why, sizeof why)) fuzz_fail(__FILE__, __LINE__, why);
    for (uint32_t i = 0; i < TASKS; i++) {
        unsigned st = atomic_load(&S.tasks[i].state);
        FUZZ_CHECK((st == USF_TASK_RUNNING) == on_a_core(i));
        FUZZ_CHECK((st == USF_TASK_READY) == (S.tasks[i].pol.held != 0));
        for (uint32_t c = 0; c < CORES && ours && st == USF_TASK_READY; c++)
            if (usf_allowed(&S.pol, S.tasks[i].proc, c)) FUZZ_CHECK(core_state(atomic_load(&S.cores[c].word)) != USF_CORE_IDLE);
    }
}

/* Every task gets to run once, by coop. */
static void drain(void)
{
    struct wakes k = {0};
    FUZZ_CHECK(core_enter(&S, &me));
    if (!strcmp(h->policy, "input")) core_replace_policy(&S, "the end");
    for (uint32_t round = 0; round < 2 * TASKS; round++)
        for (uint32_t c = 0; c < CORES; c++) {
            uint64_t w = atomic_load(&S.cores[c].word);
            k.n = 0;
            if (core_state(w) == USF_CORE_RUNNING) give(c, core_task(w), USF_TASK_BLOCKED, &k);
            else run_core(c, 1, &k);
        }
    for (uint32_t i = 0; i < TASKS; i++) FUZZ_CHECK(atomic_load(&S.tasks[i].state) != USF_TASK_READY);
    FUZZ_CHECK(atomic_load(&h->nr_ready) == 0);
    k.n = 0;
    core_leave(&S, &me, &k);
    check();
}

void fuzz_one(const uint8_t *data, size_t size)
{
    in = (struct fuzz_input){data, data + size};
    make_instance(fuzz_u8(&in));
    for (uint32_t i = 0; i < PROCS; i++) add_proc(i, i == 2 ? fuzz_u8(&in) : 15);
    for (int n = 0; fuzz_more(&in) && n < 2000; n++) step(), check();
    drain();
}

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    if (n >= 12 || cap < 400) return 0;
    uint64_t x = 0x9e3779b97f4a7c15ull * (n + 1);
    for (unsigned i = 0; i < 400; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        buf[i] = (uint8_t)(x >> 20);
    }
    buf[0] = (uint8_t)n;
    return 400;
}
