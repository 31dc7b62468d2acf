/* examples/contexts/arpack.c - eigenvalues by ARPACK, in two threads at once.  SPDX-License-Identifier: Apache-2.0
 *
 * make -C examples/contexts arpack; examples/contexts/arpack [OPTION]...
 *
 * ARPACK returns to its caller for each product with the matrix, and goes on where it was at the next
 * call.  It keeps the state in variables of the library, so it can compute one problem at a time.  Each
 * context has an ARPACK of its own. */
#include "compared.h"

#include <arpack/arpack.h>
#include <dlfcn.h>
#include <pthread.h>

#define LIBRARY "libarpack.so.2"
#define WANTED 6
#define BASIS 20

struct arpack {
    __typeof__(dsaupd_c) *iterate;
    __typeof__(dseupd_c) *values;
};

/* The matrix is H D H: D has 1, 1/2, 1/3, ... on its diagonal, H is a reflection.  So these are its
 * eigenvalues. */
struct problem {
    struct arpack arpack;
    usf_context_t *context;     /* or NULL */
    int n;
    a_int ido, info, iparam[11], ipntr[14];
    double *mirror, *resid, *basis, *workd, workl[BASIS * (BASIS + 8)];
    double result;
    int times;
};

static double *array(size_t n)
{
    double *a = (double *)calloc(n, sizeof *a);
    if (!a) compared_fail("no memory", NULL);
    return a;
}

static void begin(struct problem *p, struct arpack arpack, usf_context_t *context, int n, int times)
{
    double length = 0;
    *p = (struct problem){.arpack = arpack, .context = context, .n = n < 2 * BASIS ? 2 * BASIS : n, .times = times};
    n = p->n;
    p->mirror = array((size_t)n);
    p->resid = array((size_t)n);
    p->basis = array((size_t)n * BASIS);
    p->workd = array(3 * (size_t)n);
    for (int i = 0; i < n; i++) length += (1 + i % 7) * (1 + i % 7);
    for (int i = 0; i < n; i++) p->mirror[i] = (1 + i % 7) / sqrt(length);
}

static void end(struct problem *p)
{
    free(p->mirror);
    free(p->resid);
    free(p->basis);
    free(p->workd);
}

static void restart(struct problem *p)
{
    p->ido = 0;
    p->info = 1;                /* resid has the first vector */
    for (int i = 0; i < p->n; i++) p->resid[i] = 1 + i % 3;
    memset(p->iparam, 0, sizeof p->iparam);
    p->iparam[0] = 1;           /* exact shifts */
    p->iparam[2] = 300;         /* iterations at most */
    p->iparam[6] = 1;           /* A x = lambda x */
}

static void reflect(const struct problem *p, double *x)
{
    double along = 0;
    for (int i = 0; i < p->n; i++) along += p->mirror[i] * x[i];
    for (int i = 0; i < p->n; i++) x[i] -= 2 * along * p->mirror[i];
}

/* Goes on until ARPACK wants a product, and makes it.  1: there is more to do. */
static int step(struct problem *p)
{
    p->arpack.iterate(&p->ido, "I", p->n, "LM", WANTED, 0, p->resid, BASIS, p->basis, p->n, p->iparam, p->ipntr, p->workd, p->workl,
                      BASIS * (BASIS + 8), &p->info);
    if (p->ido != 1 && p->ido != -1) return 0;
    const double *x = p->workd + p->ipntr[0] - 1;
    double *y = p->workd + p->ipntr[1] - 1;
    memcpy(y, x, (size_t)p->n * sizeof *y);
    reflect(p, y);
    for (int i = 0; i < p->n; i++) y[i] /= i + 1;
    reflect(p, y);
    return 1;
}

