/* src/tcm/cpus.c - the CPUs of the process, and those that a constraint names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tcm/tcm.h"

/* By libc's function, which usf and libnosv answer: their threads are bound to one CPU each. */
static void add_cpus_of(pid_t thread, struct os_cpuset *cpus)
{
    struct os_cpuset more;
    memset(&more, 0, sizeof(more));
    if (sched_getaffinity(thread, sizeof(more), (cpu_set_t *)&more) != 0) return;
    for (unsigned w = 0; w < OS_CPUSET_WORDS; w++) cpus->w[w] |= more.w[w];
}

/* The first thread's CPUs, and the caller's: a runtime may have bound one of them. */
void tcm_look_at_cpus(void)
{
    memset(&tcm.cpus, 0, sizeof(tcm.cpus));
    add_cpus_of(getpid(), &tcm.cpus);
    add_cpus_of(0, &tcm.cpus);
    tcm.ncpus = os_cpu_count(&tcm.cpus);
    unsigned quota = os_cgroup_quota("", 0, NULL);
    if (quota && quota < tcm.ncpus) tcm.ncpus = quota;
    if (!tcm.ncpus) tcm.ncpus = 1;
}

/* Masks are hwloc's, whose library is had only if the program passes one. */
static struct {
    int (*isset)(tcm_cpu_mask_t, unsigned);
    void (*zero)(tcm_cpu_mask_t);
    int (*set)(tcm_cpu_mask_t, unsigned);
} hwloc;

static void find_hwloc(void)
{
    void *library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    *(void **)&hwloc.zero = dlsym(library, "hwloc_bitmap_zero");
    *(void **)&hwloc.set = dlsym(library, "hwloc_bitmap_set");
    *(void **)&hwloc.isset = dlsym(library, "hwloc_bitmap_isset");
}

static bool have_hwloc(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_hwloc);
    return hwloc.isset && hwloc.zero && hwloc.set;
}

void tcm_write_mask(tcm_cpu_mask_t mask, const struct os_cpuset *cpus)
{
    if (!mask || !have_hwloc()) return;
    hwloc.zero(mask);
    for (unsigned c = 0; c < OS_CPUSET_WORDS * 64; c++)
        if (os_cpu_isset(cpus, c)) hwloc.set(mask, c);
}

static bool in_place(const tcm_cpu_constraints_t *c, const struct os_cpu_place *place, unsigned cpu)
{
    if (c->numa_id >= 0 && place[cpu].node != (uint32_t)c->numa_id) return false;
    if (c->threads_per_core <= 0) return true;
    int32_t before = 0;         /* CPUs of the same core with lower numbers */
    for (unsigned other = 0; other < cpu; other++)
        if (os_cpu_isset(&tcm.cpus, other)) before += place[other].phys == place[cpu].phys;
    return before < c->threads_per_core;
}

/* The CPUs of the process that the constraint names; all, if it names none of them.  Linux does not
 * number types of cores, so those count as one. */
static void cpus_of(const tcm_cpu_constraints_t *c, struct os_cpuset *out)
{
    struct os_cpu_place *place = NULL;
    bool by_mask = c->mask && have_hwloc();
    if (!by_mask && (c->numa_id >= 0 || c->threads_per_core > 0)) place = malloc(OS_CPUSET_WORDS * 64 * sizeof(*place));
    if (place) os_topology("", &tcm.cpus, place);
    memset(out, 0, sizeof(*out));
    for (unsigned cpu = 0; cpu < OS_CPUSET_WORDS * 64; cpu++) {
        if (!os_cpu_isset(&tcm.cpus, cpu)) continue;
        if (by_mask ? hwloc.isset(c->mask, cpu) > 0 : !place || in_place(c, place, cpu)) os_cpu_set(out, cpu);
    }
    free(place);
    if (!os_cpu_count(out)) *out = tcm.cpus;
}

static bool says_something(const tcm_cpu_constraints_t *c)
{
    return c->min_concurrency != TCM_AUTOMATIC || c->max_concurrency != TCM_AUTOMATIC || c->mask || c->numa_id != TCM_AUTOMATIC
        || c->core_type_id != TCM_AUTOMATIC || c->threads_per_core != TCM_AUTOMATIC;
}

tcm_result_t tcm_constrain(const tcm_permit_request_t *request, struct tcm_constraint **out)
{
    uint32_t n = request->constraints_size;
    int64_t min = 0, max = 0;
    *out = NULL;
    if (!request->cpu_constraints) return n ? TCM_RESULT_ERROR_INVALID_ARGUMENT : TCM_RESULT_SUCCESS;
    if (!n || n > OS_CPUSET_WORDS * 64) return TCM_RESULT_ERROR_INVALID_ARGUMENT;   /* more than there are CPUs: grants are divided on the stack */
    for (uint32_t i = 0; i < n; i++) {
        const tcm_cpu_constraints_t *c = &request->cpu_constraints[i];
        if (!says_something(c) || c->min_concurrency < TCM_AUTOMATIC || c->max_concurrency < TCM_AUTOMATIC)
            return TCM_RESULT_ERROR_INVALID_ARGUMENT;
        if (c->max_concurrency >= 0 && c->max_concurrency < c->min_concurrency) return TCM_RESULT_ERROR_INVALID_ARGUMENT;
        min += c->min_concurrency > 0 ? c->min_concurrency : 0;
        max += c->max_concurrency > 0 ? c->max_concurrency : 0;
        if (min > (int64_t)tcm.ncpus || max > INT32_MAX) return TCM_RESULT_ERROR_INVALID_ARGUMENT;
    }
    struct tcm_constraint *to = calloc(n, sizeof(*to));
    if (!to) return TCM_RESULT_ERROR_UNKNOWN;
    for (uint32_t i = 0; i < n; i++) {
        const tcm_cpu_constraints_t *c = &request->cpu_constraints[i];
        cpus_of(c, &to[i].cpus);
        uint32_t there = os_cpu_count(&to[i].cpus);
        to[i].max = c->max_concurrency >= 0 && (uint32_t)c->max_concurrency < there ? (uint32_t)c->max_concurrency : there;
        to[i].min = c->min_concurrency > 0 ? (uint32_t)c->min_concurrency : 0;
        if (to[i].max < to[i].min) to[i].max = to[i].min;
    }
    *out = to;
    return TCM_RESULT_SUCCESS;
}
