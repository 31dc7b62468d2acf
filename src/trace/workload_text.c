/* src/trace/workload_text.c - the text of a workload that was made of a recording.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/workload.h"
#include <inttypes.h>
#include <stdlib.h>

#define PERIOD_MAX 16u

static bool is_like(const struct op *a, const struct op *b)
{ return a->kind == b->kind && a->what == b->what && a->kind != OP_SPAWN && op_is_near(a->ns, b->ns); }

/* How often do the first `period` operations come in a row? */
static size_t rounds(const struct op *o, size_t left, size_t period)
{
    size_t i = period;
    while (i < left && is_like(&o[i], &o[i % period])) i++;
    return i / period;
}

/* As much of a text as a name of the language may hold. */
static void put_word(FILE *f, const char *s)
{
    for (size_t n = 0; *s && n < 30; s++, n++)
        fputc((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ? *s : '_', f);
}

/* The numbers make it the only one. */
static void put_task(const struct making *m, FILE *f, uint32_t line)
{
    fprintf(f, "x%u_", line - first_execution(m->t));
    put_word(f, m->line[line].label);
}

static void put_op(const struct making *m, FILE *f, const struct op *o, uint64_t ns, const char *indent)
{
    static const char *const word[] = {[OP_COMPUTE] = "compute", [OP_SLEEP] = "sleep", [OP_IO] = "io", [OP_YIELD] = "yield",
        [OP_POST] = "post", [OP_WAIT] = "wait", [OP_PAUSE] = "pause", [OP_SPAWN] = "spawn", [OP_SUBMIT] = "submit"};
    fprintf(f, "%s%s", indent, word[o->kind]);
    if (o->kind <= OP_IO) fprintf(f, " %" PRIu64 "ns", ns);
    else if (o->kind == OP_SPAWN) fprintf(f, " t%u", o->what);
    else if (o->kind == OP_SUBMIT) fputc(' ', f), put_task(m, f, o->what);
    else if (o->kind != OP_YIELD) fprintf(f, " s[%u]", m->semaphore[m->semaphore[o->what].same].number);
    fputc('\n', f);
}

/* Rounds that differ by little become one loop, with the mean of each time: all the time is
 * there. */
static void put_ops(const struct making *m, FILE *f, const struct op *o, size_t nr)
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
            put_op(m, f, &o[at + i], (sum + times / 2) / times, loop ? "            " : "        ");
        }
        if (loop) fputs("        end\n", f);
        at += best * times;
    }
}

static void put_name(FILE *f, const struct trace *t, uint32_t program)
{
    fprintf(f, "p%u_", program);
    put_word(f, t->program[program].name);
}

static void put_title(FILE *f, const char *s)
{
    for (size_t n = 0; *s && n < 120; s++, n++) fputc(*s == '"' || *s == '\\' || (unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e ? '_' : *s, f);
}

/* What is spawned or submitted comes before who does so: the latest first. */
struct place { uint64_t from; uint32_t program, line; };

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->program != y->program) return x->program < y->program ? -1 : 1;
    if (x->from != y->from) return x->from > y->from ? -1 : 1;
    return x->line > y->line ? -1 : x->line < y->line;
}

static bool is_left_out(const struct making *m, uint32_t line)
{
    const struct trace *t = m->t;
    if (line < t->nr_threads) return m->worker[line];
    return line < first_execution(t) ? !m->line[line].nr : !m->line[line].taken || m->line[line].same != line;
}

static void put_line(const struct making *m, FILE *f, uint32_t line)
{
    const struct trace *t = m->t;
    char why[80];
    if (line < t->nr_threads) {
        snprintf(why, sizeof why, "%d %s", t->thread[line].tid, t->thread[line].name);
        fprintf(f, "    thread t%u%s         # %s\n", line, m->alone[line] ? "" : " 0", why);
    } else if (line < first_execution(t)) {
        fprintf(f, "    thread t%u         # submitted by no known thread\n", line);
    } else {
        fputs("    task ", f);
        put_task(m, f, line);
        fputc('\n', f);
    }
    put_ops(m, f, m->line[line].op, m->line[line].nr);
    fputs("    end\n", f);
}

static const struct place *put_program(const struct making *m, FILE *f, uint32_t program, const struct place *at)
{
    const struct trace *t = m->t;
    fputs("\nprogram ", f);
    put_name(f, t, program);
    const struct trace_program *p = &t->program[program];
    if (p->weight != 100 && p->weight >= 1 && p->weight <= 10000) fprintf(f, " weight %u", p->weight);
    if (p->priority) fprintf(f, " priority %d", p->priority);
    fprintf(f, "         # process %d\n", t->program[program].pid);
    if (m->nr_of_program[program]) fprintf(f, "    semaphore s[%u] 0\n", m->nr_of_program[program]);
    for (; at->program == program; at++)
        if (!is_left_out(m, at->line)) put_line(m, f, at->line);
    fputs("end\n", f);
    return at;
}

static void put_all(const struct making *m, FILE *f, const char *from, const struct place *at)
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
    for (uint32_t p = 0; p < t->nr_programs; p++) at = put_program(m, f, p, at);
    fputc('\n', f);
    for (uint32_t p = 0; p < t->nr_programs; p++) {
        fputs("start ", f);
        put_name(f, t, p);
        if (t->program[p].first_ns > first) fprintf(f, " at %" PRIu64 "ns", t->program[p].first_ns - first);
        fputc('\n', f);
    }
}

bool workload_put(const struct making *m, FILE *f, const char *from)
{
    struct place *place = calloc(m->nr_lines + 1u, sizeof *place);
    if (!place) return false;
    for (uint32_t i = 0; i < m->nr_lines; i++) place[i] = (struct place){m->line[i].from, m->line[i].program, i};
    place[m->nr_lines] = (struct place){.program = USF_NONE};
    qsort(place, m->nr_lines, sizeof *place, by_place);
    put_all(m, f, from, place);
    free(place);
    return true;
}
