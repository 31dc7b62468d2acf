/* tests/nosv/affinity.c - where tasks run.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int completions, ran;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void values(void)
{
    CHECK_EQ(sizeof(nosv_affinity_t), 4);
    nosv_affinity_t a = nosv_affinity_get(5, NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_STRICT);
    CHECK_EQ(a.index, 5);
    CHECK_EQ(a.level, NOSV_AFFINITY_LEVEL_NUMA);
    CHECK_EQ(a.type, NOSV_AFFINITY_TYPE_STRICT);
    uint32_t bits;
    memcpy(&bits, &a, sizeof(bits));
    CHECK_EQ(bits, 5u << 3 | 1u << 2 | 2u);
    a = nosv_affinity_get(0x1fffffffu, NOSV_AFFINITY_LEVEL_USER_COMPLEX, NOSV_AFFINITY_TYPE_PREFERRED);
    memcpy(&bits, &a, sizeof(bits));
    CHECK_EQ(bits, 0xfffffffbu);
    CHECK_EQ(a.index, 0x1fffffff);
}

static bool same(nosv_affinity_t a, nosv_affinity_t b) { return !memcmp(&a, &b, sizeof(a)); }

static void body(nosv_task_t task) { (void)task; add(&ran, 1); }
static void attributes(void)
{
    nosv_task_type_t type = type_of(body, NULL, NULL);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    CHECK(same(nosv_get_task_affinity(task), nosv_get_default_affinity()));
    int cpu = first_cpu(), *nodes = nosv_get_available_numa_nodes();
    nosv_affinity_t good[] = {
        nosv_affinity_get((uint32_t)cpu, NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT),
        nosv_affinity_get((uint32_t)cpu, NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_PREFERRED),
        nosv_affinity_get((uint32_t)nodes[0], NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_STRICT),
        nosv_affinity_get((uint32_t)nodes[0], NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_PREFERRED),
    };
    for (int i = 0; i < 4; i++) {
        nosv_affinity_t a = good[i];
        nosv_set_task_affinity(task, &a);
        a.index = 99;               /* it was copied */
        CHECK(same(nosv_get_task_affinity(task), good[i]));
        for (uint32_t level = NOSV_AFFINITY_LEVEL_CPU; level <= NOSV_AFFINITY_LEVEL_USER_COMPLEX; level++) {
            for (int strict = 0; strict < 2; strict++) {
                nosv_affinity_t bad = nosv_affinity_get(0x1ffffff0u, (nosv_affinity_level_t)level, (nosv_affinity_type_t)strict);
                nosv_set_task_affinity(task, &bad);
                CHECK(same(nosv_get_task_affinity(task), good[i]));
            }
        }
        nosv_set_task_affinity(task, NULL);
        CHECK(same(nosv_get_task_affinity(task), good[i]));
    }
    nosv_affinity_t none = nosv_affinity_get(0, NOSV_AFFINITY_LEVEL_NONE, NOSV_AFFINITY_TYPE_PREFERRED);
    nosv_set_task_affinity(task, &none);
    CHECK_EQ(nosv_get_task_affinity(task).level, NOSV_AFFINITY_LEVEL_NONE);
    CHECK_EQ(nosv_get_task_affinity(NULL).level, NOSV_AFFINITY_LEVEL_NONE);
    nosv_set_task_affinity(NULL, &none);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    free(nodes);
}

/* A strict CPU: there, before and after each call that may move a task. */
static void on_cpu(nosv_task_t task)
{
    int cpu = (int)(intptr_t)pointer_of(task);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(nosv_get_current_system_cpu(), cpu);
        CHECK_EQ(sched_getcpu(), cpu);
        if (i % 3 == 0) OK(nosv_yield(NOSV_YIELD_NONE));
        else if (i % 3 == 1) OK(nosv_waitfor(1000, NULL));
        else { OK(nosv_submit(task, NOSV_SUBMIT_NONE)); OK(nosv_pause(NOSV_PAUSE_NONE)); }
    }
    add(&ran, 1);
}
static void strict_cpu(void)
{
    nosv_task_type_t type = type_of(on_cpu, NULL, finish);
    int *cpus = nosv_get_available_cpus(), n = nosv_get_num_cpus();
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < 100; i++) {
        int cpu = cpus[i % n];
        nosv_task_t task = task_of(type, (void *)(intptr_t)cpu, NOSV_CREATE_NONE);
        nosv_affinity_t affinity = nosv_affinity_get((uint32_t)cpu, NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
        nosv_set_task_affinity(task, &affinity);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&completions) == 100);
    CHECK_EQ(get(&ran), 100);
    free(cpus);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Other places: all tasks run, strict ones in the node. */
