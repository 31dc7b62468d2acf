/* src/trace/workload.c - a recording becomes a workload of the simulator.  SPDX-License-Identifier: Apache-2.0
 *
 * Each process is a program, each thread one of its threads, made where it was made.  Kept is what the threads did and who waited for whom,
 * not when they had a core:
 *   - computing takes as long as it did;
 *   - a wait that another thread has ended is one on a semaphore that only these two have, which that thread posts where it ended the wait;
 *   - what ended with the time alone (timeouts, system calls) takes that time.
 * So under another policy, or on other cores, the same dependences hold.
 *
 * It cannot hang: every wait has its post, at a time of the recording that was not before the wait began, and each thread does its part in the
 * order of these times.
 */
#include "trace/file.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum op_kind { OP_COMPUTE, OP_SLEEP, OP_IO, OP_YIELD, OP_POST, OP_WAIT, OP_SPAWN };
struct op { uint32_t kind, what; uint64_t ns; };

struct line {                   /* of a thread */
    struct op *op;
    size_t nr, room;
    struct trace_state st;
    uint64_t last, acc, wait_from, ready, call_from;
    bool met, woken;
};
struct pair { uint64_t key; uint32_t index; };
struct making {
    const struct trace *t;
    struct line *line;
    struct pair *pair;          /* by (waiter, waker): the semaphore; open addressing */
    size_t nr_pairs, room_pairs;
    uint32_t *nr_of_program;    /* semaphores of each program */
    bool failed;
};

/* ---- operations ------------------------------------------------------------------------------------ */
static void add(struct making *m, uint32_t thread, enum op_kind kind, uint32_t what, uint64_t ns)
{
    struct line *l = &m->line[thread];
    if (m->failed || (kind <= OP_IO && !ns)) return;
    if (l->nr && kind <= OP_IO && l->op[l->nr - 1].kind == kind) {
        l->op[l->nr - 1].ns += ns;
        return;
    }
    if (l->nr == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        struct op *p = realloc(l->op, l->room * sizeof *p);
        if (!p) {
            m->failed = true;
            return;
        }
        l->op = p;
    }
    l->op[l->nr++] = (struct op){kind, what, ns};
}

static void flush(struct making *m, uint32_t thread)
{
    add(m, thread, OP_COMPUTE, 0, m->line[thread].acc);
    m->line[thread].acc = 0;
}

static struct pair *slot_of(struct pair *p, size_t room, uint64_t key)
{
    size_t at = (size_t)((key * 0x9e3779b97f4a7c15ull) >> 20) & (room - 1);
    while (p[at].key && p[at].key != key) at = (at + 1) & (room - 1);
    return &p[at];
}

static bool more_pairs(struct making *m)
{
    size_t room = m->room_pairs ? 2 * m->room_pairs : 1024;
    struct pair *p = calloc(room, sizeof *p);
    if (!p) return false;
    for (size_t i = 0; i < m->room_pairs; i++)
        if (m->pair[i].key) *slot_of(p, room, m->pair[i].key) = m->pair[i];
    free(m->pair);
    m->pair = p;
    m->room_pairs = room;
    return true;
}

/* The semaphore of these two, who are of one program. */
static uint32_t semaphore(struct making *m, uint32_t waiter, uint32_t waker)
{
    uint64_t key = ((uint64_t)waiter << 32 | waker) + 1;
    if (2 * m->nr_pairs >= m->room_pairs && !more_pairs(m)) return m->failed = true, 0;
    struct pair *p = slot_of(m->pair, m->room_pairs, key);
    if (!p->key) {
        *p = (struct pair){key, m->nr_of_program[m->t->thread[waiter].program]++};
        m->nr_pairs++;
    }
    return p->index;
}

static bool are_of_one(const struct trace *t, uint32_t a, uint32_t b) { return t->thread[a].program == t->thread[b].program; }

/* ---- from steps ----------------------------------------------------------------------------------------- */
static void woke(struct making *m, uint32_t waker, uint32_t waiter)
{
    struct line *l = &m->line[waiter];
    if (waker == waiter || !l->met || !l->st.waits || l->woken || !are_of_one(m->t, waker, waiter)) return;
    l->woken = true;
    uint32_t s = semaphore(m, waiter, waker);
    flush(m, waker);
    add(m, waker, OP_POST, s, 0);
    add(m, waiter, OP_WAIT, s, 0);
}

/* By nobody that we know of: it took its time. */
static void waited_alone(struct making *m, uint32_t thread, uint64_t now)
{
    struct line *l = &m->line[thread];
    uint64_t end = l->ready > l->wait_from ? l->ready : now;
    add(m, thread, OP_SLEEP, 0, end > l->wait_from ? end - l->wait_from : 0);
}

