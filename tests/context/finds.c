/* tests/context/finds.c - how many CPUs real libraries find in a context.  SPDX-License-Identifier: Apache-2.0
 * usage: finds LIBRARY...; file names of the table below, those that are installed.  77: one CPU, or none of the libraries.
 *
 * Each library is asked in a context with one CPU, in one with two, and in the program, all at once. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <usf/context.h>

#include "../check.h"

/* The number, by the library's own functions. */
static void *function(void *library, const char *name)
{
    void *f = dlsym(library, name);
    if (!f) fprintf(stderr, "no %s\n", name);
    CHECK(f);
    return f;
}
#define CALL(library, type, name) (((type (*)(void))function(library, name))())

static int openmp(void *library)
{
    int n = CALL(library, int, "omp_get_num_procs");
    CHECK_EQ(CALL(library, int, "omp_get_max_threads"), n);
    return n;
}
/* The one that is built on OpenMP executes with its threads. */
static int openblas(void *library)
{
    enum { BY_OPENMP = 2 };
    if (CALL(library, int, "openblas_get_parallel") == BY_OPENMP) return openmp(library);
    int n = CALL(library, int, "openblas_get_num_procs");
    CHECK_EQ(CALL(library, int, "openblas_get_num_threads"), n);
    return n;
}
static int tbb(void *library) { return ((int (*)(void *))function(library, "_ZN3tbb6detail2r115max_concurrencyEPKNS0_2d115task_arena_baseE"))(0); }

static int hwloc(void *library)
{
    enum { PU = 3 };        /* HWLOC_OBJ_PU, since version 2 */
    void *topology;
    CHECK(CALL(library, unsigned, "hwloc_get_api_version") >= 0x20000);
    CHECK(!((int (*)(void **))function(library, "hwloc_topology_init"))(&topology));
    CHECK(!((int (*)(void *))function(library, "hwloc_topology_load"))(topology));
    int depth = ((int (*)(void *, int))function(library, "hwloc_get_type_depth"))(topology, PU);
    int n = (int)((unsigned (*)(void *, int))function(library, "hwloc_get_nbobjs_by_depth"))(topology, depth);
    ((void (*)(void *))function(library, "hwloc_topology_destroy"))(topology);
    return n;
}

static const struct { const char *name; int (*ask)(void *); } table[] = {
    {"libgomp.so.1", openmp}, {"libomp.so.5", openmp}, {"libopenblas.so.0", openblas}, {"libtbb.so.12", tbb}, {"libhwloc.so.15", hwloc}};

struct asker { int (*ask)(void *); void *library; pthread_barrier_t *begin; int found; };

static void *asks(void *arg)
{
    struct asker *a = arg;
    pthread_barrier_wait(a->begin);
    a->found = a->ask(a->library);
    return 0;
}

static void *in_context(const char *path, const char *cpus)
{
    static const char *const env[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_THREAD_LIMIT", 0};
    usf_context_t *c = usf_context_create(&(struct usf_context_options){.cpus = cpus, .env = env});
    void *h = c ? usf_context_open(c, path) : 0;
    if (!h) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(h);
    return h;
}

static void look(const char *path, int (*ask)(void *), const char *one, const char *two, int all)
{
    pthread_barrier_t begin;
    pthread_t threads[4];
    void *base = dlopen(path, RTLD_NOW);
    CHECK(base && !pthread_barrier_init(&begin, 0, 4));
    struct asker askers[] = {{ask, in_context(path, one), &begin, 0}, {ask, in_context(path, two), &begin, 0}, {ask, in_context(path, 0), &begin, 0}, {ask, base, &begin, 0}};
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], 0, asks, &askers[i]));
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(threads[i], 0));
    printf("%s: %d with one CPU, %d with two, %d without a list, %d in the program\n", path, askers[0].found, askers[1].found, askers[2].found, askers[3].found);
    CHECK_EQ(askers[0].found, 1);
    CHECK_EQ(askers[1].found, 2);
    CHECK_EQ(askers[2].found, all);
    CHECK_EQ(askers[3].found, all);
}

int main(int argc, char **argv)
{
    char one[16], two[40];
    int cpus[2], n = 0, looked = 0;
    cpu_set_t set;
    CHECK(!sched_getaffinity(0, sizeof set, &set));
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set) && n++ < 2) cpus[n - 1] = i;
    if (n < 2) {
        puts("skipped: one CPU");
        return 77;
    }
    snprintf(one, sizeof one, "%d", cpus[1]);
    snprintf(two, sizeof two, "%d,%d", cpus[0], cpus[1]);
    unsetenv("OMP_NUM_THREADS");
    unsetenv("OPENBLAS_NUM_THREADS");
    alarm(60);
    for (int i = 1; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/'), *name = slash ? slash + 1 : argv[i];
        if (access(argv[i], R_OK)) continue;
        for (unsigned k = 0; k < sizeof table / sizeof *table; k++)
            if (!strcmp(name, table[k].name)) look(argv[i], table[k].ask, one, two, n), looked++;
    }
    if (!looked) puts("skipped: the library is not installed");
    return looked ? 0 : 77;
}
