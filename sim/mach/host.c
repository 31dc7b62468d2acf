/* sim/mach/host.c - the real machine: its CPUs' places, from sysfs, and a few system calls.
 * SPDX-License-Identifier: Apache-2.0
 *
 * src/os is the simulator's own here, so the kernel is asked with libc. */
#include "sim/mach/calibrate.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned cpu_number[CPU_SETSIZE];

unsigned cal_cpu(uint32_t index) { return index < CPU_SETSIZE ? cpu_number[index] : 0; }

void cal_bind(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

uint64_t cal_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t cal_cpu_now(bool process)
{
    struct timespec t;
    clock_gettime(process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void cal_wait(atomic_uint *word, unsigned value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }
void cal_wake(atomic_uint *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

/* First number of a file; -1: there is none.  A list of CPUs begins with its least one, which
 * stands for the group. */
static long first_number(const char *path)
{
    FILE *f = fopen(path, "re");
    long v = -1;
    if (f && fscanf(f, "%ld", &v) != 1) v = -1;
    if (f) fclose(f);
    return v;
}

static long of_cpu(unsigned cpu, const char *what)
{
    char path[160];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/%s", cpu, what);
    return first_number(path);
}

static long cache_of(unsigned cpu)
{
    long best = 0, group = -1;
    for (unsigned i = 0; i < 16; i++) {
        char name[64];
        snprintf(name, sizeof name, "cache/index%u/level", i);
        long level = of_cpu(cpu, name);
        if (level < 0) break;
        if (level <= best) continue;
        best = level;
        snprintf(name, sizeof name, "cache/index%u/shared_cpu_list", i);
        group = of_cpu(cpu, name);
    }
    return group;
}

static long node_of(unsigned cpu)
{
    for (unsigned n = 0; n < 1024; n++) {
        char path[160];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/node%u", cpu, n);
        if (!access(path, F_OK)) return n;
    }
    return -1;
}

/* Dense number of a group within a table of those met so far. */
static uint32_t dense(long *seen, uint32_t *nr, long group)
{
    for (uint32_t i = 0; i < *nr; i++)
        if (seen[i] == group) return i;
    seen[*nr] = group;
    return (*nr)++;
}

static void distances(struct sim_machine *m, const long *node)
{
    if (m->nr_nodes < 2 || !(m->distance = calloc((size_t)m->nr_nodes * m->nr_nodes, sizeof *m->distance))) return;
    for (uint32_t i = 0; i < m->nr_nodes; i++) {
        char path[160];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%ld/distance", node[i]);
        FILE *f = fopen(path, "re");
        unsigned all[1024], n = 0;
        while (f && n < 1024 && fscanf(f, "%u", &all[n]) == 1) n++;
        if (f) fclose(f);
        for (uint32_t k = 0; k < m->nr_nodes; k++)
            m->distance[i * m->nr_nodes + k] = node[k] >= 0 && (unsigned long)node[k] < n && all[node[k]] >= 10 ? (uint16_t)all[node[k]] : i == k ? 10 : 20;
    }
}

int cal_topology(struct sim_machine *m, struct mach_error *err)
{
    cpu_set_t set;
    memset(m, 0, sizeof *m);
    if (!sched_getaffinity(0, sizeof set, &set)) return cal_topology_of(m, &set, err);
    snprintf(err->text, sizeof err->text, "the CPUs of this process cannot be found out: %s", strerror(errno));
    return -1;
}

int cal_topology_of(struct sim_machine *m, const cpu_set_t *set, struct mach_error *err)
{
    static long phys[CPU_SETSIZE], llc[CPU_SETSIZE], node[CPU_SETSIZE], package[CPU_SETSIZE];
    uint32_t n = 0;
    memset(m, 0, sizeof *m);
    for (unsigned c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, set)) cpu_number[n++] = c;
    if (sim_machine_regular(m, 1, 1, 1, n, 1)) {
        snprintf(err->text, sizeof err->text, "a machine of %u CPUs cannot be made", n);
        return -1;
    }
    m->nr_phys = m->nr_llcs = m->nr_nodes = m->nr_packages = 0;
    for (uint32_t i = 0; i < n; i++) {
        unsigned c = cpu_number[i];
        long core = of_cpu(c, "topology/thread_siblings_list");
        m->cpu[i].phys = dense(phys, &m->nr_phys, core >= 0 ? core : (long)c);
        m->cpu[i].llc = dense(llc, &m->nr_llcs, cache_of(c));
        m->cpu[i].node = dense(node, &m->nr_nodes, node_of(c));
        m->cpu[i].package = dense(package, &m->nr_packages, of_cpu(c, "topology/physical_package_id"));
    }
    distances(m, node);
    snprintf(m->name, sizeof m->name, "%u CPUs, measured", n);
    return 0;
}