/* A wait in the kernel for another thread's end (pthread_join): the kernel wakes, so the end is the only sign of it. */
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
static void called(struct making *m, const struct trace_step *e)
{
    uint64_t from = m->line[e->thread].call_from, ns = e->ns > from ? e->ns - from : 0;
    uint32_t nr = usf_wait_nr(e->a), ended = e->aux == USF_WAIT_FUTEX ? ended_meanwhile(m->t, e->thread, from, e->ns) : USF_NONE;
    if (ended != USF_NONE) {
        uint32_t s = semaphore(m, e->thread, ended);
        flush(m, ended);
        add(m, ended, OP_POST, s, 0);
        add(m, e->thread, OP_WAIT, s, 0);
    } else {
        bool sleeps = e->aux == USF_WAIT_FUTEX || nr == NR_NANOSLEEP || nr == NR_CLOCK_NANOSLEEP;
        add(m, e->thread, sleeps ? OP_SLEEP : OP_IO, 0, ns);
    }
}

static void meet(struct making *m, const struct trace_step *e)
{
    struct line *l = &m->line[e->thread];
    const struct trace_thread *h = &m->t->thread[e->thread];
    const struct trace_program *p = &m->t->program[h->program];
    trace_begin(&l->st, m->t, e);
    l->met = true;
    l->last = l->wait_from = l->call_from = h->first_ns;
    if (h->maker == USF_NONE && h->first_ns > p->first_ns) add(m, e->thread, OP_SLEEP, 0, h->first_ns - p->first_ns);
}

static void step(struct making *m, const struct trace_step *e)
{
    struct line *l = &m->line[e->thread];
    if (!l->met) meet(m, e);
    if (trace_computes(&l->st) && e->ns > l->last) l->acc += e->ns - l->last;
    if (e->ns > l->last) l->last = e->ns;
    switch (e->kind) {
    case TRACE_WAIT:
        flush(m, e->thread);
        l->wait_from = e->ns;
        l->ready = 0;
        l->woken = false;
        break;
    case TRACE_WAITED:
        if (l->st.waits && !l->woken) waited_alone(m, e->thread, e->ns);
        l->woken = false;
        break;
    case TRACE_CALLED:
        flush(m, e->thread);
        l->call_from = e->ns;
        break;
    case TRACE_CALL: called(m, e); break;
    case TRACE_WOKE: woke(m, e->thread, (uint32_t)e->a); break;
    case TRACE_BORN:
        flush(m, e->thread);
        add(m, e->thread, OP_SPAWN, (uint32_t)e->a, 0);
        break;
    case TRACE_QUEUED:
        if (e->aux != USF_WHY_YIELD) break;
        flush(m, e->thread);
        add(m, e->thread, OP_YIELD, 0, 0);
        break;
    case TRACE_STATE:
        if (e->aux >> 8 == USF_TASK_READY && !l->ready) l->ready = e->ns;
        break;
    default: break;
    }
    trace_advance(&l->st, e);
}

/* ---- text -------------------------------------------------------------------------------------------------- */
#define PERIOD_MAX 16u
#define NEAR_NS 2000u

static bool is_like(const struct op *a, const struct op *b)
{
    uint64_t d = a->ns > b->ns ? a->ns - b->ns : b->ns - a->ns, most = a->ns > b->ns ? a->ns : b->ns;
    return a->kind == b->kind && a->what == b->what && a->kind != OP_SPAWN && (d <= NEAR_NS || d <= most / 8);
}

/* How often do the first `period` operations come in a row? */
static size_t rounds(const struct op *o, size_t left, size_t period)
{
    size_t i = period;
    while (i < left && is_like(&o[i], &o[i % period])) i++;
    return i / period;
}

static void put_op(FILE *f, const struct op *o, uint64_t ns, const char *indent)
{
    static const char *const timed[] = {"compute", "sleep", "io"};
    if (o->kind <= OP_IO) fprintf(f, "%s%s %" PRIu64 "ns\n", indent, timed[o->kind], ns);
    else if (o->kind == OP_YIELD) fprintf(f, "%syield\n", indent);
    else if (o->kind == OP_SPAWN) fprintf(f, "%sspawn t%u\n", indent, o->what);
    else fprintf(f, "%s%s s[%u]\n", indent, o->kind == OP_POST ? "post" : "wait", o->what);
}