static void on_node(nosv_task_t task)
{
    nosv_affinity_t a = nosv_get_task_affinity(task);
    if (a.level == NOSV_AFFINITY_LEVEL_NUMA && a.type == NOSV_AFFINITY_TYPE_STRICT) CHECK_EQ(nosv_get_current_system_numa_node(), a.index);
    OK(nosv_yield(NOSV_YIELD_NONE));
    if (a.level == NOSV_AFFINITY_LEVEL_NUMA && a.type == NOSV_AFFINITY_TYPE_STRICT) CHECK_EQ(nosv_get_current_system_numa_node(), a.index);
    add(&ran, 1);
}
static void other_places(void)
{
    nosv_task_type_t type = type_of(on_node, NULL, finish);
    int *cpus = nosv_get_available_cpus(), *nodes = nosv_get_available_numa_nodes(), n = nosv_get_num_cpus(), m = nosv_get_num_numa_nodes();
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < 200; i++) {
        nosv_task_t task = task_of(type, NULL, i % 5 == 4 ? NOSV_CREATE_JOINABLE : NOSV_CREATE_NONE);
        nosv_affinity_t affinity = i % 4 == 0 ? nosv_affinity_get((uint32_t)cpus[i % n], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_PREFERRED)
            : i % 4 == 1 ? nosv_affinity_get((uint32_t)nodes[i % m], NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_STRICT)
            : i % 4 == 2 ? nosv_affinity_get((uint32_t)nodes[i % m], NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_PREFERRED)
            : nosv_affinity_get(0, NOSV_AFFINITY_LEVEL_NONE, NOSV_AFFINITY_TYPE_PREFERRED);
        nosv_set_task_affinity(task, &affinity);
        if (i % 5 != 4) { OK(nosv_submit(task, NOSV_SUBMIT_NONE)); continue; }
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
        add(&completions, 1);
        add(&ran, 1);
    }
    UNTIL(get(&completions) == 200);
    CHECK_EQ(get(&ran), 200);
    free(cpus);
    free(nodes);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A preferred CPU that is occupied does not hold a task up. */
