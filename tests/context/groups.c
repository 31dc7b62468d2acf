/* tests/context/groups.c LIBCOUNTER - contexts that do what lines on standard input say, one answer each.  SPDX-License-Identifier: Apache-2.0
 *
 *     make NAME CPUS WEIGHT FLAGS      a context
 *     set NAME CPUS                    it has other CPUs
 *     destroy NAME
 *     compute NAME N                   so many threads of its library compute from now on, without a system call
 *     seen NAME                        the CPUs on which they were since the last time
 *     rounds NAME N                    a thread of its library sleeps and is woken so often: on which CPUs it woke, and how often
 *     naps NAME CPU N                  a thread of its library is woken by a timer so often, and computes each time until it is on that CPU
 *     spin NAME OTHER N                a thread of it busy-waits for one of the other's, which sleeps and is woken for it, so often
 *     stop NAME                        its threads end */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "usf/context.h"

enum { CONTEXTS = 8, THREADS = 8 };

static struct one {
    usf_context_t *context;
    int (*in_thread)(int (*f)(void));   /* its copy: a thread of the library executes f */
    pthread_t callers[THREADS];
    unsigned nr_callers;
    _Atomic int stop;
    _Atomic unsigned long seen;         /* bit per CPU */
    sem_t asked, answered;
    int rounds;
    unsigned home;                      /* naps: the CPU to come to */
    unsigned on[64];                    /* rounds by CPU */
} all[CONTEXTS];

static _Atomic int answers;             /* spin: rounds that are done */

static struct one *self(void)
{
    for (struct one *o = all; o < all + CONTEXTS; o++)
        if (o->context && o->context == usf_context_current()) return o;
    CHECK(!"a thread of a context");
    return 0;
}

static struct one *of(const char *name)
{
    for (struct one *o = all; o < all + CONTEXTS; o++)
        if (o->context && !strcmp(usf_context_name(o->context), name)) return o;
    CHECK(!"a name that was made");
    return 0;
}

static unsigned cpu(void)
{
    int c = sched_getcpu();
    CHECK(c >= 0 && c < 64);
    return (unsigned)c;
}

static int computes(void)
{
    struct one *o = self();
    while (!atomic_load_explicit(&o->stop, memory_order_relaxed)) {
        for (volatile int i = 0; i < 2000; i++) { }
        unsigned long here = 1ul << cpu();
        if (!(atomic_load_explicit(&o->seen, memory_order_relaxed) & here)) atomic_fetch_or(&o->seen, here);
    }
    return 0;
}

static int wakes(void)
{
    struct one *o = self();
    for (int i = 0; i < o->rounds; i++) {
        CHECK(sem_wait(&o->asked) == 0);
        o->on[cpu()]++;
        CHECK(sem_post(&o->answered) == 0);
    }
    return 0;
}

static int naps(void)
{
    struct one *o = self();
    for (int i = 0; i < o->rounds; i++) {
        CHECK(usleep(3000) == 0);
        do {        /* the kernel runs it beside the others at first, as one that only passes data on, until the monitor sees that it computes */
            for (volatile int k = 0; k < 1000000; k++) { }
        } while (cpu() != o->home);
    }
    return 0;
}

static int answers_it(void)
{
    struct one *o = self();
    for (int i = 0; i < o->rounds; i++) {
        CHECK(sem_wait(&o->asked) == 0);
        atomic_store(&answers, i + 1);
    }
    return 0;
}

static struct one *asked_by_spinner;
static int spins(void)
{
    for (int i = 0, n = asked_by_spinner->rounds; i < n; i++) {
        CHECK(sem_post(&asked_by_spinner->asked) == 0);
        while (atomic_load_explicit(&answers, memory_order_relaxed) <= i) { }
    }
    return 0;
}

struct call { struct one *o; int (*f)(void); };
static void *call(void *p)
{
    struct call c = *(struct call *)p;
    free(p);
    CHECK(c.o->in_thread(c.f) == 0);
    return 0;
}

