/* src/trace/workload.c - a recording becomes a workload of the simulator.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each process is a program, each thread one of its threads, made where it was made, and each
 * execution of a task one of its tasks, submitted where it became ready.  Kept is what they did and
 * who waited for whom, not when they had a core:
 *   - computing takes as long as it did;
 *   - a wait that another thread has ended is one on a semaphore that only these two have, which
 *     that thread posts where it ended the wait;
 *   - a pause of a task is one on a semaphore, too, which is posted where the task became ready
 *     again;
 *   - what ended with the time alone (timeouts, system calls) takes that time.
 * So under another policy, or on other cores, the same dependences hold.  Threads that execute
 * tasks for the program's runtime are left out, and what they do between tasks: the simulator has
 * workers of its own.
 *
 * It cannot hang: every wait has its post, at a time of the recording that was not before the wait
 * began, and each thread does its part in the order of these times.  A task that waits, in whatever
 * way, lets others execute.
 */
#include "trace/workload.h"
#include <stdlib.h>
#include <string.h>

/* A thread, as its steps are gone through. */
struct following {
    struct trace_state st;
    uint64_t last, acc, wait_from, ready, call_from, pause_from;
    uint64_t task;              /* the one that it executes, or last went on with; 0: none that is known */
    uint32_t depth;             /* executions of tasks, one within the other */
    uint32_t next;              /* the execution that begins now */
    uint32_t execution;         /* whose part it does; USF_NONE: its own */
    uint32_t before;            /* its last execution */
    bool met, woken, paused;
};

struct reader {
    struct making m;
    struct following *of;
    uint64_t *passed;           /* of each program: until when the thread sleeps that submits what no known thread has */
    struct trace_table pair;    /* (waiter, waker), lines: the semaphore */
    struct trace_table task;    /* (program, task): the last time that it became ready, until it is taken */
};

/* ---- lines ----------------------------------------------------------------------------------- */
static void *more(struct making *m, void *at, uint32_t nr, uint32_t *room, size_t size)
{
    if (nr < *room || m->failed) return at;
    uint32_t want = *room ? 2 * *room : 256;
    void *p = realloc(at, want * size);
    if (p) *room = want;
    else m->failed = true;
    return p ? p : at;
}

static uint32_t new_line(struct making *m, uint32_t program, uint64_t from)
{
    m->line = more(m, m->line, m->nr_lines, &m->room_lines, sizeof *m->line);
    if (m->failed) return USF_NONE;
    m->line[m->nr_lines] = (struct line){.program = program, .from = from, .same = m->nr_lines};
    return m->nr_lines++;
}

static void add(struct making *m, uint32_t line, enum op_kind kind, uint32_t what, uint64_t ns)
{
    if (m->failed || line == USF_NONE || (kind <= OP_IO && !ns)) return;
    struct line *l = &m->line[line];
    if (l->nr && kind <= OP_IO && l->op[l->nr - 1].kind == kind) {
        l->op[l->nr - 1].ns += ns;
        return;
    }
    if (l->nr == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        struct op *p = realloc(l->op, room * sizeof *p);
        if (!p) {
            m->failed = true;
            return;
        }
        l->op = p;
        l->room = room;
    }
    l->op[l->nr++] = (struct op){kind, what, ns};
}

/* Where what the thread does belongs; USF_NONE: nowhere. */
static uint32_t line_of(const struct reader *r, uint32_t thread)
{
    const struct following *o = &r->of[thread];
    return o->execution != USF_NONE ? o->execution : r->m.worker[thread] ? USF_NONE : thread;
}

/* ... where it may make others go on.  What comes after a task's end (its completed callback)
 * belongs to it. */
static uint32_t cause_of(const struct reader *r, uint32_t thread)
{
    uint32_t line = line_of(r, thread);
    return line != USF_NONE ? line : r->of[thread].before;
}

/* A task never keeps its slot while it waits: it may be for one that has none then. */
static enum op_kind wait_of(const struct reader *r, uint32_t thread) { return r->of[thread].execution != USF_NONE ? OP_PAUSE : OP_WAIT; }

static void flush(struct reader *r, uint32_t thread)
{
    add(&r->m, line_of(r, thread), OP_COMPUTE, 0, r->of[thread].acc);
    r->of[thread].acc = 0;
}

