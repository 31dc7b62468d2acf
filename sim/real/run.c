/* sim/real/run.c - what a thread executes: its program's operations, as sim/run.c does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/real/replay.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct rp_team {
    uint32_t level, width, nr, cap, code;
    uint8_t wait;
    struct rp_thread **member;          /* besides the master */
    atomic_uint arrived;
    struct rp_word joined;              /* regions that all have arrived from */
    struct rp_barrier met;              /* of barriers without parties */
    struct rp_team *next_own;
};

struct rp_process rp;

static void execute(struct rp_thread *t, uint32_t code);

/* ---- threads ------------------------------------------------------------------------------------------------ */
static struct rp_thread *thread_new(uint32_t code)
{
    struct rp_thread *t = aligned_alloc(64, (sizeof *t + 63) & ~63ul);
    if (!t) rp_die("program %s: no memory for a thread", rp.p->name);
    *t = (struct rp_thread){.code = code};
    pthread_mutex_lock(&rp.all_lock);
    t->number = rp.numbers++;
    t->next = rp.all;
    rp.all = t;
    pthread_mutex_unlock(&rp.all_lock);
    t->random = sim_mix(rp.seed * 0x9e3779b97f4a7c15ull + sim_mix(((uint64_t)rp.index << 32 | t->number) + 1));
    return t;
}

static void begin(struct rp_thread *t)
{
    if (!rp_work_begin(t)) rp_die("program %s: no memory for a working set", rp.p->name);
}

static void *thread_main(void *arg)
{
    struct rp_thread *t = arg;
    begin(t);
    execute(t, t->code);
    rp_work_end(t);
    struct rp_word *left = &t->parent->children;
    if (atomic_fetch_sub(&left->word, 1) == 1) rp_wake(left, 1);
    return NULL;
}

static void start(void *(*fn)(void *), struct rp_thread *t)
{
    pthread_attr_t a;
    pthread_t id;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 128u << 10);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    int r = pthread_create(&id, &a, fn, t);
    pthread_attr_destroy(&a);
    if (r) rp_die("program %s: thread %u cannot be created: %s", rp.p->name, t->number, strerror(r));
}

static void spawn(struct rp_thread *t, const struct sim_op *op)
{
    for (uint32_t i = 0; i < op->count; i++) {
        struct rp_thread *child = thread_new(op->object);
        child->parent = t;
        child->stamp = t->stamp;
        atomic_fetch_add(&t->children.word, 1);
        start(thread_main, child);
    }
}

static void join(struct rp_thread *t, const struct sim_op *op)
{
    for (unsigned n; (n = atomic_load(&t->children.word));) rp_wait(&t->children, n, op->wait, rp.p->spin_ns);
}

/* ---- teams --------------------------------------------------------------------------------------------------- */
/* What affinity queries answer: under usf, the program's share. */
static uint32_t width_of(const struct sim_op *op)
{
    cpu_set_t set;
    if (op->count) return op->count;
    if (rp.p->width) return rp.p->width;
    int n = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
    return n > 0 ? (uint32_t)n : 1;
}

static struct rp_team *team_of(struct rp_thread *t)
{
    uint32_t level = t->team ? t->team->level + 1 : 0;
    for (struct rp_team *m = t->own; m; m = m->next_own)
        if (m->level == level) return m;
    struct rp_team *m = aligned_alloc(64, (sizeof *m + 63) & ~63ul);
    if (!m) rp_die("program %s: no memory for a team", rp.p->name);
    *m = (struct rp_team){.level = level, .next_own = t->own};
    return t->own = m;
}

static void *serve(void *arg)
{
    struct rp_thread *t = arg;
    struct rp_team *m = t->team;
    begin(t);
    for (unsigned round = 0;; round++) {
        rp_wait(&t->dock, round, round ? m->wait : SIM_WAIT_BLOCK, rp.p->spin_ns);
        execute(t, m->code);
        t->team = m;
        if (atomic_fetch_add(&m->arrived, 1) + 1 < m->width - 1) continue;
        atomic_fetch_add(&m->joined.word, 1);
        rp_wake(&m->joined, 1);
    }
    return NULL;
}

