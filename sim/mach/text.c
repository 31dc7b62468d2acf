/* sim/mach/text.c - machine files and descriptions.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/mach/mach.h"
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COST2(n, f, h) {n, offsetof(struct sim_costs, f##_ns), h}
const struct mach_cost mach_costs[] = {
    COST2("switch", switch, "the kernel changes threads on a CPU"),
    COST2("block", block, "a thread enters the kernel to sleep, until the switch"),
    COST2("wake", wake, "to wake a thread: what the waker pays"),
    COST2("wake-latency", wake_latency, "from there until the woken one is runnable, on a CPU that is awake"),
    COST2("idle-wake", idle_wake, "... the more on one that has idled"),
    COST2("idle-after", idle_after, "... which it does after so long, and is awake until then"),
    COST2("idle-deep", idle_deep, "... and the more after half a ms (in proportion before)"),
    COST2("idle-kick", idle_kick, "... and the more that its waker pays"),
    COST2("yield", yield, "sched_yield, without the switch"),
    COST2("float", float, "a kernel thread goes on with another thread of its process"),
    COST2("pin", pin, "to bind a thread to a CPU"),
    COST2("migrate", migrate, "a runnable thread is moved to another CPU"),
    COST2("signal", signal, "delivery and handler of the monitor's signal"),
    COST2("sched", sched, "a decision of usf's scheduler, outside its lock"),
    COST2("lock", lock, "... and inside"),
    COST2("spin", spin, "a round of a busy-wait loop"),
    COST2("sync", sync, "an uncontended lock, barrier or channel operation"),
    COST2("create", create, "to create a thread"),
    COST2("cold-same", cold_same, "refilling caches: others have run on the CPU since"),
    COST2("cold-core", cold_core, "... after another core below the same last-level cache"),
    COST2("cold-llc", cold_llc, "... after another cache of the same node"),
    COST2("cold-node", cold_node, "... after another node"),
    {0},
};

struct reader {
    const char *p, *end, *line_start;
    unsigned line;
    const char *path;
    struct sim_machine *m;
    struct mach_error *err;
    jmp_buf out;
    bool topology, one_line;
};

static void fail(struct reader *r, const char *at, const char *fmt, ...) __attribute__((noreturn, format(printf, 3, 4)));
static void fail(struct reader *r, const char *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    snprintf(r->err->file, sizeof r->err->file, "%s", r->path);
    r->err->line = r->line;
    r->err->col = (unsigned)(at - r->line_start) + 1;
    vsnprintf(r->err->text, sizeof r->err->text, fmt, ap);
    va_end(ap);
    longjmp(r->out, 1);
}

static void blanks(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == ',')) r->p++;
    if (r->p < r->end && *r->p == '#')
        while (r->p < r->end && *r->p != '\n') r->p++;
}

static bool at_end(struct reader *r)
{
    blanks(r);
    return r->p >= r->end || *r->p == '\n';
}

/* Letters, digits, '-' and '_'. */
static void word(struct reader *r, char *out, size_t cap, const char *what)
{
    size_t n = 0;
    blanks(r);
    const char *at = r->p;
    while (r->p < r->end && (*r->p == '-' || *r->p == '_' || (*r->p >= 'a' && *r->p <= 'z') || (*r->p >= 'A' && *r->p <= 'Z') || (n && *r->p >= '0' && *r->p <= '9'))) {
        if (n + 1 >= cap) fail(r, at, "a word of more than %zu characters", cap - 1);
        out[n++] = *r->p++;
    }
    out[n] = 0;
    if (!n) fail(r, at, "expected %s", what);
}

static double number(struct reader *r, const char *what)
{
    char buf[40];
    size_t n = 0;
    blanks(r);
    const char *at = r->p;
    while (r->p < r->end && n + 1 < sizeof buf && ((*r->p >= '0' && *r->p <= '9') || *r->p == '.')) buf[n++] = *r->p++;
    buf[n] = 0;
    char *rest;
    double v = strtod(buf, &rest);
    if (!n || *rest || !isfinite(v) || v > 1e15) fail(r, at, "expected %s", what);
    return v;
}

