/* src/tasks/topology.c - slots, NUMA nodes and complexes.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/tasks.h"

/* A list ("0-3,8"), or a mask ("0xff"). */
static int parse_cpus(const char *text, struct os_cpuset *out)
{
    size_t bad, n = strlen(text);
    if (strncmp(text, "0x", 2)) return os_cpulist_parse(text, out, &bad);
    *out = (struct os_cpuset){0};
    if (n == 2 || strspn(text + 2, "0123456789abcdefABCDEF") != n - 2) return -EINVAL;
    for (size_t i = 0; i < n - 2; i++) {        /* digit i from the right */
        char digit[2] = {text[n - 1 - i]};
        for (unsigned bits = (unsigned)strtoul(digit, 0, 16), b = 0; b < 4; b++)
            if (bits >> b & 1) os_cpu_set(out, (unsigned)(4 * i + b));
    }
    return 0;
}

/* Which CPUs: those that the process may use (inherit), all of the machine that it may ask for
 * (all), or these. */
static int choose_cpus(const struct tk_config *c, struct os_cpuset *out)
{
    struct os_cpuset allowed, list;
    os_getaffinity(0, out);
    if (!strcmp(c->binding, "inherit") || !strcmp(c->binding, "inherit-cores")) return NOSV_SUCCESS;
    if (os_cpuset_allowed(&allowed)) allowed = *out;
    if (!strcmp(c->binding, "all") || !strcmp(c->binding, "all-cores")) {
        *out = allowed;
        return NOSV_SUCCESS;
    }
    if (parse_cpus(c->binding, &list)) {
        usf_warn("nosv: topology.binding '%s': it is neither inherit, all, a list of CPUs nor a mask in hexadecimal digits", c->binding);
        return NOSV_ERR_INVALID_PARAMETER;
    }
    os_cpu_and(&list, &allowed);
    if (!os_cpu_count(&list)) {
        usf_warn("nosv: topology.binding '%s': this process may use none of these CPUs", c->binding);
        return NOSV_ERR_INVALID_PARAMETER;
    }
    *out = list;
    return NOSV_SUCCESS;
}

/* As configured, else as the machine has them.  CPUs in no list are one more node.  False: a list
 * is wrong, said. */
static bool set_nodes(const struct tk_config *c, struct os_cpu_place *place)
{
    for (uint32_t cpu = 0; c->numa.n && cpu < TK_MAX_CPUS; cpu++) place[cpu].node = place[cpu].node_id = c->numa.n;
    for (uint32_t i = c->numa.n; i-- > 0;) {        /* the first list that names a CPU holds */
        struct os_cpuset list;
        if (parse_cpus(c->numa.at[i], &list)) {
            usf_warn("nosv: topology.numa_nodes: '%s' is no list of CPUs", c->numa.at[i]);
            return false;
        }
        for (uint32_t cpu = 0; cpu < TK_MAX_CPUS; cpu++)
            if (os_cpu_isset(&list, cpu)) place[cpu].node = place[cpu].node_id = i;
    }
    return true;
}

static void *zeroed(size_t n, size_t size)
{
    void *p = n ? aligned_alloc(TK_LINE, n * size) : 0;
    if (p) memset(p, 0, n * size);
    return p;
}

static bool make_slots(const struct os_cpuset *cpus, const struct os_cpu_place *place)
{
    uint32_t nodes[TK_MAX_NODES], n = 0;
    tk.nr_slots = os_cpu_count(cpus);
    tk.slots = zeroed(tk.nr_slots, sizeof *tk.slots);
    tk.nodes = zeroed(TK_MAX_NODES, sizeof *tk.nodes);
    if (!tk.slots || !tk.nodes) return false;
    memset(tk.slot_of, 0xff, sizeof tk.slot_of);
    for (uint32_t cpu = 0; cpu < TK_MAX_CPUS; cpu++) {
        if (!os_cpu_isset(cpus, cpu)) continue;
        uint32_t node = 0;
        while (node < tk.nr_nodes && nodes[node] != place[cpu].node) node++;
        if (node == tk.nr_nodes) {
            if (node == TK_MAX_NODES) node--;
            else nodes[tk.nr_nodes++] = place[cpu].node;
        }
        tk.nodes[node].system = place[cpu].node_id;
        tk.slot_of[cpu] = (uint16_t)n;
        tk.slots[n].id = n;
        tk.slots[n].cpu = cpu;
        tk.slots[n].node = node;
        n++;
    }
    for (uint32_t i = 0; i < tk.nr_slots; i++) {
        uint32_t first = 0;
        while (place[tk.slots[first].cpu].phys != place[tk.slots[i].cpu].phys) first++;
        tk.slots[i].core = first == i ? tk.nr_cores++ : tk.slots[first].core;
    }
    return true;
}

