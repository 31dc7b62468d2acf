/* sim/engine.c - threads, events, the end.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/internal.h"

#include "arch/fiber.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_NS (365ull * 86400 * 1000000000)
#define STUCK_NS 10000000000ull     /* of virtual time without any work: all wait for each other, busily */
#define TELL_EVERY (1u << 20)

struct sim *sim_the;

void sim_fail(struct sim *s, int error, const char *fmt, ...)
{
    va_list ap;
    if (s->error) return;
    s->error = error;
    va_start(ap, fmt);
    usf_vformat(s->why, s->cap, fmt, ap);
    va_end(ap);
}

/* ---- trace --------------------------------------------------------------------------------------- */

void sim_trace_flush(struct sim *s)
{
    for (uint32_t i = 0; i < s->nr_trace; i++) s->c->trace(s->c->trace_arg, &s->trace[i]);
    s->nr_trace = 0;
}

/* The user's function is called on the engine's stack, not on a fiber's. */
void sim_trace(struct sim *s, uint32_t kind, uint32_t thread, uint32_t cpu, uint32_t aux)
{
    uint64_t ns = s->now - SIM_T0;
    uint64_t k = sim_mix(((uint64_t)thread << 32 | cpu) + sim_mix((uint64_t)kind << 32 | aux)), k1 = k | 1, k2 = (k << 32 | k >> 32) | 1;
    s->hash.sum += k1 * ns + k2 * ns * ns + (k ^ k >> 17);
    s->hash.k1 += k1;
    s->hash.k2 += k2;
    s->hash.k2ns += k2 * ns;
    if (!s->c->trace) return;
    if (s->nr_trace == SIM_TRACE_CAP) {
        if (s->self) sim_request(s->self, SIM_REQ_FLUSH);
        else sim_trace_flush(s);
    }
    s->trace[s->nr_trace++] = (struct sim_trace){.ns = ns, .thread = thread, .cpu = cpu, .kind = kind, .aux = aux};
}

/* ---- in a fiber ------------------------------------------------------------------------------------ */

void sim_request(struct sim_thread *t, enum sim_req req)
{
    t->req = (uint8_t)req;
    arch_fiber_switch(&t->sp, sim_the->engine_sp);
}

void sim_busy(struct sim_thread *t, enum sim_mode mode, uint64_t ns)
{
    struct sim *s = sim_the;
    if (!ns) return;
    t->rem = ns;
    t->working = mode == SIM_MODE_WORK;
    s->nr_working += t->working;
    do {
        t->over += t->debt;
        t->debt = 0;
        t->mode = (uint8_t)mode;
        sim_request(t, SIM_REQ_RUN);
        if (!t->signal || t->in_os) continue;
        uint64_t rem = t->rem;
        t->signal = 0;
        t->rem = 0;
        sim_usf_signal(t);
        if (mode == SIM_MODE_SPIN) break;       /* it may have been poked meanwhile: to look again is the caller's */
        t->rem = rem;
    } while (t->rem);
    t->rem = 0;
    if (mode != SIM_MODE_WORK) return;
    t->working = 0;
    s->nr_working--;
    s->worked_at = s->now;
}

void sim_poke(struct sim *s, struct sim_thread *t)
{
    bool runs = t->k.state == SIM_K_RUNNING;
    uint64_t round = s->m->cost.spin_ns ? s->m->cost.spin_ns : 1;
    if (t->mode != SIM_MODE_SPIN || !t->rem || t == s->self) return;
    if (runs) sim_account(s, t->k.cpu);
    if (t->rem > round) t->rem = round;
    if (runs) sim_set_event(s, t->k.cpu);       /* else it looks when it runs again */
}

/* ---- threads ---------------------------------------------------------------------------------------- */

