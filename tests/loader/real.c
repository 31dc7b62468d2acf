/* tests/loader/real.c - real parallel libraries in four contexts and the program, all at once.  SPDX-License-Identifier: Apache-2.0
 * usage: loader-real region LIBRARY | blas LIBRARY */
#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <usf/context.h>

#include "../check.h"
#include <pthread.h>

enum { CONTEXTS = 4, ROUNDS = 200 };

struct user { void *library; int threads; pthread_t thread; };

static void *region(void *arg)
{
    struct user *u = arg;
    int (*sum)(int, int *) = (int (*)(int, int *))dlsym(u->library, "region_sum"), threads;
    CHECK(sum);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sum(1000 + i, &threads), (1000 + i) * (1001 + i) / 2);
        if (u->threads) CHECK_EQ(threads, u->threads);
    }
    return 0;
}

static void *blas(void *arg)
{
    enum { N = 96 };
    struct user *u = arg;
    void (*dgemm)(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *, const double *,
                  const int *, const double *, double *, const int *);
    *(void **)&dgemm = dlsym(u->library, "dgemm_");
    int (*threads)(void) = (int (*)(void))dlsym(u->library, "openblas_get_num_threads"), n = N;
    double *a = malloc(3 * N * N * sizeof *a), *b = a + N * N, *c = b + N * N, one = 1, zero = 0;
    CHECK(dgemm && threads && a);
    if (u->threads) CHECK_EQ(threads(), u->threads);
    for (int i = 0; i < N * N; i++) a[i] = i % 7 - 3, b[i] = i % N == i / N ? 2 : 0;
    for (int i = 0; i < ROUNDS; i++) {
        memset(c, 0, N * N * sizeof *c);
        dgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
        for (int k = 0; k < N * N; k++) CHECK(fabs(c[k] - 2 * a[k]) < 1e-12);
    }
    free(a);
    return 0;
}

int main(int argc, char **argv)
{
    struct user users[CONTEXTS + 1];
    CHECK(argc == 3);
    void *(*run)(void *) = strcmp(argv[1], "blas") ? region : blas;
    alarm(100);
    for (int i = 0; i < CONTEXTS; i++) {
        char omp[32], openblas[32];
        snprintf(omp, sizeof omp, "OMP_NUM_THREADS=%d", run == region ? i + 1 : i % 2 + 1);
        snprintf(openblas, sizeof openblas, "OPENBLAS_NUM_THREADS=%d", i % 2 + 1);      /* not more than CPUs */
        usf_context_t *c = usf_context_create(&(struct usf_context_options){.env = (const char *const[]){omp, openblas, "OMP_DYNAMIC=false", 0}});
        CHECK(c);
        users[i].library = usf_context_open(c, argv[2]);
        if (!users[i].library) fprintf(stderr, "%s\n", usf_context_error());
        CHECK(users[i].library);
        users[i].threads = run == region ? i + 1 : sysconf(_SC_NPROCESSORS_ONLN) > 1 ? i % 2 + 1 : 1;
    }
    users[CONTEXTS] = (struct user){.library = dlopen(argv[2], RTLD_NOW)};
    CHECK(users[CONTEXTS].library);
    for (int i = 0; i <= CONTEXTS; i++) CHECK(!pthread_create(&users[i].thread, 0, run, &users[i]));
    for (int i = 0; i <= CONTEXTS; i++) CHECK(!pthread_join(users[i].thread, 0));
    return 0;
}
