/* tests/context/texts.c - what files say in a context, by tables: also those that this machine has not.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "../check.h"
#include "context/shim.h"

#define NONE 0
static const struct { const char *cpus; uint64_t memory; const char *path, *real, *text; } table[] = {
    {"1-2", 0, "/sys/devices/system/cpu/online", "0-7\n", "1-2\n"},
    {"1-2", 0, "/sys/devices/system/cpu/kernel_max", "8191\n", NONE},
    {"1-2", 0, "/sys/devices/system/node/node1/cpulist", "0,2\n", "2\n"},
    {"1-2", 0, "/sys/devices/system/node/node1/cpulist", "4-7\n", "\n"},
    {"1-2", 0, "/sys/devices/system/node/node1/cpumap", "0f\n", "6\n"},
    {"33,34", 0, "/sys/devices/system/node/node12/cpumap", "ff,00000003\n", "6,00000000\n"},
    {"1-2", 0, "/sys/devices/system/node/node/cpulist", "0-3\n", NONE},
    {"1-2", 0, "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,5\n", "1\n"},
    {"1-2", 0, "/sys/devices/system/cpu/cpu1/topology/package_cpus", "ff\n", "6\n"},
    {"1-2", 0, "/sys/devices/system/cpu/cpu1/topology/core_siblings", "00000000,000000ff\n", "0,00000006\n"},
    {"1-2", 0, "/sys/devices/system/cpu/cpu1/cache/index3/shared_cpu_map", "ff\n", "6\n"},
    {"1-2", 0, "/sys/devices/system/cpu/cpu1/cache/index3/shared_cpu_list", "0-7\n", "1-2\n"},
    {"1-2", 0, "/sys/devices/system/cpu/cpu7/cache/index0/shared_cpu_list", "7\n", NONE},      /* a sample: as it is */
    {"1-2", 0, "/sys/devices/system/cpu/cpu1/topology/core_id", "1\n", NONE},
    {"1-2", 0, "/proc/cpuinfo", "processor\t: 0\nx\n\nprocessor\t: 1\ny\n\nprocessor\t: 2\nz\n\n", "processor\t: 1\ny\n\nprocessor\t: 2\nz\n\n"},
    {"1-2", 0, "/proc/stat", "cpu  1\ncpu0 2\ncpu1 3\ncpu12 5\nintr 4\n", "cpu  1\ncpu1 3\nintr 4\n"},
    {"1-2", 0, "/proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n", "Name:\tx\nCpus_allowed:\t6\nCpus_allowed_list:\t1-2\n"},
    {NONE, 0, "/proc/stat", "cpu0 2\n", NONE},
    /* Control groups. */
    {"1-2", 0, "/sys/fs/cgroup/cpu.max", "max 100000\n", "200000 100000\n"},
    {"1-2", 0, "/sys/fs/cgroup/user.slice/a b/cpu.max", "150000 100000\n", "150000 100000\n"},
    {"1-2", 0, "/sys/fs/cgroup/user.slice/cpu.max", "800000 100000\n", "200000 100000\n"},
    {"1-2", 0, "/sys/fs/cgroup/cpu.max", "max 50000\n", "100000 50000\n"},
    {"1-2", 0, "/sys/fs/cgroup/cpu.max", "nonsense\n", NONE},
    {"1-2", 0, "/sys/fs/cgroup/cpu.max.burst", "0\n", NONE},
    {NONE, 0, "/sys/fs/cgroup/cpu.max", "max 100000\n", NONE},
    {"1-2", 0, "/sys/fs/cgroup/cpuset.cpus.effective", "0-7\n", "1-2\n"},
    {"1-2", 0, "/sys/fs/cgroup/a/cpuset.cpus", "\n", NONE},        /* the parent's */
    {"1-2", 0, "/sys/fs/cgroup/cpuset//cpuset.cpus", "0-1\n", "1\n"},
    {"1-2", 0, "/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus", "0-3\n", "1-2\n"},
    {NONE, 1ull << 30, "/sys/fs/cgroup/a/memory.max", "max\n", "1073741824\n"},
    {NONE, 1ull << 30, "/sys/fs/cgroup/a/memory.max", "4096\n", "4096\n"},
    {NONE, 1ull << 30, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n", "1073741824\n"},
    {NONE, 1ull << 30, "/sys/fs/cgroup/memory.current", "2147483648\n", "1073741824\n"},
    {NONE, 1ull << 30, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "77\n", "77\n"},
    {"1-2", 0, "/sys/fs/cgroup/a/memory.max", "max\n", NONE},
    /* Memory. */
    {NONE, 1ull << 30, "/proc/meminfo", "MemTotal:       16326772 kB\nMemFree:          500000 kB\nMemAvailable:   12000000 kB\nBuffers:  1 kB\n",
     "MemTotal:        1048576 kB\nMemFree:          500000 kB\nMemAvailable:    1048576 kB\nBuffers:  1 kB\n"},
    {NONE, 1ull << 50, "/proc/meminfo", "MemTotal:       16326772 kB\n", "MemTotal:       16326772 kB\n"},
    {"1-2", 0, "/proc/meminfo", "MemTotal:       16326772 kB\n", NONE},
};