/* The semaphore of these two lines, which are of one program. */
static uint32_t semaphore(struct reader *r, uint32_t waiter, uint32_t waker)
{
    struct making *m = &r->m;
    uint32_t *s = trace_table_put(&r->pair, waiter, waker);
    m->semaphore = more(m, m->semaphore, m->nr_semaphores, &m->room_semaphores, sizeof *m->semaphore);
    if (!s || m->failed) return m->failed = true, 0;
    if (*s == USF_NONE) {
        *s = m->nr_semaphores++;
        m->semaphore[*s] = (struct semaphore){.waiter = waiter, .same = *s};
    }
    return *s;
}

static bool are_of_one(const struct trace *t, uint32_t a, uint32_t b) { return t->thread[a].program == t->thread[b].program; }

/* ---- tasks ----------------------------------------------------------------------------------- */
static void pauses(struct reader *r, const struct trace_step *e)
{
    flush(r, e->thread);
    r->of[e->thread].paused = true;
    r->of[e->thread].pause_from = e->ns;
}

static void became_ready(struct reader *r, const struct trace_step *e)
{
    struct making *m = &r->m;
    uint32_t program = m->t->thread[e->thread].program, by = cause_of(r, e->thread);
    if (!e->a || by == USF_NONE) return;
    uint32_t *last = trace_table_put(&r->task, program, e->a);
    m->ready = more(m, m->ready, m->nr_ready, &m->room_ready, sizeof *m->ready);
    if (!last || m->failed) {
        m->failed = true;
        return;
    }
    if (*last != USF_NONE) return;      /* it has been put into another queue */
    struct following *o = &r->of[e->thread];
    if (o->task == e->a && !o->paused) pauses(r, e);    /* its own: it yields */
    uint32_t line = new_line(m, program, e->ns);
    if (m->failed) return;
    m->ready[m->nr_ready] = (struct ready){.ns = e->ns, .by = by, .becomes = OP_NOTHING, .what = line};
    *last = m->nr_ready++;
    flush(r, e->thread);
    add(m, by, OP_READY, *last, 0);
}

static struct ready *take(struct reader *r, const struct trace_step *e)
{
    uint32_t *last = trace_table_get(&r->task, r->m.t->thread[e->thread].program, e->a);
    if (!last || *last == USF_NONE) return NULL;
    struct ready *x = &r->m.ready[*last];
    *last = USF_NONE;
    return x;
}

/* No known thread has submitted it: a thread that does nothing else submits it at that time. */
static uint32_t submitted_by_none(struct reader *r, const struct trace_step *e)
{
    struct making *m = &r->m;
    uint32_t program = m->t->thread[e->thread].program, by = m->t->nr_threads + program, line = new_line(m, program, e->ns);
    m->ready = more(m, m->ready, m->nr_ready, &m->room_ready, sizeof *m->ready);
    if (m->failed) return USF_NONE;
    if (e->ns > r->passed[program]) {
        add(m, by, OP_SLEEP, 0, e->ns - r->passed[program]);
        r->passed[program] = e->ns;
    }
    m->ready[m->nr_ready] = (struct ready){.by = by, .becomes = OP_SUBMIT, .what = line};
    add(m, by, OP_READY, m->nr_ready++, 0);
    return line;
}

static void goes_on(struct reader *r, const struct trace_step *e)
{
    struct following *o = &r->of[e->thread];
    struct ready *x = take(r, e);
    uint32_t line = line_of(r, e->thread);
    if (!o->paused) return;             /* an attached thread has got its slot */
    o->paused = false;
    if (line == USF_NONE) return;
    if (!x) {
        add(&r->m, line, OP_SLEEP, 0, e->ns > o->pause_from ? e->ns - o->pause_from : 0);
    } else if (x->by == line) {         /* it has made itself ready: when its time was over, or at once */
        if (x->ns > o->pause_from) add(&r->m, line, OP_SLEEP, 0, x->ns - o->pause_from);
        else add(&r->m, line, OP_YIELD, 0, 0);
    } else {
        x->becomes = OP_POST;
        x->what = semaphore(r, line, x->by);
        add(&r->m, line, wait_of(r, e->thread), x->what, 0);
    }
}

static void taken(struct reader *r, const struct trace_step *e)
{
    flush(r, e->thread);
    r->of[e->thread].task = e->a;
    if (e->aux) {
        goes_on(r, e);
        return;
    }
    struct ready *x = take(r, e);
    uint32_t line = x ? x->what : submitted_by_none(r, e);
    if (x) x->becomes = OP_SUBMIT;
    if (line == USF_NONE) return;
    memcpy(r->m.line[line].label, "task", sizeof "task");       /* it may not be told */
    r->m.line[line].taken = true;
    r->of[e->thread].next = line;
}