static struct sim_thread *slot_get(struct sim *s)
{
    uint32_t id = s->free_thread ? s->free_thread - 1 : s->nr_threads;
    if (s->free_thread) {
        s->free_thread = sim_thread(s, id)->next_of_inst;
    } else {
        if (sim_heap_grow(&s->heap, s->id_thread + id + 1) || (id == s->nr_blocks * SIM_BLOCK && !sim_block_add(s))) return 0;
        s->nr_threads++;
    }
    sim_thread(s, id)->k.id = id;
    return sim_thread(s, id);
}

struct sim_thread *sim_thread_new(struct sim *s, struct sim_inst *i, uint32_t code)
{
    struct sim_thread *t = slot_get(s);
    if (!t) {
        sim_fail(s, -ENOMEM, "no memory for another thread, there are %u", s->threads_live);
        return 0;
    }
    uint32_t id = t->k.id;
    *t = (struct sim_thread){
        .k = {.id = id, .program = i->index, .cpu = SIM_NONE, .bound = SIM_NONE, .allowed = i->p->cpus, .nice = i->p->nice,
              .priority = (int32_t)i->p->rt_priority, .kclass = i->p->kclass, .state = SIM_K_NEW},
        .inst = i, .code = code, .home = SIM_NONE, .last_cpu = SIM_NONE,
        .parent = SIM_NONE, .number = i->next_number++, .next_of_inst = i->threads, .self = {.task = USF_NONE},
    };
    sim_fiber_begin(s, t, sim_thread_run);
    t->random = sim_mix(s->c->seed * 0x9e3779b97f4a7c15ull + sim_mix(((uint64_t)i->index << 32 | t->number) + 1));
    if (i->threads) sim_thread(s, i->threads - 1)->prev_of_inst = id + 1;
    i->threads = id + 1;
    i->nr_threads++;
    i->st->threads++;
    s->st->threads++;
    if (++s->threads_live > s->st->threads_max) s->st->threads_max = s->threads_live;
    if (s->k->add) s->k->add(s, &t->k);
    sim_trace(s, SIM_T_THREAD, id, SIM_NONE, i->index);
    return t;
}

static void forget(struct sim *s, struct sim_thread *t)
{
    struct sim_inst *i = t->inst;
    uint32_t id = t->k.id;
    sim_trace(s, SIM_T_END, id, t->k.cpu, 0);
    if (t->last_cpu != SIM_NONE && s->cpu[t->last_cpu].last == id) s->cpu[t->last_cpu].last = SIM_NONE;
    if (t->next_of_inst) sim_thread(s, t->next_of_inst - 1)->prev_of_inst = t->prev_of_inst;
    if (t->prev_of_inst) sim_thread(s, t->prev_of_inst - 1)->next_of_inst = t->next_of_inst;
    else i->threads = t->next_of_inst;
    i->nr_threads--;
    s->threads_live--;
    sim_fiber_end(s, t);
    t->next_of_inst = s->free_thread;
    s->free_thread = id + 1;
}

/* It has asked for its end, in obey(). */
void sim_thread_gone(struct sim *s, struct sim_thread *t)
{
    struct sim_inst *i = t->inst;
    if (s->error) return;       /* all stops */
    if (t->number == 0) {
        sim_inst_end(s, i);
        return;
    }
    sim_take_off(s, t);
    forget(s, t);
}

/* The first thread has returned from main: the others are killed, whatever they do. */
void sim_inst_end(struct sim *s, struct sim_inst *i)
{
    for (uint32_t id = i->threads; id; id = sim_thread(s, id - 1)->next_of_inst) {
        struct sim_thread *t = sim_thread(s, id - 1);
        s->nr_working -= t->working;
        sim_take_off(s, t);
    }
    if (sim_under_usf(s)) sim_usf_leave(s, i);
    while (i->threads) forget(s, sim_thread(s, i->threads - 1));
    sim_inst_drop(i);
    i->ended = true;
    i->st->end_ns = s->now - SIM_T0;
    s->inst_left--;
    sim_trace(s, SIM_T_PROGRAM, i->index, SIM_NONE, 1);
}

