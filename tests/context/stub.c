/* tests/context/stub.c - a program that calls a library by its name reaches the copy in the thread's context.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: stub STUB     it is linked with libcounter.so.1, and finds the stub in its place; STUB, of another library, is loaded while it runs */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <usf/context.h>

#include "../check.h"
#include "counter.h"

#define OK(call) CHECK((call) == 0, "%s", usf_context_error())

static usf_context_t *make(const struct usf_context_options *o)
{
    usf_context_t *c = usf_context_create(o);
    if (!c) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(c);
    return c;
}

static void destroy(usf_context_t *c) { OK(usf_context_destroy(c)); }

static void count_apart(void)
{
    usf_context_t *a = make(0), *b = make(0);
    CHECK_EQ(counter_next(), 1);
    OK(usf_context_enter(a));
    for (int i = 1; i <= 5; i++) CHECK_EQ(counter_next(), i);
    CHECK_EQ(counter_constructed(), 1);
    OK(usf_context_enter(b));
    for (int i = 1; i <= 3; i++) CHECK_EQ(counter_next(), i);
    void *in_b = counter_address();
    OK(usf_context_enter(a));           /* again, from within b */
    CHECK_EQ(counter_next(), 6);
    CHECK(counter_address() != in_b);
    OK(usf_context_leave());
    CHECK(counter_address() == in_b);
    CHECK_EQ(counter_next(), 4);
    OK(usf_context_leave());
    CHECK_EQ(counter_next(), 7);
    OK(usf_context_leave());
    CHECK_EQ(counter_next(), 2);
    CHECK_EQ(usf_context_leave(), EPERM);
    destroy(a);
    destroy(b);
}

static void pass_arguments(void)
{
    counter_wide x = {1, 2, 3, 4}, y = {10, 20, 30, 40};
    CHECK(counter_doubles(1, 2, 3, 4, 5, 6, 7, 8) == 204);
    CHECK_EQ(counter_ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 385);
    CHECK(counter_sum(8, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4) == 18);
    struct counter_result s = counter_big(7, 2.5);
    CHECK(s.a == 7 && s.b == 2.5 && s.more[19] == 26);
    struct counter_two p = counter_pair(1.25, 9);
    CHECK(p.a == 1.25 && p.b == 9);
    CHECK(counter_long(1.5L) == 3.0L);
    errno = 77;
    CHECK_EQ(counter_errno(), 77);
    CHECK(counter_ifunc() >= 1000);
    if (!__builtin_cpu_supports("avx")) return;
    counter_wide z = counter_add_wide(x, y);
    CHECK(z[0] == 11 && z[1] == 22 && z[2] == 33 && z[3] == 44);
}

/* Each first call goes through the resolver. */
static void arguments(void)
{
    usf_context_t *a = make(0);
    pass_arguments();
    pass_arguments();
    OK(usf_context_enter(a));
    pass_arguments();
    pass_arguments();
    OK(usf_context_leave());
    destroy(a);
}

static void versions(void)
{
    CHECK_EQ(counter_version(), 2);
    int (*old)(void) = (int (*)(void))dlvsym(RTLD_DEFAULT, "counter_version", "COUNTER_1");
    int (*new)(void) = (int (*)(void))dlvsym(RTLD_DEFAULT, "counter_version", "COUNTER_2");
    CHECK(old && new);
    usf_context_t *a = make(0);
    CHECK_EQ(old(), 1);
    CHECK_EQ(new(), 2);
    OK(usf_context_enter(a));
    CHECK_EQ(old(), 1);
    CHECK_EQ(new(), 2);
    OK(usf_context_leave());
    destroy(a);
}

static int twice(int x) { return 2 * x; }

static void resources(void)
{
    static const char *const env[] = {"COUNTER=in a", NULL};
    usf_context_t *a = make(&(struct usf_context_options){.cpus = "0", .env = env});
    int all = counter_cpus();
    CHECK(!counter_env("COUNTER"));
    OK(usf_context_enter(a));
    CHECK_EQ(counter_cpus(), 1);
    CHECK(strcmp(counter_env("COUNTER"), "in a") == 0);
    CHECK_EQ(counter_call(twice, 21), 42);
    OK(usf_context_leave());
    CHECK_EQ(counter_cpus(), all);
    destroy(a);
}

/* A library's thread belongs to its context: what it calls by a stub is called there. */
static int call_stub(void) { return counter_next(); }

static void threads_of_libraries(void)
{
    usf_context_t *a = make(0);
    int base = counter_next();
    CHECK_EQ(counter_in_thread(call_stub), base + 1);
    OK(usf_context_enter(a));
    CHECK_EQ(counter_in_thread(call_stub), 1);
    CHECK_EQ(counter_in_thread(call_stub), 2);
    OK(usf_context_leave());
    CHECK_EQ(counter_next(), base + 2);
    destroy(a);
}