static double with_unit(struct reader *r, const char *what, const char *const *units, const double *factors)
{
    double v = number(r, what);
    char u[8];
    const char *at = r->p;
    size_t n = 0;
    while (r->p < r->end && n + 1 < sizeof u && ((*r->p >= 'a' && *r->p <= 'z') || (*r->p >= 'A' && *r->p <= 'Z') || (n && *r->p == '/'))) u[n++] = *r->p++;
    u[n] = 0;
    for (size_t i = 0; units[i]; i++)
        if (!strcmp(units[i], u)) return v * factors[i];
    fail(r, at, "expected %s", what);
}

static uint64_t time_ns(struct reader *r)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    static const double factors[] = {1, 1e3, 1e6, 1e9};
    double v = with_unit(r, "a time, like 1.5us (ns, us, ms, s)", units, factors);
    if (v > 1e12) fail(r, r->p, "a cost of more than 1000 s");
    return (uint64_t)llround(v);
}

/* ---- topology ------------------------------------------------------------------------------------ */
enum { L_PACKAGE, L_NUMA, L_LLC, L_CORE, L_PU, L_NR };
static int level_of(const char *w)
{
    static const struct { const char *word; int level; } names[] = {
        {"package", L_PACKAGE}, {"pack", L_PACKAGE}, {"socket", L_PACKAGE}, {"numa", L_NUMA}, {"node", L_NUMA}, {"l3", L_LLC}, {"llc", L_LLC}, {"l2", L_LLC},
        {"core", L_CORE}, {"pu", L_PU}, {"smt", L_PU}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].word, w)) return names[i].level;
    return -1;
}

/* `name` has been read; ":N" or ":*N" follows. */
static void level(struct reader *r, const char *name, const char *at, uint64_t nr[L_NR], uint64_t *below, int *last)
{
    int i = level_of(name);
    if (i < 0) fail(r, at, "unknown level '%s': there are package, numa, l3, core and pu", name);
    if (i <= *last) fail(r, at, "'%s' stands behind what it contains, or twice: the order is package numa l3 core pu", name);
    r->p++;
    bool each = r->p < r->end && *r->p == '*';
    if (each) r->p++;
    const char *n_at = r->p;
    double v = number(r, "a number: package:2, or, for each of what is above, numa:*2");
    if (v < 1 || v != floor(v) || v > MACH_CPUS_MAX) fail(r, n_at, "expected a whole number, 1 to %u", MACH_CPUS_MAX);
    uint64_t total = each || i == L_PU ? *below * (uint64_t)v : (uint64_t)v;
    if (total % *below) fail(r, n_at, "%" PRIu64 " of '%s' in all cannot be divided among %" PRIu64 " of what is above; '%s:*N' counts each one's", total, name, *below, name);
    if (i == L_PU && v > SIM_SMT_MAX) fail(r, n_at, "more than %u hardware threads of a core", SIM_SMT_MAX);
    if (total > MACH_CPUS_MAX) fail(r, n_at, "more than %u CPUs", MACH_CPUS_MAX);
    nr[i] = total / *below;
    for (int k = *last + 1; k < i; k++) nr[k] = 1;
    *below = total;
    *last = i;
}

/* Replaces the shape; costs and the like, if given before, stay. */
static void set_shape(struct reader *r, struct sim_machine *shape, const char *at)
{
    struct sim_machine *m = r->m;
    if (r->topology) {
        sim_machine_free(shape);
        fail(r, at, "the topology is given twice");
    }
    shape->cost = m->cost;
    snprintf(shape->name, sizeof shape->name, "%s", m->name);
    free(m->distance), free(m->bandwidth), free(m->cpu);
    *m = *shape;
    r->topology = true;
}