/* ---- events ------------------------------------------------------------------------------------------ */

static void arrive(struct sim *s, struct sim_inst *i)
{
    s->nr_arrivals--;
    s->worked_at = s->now;
    i->begun = true;
    i->st->start_ns = s->now - SIM_T0;
    sim_trace(s, SIM_T_PROGRAM, i->index, SIM_NONE, 0);
    int r = sim_inst_make(s, i);
    if (!r && sim_under_usf(s)) r = sim_usf_join(s, i);
    if (r) return sim_fail(s, r, "program %s cannot be started: error %d", i->p->name, -r);
    struct sim_thread *t = sim_thread_new(s, i, i->p->main);
    if (t) sim_wake(s, t, SIM_K_WAKE_NEW);
}

static void event(struct sim *s, uint32_t id)
{
    if (id < s->m->nr_cpus) {
        sim_cpu_event(s, id);
    } else if (id == s->id_monitor) {
        sim_usf_look(s);
    } else if (id == s->id_balance) {
        s->k->balance(s);
        sim_heap_set(&s->heap, id, s->now + s->k->balance_ns);
    } else if (id < s->id_thread) {
        arrive(s, &s->inst[id - s->id_inst]);
    } else {
        struct sim_thread *t = sim_thread(s, id - s->id_thread);
        t->timed = 0;
        s->nr_timers--;
        s->worked_at = s->now;
        sim_wake(s, t, SIM_K_WAKE);
    }
}

/* Names one that waits, for the message. */
static void fail_stuck(struct sim *s)
{
    for (uint32_t i = 0; i < s->c->workload->nr_programs; i++) {
        struct sim_inst *in = &s->inst[i];
        if (!in->threads || in->ended) continue;
        struct sim_thread *t = sim_thread(s, in->threads - 1);
        return sim_fail(s, -EDEADLK, "nobody can go on: program %s has %u threads, thread %u waits since %lu ns", in->p->name,
                        in->nr_threads, t->number, (unsigned long)(t->wait_since ? t->wait_since - SIM_T0 : 0));
    }
    sim_fail(s, -EDEADLK, "nobody can go on");
}

static bool may_go_on(struct sim *s)
{
    const struct sim_config *c = s->c;
    uint64_t limit = c->limit_ns ? c->limit_ns : DEFAULT_LIMIT_NS;
    if (s->now - SIM_T0 > limit) sim_fail(s, -ETIME, "not finished at the limit of %lu ns", (unsigned long)limit);
    if (c->limit_events && s->st->events >= c->limit_events)
        sim_fail(s, -ETIME, "not finished after %lu events", (unsigned long)c->limit_events);
    if (!s->nr_working && !s->nr_timers && !s->nr_arrivals && s->now - s->worked_at > STUCK_NS) fail_stuck(s);
    if (c->progress && s->st->events % TELL_EVERY == 0) c->progress(c->trace_arg, s->now - SIM_T0, s->st->events);
    return !s->error;
}

/* What the next events will need, one step for each level of the heap that one comes nearer: the
 * CPU, its thread, that one's stack and task. With a hundred thousand threads nothing of that is in
 * the host's caches. */
static void fetch(const struct sim *s, uint32_t id, uint32_t level)
{
    uint32_t thread = id >= s->id_thread ? id - s->id_thread : id < s->m->nr_cpus && level < 2 ? s->cpu[id].current : SIM_NONE;
    if (id < s->m->nr_cpus && level == 2) {
        sim_fetch(&s->cpu[id], offsetof(struct sim_cpu_state, data[1]));
        if (sim_under_usf(s)) sim_usf_fetch_core(s, id);
    }
    if (thread == SIM_NONE) return;
    const struct sim_thread *t = sim_thread(s, thread);
    if (level) {
        sim_fetch(t, SIM_THREAD_HOT);
        return;
    }
    sim_fiber_fetch(s, t);
    if (id >= s->id_thread && t->k.bound != SIM_NONE) fetch(s, t->k.bound, 2);      /* where it will go on */
    if (sim_under_usf(s)) sim_usf_fetch(s, t);
}

