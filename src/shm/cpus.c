/* src/shm/cpus.c - which CPUs a new instance gets.  SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>
#include <string.h>

#define NR_CPUS (OS_CPUSET_WORDS * 64u)

/* CPUs that share a cache, a node, a package, the machine. */
enum level { LLC, NODE, PACKAGE, MACHINE };

static uint32_t group(const struct os_cpu_place *p, enum level level)
{
    switch (level) {
    case LLC: return p->llc;
    case NODE: return p->node;
    case PACKAGE: return p->package;
    default: return 0;
    }
}

static unsigned members(const struct os_cpuset *cpus, const struct os_cpu_place *place, enum level level, uint32_t g)
{
    unsigned n = 0;
    for (unsigned c = 0; c < NR_CPUS; c++)
        if (os_cpu_isset(cpus, c) && group(&place[c], level) == g) n++;
    return n;
}

/* n CPUs of one group, cache by cache in the order of their lowest CPUs. */
static void take(struct os_cpuset *cpus, const struct os_cpu_place *place, enum level level, uint32_t g, unsigned n)
{
    struct os_cpuset left = *cpus;
    memset(cpus, 0, sizeof *cpus);
    for (unsigned first = 0; first < NR_CPUS && n; first++) {
        if (!os_cpu_isset(&left, first) || group(&place[first], level) != g) continue;
        for (unsigned c = first; c < NR_CPUS && n; c++) {
            if (!os_cpu_isset(&left, c) || place[c].llc != place[first].llc || group(&place[c], level) != g) continue;
            os_cpu_set(cpus, c);
            left.w[c / 64] &= ~(1ull << (c % 64));
            n--;
        }
    }
}

void shm_bound_cpus(struct os_cpuset *cpus, const struct os_cpu_place *place, unsigned n)
{
    if (os_cpu_count(cpus) <= n) return;
    for (enum level level = LLC; level <= MACHINE; level++)
        for (unsigned c = 0; c < NR_CPUS; c++) {
            if (!os_cpu_isset(cpus, c)) continue;
            uint32_t g = group(&place[c], level);
            if (members(cpus, place, level, g) < n) continue;
            take(cpus, place, level, g, n);
            return;
        }
}

/* The CPUs asked for, as far as the kernel allows: within the affinity if that covers them, else
 * within the cpuset (they may be wider than the mask that the shell happens to have). */
static int allowed_cpus(const struct os_cpuset *wanted, struct os_cpuset *out)
{
    struct os_cpuset may;
    int r = os_getaffinity(0, &may);
    if (r) return r;
    if (!os_cpu_count(wanted)) {
        *out = may;
        return 0;
    }
    *out = *wanted;
    os_cpu_and(out, &may);
    if (!memcmp(out, wanted, sizeof *out)) return 0;
    r = os_cpuset_allowed(&may);
    if (r) return r;
    *out = *wanted;
    os_cpu_and(out, &may);
    return 0;
}

int shm_choose_cpus(const struct os_cpuset *wanted, struct os_cpuset *out, struct os_cpu_place *place, char *why,
                    size_t cap)
{
    int r = allowed_cpus(wanted, out);
    if (r) return shm_explain(r, "read", "the CPU affinity", why, cap);
    if (!os_cpu_count(out)) {
        char list[128];
        os_cpulist_format(wanted, list, sizeof list);
        usf_format(why, cap, "none of the CPUs %s may be used here; see the cpuset, and give others with --cpus", list);
        return -EINVAL;
    }
    os_topology("", out, place);
    unsigned have = os_cpu_count(out);
    if (have <= USF_MAX_CORES) return 0;
    usf_say("%u of %u CPUs are used: an instance has no more cores", USF_MAX_CORES, have);
    shm_bound_cpus(out, place, USF_MAX_CORES);
    os_topology("", out, place);        /* indices are to be dense among those that are left */
    return 0;
}
