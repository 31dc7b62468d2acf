/* sim/run.c - what a fiber executes: its program's operations. 
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAY_NS 2000u            /* a thread that owes more pays at once, not with its next piece of work */
#define OPS_AT_ONCE (1u << 24)  /* so many operations without any time passing are a program that never ends */

uint64_t sim_thread_random(struct sim_thread *t) { return sim_mix(t->random += 0x9e3779b97f4a7c15ull); }

/* What it owes, without work to do. */
static void settle(struct sim_thread *t)
{
    t->over += t->debt;
    t->debt = 0;
    t->rem = 0;
    sim_request(t, SIM_REQ_RUN);
    if (!t->signal) return;
    t->signal = 0;
    sim_usf_signal(t);
}

static void compute(struct sim_thread *t, const struct sim_op *op)
{
    const struct sim_program *p = t->inst->p;
    uint64_t ns = op->ns;
    uint32_t width = t->team ? t->team->width : 1;
    if (op->flags & SIM_OP_DIVIDED) {
        uint64_t up = p->nr_speedup ? p->speedup[width <= p->nr_speedup ? width - 1 : p->nr_speedup - 1] : 1000ull * width;
        ns = ns * 1000 / (up ? up : 1);
    }
    ns = sim_drawn(&t->random, op, ns);
    if (!ns) return;
    t->inst->st->work_ns += ns;
    t->memory = op->memory;
    t->mbps = op->mbps;
    sim_busy(t, SIM_MODE_WORK, ns);
    t->memory = 0;
    t->mbps = 0;
}

void sim_kernel_sleep(struct sim_thread *t, uint64_t ns)
{
    struct sim *s = sim_the;
    t->debt += s->m->cost.block_ns;
    t->timed = 1;
    s->nr_timers++;
    sim_heap_set(&s->heap, s->id_thread + t->k.id, s->now + t->debt + (ns ? ns : 1));
    sim_request(t, SIM_REQ_SLEEP);
}

static void doze(struct sim_thread *t, const struct sim_op *op)
{
    uint64_t ns = sim_drawn(&t->random, op, op->ns);
    sim_trace(sim_the, SIM_T_WAIT, t->k.id, t->k.cpu, (uint32_t)SIM_WAIT_BLOCK << 24 | SIM_OP_SLEEP);
    if (sim_under_usf(sim_the)) sim_usf_sleep(t, ns, op->flags & SIM_OP_CERTAIN);
    else sim_kernel_sleep(t, ns);
    sim_trace(sim_the, SIM_T_GOES_ON, t->k.id, t->k.cpu, 0);
}

static void yield(struct sim_thread *t)
{
    struct sim *s = sim_the;
    if (sim_under_usf(s)) {
        sim_usf_yield(t);
        return;
    }
    t->debt += s->m->cost.yield_ns;
    if (s->cpu[t->k.cpu].nr_queued) sim_request(t, SIM_REQ_YIELD);
}

/* ---- threads and teams --------------------------------------------------------------------------------- */

struct sim_thread *sim_create(struct sim_thread *t, uint32_t code)
{
    struct sim *s = sim_the;
    struct sim_thread *child = sim_thread_new(s, t->inst, code);
    if (!child) sim_request(t, SIM_REQ_EXIT);
    t->debt += s->m->cost.create_ns;
    s->wake_delay = t->debt;
    child->stamp = t->stamp;
    return child;
}

static void spawn(struct sim_thread *t, const struct sim_op *op)
{
    for (uint32_t i = 0; i < op->count; i++) {
        struct sim_thread *child = sim_create(t, op->object);
        child->parent = t->k.id;
        child->parent_number = t->number;
        t->children++;
        sim_wake(sim_the, child, SIM_K_WAKE_NEW);
    }
}

static void child_ends(struct sim_thread *t)
{
    struct sim *s = sim_the;
    if (t->parent == SIM_NONE) return;
    struct sim_thread *parent = sim_thread(s, t->parent);
    if (!parent->sp || parent->inst != t->inst || parent->number != t->parent_number) return;    /* it has ended, unjoined */
    parent->children--;
    if (!parent->children && parent->join.head) sim_grant(t, &parent->join, 1);
}

static uint32_t width_of(struct sim_thread *t, const struct sim_op *op)
{
    struct sim *s = sim_the;
    const struct sim_program *p = t->inst->p;
    uint32_t n = 0;
    if (op->count) return op->count;
    if (sim_under_usf(s)) n = sim_usf_width(s, t->inst);        /* it notices reconfigurations, whoever follows them */
    if (p->width) return p->width;
    if (n) return n;
    for (uint32_t c = 0; c < s->m->nr_cpus; c++) n += sim_kallowed(s, &(struct sim_kthread){.allowed = p->cpus, .bound = SIM_NONE}, c);
    return n ? n : 1;
}

