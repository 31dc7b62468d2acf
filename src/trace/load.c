/* src/trace/load.c - read a recording.  SPDX-License-Identifier: Apache-2.0
 *
 * Whatever the file holds: no event names a record, thread or length that is not checked here. */
#include "trace/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TASKS (TRACE_TASKS * 8u)        /* USF_MAX_TASKS: all that can have a record */

struct raw { struct trace_event e; uint64_t order; };
struct reading {
    struct trace *t;
    FILE *f;
    struct raw *raw;
    size_t nr, room;
    uint32_t *thread_of;        /* by task: index, or USF_NONE */
    uint64_t last[TRACE_TASKS + 1];       /* by ring: its latest time */
};

static void *grow(void *p, size_t nr, size_t *room, size_t one)
{
    if (nr < *room) return p;
    *room = *room ? 2 * *room : 1024;
    void *q = realloc(p, *room * one);
    if (!q) free(p);
    return q;
}

/* ---- the file --------------------------------------------------------------------------------------- */
static bool add_raw(struct reading *r, const struct trace_event *e)
{
    if (e->kind == TRACE_LOST) return true;
    if (e->kind == TRACE_NONE || e->kind >= TRACE_KINDS || e->task >= TASKS) return r->t->strange++, true;
    r->raw = grow(r->raw, r->nr, &r->room, sizeof *r->raw);
    if (!r->raw) return false;
    r->raw[r->nr] = (struct raw){*e, r->nr};
    r->nr++;
    return true;
}

/* 0; 1: this was the tail; -1: the file ends here; -2: out of memory */
static int read_block(struct reading *r)
{
    struct trace_block b;
    struct trace_event e;
    if (fread(&b, sizeof b, 1, r->f) != 1) return -1;
    if (b.ring == TRACE_TAIL) {
        struct trace_tail tail;
        if (fread(&tail, sizeof tail, 1, r->f) != 1) return -1;
        r->t->end_ns = tail.end_ns;
        r->t->lost = tail.lost;
        r->t->unrecorded = tail.unrecorded;
        return 1;
    }
    for (uint32_t i = 0; i < b.nr; i++) {
        if (fread(&e, sizeof e, 1, r->f) != 1) return -1;
        if (e.kind == TRACE_LOST) r->t->lost += e.a;        /* the tail says it again */
        if (b.ring <= TRACE_TASKS) {            /* a ring's own order is right, its clock may have been put back */
            if (e.ns < r->last[b.ring]) e.ns = r->last[b.ring];
            r->last[b.ring] = e.ns;
        }
        if (!add_raw(r, &e)) return -2;
    }
    return 0;
}

static int read_head(struct reading *r, const char *path, char *why, size_t cap)
{
    struct trace_head *h = &r->t->head;
    size_t n = fread(h, 1, sizeof *h, r->f);
    if (n < 16 || memcmp(h->magic, TRACE_FILE_MAGIC, 8))
        return snprintf(why, cap, "%.200s is no recording of usf trace", path), -1;
    if (h->version != TRACE_FILE_VERSION || h->size != sizeof *h || (n == sizeof *h && h->event_size != sizeof(struct trace_event)))
        return snprintf(why, cap, "%.200s is a recording of another version of usf (%u): convert it with that one", path, h->version), -1;
    if (n < sizeof *h) return snprintf(why, cap, "%.200s is cut off within its head: nothing of it can be used", path), -1;
    h->instance[sizeof h->instance - 1] = h->policy[sizeof h->policy - 1] = h->command[sizeof h->command - 1] = 0;
    if (!h->cycles_per_second || h->nr_cores > USF_MAX_CORES) return snprintf(why, cap, "%.200s is damaged", path), -1;
    return 0;
}