static void began(struct reader *r, const struct trace_step *e)
{
    struct following *o = &r->of[e->thread];
    flush(r, e->thread);
    if (o->depth++ || o->next == USF_NONE) return;      /* in line: a part of what the thread does anyway */
    trace_label(e, r->m.line[o->next].label);
    o->execution = o->next;
    o->next = USF_NONE;
}

static void ended(struct reader *r, uint32_t thread)
{
    struct following *o = &r->of[thread];
    flush(r, thread);
    if (!o->depth || --o->depth) return;
    if (o->execution != USF_NONE) o->before = o->execution;
    o->execution = USF_NONE;
    o->task = 0;                /* its completed callback may submit it again */
    o->paused = false;
}

/* ---- from steps ------------------------------------------------------------------------------ */
static void woke(struct reader *r, uint32_t waker, uint32_t waiter)
{
    struct following *o = &r->of[waiter];
    uint32_t waits = line_of(r, waiter), by = cause_of(r, waker);
    if (waker == waiter || !o->met || !o->st.waits || o->woken || !are_of_one(r->m.t, waker, waiter)) return;
    if (o->paused || waits == USF_NONE || by == USF_NONE) return;       /* the runtime's own affair */
    o->woken = true;
    uint32_t s = semaphore(r, waits, by);
    flush(r, waker);
    add(&r->m, by, OP_POST, s, 0);
    add(&r->m, waits, wait_of(r, waiter), s, 0);
}

/* Woken by no known thread: the wait took its time. */
static void waited_alone(struct reader *r, uint32_t thread, uint64_t now)
{
    struct following *o = &r->of[thread];
    uint64_t end = o->ready > o->wait_from ? o->ready : now;
    add(&r->m, line_of(r, thread), OP_SLEEP, 0, end > o->wait_from ? end - o->wait_from : 0);
}

/* A wait in the kernel for another thread's end (pthread_join): the kernel wakes, so the end is the
 * only sign of it. */
static uint32_t ended_meanwhile(const struct trace *t, uint32_t thread, uint64_t from, uint64_t to)
{
    uint32_t found = USF_NONE;
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        const struct trace_thread *h = &t->thread[i];
        if (i == thread || h->stayed || !are_of_one(t, i, thread) || h->end_ns < from || h->end_ns > to) continue;
        if (found == USF_NONE || h->end_ns > t->thread[found].end_ns) found = i;
    }
    return found;
}

#define NR_NANOSLEEP 35u
#define NR_CLOCK_NANOSLEEP 230u
static void called(struct reader *r, const struct trace_step *e)
{
    uint64_t from = r->of[e->thread].call_from, ns = e->ns > from ? e->ns - from : 0;
    uint32_t nr = usf_wait_nr(e->a), line = line_of(r, e->thread);
    uint32_t end = e->aux == USF_WAIT_FUTEX ? ended_meanwhile(r->m.t, e->thread, from, e->ns) : USF_NONE;
    uint32_t by = end == USF_NONE ? USF_NONE : cause_of(r, end);
    if (line == USF_NONE) return;
    if (by != USF_NONE) {
        uint32_t s = semaphore(r, line, by);
        flush(r, end);
        add(&r->m, by, OP_POST, s, 0);
        add(&r->m, line, wait_of(r, e->thread), s, 0);
    } else {
        bool sleeps = e->aux == USF_WAIT_FUTEX || nr == NR_NANOSLEEP || nr == NR_CLOCK_NANOSLEEP;
        add(&r->m, line, sleeps ? OP_SLEEP : OP_IO, 0, ns);
    }
}

static void meet(struct reader *r, const struct trace_step *e)
{
    struct following *o = &r->of[e->thread];
    const struct trace_thread *h = &r->m.t->thread[e->thread];
    const struct trace_program *p = &r->m.t->program[h->program];
    trace_begin(&o->st, r->m.t, e);
    o->met = true;
    o->last = o->wait_from = o->call_from = h->first_ns;
    if (r->m.alone[e->thread] && h->first_ns > p->first_ns) add(&r->m, e->thread, OP_SLEEP, 0, h->first_ns - p->first_ns);
}

/* A task cannot spawn threads in a workload, and those who execute tasks are not in it. */
static void spawned(struct reader *r, uint32_t thread, uint32_t child)
{
    flush(r, thread);
    if (!r->m.alone[child]) add(&r->m, thread, OP_SPAWN, child, 0);
}