enum { THREADS = 8, CALLS = 20000 };
static usf_context_t *crowd[4];
static pthread_barrier_t start;

static void *call_often(void *p)
{
    long me = (long)p;
    usf_context_t *c = me % 4 ? crowd[me % 4] : NULL;       /* in none */
    if (c) OK(usf_context_enter(c));
    pthread_barrier_wait(&start);       /* first calls at once */
    CHECK_EQ(counter_constructed(), 1);
    void *own = counter_address();
    for (int i = 0; i < CALLS; i++) {
        CHECK_EQ(counter_ints(i, 0, 0, 0, 0, 0, 0, 0, 0, 1), i + 10);
        CHECK(counter_address() == own);
    }
    CHECK_EQ(counter_per_thread(), 1);
    if (c) OK(usf_context_leave());
    return own;
}

static void crowds(void)
{
    pthread_t t[THREADS];
    void *own[THREADS];
    pthread_barrier_init(&start, 0, THREADS);
    for (int i = 1; i < 4; i++) crowd[i] = make(0);
    for (long i = 0; i < THREADS; i++) CHECK(!pthread_create(&t[i], 0, call_often, (void *)i));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(t[i], &own[i]));
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < i; k++) CHECK((own[i] == own[k]) == (i % 4 == k % 4));
    for (int i = 1; i < 4; i++) destroy(crowd[i]);
    pthread_barrier_destroy(&start);
}

static void forks(void)
{
    usf_context_t *a = make(0);
    int status;
    OK(usf_context_enter(a));
    CHECK_EQ(counter_next(), 1);
    pid_t child = fork();
    if (!child) {
        CHECK_EQ(counter_next(), 2);
        CHECK(counter_doubles(1, 0, 0, 0, 0, 0, 0, 0) == 1);
        usf_context_t *b = make(0);
        OK(usf_context_enter(b));
        CHECK_EQ(counter_next(), 1);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ(counter_next(), 2);
    OK(usf_context_leave());
    destroy(a);
}

/* A library that was loaded before is the one that is called; the name finds the original, though the stub is what the search finds. */
static void opened_before(void)
{
    usf_context_t *a = make(0);
    void *lib = usf_context_open(a, "libcounter.so.1");
    if (!lib) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(lib);
    CHECK_EQ(usf_context_has_stub(a, lib), 1);
    int (*next)(void) = (int (*)(void))dlsym(lib, "counter_next");
    CHECK(next);
    for (int i = 1; i <= 4; i++) CHECK_EQ(next(), i);
    OK(usf_context_enter(a));
    CHECK_EQ(counter_next(), 5);
    OK(usf_context_leave());
    CHECK_EQ(usf_context_has_stub(a, NULL), 0);
    CHECK_EQ(usf_context_has_stub(NULL, lib), 0);
    destroy(a);
}

/* Contexts come and go, their tables with them. */
static void many(void)
{
    for (int i = 0; i < 100; i++) {
        usf_context_t *a = make(0);
        OK(usf_context_enter(a));
        CHECK_EQ(counter_next(), 1);
        CHECK_EQ(counter_next(), 2);
        OK(usf_context_leave());
        destroy(a);
    }
}

/* A stub that is loaded while threads are in contexts serves them, and contexts that were there before. */
static pthread_barrier_t loaded;
static int (*late_next)(void);

static void *wait_in(void *c)
{
    OK(usf_context_enter(c));
    pthread_barrier_wait(&loaded);
    pthread_barrier_wait(&loaded);
    for (int i = 1; i <= 3; i++) CHECK_EQ(late_next(), i);
    OK(usf_context_leave());
    CHECK_EQ(late_next(), 1);
    return 0;
}

static void late(const char *stub)
{
    usf_context_t *a = make(0), *b = make(0);
    pthread_t t;
    pthread_barrier_init(&loaded, 0, 2);
    CHECK(!pthread_create(&t, 0, wait_in, a));
    OK(usf_context_enter(b));
    pthread_barrier_wait(&loaded);
    void *handle = dlopen(stub, RTLD_NOW);
    if (!handle) fprintf(stderr, "%s\n", dlerror());
    CHECK(handle && (late_next = (int (*)(void))dlsym(handle, "late_next")));
    CHECK_EQ(late_next(), 1);
    pthread_barrier_wait(&loaded);
    CHECK(!pthread_join(t, 0));
    CHECK_EQ(late_next(), 2);
    OK(usf_context_leave());
    CHECK_EQ(late_next(), 2);
    CHECK(!dlclose(handle));
    CHECK_EQ(late_next(), 3);       /* a stub stays loaded */
    destroy(a);
    destroy(b);
}

int main(int argc, char **argv)
{
    alarm(60);
    CHECK(argc == 2);
    count_apart();
    arguments();
    versions();
    resources();
    threads_of_libraries();
    crowds();
    forks();
    opened_before();
    many();
    late(argv[1]);
    puts("ok");
    return 0;
}