/* ---- threads and programs ----------------------------------------------------------------------------- */
static int by_time(const void *a, const void *b)
{
    const struct raw *x = a, *y = b;
    if (x->e.ns != y->e.ns) return x->e.ns < y->e.ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Of the moment when the thread was met: a process that has exec'd is another program. */
static bool find_program(struct trace *t, struct trace_thread *h, const struct trace_program *is)
{
    int32_t pid = is->pid;
    const char *name = is->name;
    for (uint32_t i = t->nr_programs; i-- > 0;)
        if (t->program[i].pid == pid && !strcmp(t->program[i].name, name)) return h->program = i, t->program[i].nr_threads++, true;
    struct trace_program *p = realloc(t->program, (t->nr_programs + 1) * sizeof *p);
    if (!p) return false;
    t->program = p;
    p[t->nr_programs] = *is;
    p[t->nr_programs].nr_threads = 1;
    p[t->nr_programs].was_there = h->was_there;
    h->program = t->nr_programs++;
    return true;
}

static uint32_t add_thread(struct reading *r, const struct trace_event *e)
{
    struct trace *t = r->t;
    struct trace_thread *p = realloc(t->thread, (t->nr_threads + 1) * sizeof *p);
    if (!p) return USF_NONE;
    t->thread = p;
    p[t->nr_threads] = (struct trace_thread){.task = e->task, .program = USF_NONE, .tid = (int32_t)(e->a >> 32), .maker = USF_NONE,
                                             .first_ns = e->ns, .was_there = e->kind != TRACE_THREAD || e->aux};
    r->thread_of[e->task] = t->nr_threads;
    return t->nr_threads++;
}

static bool text_of(const void *text, char buf[17])
{
    memcpy(buf, text, 16);
    buf[16] = 0;
    for (char *s = buf; *s; s++)
        if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f || *s == '\\') *s = '?';
    return buf[0] != 0;
}

/* What the events up to a thread's name tell of it.  The makers' tasks stand for those who have
 * them at that moment. */