static void parallel(struct rp_thread *t, const struct sim_op *op)
{
    struct rp_team *m = team_of(t), *outer = t->team;
    uint32_t width = width_of(op), first = m->nr < width - 1 ? m->nr : width - 1;
    unsigned joined = atomic_load(&m->joined.word);
    m->width = width;
    m->code = op->object;
    m->wait = op->wait;
    atomic_store(&m->arrived, 0);
    if (width - 1 > m->cap) {
        m->cap = 2 * width;
        m->member = realloc(m->member, m->cap * sizeof(struct rp_thread *));
        if (!m->member) rp_die("program %s: no memory for a team", rp.p->name);
    }
    for (uint32_t i = 0; i < width - 1; i++) {
        if (i >= m->nr) {
            m->member[m->nr++] = thread_new(SIM_NO_CODE);
            m->member[i]->team = m;
            m->member[i]->team_number = i + 1;
        }
        m->member[i]->stamp = t->stamp;
        atomic_fetch_add(&m->member[i]->dock.word, 1);
        if (i >= first) start(serve, m->member[i]);
        else rp_wake(&m->member[i]->dock, 1);
    }
    t->team = m;
    execute(t, op->object);
    if (width > 1) rp_wait(&m->joined, joined, op->wait, rp.p->spin_ns);
    t->team = outer;
}

/* ---- tasks with dependences ---------------------------------------------------------------------------------- */
/* Holds g->lock. */
static void graph_begin(struct rp_graph *g, const struct sim_graph_def *d)
{
    g->begun = true;
    g->first = g->nr = g->done = g->left = 0;
    for (uint32_t i = 0; i < d->nr_tasks; i++) {
        g->deps[i] = d->task[i].deps;
        if (!g->deps[i]) g->ready[g->nr++] = i;
    }
}

/* Holds g->lock.  How many to wake. */
static unsigned graph_end_task(struct rp_graph *g, const struct sim_graph_def *d, uint32_t task)
{
    unsigned new = 0;
    for (uint32_t i = 0; i < d->task[task].nr; i++) {
        uint32_t next = d->succ[d->task[task].first + i];
        if (--g->deps[next]) continue;
        g->ready[(g->first + g->nr++) % d->nr_tasks] = next;
        new++;
    }
    bool all = ++g->done == d->nr_tasks;
    if (all || new > 1) atomic_fetch_add(&g->event.word, 1);
    return all ? UINT32_MAX : new > 1 ? new - 1 : 0;        /* one is for ourselves */
}

static void graph(struct rp_thread *t, const struct sim_op *op)
{
    const struct sim_graph_def *d = &rp.p->graph[op->object];
    struct rp_graph *g = &rp.graph[op->object];
    pthread_mutex_lock(&g->lock);
    if (!g->begun) graph_begin(g, d);
    while (g->done < d->nr_tasks) {
        if (!g->nr) {
            unsigned seen = atomic_load(&g->event.word);
            pthread_mutex_unlock(&g->lock);
            rp_wait(&g->event, seen, op->wait, rp.p->spin_ns);
            pthread_mutex_lock(&g->lock);
            continue;
        }
        uint32_t task = g->ready[g->first];
        g->first = (g->first + 1) % d->nr_tasks;
        g->nr--;
        pthread_mutex_unlock(&g->lock);
        if (d->task[task].code != SIM_NO_CODE) {
            execute(t, d->task[task].code);
        } else {
            const struct sim_op *w = &d->task[task].work;
            uint32_t width = t->team ? t->team->width : 1;
            t->ops[SIM_OP_COMPUTE]++;
            rp_compute(t, w, w->flags & SIM_OP_DIVIDED ? rp_divided(rp.p, w->ns, width) : w->ns);
        }
        pthread_mutex_lock(&g->lock);
        unsigned n = graph_end_task(g, d, task);
        if (!n) continue;
        pthread_mutex_unlock(&g->lock);
        rp_wake(&g->event, n);
        pthread_mutex_lock(&g->lock);
    }
    if (++g->left == (t->team ? t->team->width : 1)) g->begun = false;
    pthread_mutex_unlock(&g->lock);
}

