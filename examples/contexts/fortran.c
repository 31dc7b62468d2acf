/* examples/contexts/fortran.c - a Fortran library with a common block, in two threads at once.  SPDX-License-Identifier: Apache-2.0
 *
 * make -C examples/contexts fortran; examples/contexts/fortran [OPTION]...
 *
 * libchain.so (fortran.f90) keeps its state in a common block and in saved variables.  Each context has
 * a copy of them. */
#include "compared.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>

#define STEP 0.5

struct chain {
    void (*begin)(int n, int mode);
    void (*go_on)(int steps, double dt);
    double (*place)(int i);
    usf_context_t *context;     /* or NULL */
    int n, steps;
    double result;
};

/* The frequency of the mode, in steps, is known, and so is the place of particle 1 after them. */
static int right(const struct chain *c)
{
    const double half = sin(M_PI / 2 / (c->n + 1)), turn = acos(1 - 2 * half * half * STEP * STEP);
    return fabs(c->result - sin(M_PI / (c->n + 1)) * cos(c->steps * turn)) < 1e-9;
}

static void *swing(void *argument)
{
    struct chain *c = (struct chain *)argument;
    /* The library would know its context without it; but so the thread is in it, too, for `usf run`. */
    if (c->context && usf_context_enter(c->context)) compared_fail("usf_context_enter", usf_context_error());
    c->begin(c->n, 1);
    c->go_on(c->steps, STEP);
    c->result = c->place(1);
    if (c->context) usf_context_leave();
    if (!right(c)) compared_fail("the chain", "a wrong result");
    return NULL;
}

/* Two chains in turn, in one thread.  1: the results are right. */
static int in_turn(void *argument)
{
    struct chain *c = (struct chain *)argument;
    for (int i = 0; i < 2; i++) c[i].begin(c[i].n, 1);
    for (int i = 0; i < 2; i++) c[i].go_on(c[i].steps, STEP);
    for (int i = 0; i < 2; i++) c[i].result = c[i].place(1);
    return right(&c[0]) && right(&c[1]);
}

static void in_threads(struct chain *c)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, swing, &c[i])) compared_fail("pthread_create failed", NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* The library beside this program. */
static const char *library_path(void)
{
    static char path[PATH_MAX + 16];
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length <= 0) compared_fail("/proc/self/exe cannot be read", NULL);
    path[length] = 0;
    return strcat(dirname(path), "/libchain.so");
}

/* With one library, or with one in each context. */
static void compute(struct compared *o, usf_context_t **contexts)
{
    const char *path = library_path();
    struct chain c[2];
    for (int i = 0; i < 2; i++) {
        void *library = contexts ? usf_context_open(contexts[i], path) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) compared_fail(path, contexts ? usf_context_error() : dlerror());
        c[i] = (struct chain){.begin = (void (*)(int, int))dlsym(library, "chain_begin"), .go_on = (void (*)(int, double))dlsym(library, "chain_go_on"),
                              .place = (double (*)(int))dlsym(library, "chain_place"), .context = contexts ? contexts[i] : NULL,
                              .n = 1000 + 200 * i, .steps = compared_size(o, 150000, 1)};
        if (!c[i].begin || !c[i].go_on || !c[i].place) compared_fail(path, dlerror());
    }
    if (o->unsafe) {
        printf("two chains in turn, %s: %s\n", contexts ? "a library in each of two contexts" : "one library", compared_in_child(in_turn, c));
        return;
    }
    const double start = compared_now();
    if (contexts) in_threads(c);
    else swing(&c[0]), swing(&c[1]);
    const double seconds = compared_now() - start, results[] = {c[0].result, c[1].result};
    compared_report(o, contexts ? "contexts" : "sequential", seconds, results);
}

int main(int argc, char **argv)
{
    struct compared c = {.names = {"left", "right"}, .n = 2, .lacks = "threads", .has_unsafe = 1};
    usf_context_t *contexts[2];
    compared_options(&c, argc, argv, "Two chains of particles, by a Fortran library that can have one: one after the other, and at once\n"
                                     "in two contexts.\n"
                                     "--unsafe shows what becomes of two chains in turn, with one library and with one in each context.");
    if (compared_does(&c, "sequential")) compute(&c, NULL);
    if (!compared_does(&c, "contexts")) return 0;
    compared_make(&c, contexts);
    compute(&c, contexts);
    compared_destroy(&c, contexts);
    return 0;
}