static bool describe(struct reading *r, const struct raw *x, size_t left, uint32_t thread)
{
    struct trace_thread *h = &r->t->thread[thread];
    struct trace_program is = {.pid = (int32_t)x->e.a, .first_ns = x->e.ns, .weight = 100};
    uint32_t maker = (uint32_t)(x->e.b >> 32);
    char name[17] = "?";
    for (size_t i = 1; i < left && i < 256; i++) {
        const struct trace_event *e = &x[i].e;
        if (e->task != x->e.task) continue;
        if (e->kind == TRACE_THREAD) break;
        if (e->kind == TRACE_BORN && maker < TASKS) {
            h->born_ns = e->a < h->first_ns ? e->a : h->first_ns;
            h->maker = r->thread_of[maker] != thread ? r->thread_of[maker] : USF_NONE;
        }
        if (e->kind == TRACE_PROCESS) {
            text_of(&e->a, name);
            is.weight = e->aux;
        }
        if (e->kind == TRACE_NAME) {
            is.priority = (int16_t)e->aux;
            text_of(&e->a, h->name);
            break;
        }
    }
    snprintf(is.name, sizeof is.name, "%s", name);
    return find_program(r->t, h, &is);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */
static bool add_step(struct reading *r, size_t *room, uint64_t ns, uint32_t thread, uint16_t kind, const struct trace_event *e)
{
    struct trace *t = r->t;
    t->step = grow(t->step, t->nr_steps, room, sizeof *t->step);
    if (!t->step) return false;
    t->step[t->nr_steps] = (struct trace_step){ns, thread, (uint32_t)t->nr_steps, kind, e->aux, e->a, e->b};
    t->nr_steps++;
    return true;
}

static bool add_call(struct reading *r, size_t *room, uint32_t thread, const struct trace_event *e)
{
    struct trace_event end = *e;
    end.b = (uint64_t)((double)e->b * 1e9 / (double)r->t->head.cycles_per_second);
    uint64_t from = e->ns > end.b ? e->ns - end.b : 0, first = r->t->thread[thread].first_ns;
    if (from < first) end.b = e->ns - (from = first);
    return add_step(r, room, from, thread, TRACE_CALLED, &end) && add_step(r, room, e->ns, thread, TRACE_CALL, &end);
}

static int steps_by_time(const void *a, const void *b)
{
    const struct trace_step *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool make_steps(struct reading *r)
{
    struct trace *t = r->t;
    size_t room = 0;
    for (size_t i = 0; i < r->nr; i++) {
        struct trace_event e = r->raw[i].e;
        if (e.kind == TRACE_BORN || e.kind == TRACE_NAME || e.kind == TRACE_PROCESS) continue;
        uint32_t *of = &r->thread_of[e.task], thread = *of;
        if (e.kind == TRACE_THREAD) {
            /* Told by itself and by the recorder: the same thread. */
            bool again = thread != USF_NONE && t->thread[thread].tid == (int32_t)(e.a >> 32) && !t->thread[thread].end_ns;
            if (!again && ((thread = add_thread(r, &e)) == USF_NONE || !describe(r, &r->raw[i], r->nr - i, thread))) return false;
            struct trace_thread *h = &t->thread[thread];
            if (again || h->maker == USF_NONE) continue;
            e.a = thread;
            if (t->thread[h->maker].program != h->program) h->maker = USF_NONE;     /* of a record that another has by now */
            else if (!add_step(r, &room, h->born_ns, h->maker, TRACE_BORN, &e)) return false;
            continue;
        }
        if (thread == USF_NONE) {       /* before its process had the file, or in a gap */
            t->strange++;
            continue;
        }
        if (e.kind == TRACE_WOKE) {
            if (e.a >= TASKS || r->thread_of[e.a] == USF_NONE) continue;
            e.a = r->thread_of[e.a];
        }
        if (e.kind == TRACE_CALL ? !add_call(r, &room, thread, &e) : !add_step(r, &room, e.ns, thread, e.kind, &e)) return false;
        t->thread[thread].end_ns = 0;
        if (e.kind == TRACE_STATE && e.aux >> 8 == USF_TASK_GONE) {
            t->thread[thread].end_ns = e.ns;
            *of = USF_NONE;
        }
    }
    if (t->nr_steps) qsort(t->step, t->nr_steps, sizeof *t->step, steps_by_time);
    return true;
}

static void close_ends(struct trace *t)
{
    uint64_t last = t->nr_steps ? t->step[t->nr_steps - 1].ns : t->head.start_ns;
    if (t->end_ns < last) t->end_ns = last;
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        struct trace_thread *h = &t->thread[i];
        h->stayed = !h->end_ns;
        if (h->stayed) h->end_ns = t->end_ns;
        struct trace_program *p = &t->program[h->program];
        if (p->end_ns < h->end_ns) p->end_ns = h->end_ns;
    }
}

int trace_load(const char *path, struct trace *t, char *why, size_t cap)
{
    static struct reading r;    /* large */
    int code = 0;
    r = (struct reading){.t = t};
    *t = (struct trace){0};
    r.f = fopen(path, "re");
    if (!r.f) return snprintf(why, cap, "cannot read '%.200s': %s", path, strerror(errno)), -1;
    if (read_head(&r, path, why, cap)) {
        fclose(r.f);
        return -1;
    }
    while (!(code = read_block(&r))) {}
    t->cut = code == -1;
    fclose(r.f);
    r.thread_of = malloc(TASKS * sizeof *r.thread_of);
    bool ok = code != -2 && r.thread_of;
    for (uint32_t i = 0; ok && i < TASKS; i++) r.thread_of[i] = USF_NONE;
    if (ok && r.nr) qsort(r.raw, r.nr, sizeof *r.raw, by_time);
    ok = ok && make_steps(&r);
    free(r.raw);
    free(r.thread_of);
    if (ok) {
        close_ends(t);
        return 0;
    }
    trace_free(t);
    return snprintf(why, cap, "out of memory"), -1;
}

void trace_free(struct trace *t)
{
    free(t->thread);
    free(t->program);
    free(t->step);
    *t = (struct trace){0};
}

/* ---- states ----------------------------------------------------------------------------------------------- */
void trace_begin(struct trace_state *s, const struct trace *t, const struct trace_step *first)
{
    const struct trace_thread *h = &t->thread[first->thread];
    *s = (struct trace_state){.state = first->kind == TRACE_STATE ? first->aux & 0xff : USF_TASK_RUNNING, .core = USF_NONE, .since = h->first_ns};
    if (first->kind == TRACE_STATE) s->core = (uint32_t)first->a;
    s->waits = s->state == USF_TASK_BLOCKED;
}

void trace_advance(struct trace_state *s, const struct trace_step *e)
{
    switch (e->kind) {
    case TRACE_STATE:
        if (s->state != e->aux >> 8) s->since = e->ns;
        s->state = e->aux >> 8;
        s->core = (uint32_t)e->a;
        s->back = false;
        break;
    case TRACE_WAIT: s->waits = true; break;
    case TRACE_WAITED: s->waits = false; break;
    case TRACE_CALLED: s->called = true; break;
    case TRACE_CALL:
        s->called = false;
        s->back = true;
        break;
    default: break;
    }
}

void trace_label(const struct trace_step *e, char label[17])
{ if (!text_of(&e->a, label)) memcpy(label, "task", 5); }

const char *trace_state_name(uint32_t state)
{
    static const char *const names[] = {"free", "new", "ready", "running", "blocked", "in the kernel", "by the kernel", "gone"};
    return state < sizeof names / sizeof *names ? names[state] : "?";
}
