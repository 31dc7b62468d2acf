/* sim/mach/xml.c - topologies in hwloc's XML.  SPDX-License-Identifier: Apache-2.0
 *
 * Only what is needed: objects with their CPU sets, and the distances of NUMA nodes.  An object's
 * place in the tree does not matter, since its CPU set says which CPUs it holds; that makes version
 * 1 (nodes contain packages' caches) and 2 (nodes hang beside them) alike. */
#include "sim/mach/mach.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define NODES_MAX 1024u

struct cpu { bool there; uint32_t phys, llc, node, package; unsigned level; };
struct xml {
    const char *text, *p, *end, *path;
    struct mach_error *err;
    jmp_buf out;
    struct cpu *cpu;            /* [MACH_CPUS_MAX], by Linux number */
    uint32_t nr_phys, nr_llcs, nr_nodes, nr_packages;
    uint32_t node_os[NODES_MAX];
    uint16_t *distance;         /* as the file orders the nodes */
    uint32_t nr_distance, nr_values;
    uint32_t order[NODES_MAX];  /* the nodes' numbers in the matrix's order, nr_order of them */
    uint32_t nr_order;
    bool numa_matrix, latency;
};

static void fail(struct xml *x, const char *at, const char *fmt, ...) __attribute__((noreturn, format(printf, 3, 4)));
static void fail(struct xml *x, const char *at, const char *fmt, ...)
{
    unsigned line = 1;
    const char *start = x->text;
    for (const char *s = x->text; s < at; s++)
        if (*s == '\n') line++, start = s + 1;
    snprintf(x->err->file, sizeof x->err->file, "%s", x->path);
    x->err->line = line;
    x->err->col = (unsigned)(at - start) + 1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(x->err->text, sizeof x->err->text, fmt, ap);
    va_end(ap);
    for (char *c = x->err->text; *c; c++)       /* it may quote the file */
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    longjmp(x->out, 1);
}

/* A tag: its name, and where its attributes begin. */
struct tag { const char *name; size_t len; const char *at, *end; bool close; };

static const char *find(const char *p, const char *end, const char *what)
{
    size_t n = strlen(what);
    for (; (size_t)(end - p) >= n; p++)
        if (!memcmp(p, what, n)) return p;
    return NULL;
}

static bool next_tag(struct xml *x, struct tag *t)
{
    for (;;) {
        const char *open = memchr(x->p, '<', (size_t)(x->end - x->p));
        if (!open) return false;
        const char *stop = !strncmp(open, "<!--", 4) ? "-->" : ">";
        const char *close = find(open, x->end, stop);
        if (!close) fail(x, open, "a tag that does not end");
        x->p = close + strlen(stop);
        if (open[1] == '!' || open[1] == '?') continue;
        t->close = open[1] == '/';
        t->at = open;
        t->name = open + 1 + t->close;
        t->end = close;
        t->len = strcspn(t->name, " \t\r\n/>");
        return true;
    }
}

static bool is(const struct tag *t, const char *name) { return t->len == strlen(name) && !memcmp(t->name, name, t->len); }

/* Value of an attribute, copied; false: there is none. */
static bool attribute(struct xml *x, const struct tag *t, const char *name, char *out, size_t cap)
{
    const char *p = t->name + t->len;
    while (p < t->end) {
        while (p < t->end && strchr(" \t\r\n/", *p)) p++;
        const char *from = p;
        while (p < t->end && *p != '=') p++;
        size_t len = (size_t)(p - from);
        if (p >= t->end) return false;
        char quote = *++p;
        if (p >= t->end || (quote != '"' && quote != '\'')) fail(x, p, "expected an attribute's value in quotes");
        const char *close = memchr(p + 1, quote, (size_t)(t->end - p - 1));
        if (!close) fail(x, p, "an attribute's value without its closing quote");
        if (len == strlen(name) && !memcmp(from, name, len)) {
            size_t n = (size_t)(close - p - 1);
            if (n + 1 > cap) fail(x, p, "the attribute '%s' is too long", name);
            memcpy(out, p + 1, n);
            out[n] = 0;
            return true;
        }
        p = close + 1;
    }
    return false;
}

