/* examples/contexts/fftw.c - FFTW's planner in several threads at once.  SPDX-License-Identifier: Apache-2.0
 *
 * make -C examples/contexts fftw; examples/contexts/fftw [OPTION]...
 *
 * Any thread may execute a plan of FFTW's, but one thread at a time may plan: the planner keeps what it
 * has found out ("wisdom") in variables of the library.  A program has to put a lock around it, and all
 * its libraries that use FFTW have to take this lock.  Each context has a planner of its own. */
#include "compared.h"

#include <dlfcn.h>
#include <fftw3.h>
#include <pthread.h>

#define LIBRARY "libfftw3.so.3"
#define CONTEXTS 4

struct fftw {
    __typeof__(fftw_plan_dft_1d) *plan;
    __typeof__(fftw_execute) *execute;
    __typeof__(fftw_destroy_plan) *destroy_plan;
    __typeof__(fftw_alloc_complex) *alloc;
    __typeof__(fftw_free) *free;
    __typeof__(fftw_forget_wisdom) *forget;
};

struct part {
    struct fftw fftw;
    usf_context_t *context;     /* or NULL */
    pthread_mutex_t *lock;      /* around the planner; or NULL */
    int first, sizes;           /* transforms of `first`, `first` + CONTEXTS, ... points */
    double result;
    int wrong;
};

static void lock(const struct part *p)
{
    if (p->lock) pthread_mutex_lock(p->lock);
}

static void unlock(const struct part *p)
{
    if (p->lock) pthread_mutex_unlock(p->lock);
}

/* There and back again: the same numbers, n times as large.  Of the spectrum, a weighted sum. */
static void transform(struct part *p, int n)
{
    lock(p);
    fftw_complex *x = p->fftw.alloc((size_t)n);
    if (!x) compared_fail("no memory", NULL);
    fftw_plan there = p->fftw.plan(n, x, x, FFTW_FORWARD, FFTW_ESTIMATE), back = p->fftw.plan(n, x, x, FFTW_BACKWARD, FFTW_ESTIMATE);
    unlock(p);
    if (!there || !back) compared_fail("FFTW has no plan", NULL);
    for (int i = 0; i < n; i++) {
        x[i][0] = i % 7;
        x[i][1] = i % 5;
    }
    p->fftw.execute(there);
    for (int i = 0; i < n; i++) p->result += x[i][0] * x[i][0] / (i + 1) / n;
    p->fftw.execute(back);
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i][0] / n - i % 7) < 1e-9 && fabs(x[i][1] / n - i % 5) < 1e-9)) p->wrong = 1;
    lock(p);
    p->fftw.destroy_plan(there);
    p->fftw.destroy_plan(back);
    p->fftw.free(x);
    unlock(p);
}

static void *transforms(void *argument)
{
    struct part *p = (struct part *)argument;
    /* FFTW would know its context without it; but so the thread is in it, too, for `usf run`. */
    if (p->context && usf_context_enter(p->context)) compared_fail("usf_context_enter", usf_context_error());
    for (int i = 0; i < p->sizes; i++) transform(p, p->first + i * CONTEXTS);
    if (p->context) usf_context_leave();
    return NULL;
}

static struct fftw loaded(void *library)
{
    const struct fftw f = {
        (__typeof__(fftw_plan_dft_1d) *)dlsym(library, "fftw_plan_dft_1d"), (__typeof__(fftw_execute) *)dlsym(library, "fftw_execute"),
        (__typeof__(fftw_destroy_plan) *)dlsym(library, "fftw_destroy_plan"), (__typeof__(fftw_alloc_complex) *)dlsym(library, "fftw_alloc_complex"),
        (__typeof__(fftw_free) *)dlsym(library, "fftw_free"), (__typeof__(fftw_forget_wisdom) *)dlsym(library, "fftw_forget_wisdom"),
    };
    if (!f.plan || !f.execute || !f.destroy_plan || !f.alloc || !f.free || !f.forget) compared_fail(LIBRARY, dlerror());
    return f;
}

/* 1: the results are right. */
static int in_threads(void *argument)
{
    struct part *p = (struct part *)argument;
    pthread_t threads[CONTEXTS];
    int wrong = 0;
    for (int i = 0; i < CONTEXTS; i++)
        if (pthread_create(&threads[i], NULL, transforms, &p[i])) compared_fail("pthread_create failed", NULL);
    for (int i = 0; i < CONTEXTS; i++) {
        pthread_join(threads[i], NULL);
        wrong |= p[i].wrong;
    }
    return !wrong;
}

/* contexts: one for each part; NULL: one FFTW.  mode: of compared.h. */
static void compute(struct compared *c, const char *mode, usf_context_t **contexts)
{
    static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
    struct part p[CONTEXTS];
    double results[CONTEXTS];
    int right = 1;
    for (int i = 0; i < CONTEXTS; i++) {
        void *library = contexts ? usf_context_open(contexts[i], LIBRARY) : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!library) compared_fail(LIBRARY, contexts ? usf_context_error() : dlerror());
        p[i] = (struct part){.fftw = loaded(library), .context = contexts ? contexts[i] : NULL,
                             .lock = contexts || c->unsafe ? NULL : &planner, .first = 16 + i, .sizes = compared_size(c, 300, 2)};
        p[i].fftw.forget();         /* what a mode before has found out */
    }
    if (c->unsafe) {
        printf("%d threads plan at once, %s: %s\n", CONTEXTS, contexts ? "an FFTW in each context" : "one FFTW without a lock",
               compared_in_child(in_threads, p));
        return;
    }
    const double start = compared_now();
    if (strcmp(mode, "sequential")) {
        right = in_threads(p);
    } else {
        for (int i = 0; i < CONTEXTS; i++) {
            transforms(&p[i]);
            right &= !p[i].wrong;
        }
    }
    const double seconds = compared_now() - start;
    if (!right) compared_fail(mode, "a wrong result");
    for (int i = 0; i < CONTEXTS; i++) results[i] = p[i].result;
    compared_report(c, mode, seconds, results);
}

int main(int argc, char **argv)
{
    struct compared c = {.names = {"fft1", "fft2", "fft3", "fft4"}, .n = CONTEXTS, .has_unsafe = 1};
    usf_context_t *contexts[CONTEXTS];
    compared_options(&c, argc, argv, "Fourier transforms of many sizes, each with plans of its own. The mode with threads has a lock around\n"
                                     "FFTW's planner; contexts need none.\n"
                                     "--unsafe shows what becomes of threads that plan at once, with one FFTW and with one in each context.");
    if (compared_does(&c, "sequential") && !c.unsafe) compute(&c, "sequential", NULL);
    if (compared_does(&c, "threads")) compute(&c, "threads", NULL);
    if (!compared_does(&c, "contexts")) return 0;
    compared_make(&c, contexts);
    compute(&c, "contexts", contexts);
    compared_destroy(&c, contexts);
    return 0;
}