static void step(struct reader *r, const struct trace_step *e)
{
    struct following *o = &r->of[e->thread];
    if (!o->met) meet(r, e);
    if (trace_computes(&o->st) && e->ns > o->last && !o->paused) o->acc += e->ns - o->last;
    if (e->ns > o->last) o->last = e->ns;
    switch (e->kind) {
    case TRACE_WAIT:
        flush(r, e->thread);
        o->wait_from = e->ns;
        o->ready = 0;
        o->woken = false;
        break;
    case TRACE_WAITED:
        if (o->st.waits && !o->woken && !o->paused) waited_alone(r, e->thread, e->ns);
        o->woken = false;
        break;
    case TRACE_CALLED:
        flush(r, e->thread);
        o->call_from = e->ns;
        break;
    case TRACE_CALL:
        if (!o->paused) called(r, e);
        break;
    case TRACE_WOKE: woke(r, e->thread, (uint32_t)e->a); break;
    case TRACE_BORN: spawned(r, e->thread, (uint32_t)e->a); break;
    case TRACE_QUEUED:
        if (e->aux != USF_WHY_YIELD || o->paused) break;
        flush(r, e->thread);
        add(&r->m, line_of(r, e->thread), OP_YIELD, 0, 0);
        break;
    case TRACE_STATE:
        if (e->aux >> 8 == USF_TASK_READY && !o->ready) o->ready = e->ns;
        break;
    case TRACE_READY: became_ready(r, e); break;
    case TRACE_TAKEN: taken(r, e); break;
    case TRACE_PAUSED: pauses(r, e); break;
    case TRACE_WORK: began(r, e); break;
    case TRACE_WORKED: ended(r, e->thread); break;
    default: break;
    }
    trace_advance(&o->st, e);
}

/* ---- all of it ------------------------------------------------------------------------------- */
/* Who executes tasks for a runtime; who is made by such a thread, or by a task, begins by itself,
 * as one whose maker is not known. */
static void find_workers(struct making *m)
{
    const struct trace *t = m->t;
    for (size_t i = 0; i < t->nr_steps; i++)
        if (t->step[i].kind == TRACE_TAKEN && !t->step[i].aux) m->worker[t->step[i].thread] = true;
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        uint32_t maker = t->thread[i].maker;
        m->alone[i] = maker == USF_NONE || m->worker[maker] || m->worker[i];
    }
}

static bool begin(struct reader *r, const struct trace *t)
{
    struct making *m = &r->m;
    *r = (struct reader){.m.t = t};
    r->of = calloc(t->nr_threads + 1u, sizeof *r->of);
    m->nr_of_program = calloc(t->nr_programs + 1u, sizeof *m->nr_of_program);
    r->passed = calloc(t->nr_programs + 1u, sizeof *r->passed);
    m->alone = calloc(t->nr_threads + 1u, sizeof *m->alone);
    m->worker = calloc(t->nr_threads + 1u, sizeof *m->worker);
    if (!r->of || !m->nr_of_program || !r->passed || !m->alone || !m->worker) return false;
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        const struct trace_thread *h = &t->thread[i];
        new_line(m, h->program, h->born_ns && h->born_ns < h->first_ns ? h->born_ns : h->first_ns);
        r->of[i].next = r->of[i].execution = r->of[i].before = USF_NONE;
    }
    for (uint32_t i = 0; i < t->nr_programs; i++) {
        new_line(m, i, 0);
        r->passed[i] = t->program[i].first_ns;
    }
    find_workers(m);
    return !m->failed;
}

static void release(struct reader *r)
{
    for (uint32_t i = 0; i < r->m.nr_lines; i++) free(r->m.line[i].op);
    free(r->m.line);
    free(r->m.ready);
    free(r->m.semaphore);
    free(r->m.nr_of_program);
    free(r->m.alone);
    free(r->m.worker);
    free(r->of);
    free(r->passed);
    trace_table_free(&r->pair);
    trace_table_free(&r->task);
}

int trace_workload(const struct trace *t, FILE *f, const char *from)
{
    struct reader r;
    bool ok = begin(&r, t);
    for (size_t i = 0; ok && i < t->nr_steps && !r.m.failed; i++) step(&r, &t->step[i]);
    for (uint32_t i = 0; ok && i < t->nr_threads; i++) {
        struct following *o = &r.of[i];
        if (o->met && trace_computes(&o->st) && !o->paused && t->thread[i].end_ns > o->last) o->acc += t->thread[i].end_ns - o->last;
        flush(&r, i);
    }
    if (ok) workload_join_tasks(&r.m);
    ok = ok && !r.m.failed && workload_put(&r.m, f, from);
    release(&r);
    return !ok || ferror(f) ? -1 : 0;
}