static uint32_t attribute_number(struct xml *x, const struct tag *t, const char *name, uint32_t max)
{
    char buf[32], *rest;
    if (!attribute(x, t, name, buf, sizeof buf)) return NONE;
    unsigned long v = strtoul(buf, &rest, 10);
    if (!*buf || *rest || *buf == '-' || v > max) fail(x, t->at, "the attribute %s=\"%.20s\" is to be a number up to %u", name, buf, max);
    return (uint32_t)v;
}

/* Calls fn for each CPU of a set: "0x0000ffff,0xffffffff", the last word has the lowest CPUs. */
static void each_cpu(struct xml *x, const struct tag *t, const char *set, void (*fn)(struct xml *, struct cpu *, uint32_t), uint32_t arg)
{
    size_t words = 1, i = 0;
    for (const char *s = set; *s; s++) words += *s == ',';
    for (const char *s = set; *s; i++) {
        char *rest = (char *)(uintptr_t)s;
        unsigned long v = *s == ',' ? 0 : strtoul(s, &rest, 16);    /* an empty word is 0 */
        if (rest == s && *s != ',') fail(x, t->at, "a CPU set that is none: '%.40s'", set);
        if (v > 0xffffffffu || (*rest && *rest != ',')) fail(x, t->at, "a CPU set that is none: '%.40s'", set);
        for (unsigned b = 0; b < 32; b++)
            if (v >> b & 1) {
                size_t cpu = (words - 1 - i) * 32 + b;
                if (cpu >= MACH_CPUS_MAX) fail(x, t->at, "a CPU number beyond %u", MACH_CPUS_MAX - 1);
                fn(x, &x->cpu[cpu], arg);
            }
        s = *rest ? rest + 1 : rest;
    }
}

static void in_package(struct xml *x, struct cpu *c, uint32_t i) { (void)x; c->package = i; }
static void in_node(struct xml *x, struct cpu *c, uint32_t i) { (void)x; c->node = i; }
static void in_core(struct xml *x, struct cpu *c, uint32_t i) { (void)x; c->phys = i; }
static void in_cache(struct xml *x, struct cpu *c, uint32_t i)
{
    unsigned level = i >> 28;
    if (level <= c->level) return;
    c->level = level;
    c->llc = i & 0xfffffff;
    (void)x;
}

static void object(struct xml *x, const struct tag *t)
{
    char type[32], set[MACH_CPUS_MAX / 32 * 11 + 16];
    if (!attribute(x, t, "type", type, sizeof type)) fail(x, t->at, "an object without a type");
    bool has_set = attribute(x, t, "cpuset", set, sizeof set);
    unsigned level = 0;
    if (type[0] == 'L' && !strcmp(type + 2, "Cache") && type[1] >= '1' && type[1] <= '9') level = (unsigned)(type[1] - '0');
    else if (!strcmp(type, "Cache")) level = attribute_number(x, t, "depth", 9);
    if (level == NONE) level = 1;
    if (!strcmp(type, "PU")) {
        uint32_t i = attribute_number(x, t, "os_index", MACH_CPUS_MAX - 1);
        if (i == NONE) fail(x, t->at, "a PU without os_index");
        x->cpu[i].there = true;
    } else if (!strcmp(type, "NUMANode")) {
        if (x->nr_nodes == NODES_MAX) fail(x, t->at, "more than %u NUMA nodes", NODES_MAX);
        uint32_t os = attribute_number(x, t, "os_index", UINT32_MAX - 1);
        x->node_os[x->nr_nodes] = os == NONE ? x->nr_nodes : os;
        if (has_set) each_cpu(x, t, set, in_node, x->nr_nodes);
        x->nr_nodes++;
    } else if (has_set && (!strcmp(type, "Package") || !strcmp(type, "Socket"))) {
        each_cpu(x, t, set, in_package, x->nr_packages++);
    } else if (has_set && !strcmp(type, "Core")) {
        each_cpu(x, t, set, in_core, x->nr_phys++);
    } else if (has_set && level) {
        each_cpu(x, t, set, in_cache, level << 28 | (x->nr_llcs++ & 0xfffffff));
    }
}