static pthread_t start(struct one *o, int (*f)(void))
{
    struct call *c = malloc(sizeof *c);
    pthread_t t;
    CHECK(c);
    *c = (struct call){o, f};
    CHECK(pthread_create(&t, 0, call, c) == 0);
    return t;
}

static void make(const char *library, const char *name, const char *cpus, unsigned weight, unsigned flags)
{
    struct one *o = all;
    while (o->context) CHECK(++o < all + CONTEXTS);
    memset(o, 0, sizeof *o);
    o->context = usf_context_create(&(struct usf_context_options){.name = name, .cpus = cpus, .weight = weight, .flags = flags});
    if (!o->context) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(o->context && usf_context_open(o->context, library));
    *(void **)&o->in_thread = usf_context_symbol(o->context, "counter_in_thread");
    CHECK(o->in_thread && sem_init(&o->asked, 0, 0) == 0 && sem_init(&o->answered, 0, 0) == 0);
}

static void nap(struct one *o, unsigned home, int n)
{
    o->rounds = n;
    o->home = home;
    CHECK(pthread_join(start(o, naps), 0) == 0);
}

static void rounds(struct one *o, int n)
{
    o->rounds = n;
    memset(o->on, 0, sizeof o->on);
    pthread_t t = start(o, wakes);
    for (int i = 0; i < n; i++) CHECK(sem_post(&o->asked) == 0 && sem_wait(&o->answered) == 0);
    CHECK(pthread_join(t, 0) == 0);
    for (unsigned c = 0; c < 64; c++)
        if (o->on[c]) printf("%u:%u ", c, o->on[c]);
}

static void spin(struct one *o, struct one *other, int n)
{
    other->rounds = n;
    asked_by_spinner = other;
    atomic_store(&answers, 0);
    pthread_t a = start(other, answers_it), b = start(o, spins);
    CHECK(pthread_join(a, 0) == 0 && pthread_join(b, 0) == 0 && atomic_load(&answers) == n);
}

static void stop(struct one *o)
{
    atomic_store(&o->stop, 1);
    while (o->nr_callers) CHECK(pthread_join(o->callers[--o->nr_callers], 0) == 0);
    atomic_store(&o->stop, 0);
}

int main(int argc, char **argv)
{
    char line[256], what[16], name[32], word[64];
    unsigned weight, flags;
    int n;
    alarm(200);
    CHECK(argc == 2);
    while (fgets(line, sizeof line, stdin)) {
        *word = 0;
        weight = flags = 0;
        CHECK(sscanf(line, "%15s %31s %63s %u %u", what, name, word, &weight, &flags) >= 2);
        if (!strcmp(what, "make")) make(argv[1], name, word, weight, flags);
        else if (!strcmp(what, "set")) CHECK(usf_context_set_cpus(of(name)->context, word) == 0);
        else if (!strcmp(what, "destroy")) {
            struct one *o = of(name);
            CHECK(usf_context_destroy(o->context) == 0);
            o->context = 0;
        } else if (!strcmp(what, "compute")) {
            struct one *o = of(name);
            for (n = atoi(word); n; n--) {
                CHECK(o->nr_callers < THREADS);
                o->callers[o->nr_callers++] = start(o, computes);
            }
        } else if (!strcmp(what, "seen")) {
            unsigned long seen = atomic_exchange(&of(name)->seen, 0);
            for (unsigned c = 0; c < 64; c++)
                if (seen >> c & 1) printf("%u ", c);
        } else if (!strcmp(what, "rounds")) rounds(of(name), atoi(word));
        else if (!strcmp(what, "naps")) nap(of(name), (unsigned)atoi(word), (int)weight);
        else if (!strcmp(what, "spin")) spin(of(name), of(word), (int)weight);
        else if (!strcmp(what, "stop")) stop(of(name));
        else CHECK(!"a word that is known");
        printf("ok\n");
        CHECK(fflush(stdout) == 0);
    }
    return 0;
}