/* ---- messages, sleeping, requests ------------------------------------------------------------------------------- */
static struct rp_stamp *stamps(struct rp_channel *c) { return (struct rp_stamp *)(void *)((char *)c + c->stamps); }

static void send(struct rp_thread *t, struct rp_channel *c, const struct sim_op *op)
{
    for (uint32_t n = op->count; n; n--) {
        if (c->capacity) rp_take(&c->room, op->wait, rp.p->spin_ns);
        if (c->ring) {
            uint64_t at = atomic_fetch_add(&c->sent, 1);
            struct rp_stamp *s = &stamps(c)[at % c->ring];
            if (at >= atomic_load(&c->received) + c->ring)
                rp_die("program %s: more than %u messages wait in a channel, whose requests are to be timed", rp.p->name, c->ring);
            s->stamp = t->stamp;
            atomic_store(&s->turn, at + 1);
        }
        rp_give(&c->messages);
    }
}

static void recv(struct rp_thread *t, struct rp_channel *c, const struct sim_op *op)
{
    for (uint32_t n = op->count; n; n--) {
        rp_take(&c->messages, op->wait, rp.p->spin_ns);
        if (c->ring) {      /* the message that counts may still be written by a sender that was late */
            uint64_t at = atomic_fetch_add(&c->received, 1);
            struct rp_stamp *s = &stamps(c)[at % c->ring];
            while (atomic_load(&s->turn) != at + 1) sched_yield();
            if (s->stamp) t->stamp = s->stamp;
        }
        if (c->capacity) rp_give(&c->room);
    }
}

/* sleep: a call that surely blocks.  io: one that might not have, as a read from a device. */
static void doze(struct rp_thread *t, const struct sim_op *op)
{
    static _Thread_local int fd = -1;
    uint64_t ns = sim_drawn(&t->random, op, op->ns), times;
    struct timespec d = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    if (!ns) return;
    if (op->flags & SIM_OP_CERTAIN) {
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &d, &d) == EINTR) {}
        return;
    }
    if (fd < 0) fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (fd < 0 || timerfd_settime(fd, 0, &(struct itimerspec){.it_value = d}, NULL)) rp_die("program %s: no timer for io: %s", rp.p->name, strerror(errno));
    while (read(fd, &times, sizeof times) < 0)
        if (errno != EINTR) rp_die("program %s: a timer cannot be read: %s", rp.p->name, strerror(errno));
}

static void answered(struct rp_thread *t)
{
    if (!t->stamp) return;
    uint64_t i = atomic_fetch_add(&rp.result->requests, 1);
    if (i < RP_REQUESTS) ((uint64_t *)rp_at(rp.result->times))[i] = rp_now() - t->stamp;
}

/* ---- operations ------------------------------------------------------------------------------------------------- */
static void barrier(struct rp_thread *t, const struct sim_op *op)
{
    uint32_t n = rp.p->barrier[op->object].parties;
    if (n) rp_barrier(&rp.barrier[op->object], n, op->wait, rp.p->spin_ns);
    else if (t->team) rp_barrier(&t->team->met, t->team->width, op->wait, rp.p->spin_ns);
}

static void lock(struct rp_thread *t, const struct sim_op *op)
{
    struct rp_lock *l = &rp.lock[op->object];
    if (atomic_load(&l->owner) == t->number + 1) rp_die("program %s: a thread locks what it has locked", rp.p->name);
    rp_lock(l, t->number, op->wait, rp.p->spin_ns);
}