/* Numbers between this tag and the next. */
static void numbers(struct xml *x, const struct tag *t, bool values)
{
    const char *p = x->p;
    while (p < x->end && *p != '<') {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        char *rest;
        unsigned long v = strtoul(p, &rest, 10);
        p = rest;
        if (values) {
            if (x->nr_values < x->nr_distance * x->nr_distance) x->distance[x->nr_values++] = v > 65535 ? 65535 : (uint16_t)v;
        } else if (x->nr_order < x->nr_distance) {
            x->order[x->nr_order++] = (uint32_t)v;
        }
    }
    (void)t;
}

static void distances(struct xml *x, const struct tag *t, unsigned version)
{
    char type[32] = "NUMANode", kind[32] = "5";
    x->numa_matrix = false;
    if (t->close || x->nr_values) return;
    if (version == 2 && (!attribute(x, t, "type", type, sizeof type) || strcmp(type, "NUMANode"))) return;
    if (attribute(x, t, "kind", kind, sizeof kind) && !(atoi(kind) & 4)) return;    /* bandwidths, not latencies */
    uint32_t n = attribute_number(x, t, "nbobjs", NODES_MAX);
    if (n == NONE || !n) return;
    free(x->distance);
    x->distance = calloc((size_t)n * n, sizeof *x->distance);
    if (!x->distance) fail(x, t->at, "out of memory");
    x->nr_distance = n;
    x->nr_order = x->nr_values = 0;
    x->numa_matrix = true;
}

/* Version 1: <latency value="2.1"/>, relative to the local one. */
static void latency(struct xml *x, const struct tag *t)
{
    char value[40];
    if (!x->numa_matrix || x->nr_values >= x->nr_distance * x->nr_distance || !attribute(x, t, "value", value, sizeof value)) return;
    double v = strtod(value, NULL) * 10;
    x->distance[x->nr_values++] = v >= 1 && v < 65535 ? (uint16_t)(v + .5) : 10;
}

static void walk(struct xml *x)
{
    struct tag t;
    bool topology = false;
    while (next_tag(x, &t)) {
        if (is(&t, "topology")) topology = true;
        else if (is(&t, "object") && !t.close) object(x, &t);
        else if (is(&t, "distances2")) distances(x, &t, 2);
        else if (is(&t, "distances")) distances(x, &t, 1);
        else if (is(&t, "latency") && !t.close) latency(x, &t);
        else if (is(&t, "indexes") && !t.close && x->numa_matrix) numbers(x, &t, false);
        else if (is(&t, "u64values") && !t.close && x->numa_matrix) numbers(x, &t, true);
    }
    if (!topology) fail(x, x->text, "no topology of hwloc (lstopo --of xml writes one)");
}

/* Number what the CPUs that are there use densely, in the order of the CPUs; who has none gets one
 * of its own, or the first. */
static uint32_t dense(const struct xml *x, uint32_t *map, size_t map_size, uint32_t *(*field)(struct cpu *), bool own)
{
    uint32_t next = 0, none = NONE;
    memset(map, 0xff, map_size * sizeof *map);
    for (uint32_t i = 0; i < MACH_CPUS_MAX; i++) {
        if (!x->cpu[i].there) continue;
        uint32_t *f = field(&x->cpu[i]);
        if (*f == NONE || *f >= map_size) {
            if (own || none == NONE) none = next++;
            *f = none;
        } else {
            if (map[*f] == NONE) map[*f] = next++;
            *f = map[*f];
        }
    }
    return next;
}
static uint32_t *phys_of(struct cpu *c) { return &c->phys; }
static uint32_t *llc_of(struct cpu *c) { return &c->llc; }
static uint32_t *node_of(struct cpu *c) { return &c->node; }
static uint32_t *package_of(struct cpu *c) { return &c->package; }