static struct view view_of(const char *cpus, uint64_t memory)
{
    struct view v = {.memory = memory};
    size_t bad;
    if (cpus) CHECK_EQ(os_cpulist_parse(cpus, &v.cpus, &bad), 0);
    v.nr_cpus = os_cpu_count(&v.cpus);
    return v;
}

/* Two nodes with half of the machine's memory each share the limit. */
static void nodes(void)
{
    struct sysinfo info;
    struct text out = {0};
    char real[200];
    CHECK(!sysinfo(&info));
    uint64_t machine = (uint64_t)info.totalram * info.mem_unit / 1024;
    struct view v = view_of(0, machine / 4 * 1024);
    snprintf(real, sizeof real, "Node 1 MemTotal: %12llu kB\nNode 1 MemFree: %12llu kB\n", (unsigned long long)machine / 2, (unsigned long long)machine / 2);
    CHECK(files_text(&v, "/sys/devices/system/node/node1/meminfo", real, &out) && text_add(&out, "", 1));
    unsigned long long total, left;
    CHECK_EQ(sscanf(out.at, "Node 1 MemTotal: %llu kB\nNode 1 MemFree: %llu kB\n", &total, &left), 2);
    CHECK(total == left && total >= machine / 8 - 2 && total <= machine / 8 + 2);
    free(out.at);
}

/* The period of version 1 is in a file beside the quota. */
static void quota_of_version_1(void)
{
    char folder[] = "/tmp/usf-texts-XXXXXX", period[64], quota[64];
    CHECK(mkdtemp(folder));
    snprintf(period, sizeof period, "%s/cpu.cfs_period_us", folder);
    snprintf(quota, sizeof quota, "%s/cpu.cfs_quota_us", folder);
    FILE *f = fopen(period, "w");
    CHECK(f && fputs("50000\n", f) >= 0 && !fclose(f));
    struct view v = view_of("1-2", 0);
    static const struct { const char *real, *text; } quotas[] = {{"-1\n", "100000\n"}, {"60000\n", "60000\n"}, {"200000\n", "100000\n"}};
    for (unsigned i = 0; i < 3; i++) {
        struct text out = {0};
        CHECK(quota_cfs(&v, quota, quotas[i].real, &out) && text_add(&out, "", 1) && !strcmp(out.at, quotas[i].text));
        free(out.at);
    }
    CHECK(!remove(period));
    struct text out = {0};
    CHECK(!quota_cfs(&v, quota, "-1\n", &out));
    CHECK(!remove(folder));
}

int main(void)
{
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        struct view v = view_of(table[i].cpus, table[i].memory);
        struct text out = {0};
        bool own = files_text(&v, table[i].path, table[i].real, &out) && text_add(&out, "", 1);
        if (own != (table[i].text != NONE) || (own && strcmp(out.at, table[i].text)))
            fprintf(stderr, "%s: '%s' is '%s', not '%s'\n", table[i].path, table[i].real, own ? out.at : "as it is", table[i].text ? table[i].text : "as it is");
        CHECK(own == (table[i].text != NONE) && (!own || !strcmp(out.at, table[i].text)));
        free(out.at);
    }
    nodes();
    quota_of_version_1();
    return 0;
}