static void fetch_ahead(struct sim *s)
{
    struct sim_heap *h = &s->heap;
    for (uint32_t m = h->fresh; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(m);
        if (i < h->nr) fetch(s, sim_heap_id(h->e[i]), i == 0 ? 0 : i < 5 ? 1 : 2);
    }
    h->fresh = 0;
}

static void loop(struct sim *s)
{
    bool large = s->m->nr_cpus > 64;
    uint32_t id;
    uint64_t time;
    while (s->inst_left && !s->error) {
        if (!sim_heap_pop(&s->heap, &id, &time)) {
            fail_stuck(s);
            return;
        }
        usf_assert(time >= s->now);
        if (large) fetch_ahead(s);
        s->now = time;
        s->event_key = sim_heap_key(&s->heap, id, time);
        s->st->events++;
        if (!may_go_on(s)) return;
        event(s, id);
        if (s->nr_trace > SIM_TRACE_CAP / 2) sim_trace_flush(s);
        if (s->c->check && sim_under_usf(s) && !sim_usf_check(s)) return;
    }
}

/* ---- a run --------------------------------------------------------------------------------------------- */

static int begin(struct sim *s)
{
    const struct sim_workload *w = s->c->workload;
    s->id_monitor = s->heap.cpus = s->m->nr_cpus;
    s->id_balance = s->id_monitor + 1;
    s->id_inst = s->id_balance + 1;
    s->id_thread = s->id_inst + w->nr_programs;
    s->inst = calloc(w->nr_programs, sizeof *s->inst);
    s->st->program = calloc(w->nr_programs, sizeof *s->st->program);
    s->trace = malloc(SIM_TRACE_CAP * sizeof *s->trace);
    s->kdata = calloc(1, s->k->inst_size + 8);
    if (!s->inst || !s->st->program || !s->trace || !s->kdata || sim_heap_grow(&s->heap, s->id_thread + 1) || sim_cpus_init(s) || sim_fibers_init(s)) return -ENOMEM;
    s->st->nr_programs = s->inst_left = s->nr_arrivals = w->nr_programs;
    for (uint32_t i = 0; i < w->nr_programs; i++) {
        s->inst[i] = (struct sim_inst){.p = &w->program[i], .st = &s->st->program[i], .index = i};
        sim_heap_set(&s->heap, s->id_inst + i, s->now + w->program[i].start_ns);
        if (sim_inst_channels(&s->inst[i])) return -ENOMEM;
    }
    for (uint32_t i = 0; i < w->nr_programs; i++)
        for (uint32_t c = 0; w->program[i].link && c < w->program[i].nr_channels; c++) {
            const struct sim_link *l = &w->program[i].link[c];
            if (l->program != SIM_NO_CODE) s->inst[l->program].channel[l->channel].shared = true;
        }
    int r = s->k->init ? s->k->init(s, s->why, s->cap) : 0;
    if (!r && s->k->balance && s->k->balance_ns) sim_heap_set(&s->heap, s->id_balance, s->now + s->k->balance_ns);
    if (!r && s->c->policy) r = sim_usf_init(s);
    return r;
}