static uint32_t node_index(const struct xml *x, uint32_t os)
{
    for (uint32_t i = 0; i < x->nr_nodes; i++)
        if (x->node_os[i] == os) return i;
    return NONE;
}

static void matrix(struct xml *x, struct sim_machine *m, const uint32_t *node_map)
{
    uint32_t n = x->nr_distance;
    if (!n || x->nr_values != n * n) return;
    m->distance = calloc((size_t)m->nr_nodes * m->nr_nodes, sizeof *m->distance);
    if (!m->distance) fail(x, x->text, "out of memory");
    for (uint32_t i = 0; i < m->nr_nodes * m->nr_nodes; i++) m->distance[i] = i / m->nr_nodes == i % m->nr_nodes ? 10 : 20;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            uint32_t a = node_index(x, x->nr_order == n ? x->order[i] : i), b = node_index(x, x->nr_order == n ? x->order[k] : k);
            if (a == NONE || b == NONE || node_map[a] == NONE || node_map[b] == NONE) continue;    /* memory without CPUs */
            uint16_t v = x->distance[i * n + k];
            m->distance[node_map[a] * m->nr_nodes + node_map[b]] = v ? v : 10;
        }
}

static void build(struct xml *x, struct sim_machine *m)
{
    static uint32_t map[MACH_CPUS_MAX * 4], nodes[NODES_MAX];
    uint32_t nr = 0;
    for (uint32_t i = 0; i < MACH_CPUS_MAX; i++) nr += x->cpu[i].there;
    if (!nr) fail(x, x->text, "the topology has no PUs");
    uint32_t cores = dense(x, map, sizeof map / sizeof *map, phys_of, true), caches = dense(x, map, sizeof map / sizeof *map, llc_of, false);
    uint32_t packages = dense(x, map, sizeof map / sizeof *map, package_of, false), nr_nodes = dense(x, nodes, NODES_MAX, node_of, false);
    if (sim_machine_regular(m, 1, 1, 1, nr, 1)) fail(x, x->text, "a machine of %u CPUs cannot be made", nr);
    free(m->distance), free(m->bandwidth);
    m->distance = NULL, m->bandwidth = NULL;
    m->nr_phys = cores, m->nr_llcs = caches, m->nr_packages = packages, m->nr_nodes = nr_nodes;
    uint32_t at = 0;
    for (uint32_t i = 0; i < MACH_CPUS_MAX; i++) {
        const struct cpu *c = &x->cpu[i];
        if (c->there) m->cpu[at++] = (struct sim_cpu){.phys = c->phys, .llc = c->llc, .node = c->node, .package = c->package};
    }
    matrix(x, m, nodes);
}

static bool guarded(struct xml *x, struct sim_machine *m)
{
    if (setjmp(x->out)) return false;
    walk(x);
    build(x, m);
    return true;
}

int mach_parse_xml(struct sim_machine *m, const char *path, const char *text, size_t size, struct mach_error *err)
{
    memset(m, 0, sizeof *m);
    memset(err, 0, sizeof *err);
    snprintf(err->file, sizeof err->file, "%s", path);
    struct xml *x = calloc(1, sizeof *x);
    struct cpu *cpu = calloc(MACH_CPUS_MAX, sizeof *cpu);
    bool good = x && cpu;
    if (good) {
        *x = (struct xml){.text = text, .p = text, .end = text + size, .path = path, .err = err, .cpu = cpu};
        for (uint32_t i = 0; i < MACH_CPUS_MAX; i++) cpu[i] = (struct cpu){.phys = NONE, .llc = NONE, .node = NONE, .package = NONE};
        good = guarded(x, m);
        free(x->distance);
    } else {
        snprintf(err->text, sizeof err->text, "out of memory");
    }
    char why[160];
    if (good && !sim_machine_is_valid(m, why, sizeof why)) {
        good = false;
        snprintf(err->text, sizeof err->text, "%s", why);
    }
    free(cpu);
    free(x);
    return good ? 0 : -1;
}
