/* tests/nosv/hwinfo.c - the CPUs that tasks run on.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static const nosv_topo_level_t levels[] = {NOSV_TOPO_LEVEL_NODE, NOSV_TOPO_LEVEL_NUMA, NOSV_TOPO_LEVEL_COMPLEX_SET, NOSV_TOPO_LEVEL_CORE, NOSV_TOPO_LEVEL_CPU};
static cpu_set_t mask;

static void errors(void)
{
    static const int bad_levels[] = {NOSV_TOPO_LEVEL_COUNT, -1, 77};
    for (int i = 0; i < 3; i++) {
        nosv_topo_level_t bad = (nosv_topo_level_t)bad_levels[i];
        CHECK_EQ(nosv_get_num_domains(bad), NOSV_ERR_INVALID_PARAMETER);
        CHECK(!nosv_get_available_domains(bad));
        CHECK_EQ(nosv_get_num_cpus_in_domain(bad, 0), NOSV_ERR_INVALID_PARAMETER);
        CHECK(!nosv_get_available_cpus_in_domain(bad, 0));
    }
    for (int i = 0; i < 5; i++) {
        static const int ids[] = {-1, INT_MIN, INT_MAX, 1 << 20};
        for (int k = 0; k < 4; k++) {
            CHECK_EQ(nosv_get_num_cpus_in_domain(levels[i], ids[k]), NOSV_ERR_INVALID_PARAMETER);
            CHECK(!nosv_get_available_cpus_in_domain(levels[i], ids[k]));
            CHECK_EQ(nosv_get_system_numa_id(ids[k]), NOSV_ERR_INVALID_PARAMETER);
            CHECK_EQ(nosv_get_logical_numa_id(ids[k]), NOSV_ERR_INVALID_PARAMETER);
            CHECK_EQ(nosv_get_num_cpus_in_numa(ids[k]), NOSV_ERR_INVALID_PARAMETER);
        }
    }
    CHECK_EQ(nosv_get_system_numa_id(nosv_get_num_numa_nodes()), NOSV_ERR_INVALID_PARAMETER);
}

static void outside(void)
{
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(nosv_get_current_logical_domain(levels[i]), NOSV_ERR_OUTSIDE_TASK);
        CHECK_EQ(nosv_get_current_system_domain(levels[i]), NOSV_ERR_OUTSIDE_TASK);
    }
    CHECK_EQ(nosv_get_current_logical_cpu(), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_get_current_system_cpu(), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_get_current_logical_numa_node(), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_get_current_system_numa_node(), NOSV_ERR_OUTSIDE_TASK);
}

/* The CPUs are those of the process's mask, each once. */
static void cpus(void)
{
    int n = nosv_get_num_cpus(), *ids = nosv_get_available_cpus();
    CHECK_EQ(n, CPU_COUNT(&mask));
    CHECK(ids);
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (int i = 0; i < n; i++) {
        CHECK(ids[i] >= 0 && ids[i] < CPU_SETSIZE && CPU_ISSET(ids[i], &mask) && !CPU_ISSET(ids[i], &seen));
        CPU_SET(ids[i], &seen);
    }
    free(ids);
    CHECK_EQ(nosv_get_num_domains(NOSV_TOPO_LEVEL_CPU), n);
    CHECK_EQ(nosv_get_num_domains(NOSV_TOPO_LEVEL_NODE), 1);
}

/* On each level, each CPU is in one domain; each domain lies in one of the level before. */
static void domains(void)
{
    int above[CPU_SETSIZE], here[CPU_SETSIZE];
    memset(above, 0, sizeof(above));
    for (int i = 0; i < 5; i++) {
        int n = nosv_get_num_domains(levels[i]), *ids = nosv_get_available_domains(levels[i]), total = 0;
        CHECK(n >= 1 && ids);
        for (int c = 0; c < CPU_SETSIZE; c++) here[c] = -1;
        for (int d = 0; d < n; d++) {
            int m = nosv_get_num_cpus_in_domain(levels[i], ids[d]), *in = nosv_get_available_cpus_in_domain(levels[i], ids[d]);
            CHECK(m >= 1 && in);
            for (int c = 0; c < m; c++) {
                CHECK(in[c] >= 0 && in[c] < CPU_SETSIZE && CPU_ISSET(in[c], &mask));
                CHECK_EQ(here[in[c]], -1);
                here[in[c]] = d;
                CHECK_EQ(above[in[c]], above[in[0]]);
            }
            total += m;
            free(in);
        }
        CHECK_EQ(total, nosv_get_num_cpus());
        memcpy(above, here, sizeof(above));
        free(ids);
    }
    int *ids = nosv_get_available_domains(NOSV_TOPO_LEVEL_CPU), *same = nosv_get_available_cpus();
    CHECK(!memcmp(ids, same, sizeof(*ids) * (size_t)nosv_get_num_cpus()));
    free(ids);
    free(same);
}

