/* sim/out/gantt.c - who ran where, when: a picture.  SPDX-License-Identifier: Apache-2.0
 *
 * Columns of equal time, doubled in width whenever the run outgrows them: memory and the picture's
 * size do not depend on how long the run is.  A column has the colour of the program that had most
 * of it, and of spinning where that was most. */
#include "sim/out/out.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BINS 960u           /* at most; at least half of it */
#define SLOTS 3u            /* programs told apart within a column: the first ones that come */
#define IDLE UINT32_MAX

struct bin { uint32_t program[SLOTS]; uint64_t ns[SLOTS], spin; };
struct state { uint64_t since, waits; uint32_t program, cpu; bool runs, waiting; };
struct out_gantt {
    const struct sim_workload *w;
    const struct sim_machine *m;
    const char *path;
    FILE *f;
    struct bin *bin;        /* [cpu * BINS] */
    struct state *state;
    uint32_t nr;
    uint64_t width;         /* ns of a column */
    bool failed;
};

static int cannot(const char *path, const char *because, char *why, size_t cap)
{
    snprintf(why, cap, "cannot write '%.150s': %s", path, because);
    return -1;
}

struct out_gantt *out_gantt_open(const char *path, const struct sim_machine *m, const struct sim_workload *w, char *why, size_t cap)
{
    struct out_gantt *g = calloc(1, sizeof *g);
    struct bin *bin = calloc((size_t)m->nr_cpus * BINS, sizeof *bin);
    FILE *f = !g || !bin ? NULL : strcmp(path, "-") ? fopen(path, "we") : stdout;
    if (!f) {
        cannot(path, g && bin ? strerror(errno) : "out of memory", why, cap);
        free(bin);
        free(g);
        return NULL;
    }
    *g = (struct out_gantt){.w = w, .m = m, .path = path, .f = f, .bin = bin, .width = 1000};
    return g;
}

static void done(struct out_gantt *g)
{
    free(g->bin);
    free(g->state);
    free(g);
}

static void put(struct bin *b, uint32_t program, uint64_t ns)
{
    unsigned k = 0;
    while (k + 1 < SLOTS && b->ns[k] && b->program[k] != program) k++;
    if (b->ns[k] && b->program[k] != program) return;      /* a fourth one in one column: not seen */
    b->program[k] = program;
    b->ns[k] += ns;
}

static void widen(struct out_gantt *g)
{
    for (uint32_t c = 0; c < g->m->nr_cpus; c++) {
        struct bin *b = g->bin + (size_t)c * BINS;
        for (uint32_t i = 0; i < BINS / 2; i++) {
            struct bin n = b[2 * i];
            const struct bin *o = &b[2 * i + 1];
            n.spin += o->spin;
            for (unsigned k = 0; k < SLOTS; k++)
                if (o->ns[k]) put(&n, o->program[k], o->ns[k]);
            b[i] = n;
        }
        memset(b + BINS / 2, 0, BINS / 2 * sizeof *b);
    }
    g->width *= 2;
}

static void add(struct out_gantt *g, uint32_t cpu, uint32_t program, uint64_t from, uint64_t to, bool spin)
{
    if (cpu >= g->m->nr_cpus || to <= from) return;
    while (to > g->width * BINS) widen(g);
    for (uint64_t at = from; at < to;) {
        uint64_t i = at / g->width, end = (i + 1) * g->width < to ? (i + 1) * g->width : to;
        struct bin *b = g->bin + (size_t)cpu * BINS + i;
        if (spin) b->spin += end - at;
        else put(b, program, end - at);
        at = end;
    }
}

static void end_wait(struct out_gantt *g, struct state *s, uint64_t now)
{
    if (s->runs && s->waiting) add(g, s->cpu, s->program, s->waits > s->since ? s->waits : s->since, now, true);
}

static void stop(struct out_gantt *g, struct state *s, uint64_t now)
{
    if (!s->runs) return;
    end_wait(g, s, now);
    add(g, s->cpu, s->program, s->since, now, false);
    s->runs = false;
}

void out_gantt_event(struct out_gantt *g, const struct sim_trace *e)
{
    if (e->kind == SIM_T_SHARE || e->kind == SIM_T_PROGRAM || e->kind == SIM_T_WAKE) return;
    if (e->thread >= g->nr) {
        uint32_t n = g->nr ? g->nr : 64;
        while (n <= e->thread) n *= 2;
        struct state *s = realloc(g->state, n * sizeof *s);
        if (!s) {
            g->failed = true;
            return;
        }
        memset(s + g->nr, 0, (n - g->nr) * sizeof *s);
        g->state = s;
        g->nr = n;
    }
    struct state *s = &g->state[e->thread];
    switch ((enum sim_trace_kind)e->kind) {
    case SIM_T_THREAD: *s = (struct state){.program = e->aux}; break;
    case SIM_T_RUN: s->since = e->ns, s->cpu = e->cpu, s->runs = true; break;
    case SIM_T_STOP: case SIM_T_END: stop(g, s, e->ns); break;
    case SIM_T_WAIT: s->waits = e->ns, s->waiting = e->aux >> 24 != SIM_WAIT_BLOCK; break;
    case SIM_T_GOES_ON: end_wait(g, s, e->ns), s->waiting = false; break;
    default: break;
    }
}

