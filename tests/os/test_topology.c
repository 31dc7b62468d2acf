/* tests/os/test_topology.c - places of CPUs, on machines made of files.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "os/os.h"

#define CORES 56    /* per socket; 2 sockets, 2 threads each: 0-55, 56-111, then their siblings */

static struct os_cpu_place place[OS_CPUSET_WORDS * 64];

static void cache(const char *root, unsigned cpu, unsigned index, unsigned level, const char *shared)
{
    char path[128];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/cache/index%u/level", cpu, index);
    check_write(root, path, "%u\n", level);
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
    check_write(root, path, "%s\n", shared);
}

static void big_machine(const char *root)
{
    char path[128], core[32], socket[2][32];
    for (unsigned s = 0; s < 2; s++) {
        snprintf(socket[s], sizeof socket[s], "%u-%u,%u-%u", s * CORES, s * CORES + CORES - 1, (s + 2) * CORES,
                 (s + 3) * CORES - 1);
        snprintf(path, sizeof path, "sys/devices/system/node/node%u/cpulist", s);
        check_write(root, path, "%s\n", socket[s]);
    }
    check_write(root, "sys/devices/system/node/online", "0-1\n");
    for (unsigned c = 0; c < 4 * CORES; c++) {
        unsigned first = c % (2 * CORES);
        snprintf(core, sizeof core, "%u,%u", first, first + 2 * CORES);
        cache(root, c, 0, 1, core);
        cache(root, c, 1, 1, core);
        cache(root, c, 2, 2, core);
        cache(root, c, 3, 3, socket[first / CORES]);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/topology/package_cpus_list", c);
        check_write(root, path, "%s\n", socket[first / CORES]);
    }
}

static void look(const char *root, const char *list)
{
    struct os_cpuset cpus;
    memset(place, 0xee, sizeof place);
    EXPECT_EQ(os_cpulist_parse(list, &cpus, NULL), 0);
    os_topology(root, &cpus, place);
}

static void is_at(unsigned cpu, uint32_t node, uint32_t llc, uint32_t package)
{
    const struct os_cpu_place *p = &place[cpu];
    EXPECT(p->node == node && p->llc == llc && p->package == package, "CPU %u: node %u llc %u package %u", cpu, p->node,
          p->llc, p->package);
}

static void two_sockets(const char *root)
{
    big_machine(root);
    look(root, "0-223");
    for (unsigned c = 0; c < 4 * CORES; c++) {
        uint32_t s = c / CORES % 2;
        is_at(c, s, s, s);
    }
    look(root, "60,70,180");            /* only the second socket: it is number 0 here */
    is_at(60, 0, 0, 0);
    is_at(70, 0, 0, 0);
    is_at(180, 0, 0, 0);
    is_at(0, 0, 0, 0);
    look(root, "55,56");
    is_at(55, 0, 0, 0);
    is_at(56, 1, 1, 1);
}

static void incomplete(const char *root)
{
    look(root, "0-3");                  /* nothing at all */
    for (unsigned c = 0; c < 4; c++) is_at(c, 0, 0, 0);

    cache(root, 0, 0, 1, "0");
    cache(root, 1, 0, 1, "1");
    cache(root, 1, 1, 2, "1-2");
    cache(root, 2, 0, 1, "2");
    cache(root, 2, 1, 2, "1-2");        /* 3 says nothing: place 0 */
    check_write(root, "sys/devices/system/cpu/cpu0/topology/core_siblings_list", "0-1\n");
    check_write(root, "sys/devices/system/cpu/cpu2/topology/core_siblings_list", "2-3\n");
    check_write(root, "sys/devices/system/node/online", "0,2,5\n");
    check_write(root, "sys/devices/system/node/node0/cpulist", "\n");       /* memory only */
    check_write(root, "sys/devices/system/node/node2/cpulist", "0-2\n");
    check_write(root, "sys/devices/system/node/node5/cpulist", "3\n");
    look(root, "0-3");
    is_at(0, 0, 0, 0);
    is_at(1, 0, 1, 0);
    is_at(2, 0, 1, 1);
    is_at(3, 1, 0, 1);
}

static void garbage(const char *root)
{
    static const char *const junk[] = {"", "\n", "x", "0-", "4294967296", "9-3", "7", "\xff\xfe", "0-1023", "1,,2"};
    for (int i = 0; i < 300; i++) {
        char path[128];
        unsigned c = check_below(8), n = check_below(3);
        const char *text = junk[check_below(sizeof junk / sizeof *junk)];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/cache/index%u/%s", c, n,
                 check_below(2) ? "level" : "shared_cpu_list");
        check_write(root, path, "%s", text);
        snprintf(path, sizeof path, "sys/devices/system/node/%s", check_below(2) ? "online" : "node0/cpulist");
        check_write(root, path, "%s", junk[check_below(sizeof junk / sizeof *junk)]);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/topology/package_cpus_list", c);
        check_write(root, path, "%s", text);
        look(root, "0-7");
        for (unsigned k = 0; k < 8; k++)
            EXPECT(place[k].node < 8 && place[k].llc < 8 && place[k].package < 8, "CPU %u", k);
    }
}

static void this_machine(void)
{
    struct os_cpuset cpus;
    uint64_t t = os_now();
    EXPECT_EQ(os_getaffinity(0, &cpus), 0);
    os_topology("", &cpus, place);
    printf("this machine: %u CPUs, %lu us\n", os_cpu_count(&cpus), (unsigned long)(os_now() - t) / 1000);
    for (unsigned c = 0; c < 1024; c++) EXPECT(place[c].node < 1024 && place[c].llc < 1024 && place[c].package < 1024);
}

int main(void)
{
    char root[3][128];
    check_begin(50);
    check_tempdir();
    for (int i = 0; i < 3; i++) {
        snprintf(root[i], sizeof root[i], "%s/%d", check_dir, i);
        mkdir(root[i], 0755);
    }
    two_sockets(root[0]);
    incomplete(root[1]);
    garbage(root[2]);
    this_machine();
    check_remove();
    return check_end();
}
