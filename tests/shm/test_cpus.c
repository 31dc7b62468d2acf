/* tests/shm/test_cpus.c - which CPUs an instance gets.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "shm/internal.h"

static struct os_cpu_place place[OS_CPUSET_WORDS * 64];

static struct os_cpuset list(const char *text)
{
    struct os_cpuset s;
    EXPECT_EQ(os_cpulist_parse(text, &s, NULL), 0);
    return s;
}

static void bounded(const char *from, unsigned n, const char *to)
{
    struct os_cpuset s = list(from);
    char text[256];
    shm_bound_cpus(&s, place, n);
    os_cpulist_format(&s, text, sizeof text);
    EXPECT(!strcmp(text, to), "%u of %s: %s, not %s", n, from, text, to);
}

/* 2 packages of 2 nodes of 2 caches of 4 CPUs. */
static void bounds(void)
{
    for (unsigned c = 0; c < 32; c++) place[c] = (struct os_cpu_place){.llc = c / 4, .node = c / 8, .package = c / 16};
    bounded("0-31", 32, "0-31");
    bounded("0-31", 40, "0-31");
    bounded("0-31", 1, "0");
    bounded("0-31", 4, "0-3");
    bounded("2-31", 4, "4-7");          /* the first cache that has 4 */
    bounded("2-31", 3, "4-6");
    bounded("2-31", 2, "2-3");
    bounded("3,7-31", 6, "8-13");       /* a node: 8-15 */
    bounded("0-31", 12, "0-11");        /* a package, cache by cache */
    bounded("0-3,8-31", 12, "0-3,8-15");
    bounded("0-31", 20, "0-19");
    bounded("0,4,8,12,16", 3, "0,4,8");
    bounded("0,4,8,12,16,20,24,28", 5, "0,4,8,12,16");
    /* siblings far away: caches are filled before the next is begun */
    for (unsigned c = 0; c < 16; c++) place[c] = (struct os_cpu_place){.llc = c / 2 % 4, .node = 0, .package = 0};
    bounded("0-15", 6, "0-3,8-9");
    bounded("0-15", 4, "0-1,8-9");
}

static void chosen(void)
{
    struct os_cpuset none = {0}, mine, out, preferred, one = {0};
    char why[256] = "";
    EXPECT_EQ(os_getaffinity(0, &mine), 0);
    unsigned expect = os_cpu_count(&mine);
    EXPECT_EQ(shm_choose_cpus(&none, &out, place, why, sizeof why), 0);
    EXPECT_EQ(os_cpu_count(&out), expect);

    unsigned cpu = 0;
    while (!os_cpu_isset(&mine, cpu)) cpu++;
    os_cpu_set(&one, cpu);
    preferred = one;
    os_cpu_set(&preferred, 1023);       /* not here: left out */
    EXPECT_EQ(shm_choose_cpus(&preferred, &out, place, why, sizeof why), 0);
    EXPECT(!memcmp(&out, &one, sizeof one));

    /* The CPUs asked for may be wider than the mask, within the cpuset. */
    EXPECT_EQ(os_setaffinity(0, &one), 0);
    EXPECT_EQ(shm_choose_cpus(&mine, &out, place, why, sizeof why), 0);
    EXPECT_EQ(os_cpu_count(&out), expect);
    EXPECT_EQ(shm_choose_cpus(&none, &out, place, why, sizeof why), 0);
    EXPECT(!memcmp(&out, &one, sizeof one));
    EXPECT_EQ(os_setaffinity(0, &mine), 0);

    preferred = list("1023");
    EXPECT_EQ(shm_choose_cpus(&preferred, &out, place, why, sizeof why), -EINVAL);
    EXPECT(strstr(why, "none of the CPUs 1023 may be used"), "%s", why);
}

static void core_table(void)
{
    struct shm m;
    struct shm_config c = {.name = "cpus", .dir = check_dir};
    struct os_cpuset mine;
    os_getaffinity(0, &mine);
    EXPECT_EQ(shm_open_instance(&c, true, &m), 0);
    struct usf_core *core = shm_cores(m.h);
    unsigned last = 0;
    for (unsigned i = 0; i < m.h->nr_cores; i++) {
        EXPECT(core[i].pol.id == i && os_cpu_isset(&mine, core[i].pol.cpu) && (!i || core[i].pol.cpu > last));
        EXPECT(core[i].pol.current == USF_NONE && (atomic_load(&core[i].word) & 0xff) == USF_CORE_IDLE);
        EXPECT(atomic_load(&m.h->idle[i / 64]) >> (i % 64) & 1);
        EXPECT(core[i].pol.node < m.h->nr_cores && core[i].pol.llc < m.h->nr_cores && core[i].pol.package < m.h->nr_cores);
        last = core[i].pol.cpu;
    }
    EXPECT(shm_retire_if_empty(&m, c.dir));
    shm_close(&m);
    c.cpus = list("1023");
    EXPECT_EQ(shm_open_instance(&c, true, &m), -EINVAL);
}

int main(void)
{
    check_begin(50);
    check_shmdir();
    bounds();
    chosen();
    core_table();
    check_remove();
    return check_end();
}
