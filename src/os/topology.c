/* src/os/topology.c - places of CPUs, from sysfs.  SPDX-License-Identifier: Apache-2.0
 *
 * Few files are read even on large machines: the kernel lists all CPUs that share a cache, package
 * or node, so one read places a whole group. */
#include "base/base.h"
#include "os/os.h"
#include "os/text.h"
#include <string.h>

#define NR_CPUS     (OS_CPUSET_WORDS * 64u)
#define CPULIST_MAX 2048
#define PATH_MAX_   512
#define CACHES_MAX  16

/* A cpulist file of sysfs; an empty one (a node without CPUs) is an empty set. */
static bool read_cpulist(const char *path, struct os_cpuset *out)
{
    char text[CPULIST_MAX];
    memset(out, 0, sizeof *out);
    long n = os_read_file(path, text, sizeof text);
    if (n < 0) return false;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' ')) text[--n] = 0;
    return n == 0 || os_cpulist_parse(text, out, NULL) == 0;
}

static bool read_number(const char *path, uint64_t *out)
{
    char text[32];
    const char *s = text;
    return os_read_file(path, text, sizeof text) > 0 && text_number(&s, out);
}

/* CPUs that share the last level of data cache with this one. */
static bool llc_of(const char *sysroot, unsigned cpu, struct os_cpuset *out)
{
    char path[PATH_MAX_];
    uint64_t level, best = 0;
    int best_index = -1;
    for (int i = 0; i < CACHES_MAX; i++) {
        usf_format(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/cache/index%d/level", sysroot, cpu, i);
        if (!read_number(path, &level)) break;
        if (level > best) best = level, best_index = i;
    }
    if (best_index < 0) return false;
    usf_format(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", sysroot, cpu,
               best_index);
    return read_cpulist(path, out);
}

static bool package_of(const char *sysroot, unsigned cpu, struct os_cpuset *out)
{
    char path[PATH_MAX_];
    usf_format(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/package_cpus_list", sysroot, cpu);
    if (read_cpulist(path, out)) return true;
    usf_format(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/core_siblings_list", sysroot, cpu);
    return read_cpulist(path, out);    /* its name before Linux 5.3 */
}

/* Hardware threads of one core.  Without information each CPU is a core of its own. */
static bool core_of(const char *sysroot, unsigned cpu, struct os_cpuset *out)
{
    char path[PATH_MAX_];
    usf_format(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/core_cpus_list", sysroot, cpu);
    if (read_cpulist(path, out)) return true;
    usf_format(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", sysroot, cpu);
    if (read_cpulist(path, out)) return true;      /* its name before Linux 5.3 */
    memset(out, 0, sizeof *out);
    os_cpu_set(out, cpu);
    return true;
}

static void set_place(struct os_cpu_place *p, size_t field, uint32_t value)
{
    *(uint32_t *)((char *)p + field) = value;
}

/* Number the groups that `group_of` tells, in the order of their lowest CPU. */
static void number_groups(const char *sysroot, const struct os_cpuset *cpus, struct os_cpu_place *place, size_t field,
                          bool (*group_of)(const char *, unsigned, struct os_cpuset *))
{
    struct os_cpuset group, todo = *cpus;
    uint32_t next = 0;
    for (unsigned c = 0; c < NR_CPUS; c++) {
        if (!os_cpu_isset(&todo, c) || !group_of(sysroot, c, &group) || !os_cpu_isset(&group, c)) continue;
        for (unsigned m = c; m < NR_CPUS; m++)
            if (os_cpu_isset(&group, m) && os_cpu_isset(&todo, m)) set_place(&place[m], field, next);
        for (int i = 0; i < OS_CPUSET_WORDS; i++) todo.w[i] &= ~group.w[i];
        next++;
    }
}

static void number_nodes(const char *sysroot, const struct os_cpuset *cpus, struct os_cpu_place *place)
{
    struct os_cpuset nodes, group;     /* nodes are numbered as CPUs are */
    char path[PATH_MAX_];
    uint32_t next = 0;
    usf_format(path, sizeof path, "%s/sys/devices/system/node/online", sysroot);
    if (!read_cpulist(path, &nodes)) return;
    for (unsigned n = 0; n < NR_CPUS; n++) {
        if (!os_cpu_isset(&nodes, n)) continue;
        usf_format(path, sizeof path, "%s/sys/devices/system/node/node%u/cpulist", sysroot, n);
        if (!read_cpulist(path, &group)) continue;
        os_cpu_and(&group, cpus);
        if (!os_cpu_count(&group)) continue;
        for (unsigned m = 0; m < NR_CPUS; m++)
            if (os_cpu_isset(&group, m)) {
                place[m].node = next;
                place[m].node_id = n;
            }
        next++;
    }
}

void os_topology(const char *sysroot, const struct os_cpuset *cpus, struct os_cpu_place *place)
{
    memset(place, 0, NR_CPUS * sizeof *place);
    number_groups(sysroot, cpus, place, offsetof(struct os_cpu_place, llc), llc_of);
    number_groups(sysroot, cpus, place, offsetof(struct os_cpu_place, package), package_of);
    number_groups(sysroot, cpus, place, offsetof(struct os_cpu_place, phys), core_of);
    number_nodes(sysroot, cpus, place);
}