/* One for each level of regions: a master may begin another within its own. */
static struct sim_team *team_of(struct sim_thread *t)
{
    uint32_t level = t->team ? t->team->level + 1 : 0;
    for (struct sim_team *m = t->own; m; m = m->next_own)
        if (m->level == level) return m;
    struct sim_team *m = calloc(1, sizeof *m);
    if (!m) {
        sim_fail(sim_the, -ENOMEM, "no memory for a team");
        sim_request(t, SIM_REQ_EXIT);
    }
    m->master = t->k.id;
    m->level = level;
    m->next = t->inst->teams;
    m->next_own = t->own;
    t->inst->teams = m;
    return t->own = m;
}

static void team_grow(struct sim_thread *t, struct sim_team *m, uint32_t members)
{
    struct sim *s = sim_the;
    if (members > m->cap) {
        uint32_t n = m->cap ? m->cap : 8;
        while (n < members) n *= 2;
        uint32_t *list = realloc(m->member, n * sizeof *list);
        if (!list) {
            sim_fail(s, -ENOMEM, "no memory for a team");
            sim_request(t, SIM_REQ_EXIT);
        }
        m->member = list;
        m->cap = n;
    }
    while (m->nr < members) {
        struct sim_thread *w = sim_create(t, SIM_NO_CODE);
        w->team = m;
        w->team_number = m->nr + 1;
        m->member[m->nr++] = w->k.id;
        sim_wake(s, w, SIM_K_WAKE_NEW);
    }
}

/* Those that wait in the dock go on with the region; who has not come to it yet finds that it has
 * begun. */
static void parallel(struct sim_thread *t, const struct sim_op *op)
{
    struct sim *s = sim_the;
    struct sim_team *m = team_of(t), *outer = t->team;
    uint32_t width = width_of(t, op), first = m->nr;
    m->width = width;
    m->code = op->object;
    m->wait = op->wait;
    m->arrived = 0;
    m->round++;
    m->barrier.arrived = 0;
    t->debt += s->m->cost.sync_ns;
    team_grow(t, m, width - 1);
    if (first > width - 1) first = width - 1;
    for (uint32_t i = 0; i < first; i++) {
        struct sim_thread *w = sim_thread(s, m->member[i]);
        if (w->dock.head) sim_grant(t, &w->dock, 1);
    }
    t->team = m;
    sim_execute(t, op->object);
    t->doing = SIM_OP_PARALLEL;
    if (m->arrived < width - 1) sim_wait(t, &m->join, op->wait);
    t->team = outer;
}

static void serve(struct sim_thread *t)
{
    struct sim_team *m = t->team;
    uint32_t seen = 0;
    for (;;) {
        while (m->round == seen || t->team_number >= m->width) {
            seen = m->round;
            t->doing = SIM_OP_PARALLEL;
            sim_wait(t, &t->dock, m->round ? m->wait : SIM_WAIT_BLOCK);
        }
        seen = m->round;
        t->stamp = sim_thread(sim_the, m->master)->stamp;
        sim_execute(t, m->code);
        t->team = m;
        t->debt += sim_the->m->cost.sync_ns;
        if (++m->arrived == m->width - 1 && m->join.head) sim_grant(t, &m->join, 1);
    }
}

/* ---- tasks with dependences ---------------------------------------------------------------------------- */

static void graph_begin(struct sim_graph *g, const struct sim_graph_def *d)
{
    g->begun = 1;
    g->first = g->nr = g->done = g->left = 0;
    for (uint32_t i = 0; i < d->nr_tasks; i++) {
        g->deps[i] = d->task[i].deps;
        if (!g->deps[i]) g->ready[g->nr++] = i;
    }
}

static void graph_end_task(struct sim_thread *t, struct sim_graph *g, const struct sim_graph_def *d, uint32_t task)
{
    uint32_t new = 0;
    for (uint32_t i = 0; i < d->task[task].nr; i++) {
        uint32_t next = d->succ[d->task[task].first + i];
        if (--g->deps[next]) continue;
        g->ready[(g->first + g->nr++) % d->nr_tasks] = next;
        new++;
    }
    if (++g->done == d->nr_tasks) sim_grant(t, &g->q, g->q.len);
    else if (new > 1) sim_grant(t, &g->q, new - 1);     /* the one is for ourselves */
}