/* Rounds that differ by little become one loop, with the mean of each time: all the time is there. */
static void put_ops(FILE *f, const struct op *o, size_t nr)
{
    for (size_t at = 0; at < nr;) {
        size_t best = 1, times = 1;
        for (size_t p = 1; p <= PERIOD_MAX && at + 2 * p <= nr; p++) {
            size_t k = rounds(o + at, nr - at, p);
            if (k > 1 && k * p - p > times * best - best) best = p, times = k;
        }
        bool loop = times > 1 && times * best - best > 2;
        if (!loop) best = times = 1;
        if (loop) fprintf(f, "        repeat %zu\n", times);
        for (size_t i = 0; i < best; i++) {
            uint64_t sum = 0;
            for (size_t k = 0; k < times; k++) sum += o[at + k * best + i].ns;
            put_op(f, &o[at + i], (sum + times / 2) / times, loop ? "            " : "        ");
        }
        if (loop) fputs("        end\n", f);
        at += best * times;
    }
}

/* A name of the language, with a number that makes it the only one. */
static void put_name(FILE *f, const struct trace *t, uint32_t program)
{
    const char *s = t->program[program].name;
    char buf[40];
    size_t n = 0;
    for (; *s && n < 30; s++) buf[n++] = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ? *s : '_';
    buf[n] = 0;
    fprintf(f, "p%u_%s", program, buf);
}

static void put_title(FILE *f, const char *s)
{
    for (size_t n = 0; *s && n < 120; s++, n++) fputc(*s == '"' || *s == '\\' || (unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e ? '_' : *s, f);
}

static void put_program(const struct making *m, FILE *f, uint32_t program)
{
    const struct trace *t = m->t;
    char why[80];
    fputs("\nprogram ", f);
    put_name(f, t, program);
    const struct trace_program *p = &t->program[program];
    if (p->weight != 100 && p->weight >= 1 && p->weight <= 10000) fprintf(f, " weight %u", p->weight);
    if (p->priority) fprintf(f, " priority %d", p->priority);
    fprintf(f, "         # process %d\n", t->program[program].pid);
    if (m->nr_of_program[program]) fprintf(f, "    semaphore s[%u] 0\n", m->nr_of_program[program]);
    /* Who is made comes before who makes it; the indices are in order of coming. */
    for (uint32_t i = t->nr_threads; i-- > 0;) {
        const struct trace_thread *h = &t->thread[i];
        if (h->program != program) continue;
        snprintf(why, sizeof why, "%d %s", h->tid, h->name);
        fprintf(f, "    thread t%u%s         # %s\n", i, h->maker != USF_NONE ? " 0" : "", why);
        put_ops(f, m->line[i].op, m->line[i].nr);
        fputs("    end\n", f);
    }
    fputs("end\n", f);
}

static void put_all(const struct making *m, FILE *f, const char *from)
{
    const struct trace *t = m->t;
    uint64_t first = UINT64_MAX;
    for (uint32_t p = 0; p < t->nr_programs; p++)
        if (t->program[p].first_ns < first) first = t->program[p].first_ns;
    fputs("# Made by 'usf trace' of a recording", f);
    if (t->lost || t->cut || t->strange) fprintf(f, "; %" PRIu64 " events are missing%s", t->lost + t->strange, t->cut ? ", and its end" : "");
    fputs("\nworkload \"", f);
    put_title(f, *t->head.command ? t->head.command : from);
    fputs("\"\n", f);
    for (uint32_t p = 0; p < t->nr_programs; p++) put_program(m, f, p);
    fputc('\n', f);
    for (uint32_t p = 0; p < t->nr_programs; p++) {
        fputs("start ", f);
        put_name(f, t, p);
        if (t->program[p].first_ns > first) fprintf(f, " at %" PRIu64 "ns", t->program[p].first_ns - first);
        fputc('\n', f);
    }
}

int trace_workload(const struct trace *t, FILE *f, const char *from)
{
    struct making m = {.t = t};
    m.line = calloc(t->nr_threads ? t->nr_threads : 1, sizeof *m.line);
    m.nr_of_program = calloc(t->nr_programs ? t->nr_programs : 1, sizeof *m.nr_of_program);
    m.failed = !m.line || !m.nr_of_program;
    for (size_t i = 0; !m.failed && i < t->nr_steps; i++) step(&m, &t->step[i]);
    for (uint32_t i = 0; !m.failed && i < t->nr_threads; i++) {
        struct line *l = &m.line[i];
        if (l->met && trace_computes(&l->st) && t->thread[i].end_ns > l->last) l->acc += t->thread[i].end_ns - l->last;
        flush(&m, i);
    }
    if (!m.failed) put_all(&m, f, from);
    for (uint32_t i = 0; m.line && i < t->nr_threads; i++) free(m.line[i].op);
    free(m.line);
    free(m.pair);
    free(m.nr_of_program);
    return m.failed || ferror(f) ? -1 : 0;
}