static void regular(struct reader *r, const uint64_t nr[L_NR], const char *at)
{
    struct sim_machine shape = {0};
    uint64_t all = 1;
    for (int i = 0; i < L_NR; i++) all *= nr[i];
    if (all > MACH_CPUS_MAX) fail(r, at, "more than %u CPUs", MACH_CPUS_MAX);
    if (sim_machine_regular(&shape, (uint32_t)nr[L_PACKAGE], (uint32_t)nr[L_NUMA], (uint32_t)nr[L_LLC], (uint32_t)nr[L_CORE], (uint32_t)nr[L_PU])) {
        sim_machine_free(&shape);
        fail(r, at, "a machine of this shape cannot be made");
    }
    set_shape(r, &shape, at);
}

static void cost(struct reader *r, const char *key, const char *at)
{
    for (const struct mach_cost *c = mach_costs; c->name; c++)
        if (!strcmp(c->name, key)) {
            uint64_t v = time_ns(r);
            memcpy((char *)&r->m->cost + c->field, &v, sizeof v);
            return;
        }
    char list[256] = "";
    for (const struct mach_cost *c = mach_costs; c->name; c++) snprintf(list + strlen(list), sizeof list - strlen(list), " %s", c->name);
    fail(r, at, "unknown cost '%s': there are%s", key, list);
}

static void key(struct reader *r, char *name, size_t cap, const char *what)
{
    word(r, name, cap, what);
    if (r->p >= r->end || *r->p != '=') fail(r, r->p, "expected '=' behind '%s'", name);
    r->p++;
}

static void topology(struct reader *r)
{
    uint64_t nr[L_NR] = {1, 1, 1, 1, 1}, below = 1;
    int last = -1;
    const char *from = r->p;
    char name[32];
    while (!at_end(r)) {
        const char *at = r->p;
        word(r, name, sizeof name, "a level, like core:16");
        if (r->p < r->end && *r->p == '=' && r->one_line) {
            r->p++;
            cost(r, name, at);
            continue;
        }
        if (r->p >= r->end || *r->p != ':') fail(r, r->p, "expected ':' and a number behind '%s'", name);
        level(r, name, at, nr, &below, &last);
    }
    if (last < 0) fail(r, from, "expected levels: package:2 numa:2 l3:4 core:16 pu:2");
    regular(r, nr, from);
}

/* ---- the other lines ------------------------------------------------------------------------------ */
static void quoted(struct reader *r, char *out, size_t cap, const char *what)
{
    blanks(r);
    const char *at = r->p;
    if (r->p >= r->end || *r->p != '"') fail(r, at, "expected %s in \"...\"", what);
    size_t n = 0;
    for (r->p++; r->p < r->end && *r->p != '"' && *r->p != '\n'; r->p++) {
        if (n + 1 >= cap) fail(r, at, "%s of more than %zu bytes", what, cap - 1);
        if ((unsigned char)*r->p < 0x20 || *r->p == 0x7f) fail(r, r->p, "a control character");
        out[n++] = *r->p;
    }
    out[n] = 0;
    if (r->p >= r->end || *r->p != '"') fail(r, at, "%s without its closing '\"'", what);
    r->p++;
}

static void hwloc(struct reader *r)
{
    char name[512], path[1024], why[128];
    size_t size;
    const char *at = r->p;
    quoted(r, name, sizeof name, "the name of a file");
    const char *slash = strrchr(r->path, '/');
    int n = *name == '/' || !slash ? snprintf(path, sizeof path, "%s", name) : snprintf(path, sizeof path, "%.*s/%s", (int)(slash - r->path), r->path, name);
    if (n < 0 || (size_t)n >= sizeof path) fail(r, at, "the name is too long");
    char *text = sim_read_file(path, MACH_FILE_MAX, &size, why, sizeof why);
    if (!text) fail(r, at, "cannot read '%.100s': %s", path, why);
    struct sim_machine shape = {0};
    int bad = mach_parse_xml(&shape, path, text, size, r->err);
    free(text);
    if (bad) {
        sim_machine_free(&shape);
        longjmp(r->out, 1);
    }
    set_shape(r, &shape, at);
}