/* "all", "cpu-X", "numa-X", "complex-X". */
static int default_affinity(const struct tk_config *c)
{
    static const struct { const char *prefix; nosv_affinity_level_t level; } kinds[] = {
        {"cpu-", NOSV_AFFINITY_LEVEL_CPU}, {"numa-", NOSV_AFFINITY_LEVEL_NUMA}, {"complex-", NOSV_AFFINITY_LEVEL_USER_COMPLEX}};
    nosv_affinity_type_t type = strcmp(c->affinity_policy, "strict") ? NOSV_AFFINITY_TYPE_PREFERRED : NOSV_AFFINITY_TYPE_STRICT;
    if (!strcmp(c->affinity, "all")) return NOSV_SUCCESS;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].prefix);
        char *end;
        if (strncmp(c->affinity, kinds[i].prefix, n)) continue;
        unsigned long index = strtoul(c->affinity + n, &end, 10);
        nosv_affinity_t place = nosv_affinity_get((uint32_t)index, kinds[i].level, type);
        for (uint32_t s = 0; s < tk.nr_slots && !*end && c->affinity[n]; s++)
            if (tk_slot_is_in(&tk.slots[s], place)) {
                tk.default_affinity = place;
                return NOSV_SUCCESS;
            }
    }
    usf_warn("nosv: task_affinity.default '%s' names no place that this process may use: it is all, cpu-N, numa-N or complex-N", c->affinity);
    return NOSV_ERR_INVALID_PARAMETER;
}

/* What of `list` is left; that is no longer. */
static void add_complex(uint32_t i, const struct os_cpuset *list, struct os_cpuset *left)
{
    bool twice = false;
    for (uint32_t cpu = 0; cpu < TK_MAX_CPUS; cpu++) {
        if (!os_cpu_isset(list, cpu)) continue;
        if (os_cpu_isset(left, cpu)) tk.complexes[i].cpus[cpu / 64] |= 1ull << (cpu % 64);
        else twice = true;
    }
    for (uint32_t w = 0; w < TK_IDLE_WORDS; w++) left->w[w] &= ~tk.complexes[i].cpus[w];
    if (twice) usf_warn("nosv: topology.complex_sets: a CPU is in two sets; it belongs to the first");
}

/* As configured, else one for each last-level cache. */
static bool make_complexes(const struct tk_config *c, const struct os_cpuset *cpus, const struct os_cpu_place *place)
{
    uint32_t caches = 0;
    struct os_cpuset left = *cpus;
    for (uint32_t i = 0; i < tk.nr_slots; i++)
        if (place[tk.slots[i].cpu].llc + 1 > caches) caches = place[tk.slots[i].cpu].llc + 1;
    tk.nr_complexes = c->complexes.n ? c->complexes.n : caches;
    tk.complexes = zeroed(tk.nr_complexes + 1, sizeof *tk.complexes);
    if (!tk.complexes) return false;
    for (uint32_t i = 0; i < c->complexes.n; i++) {
        struct os_cpuset list;
        if (parse_cpus(c->complexes.at[i], &list)) {
            usf_warn("nosv: topology.complex_sets: '%s' is no list of CPUs", c->complexes.at[i]);
            return false;
        }
        os_cpu_and(&list, cpus);
        add_complex(i, &list, &left);
    }
    /* Each CPU lies in one complex: those that are in no list are another one. */
    if (c->complexes.n && os_cpu_count(&left)) add_complex(tk.nr_complexes++, &left, &left);
    for (uint32_t i = 0; !c->complexes.n && i < tk.nr_slots; i++) {
        uint32_t cpu = tk.slots[i].cpu;
        tk.complexes[place[cpu].llc].cpus[cpu / 64] |= 1ull << (cpu % 64);
    }
    return true;
}

int tk_topology_make(const struct tk_config *c)
{
    struct os_cpu_place *place = calloc(TK_MAX_CPUS, sizeof *place);
    struct os_cpuset cpus;
    int r = place ? choose_cpus(c, &cpus) : NOSV_ERR_OUT_OF_MEMORY;
    if (r == NOSV_SUCCESS) {
        os_topology("", &cpus, place);
        if (!set_nodes(c, place)) r = NOSV_ERR_INVALID_PARAMETER;
        else if (!make_slots(&cpus, place)) r = NOSV_ERR_OUT_OF_MEMORY;
        else if (!make_complexes(c, &cpus, place)) r = NOSV_ERR_INVALID_PARAMETER;
        else r = default_affinity(c);
    }
    for (uint32_t i = 0; r == NOSV_SUCCESS && i < tk.nr_slots; i++) atomic_fetch_or(&tk.idle[i / 64], 1ull << (i % 64));
    if (r) tk_topology_drop();
    free(place);
    return r;
}

void tk_topology_drop(void)
{
    free(tk.slots);
    free(tk.nodes);
    free(tk.complexes);
    tk.slots = 0;
    tk.nodes = 0;
    tk.complexes = 0;
    tk.nr_slots = tk.nr_cores = tk.nr_nodes = tk.nr_complexes = 0;
}