static int flag;
static void spins(nosv_task_t task) { (void)task; while (!get(&flag)) sched_yield(); }
static void sets(nosv_task_t task) { (void)task; set(&flag, 1); }
static void preferred_goes_elsewhere(void)
{
    if (nosv_get_num_cpus() < 2) return;
    nosv_task_type_t spinner = type_of(spins, NULL, finish), setter = type_of(sets, NULL, finish);
    nosv_affinity_t affinity = one_cpu();
    set(&flag, 0);
    set(&completions, 0);
    OK(nosv_submit(pinned(task_of(spinner, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    affinity.type = NOSV_AFFINITY_TYPE_PREFERRED;
    nosv_task_t task = task_of(setter, NULL, NOSV_CREATE_NONE);
    nosv_set_task_affinity(task, &affinity);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 2);
    OK(nosv_type_destroy(spinner, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(setter, NOSV_TYPE_DESTROY_NONE));
}

/* Complex sets and the default affinity come from the configuration. */
static void write_config(const char *text)
{
    char path[] = "/tmp/nosv-test-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
    CHECK(!setenv("NOSV_CONFIG", path, 1));
    OK(nosv_init());
    unlink(path);
}
static void in_complex(nosv_task_t task)
{
    nosv_affinity_t a = nosv_get_task_affinity(task);
    CHECK_EQ(a.level, NOSV_AFFINITY_LEVEL_USER_COMPLEX);
    int *sets_ = nosv_get_available_domains(NOSV_TOPO_LEVEL_COMPLEX_SET);
    CHECK(sets_);
    if (a.type == NOSV_AFFINITY_TYPE_STRICT) CHECK_EQ(nosv_get_current_system_domain(NOSV_TOPO_LEVEL_COMPLEX_SET), a.index);
    free(sets_);
    add(&ran, 1);
}
static int child_cpus[2];
static void complex_sets(void)
{
    char text[200];
    snprintf(text, sizeof(text), "[topology]\ncomplex_sets = [\"%d\", \"%d\"]\n", child_cpus[1], child_cpus[0]);
    write_config(text);
    CHECK_EQ(nosv_get_num_domains(NOSV_TOPO_LEVEL_COMPLEX_SET), 2);
    for (int s = 0; s < 2; s++) {       /* the order in the file gives the ids */
        CHECK_EQ(nosv_get_num_cpus_in_domain(NOSV_TOPO_LEVEL_COMPLEX_SET, s), 1);
        int *cpus = nosv_get_available_cpus_in_domain(NOSV_TOPO_LEVEL_COMPLEX_SET, s);
        CHECK(cpus);
        CHECK_EQ(cpus[0], child_cpus[1 - s]);
        free(cpus);
    }
    nosv_task_type_t type = type_of(in_complex, NULL, finish);
    for (int i = 0; i < 100; i++) {
        nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
        nosv_affinity_t a = nosv_affinity_get((uint32_t)i % 2, NOSV_AFFINITY_LEVEL_USER_COMPLEX, (nosv_affinity_type_t)(i % 4 < 2));
        nosv_set_task_affinity(task, &a);
        CHECK(same(nosv_get_task_affinity(task), a));
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&completions) == 100);
    OK(nosv_shutdown());
}
static void numa_nodes(void)
{
    char text[200];
    snprintf(text, sizeof(text), "[topology]\nnuma_nodes = [\"%d\"]\nbinding = \"0x%x\"\n", child_cpus[1], 1u << child_cpus[0] | 1u << child_cpus[1]);
    write_config(text);
    CHECK_EQ(nosv_get_num_numa_nodes(), 2);
    CHECK_EQ(nosv_get_num_cpus(), 2);
    int *nodes = nosv_get_available_numa_nodes();
    CHECK_EQ(nodes[0] + nodes[1], 1);   /* 0: the list; 1: the rest */
    free(nodes);
    for (int i = 0; i < 2; i++) {
        int *cpus = nosv_get_available_cpus_in_domain(NOSV_TOPO_LEVEL_NUMA, i);
        CHECK_EQ(nosv_get_num_cpus_in_numa(i), 1);
        CHECK_EQ(cpus[0], child_cpus[1 - i]);
        free(cpus);
    }
    OK(nosv_shutdown());
}
static void default_cpu(void)
{
    char text[200];
    snprintf(text, sizeof(text), "[task_affinity]\ndefault = \"cpu-%d\"\ndefault_policy = \"strict\"\n", child_cpus[0]);
    write_config(text);
    nosv_affinity_t a = nosv_get_default_affinity(), want = nosv_affinity_get((uint32_t)child_cpus[0], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
    CHECK(same(a, want));
    nosv_task_type_t type = type_of(on_cpu, NULL, finish);
    for (int i = 0; i < 10; i++) OK(nosv_submit(task_of(type, (void *)(intptr_t)child_cpus[0], NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 10);
    attach();
    CHECK_EQ(nosv_get_current_system_cpu(), child_cpus[0]);
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
}
static void default_numa(void)
{
    write_config("[task_affinity]\ndefault = \"numa-0\"\ndefault_policy = \"preferred\"\n");
    nosv_affinity_t a = nosv_get_default_affinity(), want = nosv_affinity_get(0, NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_PREFERRED);
    CHECK(same(a, want));
    OK(nosv_shutdown());
}
static void find_cpus(void)
{
    cpu_set_t mask;
    int n = 0;
    CHECK(!sched_getaffinity(0, sizeof(mask), &mask));
    for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++) if (CPU_ISSET(cpu, &mask)) child_cpus[n++] = cpu;
    if (n == 1) child_cpus[1] = -1;
}

int main(void)
{
    begin();
    values();
    find_cpus();
    if (child_cpus[1] >= 0 && CPU_SETSIZE) {
        cpu_set_t two, before;
        CHECK(!sched_getaffinity(0, sizeof(before), &before));
        CPU_ZERO(&two);
        CPU_SET(child_cpus[0], &two);
        CPU_SET(child_cpus[1], &two);
        CHECK(!sched_setaffinity(0, sizeof(two), &two));
        in_child(complex_sets);
        if (child_cpus[0] < 31 && child_cpus[1] < 31) in_child(numa_nodes);
        CHECK(!sched_setaffinity(0, sizeof(before), &before));
    }
    in_child(default_cpu);
    in_child(default_numa);
    CHECK_EQ(nosv_get_default_affinity().level, NOSV_AFFINITY_LEVEL_NONE);
    OK(nosv_init());
    CHECK_EQ(nosv_get_default_affinity().level, NOSV_AFFINITY_LEVEL_NONE);
    attributes();
    strict_cpu();
    other_places();
    preferred_goes_elsewhere();
    in_task(attributes, NOSV_CREATE_NONE);
    attach();
    strict_cpu();
    other_places();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