/* Of a column: its program, IDLE if more than half of it nobody ran; *spins: mostly for nothing. */
static uint32_t winner(const struct out_gantt *g, const struct bin *b, bool *spins)
{
    uint64_t all = 0, most = 0;
    uint32_t who = IDLE;
    for (unsigned k = 0; k < SLOTS; k++) {
        all += b->ns[k];
        if (b->ns[k] > most) most = b->ns[k], who = b->program[k];
    }
    *spins = b->spin * 2 > all;
    return all * 2 < g->width ? IDLE : who;
}

static uint32_t columns(const struct out_gantt *g, uint64_t end)
{
    uint64_t n = (end + g->width - 1) / g->width;
    return n < 1 ? 1 : n > BINS ? BINS : (uint32_t)n;
}

static void xml_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '<') fputs("&lt;", f);
        else if (*s == '&') fputs("&amp;", f);
        else fputc((unsigned char)*s < 0x20 ? '?' : *s, f);
    }
}

/* Colours that differ for neighbours: steps of the golden angle. */
static unsigned hue(uint32_t program) { return (unsigned)((uint64_t)program * 137508 / 1000 % 360); }

static void svg(FILE *f, const struct out_gantt *g, const char *title, uint64_t end)
{
    const unsigned left = 60, top = 40, row = g->m->nr_cpus > 200 ? 2 : g->m->nr_cpus > 64 ? 6 : 14;
    uint32_t n = columns(g, end), legend = g->w->nr_programs < 24 ? g->w->nr_programs : 24;
    char buf[24];
    unsigned height = top + row * g->m->nr_cpus + 30 + 16 * legend;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%u\" y=\"16\" font-size=\"13\">", left + BINS + 20, height, left);
    xml_text(f, title);
    fprintf(f, "</text>\n");
    for (uint32_t c = 0; c < g->m->nr_cpus; c++) {
        const struct bin *b = g->bin + (size_t)c * BINS;
        unsigned y = top + row * c;
        if (row > 6 || c % 16 == 0) fprintf(f, "<text x=\"4\" y=\"%u\">CPU %u</text>\n", y + (row > 6 ? 11 : 6), c);
        for (uint32_t i = 0, k; i < n; i = k) {
            bool spins, other;
            uint32_t who = winner(g, &b[i], &spins);
            for (k = i + 1; k < n && winner(g, &b[k], &other) == who && other == spins;) k++;
            if (who != IDLE)
                fprintf(f, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"hsl(%u,%s)\"/>\n", left + (double)i * BINS / n, y, (double)(k - i) * BINS / n,
                        row > 2 ? row - 1 : row, hue(who), spins ? "70%,85%" : "60%,50%");
        }
    }
    unsigned y = top + row * g->m->nr_cpus + 14;
    fprintf(f, "<text x=\"%u\" y=\"%u\">0</text><text x=\"%u\" y=\"%u\" text-anchor=\"end\">%s</text><text x=\"%u\" y=\"%u\" text-anchor=\"middle\">pale: busy-waiting</text>\n", left, y,
            left + BINS, y, out_time(end, buf), left + BINS / 2, y);
    for (uint32_t p = 0; p < legend; p++) {
        y += 16;
        fprintf(f, "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"hsl(%u,60%%,50%%)\"/><text x=\"%u\" y=\"%u\">", left, y - 10, hue(p), left + 18, y);
        xml_text(f, g->w->program[p].name);
        fprintf(f, " #%u</text>\n", p);
    }
    fputs("</svg>\n", f);
}

static char letter(uint32_t program) { return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[program % 26]; }

static void plain(FILE *f, const struct out_gantt *g, const char *title, uint64_t end)
{
    uint32_t n = columns(g, end), wide = n < 120 ? n : 120;
    char buf[24];
    fprintf(f, "%s\n", title);
    for (uint32_t c = 0; c < g->m->nr_cpus; c++) {
        fprintf(f, "CPU %-4u ", c);
        for (uint32_t x = 0; x < wide; x++) {
            bool spins;
            uint32_t who = winner(g, &g->bin[(size_t)c * BINS + (uint64_t)x * n / wide], &spins);
            char l = who == IDLE ? '.' : letter(who);
            fputc(who != IDLE && spins ? l | 0x20 : l, f);
        }
        fputc('\n', f);
    }
    fprintf(f, "         0%*s\n", (int)wide, out_time(end, buf));
    for (uint32_t p = 0; p < g->w->nr_programs && p < 26; p++) fprintf(f, "%c = %s #%u\n", letter(p), g->w->program[p].name, p);
    fputs("small letters: busy-waiting; . = idle\n", f);
}

int out_gantt_close(struct out_gantt *g, const char *title, uint64_t end, char *why, size_t cap)
{
    size_t len = strlen(g->path);
    for (uint32_t i = 0; i < g->nr; i++) stop(g, &g->state[i], end);
    if (!g->failed) (len > 4 && !strcmp(g->path + len - 4, ".svg") ? svg : plain)(g->f, g, title, end);
    bool bad = ferror(g->f);
    bad |= (g->f == stdout ? fflush(g->f) : fclose(g->f)) != 0;
    int r = g->failed ? cannot(g->path, "out of memory", why, cap) : bad ? cannot(g->path, "it could not be written to its end", why, cap) : 0;
    done(g);
    return r;
}