static void collect(struct sim *s)
{
    struct sim_stats *st = s->st;
    st->makespan_ns = s->now - SIM_T0;
    for (uint32_t i = 0; s->cpu && i < s->m->nr_cpus; i++) {
        sim_account(s, i);
        st->busy_ns += s->cpu[i].work;
        st->spin_ns += s->cpu[i].spin;
        st->kernel_ns += s->cpu[i].kernel;
        st->idle_ns += s->cpu[i].idle;
    }
    st->trace_hash = sim_mix(s->hash.sum);      /* after the CPUs: some may have been left alone for a while */
    for (uint32_t i = 0; i < st->nr_programs; i++) {
        struct sim_program_stats *p = &st->program[i];
        if (s->inst[i].begun && !s->inst[i].ended) p->end_ns = st->makespan_ns;
        st->lhp_ns += p->lhp_ns;
        st->lwp_ns += p->lwp_ns;
        st->cold_ns += p->cold_ns;
        st->reconfigurations += p->reconfigurations;
        st->moves += p->moves;
    }
    st->energy_uj = (uint64_t)(((unsigned __int128)(st->busy_ns + st->kernel_ns) * s->m->busy_mw + (unsigned __int128)st->spin_ns * s->m->spin_mw
                                + (unsigned __int128)st->idle_ns * s->m->idle_mw) / 1000000);
    if (s->h) {
        usf_format(st->policy, sizeof st->policy, "%s", s->h->policy);
        usf_format(st->policy_why, sizeof st->policy_why, "%s", s->h->policy_why);
    } else {
        usf_format(st->policy, sizeof st->policy, "%s", s->k->name);
    }
}

static void end(struct sim *s)
{
    if (s->k->fini) s->k->fini(s);
    for (uint32_t i = 0; s->inst && i < s->c->workload->nr_programs; i++) sim_inst_free(&s->inst[i]);
    sim_usf_free(s);
    sim_fibers_free(s);
    sim_cpus_free(s);
    sim_heap_free(&s->heap);
    free(s->inst);
    free(s->trace);
    free(s->kdata);
}

int sim_run(const struct sim_config *c, struct sim_stats *out, char *why, unsigned cap)
{
    struct sim s = {.c = c, .m = c->machine, .k = c->kernel ? c->kernel : &sim_kernel_plain, .now = SIM_T0, .worked_at = SIM_T0,
                    .st = out, .why = why, .cap = cap, .waker = SIM_NONE};
    *out = (struct sim_stats){0};
    if (cap) *why = 0;
    if (sim_the) return usf_format(why, cap, "a host process runs one simulation at a time"), -EBUSY;
    if (!sim_machine_is_valid(c->machine, why, cap) || !sim_workload_is_valid(c->workload, why, cap)) return -EINVAL;
    sim_the = &s;
    int r = begin(&s);
    if (!r) {
        loop(&s);
        if (s.nr_trace) sim_trace_flush(&s);
        collect(&s);
        r = s.error;
    } else if (cap && !*why) {
        usf_format(why, cap, r == -ENOMEM ? "no memory" : "error %d", -r);
    }
    end(&s);
    sim_the = 0;
    return r;
}

/* ---- for models of the kernel ----------------------------------------------------------------------------- */

uint64_t sim_now(const struct sim *s) { return s->now; }
const struct sim_machine *sim_machine_of(const struct sim *s) { return s->m; }
void *sim_kdata(struct sim *s) { return s->kdata; }
struct sim_kthread *sim_kthread(struct sim *s, uint32_t id) { return &sim_thread(s, id)->k; }
uint32_t sim_nr_programs(const struct sim *s) { return s->c->workload->nr_programs; }
void sim_ksettle(struct sim *s, uint32_t cpu) { sim_account(s, cpu); }
uint32_t sim_kcurrent(const struct sim *s, uint32_t cpu) { return s->cpu[cpu].current; }
void *sim_kcpu_data(struct sim *s, uint32_t cpu) { return s->cpu[cpu].data; }
bool sim_kallowed(const struct sim *s, const struct sim_kthread *t, uint32_t cpu)
{
    if (cpu >= s->m->nr_cpus) return false;
    if (t->bound != SIM_NONE) return cpu == t->bound;
    return !t->allowed || (t->allowed[cpu / 64] >> (cpu % 64) & 1);
}