static void numa(void)
{
    int n = nosv_get_num_numa_nodes(), *ids = nosv_get_available_numa_nodes(), total = 0;
    CHECK(n >= 1 && ids);
    CHECK_EQ(nosv_get_num_domains(NOSV_TOPO_LEVEL_NUMA), n);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(nosv_get_system_numa_id(i), ids[i]);
        CHECK_EQ(nosv_get_logical_numa_id(ids[i]), i);
        CHECK(nosv_get_num_cpus_in_numa(ids[i]) >= 1);
        CHECK_EQ(nosv_get_num_cpus_in_numa(ids[i]), nosv_get_num_cpus_in_domain(NOSV_TOPO_LEVEL_NUMA, ids[i]));
        total += nosv_get_num_cpus_in_numa(ids[i]);
    }
    CHECK_EQ(total, nosv_get_num_cpus());
    free(ids);
}

static void anywhere(void) { errors(); cpus(); domains(); numa(); }

/* The current ids, from a task that does not move. */
static void current(int cpu)
{
    CHECK_EQ(nosv_get_current_system_cpu(), cpu);
    CHECK_EQ(sched_getcpu(), cpu);
    int *ids = nosv_get_available_cpus(), logical = nosv_get_current_logical_cpu();
    CHECK(logical >= 0 && logical < nosv_get_num_cpus());
    CHECK_EQ(ids[logical], cpu);
    free(ids);
    for (int i = 0; i < 5; i++) {
        int l = nosv_get_current_logical_domain(levels[i]), s = nosv_get_current_system_domain(levels[i]), found = 0;
        CHECK(l >= 0 && l < nosv_get_num_domains(levels[i]));
        ids = nosv_get_available_domains(levels[i]);
        CHECK_EQ(ids[l], s);
        free(ids);
        ids = nosv_get_available_cpus_in_domain(levels[i], s);
        for (int c = 0; c < nosv_get_num_cpus_in_domain(levels[i], s); c++) found += ids[c] == cpu;
        CHECK_EQ(found, 1);
        free(ids);
    }
    CHECK_EQ(nosv_get_current_logical_domain(NOSV_TOPO_LEVEL_CPU), logical);
    CHECK_EQ(nosv_get_current_system_domain(NOSV_TOPO_LEVEL_CPU), cpu);
    CHECK_EQ(nosv_get_current_logical_numa_node(), nosv_get_current_logical_domain(NOSV_TOPO_LEVEL_NUMA));
    CHECK_EQ(nosv_get_current_system_numa_node(), nosv_get_system_numa_id(nosv_get_current_logical_numa_node()));
    CHECK_EQ(nosv_get_current_logical_domain((nosv_topo_level_t)77), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_get_current_system_domain(NOSV_TOPO_LEVEL_COUNT), NOSV_ERR_INVALID_PARAMETER);
}
static int completions;
static void body(nosv_task_t task) { current((int)(intptr_t)pointer_of(task)); anywhere(); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

int main(void)
{
    begin();
    CHECK(!sched_getaffinity(0, sizeof(mask), &mask));
    OK(nosv_init());
    anywhere();
    outside();
    nosv_task_type_t type = type_of(body, NULL, finish);
    int *ids = nosv_get_available_cpus(), n = nosv_get_num_cpus();
    for (int i = 0; i < n; i++) {
        nosv_task_t task = task_of(type, (void *)(intptr_t)ids[i], NOSV_CREATE_NONE);
        nosv_affinity_t a = nosv_affinity_get((uint32_t)ids[i], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
        nosv_set_task_affinity(task, &a);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&completions) == n);
    attach_pinned();
    current(first_cpu());
    anywhere();
    OK(nosv_detach(NOSV_DETACH_NONE));
    outside();
    free(ids);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
    return 0;
}