/* The largest error of an eigenvalue; the sum of them is the result. */
static double values(struct problem *p)
{
    double d[WANTED] = {0}, error = 0;
    a_int select[BASIS] = {0};
    if (p->info < 0) return INFINITY;
    p->arpack.values(0, "A", select, d, p->basis, p->n, 0, "I", p->n, "LM", WANTED, 0, p->resid, BASIS, p->basis, p->n, p->iparam, p->ipntr,
                     p->workd, p->workl, BASIS * (BASIS + 8), &p->info);
    if (p->info || p->iparam[4] < WANTED) return INFINITY;
    p->result = 0;
    for (int i = 0; i < WANTED; i++) {
        const double wrong = fabs(d[i] - 1.0 / (WANTED - i));      /* they come in ascending order */
        if (!(wrong <= error)) error = wrong;
        p->result += (i + 1) * d[i];
    }
    return error;
}

static void *solve(void *argument)
{
    struct problem *p = (struct problem *)argument;
    double sum = 0;
    /* ARPACK would know its context without it; but so the thread is in it, too, for `usf run`. */
    if (p->context && usf_context_enter(p->context)) compared_fail("usf_context_enter", usf_context_error());
    for (int t = 0; t < p->times; t++) {
        restart(p);
        while (step(p)) {}
        if (!(values(p) < 1e-9)) compared_fail("ARPACK", "a wrong result");
        sum += p->result;
    }
    if (p->context) usf_context_leave();
    p->result = sum;
    return NULL;
}

/* Two problems in turn, by one ARPACK, in one thread.  1: the results are right. */
static int in_turn(void *argument)
{
    struct problem *p = (struct problem *)argument;
    int going[2] = {1, 1};
    restart(&p[0]);
    restart(&p[1]);
    for (int rounds = 0; (going[0] || going[1]) && rounds < 100000; rounds++)
        for (int i = 0; i < 2; i++) going[i] = going[i] && step(&p[i]);
    return values(&p[0]) < 1e-9 && values(&p[1]) < 1e-9;
}

static struct arpack loaded(void *library)
{
    const struct arpack a = {(__typeof__(dsaupd_c) *)dlsym(library, "dsaupd_c"), (__typeof__(dseupd_c) *)dlsym(library, "dseupd_c")};
    if (!a.iterate || !a.values) compared_fail(LIBRARY, dlerror());
    return a;
}

static void in_threads(struct problem *p)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, solve, &p[i])) compared_fail("pthread_create failed", NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* With one ARPACK, or with one in each context. */
static void compute(struct compared *c, usf_context_t **contexts)
{
    const int n = compared_size(c, 30000, 1);
    struct problem p[2];
    for (int i = 0; i < 2; i++) {
        void *library = contexts ? usf_context_open(contexts[i], LIBRARY) : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!library) compared_fail(LIBRARY, contexts ? usf_context_error() : dlerror());
        begin(&p[i], loaded(library), contexts ? contexts[i] : NULL, n + i * n / 10, 20);
    }
    if (c->unsafe) {
        printf("two problems in turn, %s: %s\n", contexts ? "an ARPACK in each of two contexts" : "one ARPACK", compared_in_child(in_turn, p));
    } else {
        const double start = compared_now();
        if (contexts) in_threads(p);
        else solve(&p[0]), solve(&p[1]);
        const double seconds = compared_now() - start, results[] = {p[0].result, p[1].result};
        compared_report(c, contexts ? "contexts" : "sequential", seconds, results);
    }
    for (int i = 0; i < 2; i++) end(&p[i]);
}

int main(int argc, char **argv)
{
    struct compared c = {.names = {"arpack1", "arpack2"}, .n = 2, .lacks = "threads", .has_unsafe = 1};
    compared_options(&c, argc, argv, "Two eigenvalue problems: one after the other with one ARPACK, and at once with one in each of two contexts.\n"
                                     "--unsafe shows what becomes of two problems in turn, with one ARPACK and with one in each context.");
    if (compared_does(&c, "sequential")) compute(&c, NULL);
    if (compared_does(&c, "contexts")) {
        usf_context_t *contexts[2];
        compared_make(&c, contexts);
        compute(&c, contexts);
        compared_destroy(&c, contexts);
    }
    return 0;
}