static void graph(struct sim_thread *t, const struct sim_op *op)
{
    const struct sim_graph_def *d = &t->inst->p->graph[op->object];
    struct sim_graph *g = &t->inst->graph[op->object];
    if (!g->begun) graph_begin(g, d);
    while (g->done < d->nr_tasks) {
        t->debt += sim_the->m->cost.sync_ns;
        if (!g->nr) {
            t->doing = SIM_OP_GRAPH;
            sim_wait(t, &g->q, op->wait);
            continue;
        }
        uint32_t task = g->ready[g->first];
        g->first = (g->first + 1) % d->nr_tasks;
        g->nr--;
        if (d->task[task].code != SIM_NO_CODE) sim_execute(t, d->task[task].code);
        else compute(t, &d->task[task].work);
        graph_end_task(t, g, d, task);
    }
    if (++g->left == (t->team ? t->team->width : 1)) g->begun = 0;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static struct sim_channel *channel(struct sim_thread *t, uint32_t i, uint32_t *capacity)
{
    struct sim_inst *in = t->inst;
    if (in->p->link && in->p->link[i].program != SIM_NO_CODE) {
        const struct sim_link *l = &in->p->link[i];
        in = &sim_the->inst[l->program];
        i = l->channel;
    }
    *capacity = in->p->channel[i].capacity;
    return &in->channel[i];
}

/* Several teams of a program may execute the same region at a time: a barrier of the team is each
 * one's own. */
static void barrier(struct sim_thread *t, const struct sim_op *op)
{
    struct sim_barrier *b = &t->inst->barrier[op->object];
    uint32_t n = t->inst->p->barrier[op->object].parties;
    if (n) sim_barrier(t, b, n, op->wait);
    else if (t->team) sim_barrier(t, &t->team->met, t->team->width, op->wait);
    else sim_barrier(t, b, 1, op->wait);
}

static void join(struct sim_thread *t, const struct sim_op *op)
{
    t->debt += sim_the->m->cost.sync_ns;
    while (t->children) sim_wait(t, &t->join, op->wait);
    sim_task_join(t, op->wait);
}

static void operate(struct sim_thread *t, const struct sim_op *op)
{
    struct sim_inst *in = t->inst;
    uint32_t capacity;
    struct sim_channel *c;
    t->doing = op->kind;
    switch ((enum sim_op_kind)op->kind) {
    case SIM_OP_COMPUTE: compute(t, op); break;
    case SIM_OP_CALL: sim_execute(t, op->object); break;
    case SIM_OP_BARRIER: barrier(t, op); break;
    case SIM_OP_LOCK: sim_lock(t, &in->lock[op->object], op->wait); break;
    case SIM_OP_UNLOCK: sim_unlock(t, &in->lock[op->object]); break;
    case SIM_OP_PARALLEL: parallel(t, op); break;
    case SIM_OP_GRAPH: graph(t, op); break;
    case SIM_OP_SLEEP: doze(t, op); break;
    case SIM_OP_YIELD: yield(t); break;
    case SIM_OP_SEND:
        c = channel(t, op->object, &capacity);
        sim_send(t, c, capacity, op->count, op->wait);
        break;
    case SIM_OP_RECV:
        c = channel(t, op->object, &capacity);
        sim_recv(t, c, op->count, op->wait);
        break;
    case SIM_OP_PAUSE:
        c = channel(t, op->object, &capacity);
        for (uint32_t n = op->count; n; n--) {
            if (!c->nr) sim_task_pause(t, c);
            else sim_recv(t, c, 1, op->wait);
        }
        break;
    case SIM_OP_SUBMIT: sim_submit(t, op->object, op->count); break;
    case SIM_OP_SPAWN: spawn(t, op); break;
    case SIM_OP_JOIN: join(t, op); break;
    case SIM_OP_BEGIN: t->stamp = sim_the->now; break;
    case SIM_OP_DONE:
        if (t->stamp) sim_hist_add(&in->st->response, sim_the->now - t->stamp);
        break;
    case SIM_OP_PROGRESS:
        in->st->progress++;
        if (in->view) sched_first_group(&in->view->s)->pol.progress++;
        break;
    default: break;
    }
}

static uint32_t matching_next(const struct sim_code *c, uint32_t pc)
{
    for (uint32_t depth = 0;; pc++) {
        if (c->op[pc].kind == SIM_OP_LOOP) depth++;
        if (c->op[pc].kind == SIM_OP_NEXT && --depth == 0) return pc;
    }
}

static void count_op(struct sim_thread *t)
{
    struct sim *s = sim_the;
    if (s->ops_at != s->now) {
        s->ops_at = s->now;
        s->ops = 0;
    }
    if (++s->ops < OPS_AT_ONCE && !s->error) return;
    sim_fail(s, -ETIME, "program %s executes operations without end that take no time", t->inst->p->name);
    sim_request(t, SIM_REQ_EXIT);
}

void sim_execute(struct sim_thread *t, uint32_t code)
{
    const struct sim_code *c = &t->inst->p->code[code];
    struct { uint32_t pc, left; } loop[SIM_NEST];
    uint32_t depth = 0;
    for (uint32_t pc = 0;; pc++) {
        const struct sim_op *op = &c->op[pc];
        count_op(t);
        if (op->kind == SIM_OP_END) return;
        if (op->kind == SIM_OP_LOOP) {
            if (!op->count) {
                pc = matching_next(c, pc);
                continue;
            }
            loop[depth].pc = pc;
            loop[depth++].left = op->count;
        } else if (op->kind == SIM_OP_NEXT) {
            if (--loop[depth - 1].left) pc = loop[depth - 1].pc;
            else depth--;
        } else {
            operate(t, op);
            if (t->debt > PAY_NS) settle(t);
        }
    }
}

void sim_thread_run(void)
{
    struct sim_thread *t = sim_the->self;
    bool usf = sim_under_usf(sim_the);
    if (usf) sim_usf_attach(t);
    if (t->code == SIM_NO_CODE && t->team) serve(t);
    if (t->code == SIM_NO_CODE) sim_work(t);
    sim_execute(t, t->code);
    if (t->debt) settle(t);
    if (t->number) {
        child_ends(t);
        if (usf) sim_usf_detach(t);
    }
    sim_request(t, SIM_REQ_EXIT);
    __builtin_unreachable();
}

/* ---- a program's objects -------------------------------------------------------------------------------- */

static int make_channels(struct sim_inst *i)
{
    for (uint32_t c = 0; c < i->p->nr_channels; c++) {
        uint32_t n = i->p->channel[c].initial;
        if (!n) continue;
        i->channel[c].stamp = calloc(n, sizeof(uint64_t));
        if (!i->channel[c].stamp) return -ENOMEM;
        i->channel[c].cap = i->channel[c].nr = n;
    }
    return 0;
}

int sim_inst_make(struct sim *s, struct sim_inst *i)
{
    const struct sim_program *p = i->p;
    i->barrier = calloc(p->nr_barriers + 1, sizeof *i->barrier);
    i->lock = calloc(p->nr_locks + 1, sizeof *i->lock);
    i->graph = calloc(p->nr_graphs + 1, sizeof *i->graph);
    if (!i->barrier || !i->lock || !i->graph) return -ENOMEM;
    for (uint32_t g = 0; g < p->nr_graphs; g++) {
        i->graph[g].deps = malloc((p->graph[g].nr_tasks + 1) * sizeof(uint32_t));
        i->graph[g].ready = malloc((p->graph[g].nr_tasks + 1) * sizeof(uint32_t));
        if (!i->graph[g].deps || !i->graph[g].ready) return -ENOMEM;
    }
    return 0;
}

/* Before any program begins: others may have links to its channels. */
int sim_inst_channels(struct sim_inst *i)
{
    i->channel = calloc(i->p->nr_channels + 1, sizeof *i->channel);
    return i->channel ? make_channels(i) : -ENOMEM;
}

/* What it had while it ran.  Channels stay until the end of the simulation. */
void sim_inst_drop(struct sim_inst *i)
{
    for (uint32_t g = 0; i->graph && g < i->p->nr_graphs; g++) {
        free(i->graph[g].deps);
        free(i->graph[g].ready);
    }
    free(i->barrier);
    free(i->lock);
    free(i->graph);
    for (struct sim_team *m = i->teams, *next; m; m = next) {
        next = m->next;
        free(m->member);
        free(m);
    }
    i->barrier = 0;
    i->lock = 0;
    i->graph = 0;
    i->teams = 0;
    sim_tasks_drop(&i->tasks);
}

void sim_inst_free(struct sim_inst *i)
{
    sim_inst_drop(i);
    for (uint32_t c = 0; i->channel && c < i->p->nr_channels; c++) {
        free(i->channel[c].stamp);
        free(i->channel[c].paused.at);
    }
    free(i->channel);
    free(i->view);
}