static void distances(struct reader *r, const char *at)
{
    struct sim_machine *m = r->m;
    uint64_t n = (uint64_t)m->nr_nodes * m->nr_nodes;
    free(m->distance);
    m->distance = calloc(n, sizeof *m->distance);
    if (!m->distance) fail(r, at, "out of memory");
    for (uint64_t i = 0; i < n; i++) {
        const char *here = r->p;
        if (at_end(r)) fail(r, r->p, "expected %" PRIu64 " distances, %u for each of the %u nodes, row by row", n, m->nr_nodes, m->nr_nodes);
        double v = number(r, "a distance, 10 is local");
        if (v < 1 || v > 65535 || v != floor(v)) fail(r, here, "a distance is a whole number, 1 to 65535");
        m->distance[i] = (uint16_t)v;
    }
}

static void bandwidths(struct reader *r, const char *at)
{
    static const char *const units[] = {"MB/s", "GB/s", "TB/s", NULL};
    static const double factors[] = {1, 1e3, 1e6};
    struct sim_machine *m = r->m;
    free(m->bandwidth);
    m->bandwidth = calloc(m->nr_nodes, sizeof *m->bandwidth);
    if (!m->bandwidth) fail(r, at, "out of memory");
    for (uint32_t i = 0; i < m->nr_nodes; i++) {
        if (i == 1 && at_end(r)) {
            for (; i < m->nr_nodes; i++) m->bandwidth[i] = m->bandwidth[0];
            return;
        }
        m->bandwidth[i] = (uint64_t)llround(with_unit(r, "a bandwidth, like 38GB/s: one for all nodes, or one for each", units, factors));
    }
}

static void smt(struct reader *r)
{
    memset(r->m->smt_speed, 0, sizeof r->m->smt_speed);
    for (unsigned i = 1; i <= SIM_SMT_MAX && !at_end(r); i++) {
        const char *at = r->p;
        double v = number(r, "the speed of each hardware thread, per mille, with 1, 2, ... of them busy");
        if (v < 1 || v > 1000 || v != floor(v)) fail(r, at, "a speed is 1 to 1000 (per mille)");
        if (i == 1 && v != 1000) fail(r, at, "the first speed, of one that has its core alone, is 1000");
        r->m->smt_speed[i] = (uint32_t)v;
    }
    for (unsigned i = 1; i <= SIM_SMT_MAX; i++)     /* the last one holds for more */
        if (!r->m->smt_speed[i]) r->m->smt_speed[i] = i > 1 ? r->m->smt_speed[i - 1] : 1000;
}

static void power(struct reader *r)
{
    static const char *const units[] = {"mW", "W", NULL};
    static const double factors[] = {1, 1e3};
    char name[16];
    while (!at_end(r)) {
        const char *at = r->p;
        key(r, name, sizeof name, "busy=, spin= or idle=");
        uint32_t v = (uint32_t)llround(fmin(with_unit(r, "a power, like 4.5W", units, factors), 4e9));
        if (!strcmp(name, "busy")) r->m->busy_mw = v;
        else if (!strcmp(name, "spin")) r->m->spin_mw = v;
        else if (!strcmp(name, "idle")) r->m->idle_mw = v;
        else fail(r, at, "unknown power '%s': there are busy, spin and idle", name);
    }
}