static void operate(struct rp_thread *t, const struct sim_op *op)
{
    t->ops[op->kind]++;
    switch ((enum sim_op_kind)op->kind) {
    case SIM_OP_COMPUTE: rp_compute(t, op, op->flags & SIM_OP_DIVIDED ? rp_divided(rp.p, op->ns, t->team ? t->team->width : 1) : op->ns); break;
    case SIM_OP_CALL: execute(t, op->object); break;
    case SIM_OP_BARRIER: barrier(t, op); break;
    case SIM_OP_LOCK: lock(t, op); break;
    case SIM_OP_UNLOCK:
        if (!rp_unlock(&rp.lock[op->object], t->number, op->wait)) rp_die("program %s: a thread unlocks what it has not locked", rp.p->name);
        break;
    case SIM_OP_PARALLEL: parallel(t, op); break;
    case SIM_OP_GRAPH: graph(t, op); break;
    case SIM_OP_SLEEP: doze(t, op); break;
    case SIM_OP_YIELD: sched_yield(); break;
    case SIM_OP_SEND: send(t, rp.channel[op->object], op); break;
    case SIM_OP_RECV: recv(t, rp.channel[op->object], op); break;
    case SIM_OP_SPAWN: spawn(t, op); break;
    case SIM_OP_JOIN: join(t, op); break;
    case SIM_OP_BEGIN: t->stamp = rp_now(); break;
    case SIM_OP_DONE: answered(t); break;
    case SIM_OP_PROGRESS: break;        /* counted; who executes under usf has been told that policies do not hear of it */
    case SIM_OP_SUBMIT: case SIM_OP_PAUSE:      /* load() has refused them */
    case SIM_OP_END: case SIM_OP_LOOP: case SIM_OP_NEXT: case SIM_NR_OPS: break;
    }
}

static uint32_t matching_next(const struct sim_code *c, uint32_t pc)
{
    for (uint32_t depth = 0;; pc++) {
        if (c->op[pc].kind == SIM_OP_LOOP) depth++;
        if (c->op[pc].kind == SIM_OP_NEXT && --depth == 0) return pc;
    }
}

static void execute(struct rp_thread *t, uint32_t code)
{
    const struct sim_code *c = &rp.p->code[code];
    struct { uint32_t pc, left; } loop[SIM_NEST];
    uint32_t depth = 0;
    for (uint32_t pc = 0;; pc++) {
        const struct sim_op *op = &c->op[pc];
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
        }
    }
}

/* ---- a program ------------------------------------------------------------------------------------------------------ */
static void *zeroed(size_t nr, size_t size)
{
    size_t n = (nr + 1) * size;
    void *p = aligned_alloc(64, (n + 63) & ~63ul);
    if (p) memset(p, 0, n);
    return p;
}

int rp_prepare(const struct sim_workload *w)
{
    const struct sim_program *p = rp.p;
    pthread_mutex_init(&rp.all_lock, NULL);
    rp.lock = zeroed(p->nr_locks, sizeof *rp.lock);
    rp.barrier = zeroed(p->nr_barriers, sizeof *rp.barrier);
    rp.graph = zeroed(p->nr_graphs, sizeof *rp.graph);
    bool good = rp.lock && rp.barrier && rp.graph && rp_channels(w);
    for (uint32_t g = 0; good && g < p->nr_graphs; g++) {
        pthread_mutex_init(&rp.graph[g].lock, NULL);
        rp.graph[g].deps = calloc(p->graph[g].nr_tasks + 1ul, sizeof(uint32_t));
        rp.graph[g].ready = calloc(p->graph[g].nr_tasks + 1ul, sizeof(uint32_t));
        good = rp.graph[g].deps && rp.graph[g].ready;
    }
    return good ? 0 : -1;
}

void rp_run(void)
{
    struct rp_thread *t = thread_new(rp.p->main);
    begin(t);
    rp.result->start_ns = rp_now();
    execute(t, t->code);
    rp.result->end_ns = rp_now();
    rp.result->threads = rp.numbers;
    pthread_mutex_lock(&rp.all_lock);
    for (struct rp_thread *i = rp.all; i; i = i->next)
        for (unsigned k = 0; k < SIM_NR_OPS; k++) rp.result->ops[k] += i->ops[k];
    pthread_mutex_unlock(&rp.all_lock);
}
