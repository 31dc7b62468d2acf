/* bench/nosv-omp/blas.c - dgemm of a library that is named at run time.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "../workloads/workload.h"
#include "inner.h"

enum { ROW_MAJOR = 101, AS_IT_IS = 111 };

static void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);

static void *need(void *lib, const char *name)
{
    void *p = lib ? dlsym(lib, name) : NULL;
    if (!p) die(dlerror());
    return p;
}

void blas_load(const char *path, int threads)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void (*set_threads)(int);
    *(void **)&dgemm = need(lib, "cblas_dgemm");
    *(void **)&set_threads = need(lib, "openblas_set_num_threads");
    set_threads(threads);
}

void blas_multiply(long rows, long n, double *c, const double *a, const double *b)
{
    int m = (int)n;
    dgemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, (int)rows, m, m, 1.0, a, m, b, m, 1.0, c, m);
}