static void line(struct reader *r)
{
    char name[32];
    if (at_end(r)) return;
    const char *at = r->p;
    word(r, name, sizeof name, "machine, topology, hwloc, cost, distance, bandwidth, smt or power");
    bool shaped = !strcmp(name, "distance") || !strcmp(name, "bandwidth") || !strcmp(name, "smt") || !strcmp(name, "power");
    if (shaped && !r->topology) fail(r, at, "'%s' stands before the topology, which it is about", name);
    if (!strcmp(name, "machine")) quoted(r, r->m->name, sizeof r->m->name, "the machine's name");
    else if (!strcmp(name, "topology")) topology(r);
    else if (!strcmp(name, "hwloc")) hwloc(r);
    else if (!strcmp(name, "distance")) distances(r, at);
    else if (!strcmp(name, "bandwidth")) bandwidths(r, at);
    else if (!strcmp(name, "smt")) smt(r);
    else if (!strcmp(name, "power")) power(r);
    else if (!strcmp(name, "cost")) {
        while (!at_end(r)) {
            const char *here = r->p;
            char k[32];
            key(r, k, sizeof k, "a cost, like switch=2us");
            cost(r, k, here);
        }
    } else {
        fail(r, at, "expected machine, topology, hwloc, cost, distance, bandwidth, smt or power, not '%s'", name);
    }
    if (!at_end(r)) fail(r, r->p, "expected the end of the line");
}

/* Errors come back here by longjmp; what is changed lies in *r and *r->m. */
static bool guarded(struct reader *r)
{
    if (setjmp(r->out)) return false;
    if (r->one_line) topology(r);
    while (!r->one_line && r->p < r->end) {
        line(r);
        if (r->p < r->end) r->p++;
        r->line++;
        r->line_start = r->p;
    }
    if (!r->topology) fail(r, r->line_start, "the machine has no topology: write, for example, topology package:2 core:16");
    return true;
}

static int parse(struct sim_machine *m, const char *path, const char *text, size_t size, bool one_line, struct mach_error *err)
{
    memset(m, 0, sizeof *m);
    memset(err, 0, sizeof *err);
    sim_costs_default(&m->cost);
    struct reader *r = calloc(1, sizeof *r);
    if (!r) {
        snprintf(err->text, sizeof err->text, "out of memory");
        return -1;
    }
    *r = (struct reader){.p = text, .end = text + size, .line_start = text, .line = 1, .path = path, .m = m, .err = err, .one_line = one_line};
    bool good = guarded(r);
    char why[160];
    if (good && !sim_machine_is_valid(m, why, sizeof why)) {
        good = false;
        snprintf(err->file, sizeof err->file, "%s", path);
        snprintf(err->text, sizeof err->text, "%s", why);
    }
    free(r);
    return good ? 0 : -1;
}

int mach_parse(struct sim_machine *m, const char *path, const char *text, size_t size, struct mach_error *err)
{
    return parse(m, path, text, size, false, err);
}

int mach_find(struct sim_machine *m, const char *spec, struct mach_error *err)
{
    char path[1200], dir[1024], why[128];
    size_t size;
    if (strchr(spec, ':') && !strchr(spec, '/')) {
        int r = parse(m, "--machine", spec, strlen(spec), true, err);
        if (!r) snprintf(m->name, sizeof m->name, "%s", spec);
        return r;
    }
    char *text = sim_read_file(spec, MACH_FILE_MAX, &size, why, sizeof why);
    snprintf(path, sizeof path, "%s", spec);
    if (!text && !strchr(spec, '/') && sim_library("machines", dir, sizeof dir)) {
        snprintf(path, sizeof path, "%s/%s.machine", dir, spec);
        char why2[128];
        text = sim_read_file(path, MACH_FILE_MAX, &size, why2, sizeof why2);
    }
    if (!text) {
        memset(m, 0, sizeof *m);
        *err = (struct mach_error){0};
        char shown[104];
        snprintf(shown, sizeof shown, "%.100s", spec);
        for (char *c = shown; *c; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
        snprintf(err->text, sizeof err->text, "no machine '%.100s': %s; 'usf sim machines' lists the ready ones, and core:16 describes one", shown, why);
        return -1;
    }
    const char *s = text + strspn(text, " \t\r\n\xef\xbb\xbf");
    int r = *s == '<' ? mach_parse_xml(m, path, text, size, err) : mach_parse(m, path, text, size, err);
    free(text);
    if (!r && !*m->name) {
        const char *slash = strrchr(spec, '/');
        snprintf(m->name, sizeof m->name, "%s", slash ? slash + 1 : spec);
    }
    return r;
}
