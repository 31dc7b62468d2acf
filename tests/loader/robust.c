/* tests/loader/robust.c - loads beside all else that a program does, and threads that leave a context in an unusual way.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "tests/loader/cases.h"

/* What the constructor of hook.c does, in the thread that opens it. */
static __thread void (*hook)(void);
void hook_constructed(void) { if (hook) hook(); }

static int stop, begun, gate[2];

static void wait_for_gate(void)
{
    char c;
    set(&begun, 1);
    CHECK_EQ(read(gate[0], &c, 1), 1);
}
static void open_gate(void) { CHECK_EQ(write(gate[1], "x", 1), 1); }
static void begins(pthread_t *thread, void *(*routine)(void *), void *arg)
{
    set(&begun, 0);
    CHECK(!pthread_create(thread, 0, routine, arg));
    while (!get(&begun)) sched_yield();
}

/* A context of its own, used and destroyed. */
static void uses_a_context(void)
{
    usf_context_t *c = make(0, 0), *before = usf_context_current();
    void *h = open_in(c, "libstate.so");
    CHECK(!usf_context_enter(c));
    CHECK(usf_context_current() == c);
    CHECK_EQ(IN(h, state_count)(), 102);
    CHECK(!usf_context_leave());
    CHECK(usf_context_current() == before);
    CHECK(!usf_context_destroy(c));
}

static void forks_a_user(void)
{
    pid_t pid = fork();
    if (!pid) {
        uses_a_context();
        _exit(0);
    }
    child_is_good(pid);
}

/* ---- all at once ------------------------------------------------------------------------------------ */

/* A plain dlopen has it for reading, a fork from outside for writing: in any program the child of a fork beside another thread's dlopen may have half of that. */
static pthread_rwlock_t dlopens;

static void *loads(void *arg)
{
    for (int i = 0; i < 60; i++) {
        uses_a_context();
        usf_context_t *c = make(0, 0);
        CHECK_EQ(IN(open_in(c, "libhooked.so"), hooked_count)(), 101);
        CHECK(!usf_context_destroy(c));
    }
    return arg;
}

static int constructors;
static void plugin_begins(void)
{
    uses_a_context();
    if (__atomic_add_fetch(&constructors, 1, __ATOMIC_SEQ_CST) % 4 == 0) forks_a_user();
}
static void *plugs(void *name)
{
    hook = plugin_begins;
    while (!get(&stop)) {
        CHECK(!pthread_rwlock_rdlock(&dlopens));
        void *h = dlopen(path_of(name), RTLD_NOW);
        CHECK(h && !dlclose(h));
        CHECK(!pthread_rwlock_unlock(&dlopens));
    }
    return 0;
}

static void *forks(void *arg)
{
    while (!get(&stop)) {
        CHECK(!pthread_rwlock_wrlock(&dlopens));
        forks_a_user();
        CHECK(!pthread_rwlock_unlock(&dlopens));
        usleep(1000);
    }
    return arg;
}

/* Threads load; constructors of plugins, which dlopen executes, create contexts, load into them, and fork; children of forks load. */
static void storm(void)
{
    pthread_t loaders[2], others[3];
    pthread_rwlockattr_t fair;
    CHECK(!pthread_rwlockattr_init(&fair) && !pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    CHECK(!pthread_rwlock_init(&dlopens, &fair));
    for (int i = 0; i < 2; i++) {
        CHECK(!pthread_create(&others[i], 0, plugs, i ? (void *)"libhook.so" : (void *)"libhook-2.so"));
        CHECK(!pthread_create(&loaders[i], 0, loads, 0));
    }
    CHECK(!pthread_create(&others[2], 0, forks, 0));
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(loaders[i], 0));
    set(&stop, 1);
    for (int i = 0; i < 3; i++) CHECK(!pthread_join(others[i], 0));
    CHECK(get(&constructors) > 0);
}

/* ---- constructors ----------------------------------------------------------------------------------- */

static usf_context_t *in;       /* which the hooks below use */
static void *seen;

static void loads_in_a_load(void)
{
    hook = 0;
    uses_a_context();
    seen = open_in(in, "libdep.so");
    CHECK_EQ(IN(seen, dep_count)(), 1);
    forks_a_user();
}

/* A shared library's constructor is executed in the middle of a load, and loads into the same context. */
static void nested(void)
{
    in = make(0, 0);
    CHECK(!usf_context_share("libhook.so", "the test says so", 0));
    hook = loads_in_a_load;
    void *h = open_in(in, "libhooked.so");
    CHECK(seen == usf_context_open(in, path_of("libdep.so")));
    CHECK_EQ(IN(h, hooked_count)(), 101);
    CHECK_EQ(IN(h, hooked_count_dep)(), 2);
    CHECK(!usf_context_destroy(in));
}

static void *opens_slowly(void *arg)
{
    hook = wait_for_gate;
    return open_in(in, arg);
}
static void opens_in_constructor(void)
{
    CHECK(seen == usf_context_open(in, path_of("libdep.so")));
    uses_a_context();
    CHECK(!usf_context_open(in, path_of("libhooked.so")));
    CHECK_EQ(errno, EDEADLK);
    CHECK(strstr(usf_context_error(), "constructors"));
}

/* Another thread executes constructors of the context, and may wait for ld.so's lock, which this one has. */
static void no_deadlock(void)
{
    pthread_t thread;
    void *opened;
    CHECK(!pipe(gate));
    in = make(0, 0);
    seen = open_in(in, "libdep.so");
    begins(&thread, opens_slowly, (void *)"libhooked.so");
    hook = opens_in_constructor;
    CHECK(dlopen(path_of("libhook-2.so"), RTLD_NOW));
    open_gate();
    CHECK(!pthread_join(thread, &opened));
    CHECK(opened == usf_context_open(in, path_of("libhooked.so")));
    CHECK_EQ(IN(opened, hooked_count)(), 101);
}

static void *other_opens(void *arg)
{
    set(&begun, 1);
    void *h = open_in(in, arg);
    CHECK_EQ(IN(h, hooked_count)(), 101);
    return h;
}
/* Without ld.so's lock another thread waits for the constructors. */
static void waits(void)
{
    pthread_t threads[2];
    void *opened[2];
    CHECK(!pipe(gate));
    in = make(0, 0);
    begins(&threads[0], opens_slowly, (void *)"libhooked.so");
    begins(&threads[1], other_opens, (void *)"libhooked.so");
    CHECK_EQ(usf_context_destroy(in), EBUSY);
    open_gate();
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], &opened[i]));
    CHECK(opened[0] == opened[1]);
    CHECK(!usf_context_destroy(in));
}

/* ---- ways out of a constructor ------------------------------------------------------------------------ */

static void (*error)(const char *);
static usf_context_t *other;
static void throws(void)
{
    hook = 0;
    CHECK(usf_context_current() == in);
    CHECK_EQ(usf_context_leave(), EPERM);       /* it did not enter */
    CHECK(!usf_context_enter(other));
    error("from outside");
}
static void opens_what_throws(const char *text)
{
    (void)text;
    usf_context_open(in, path_of("libhooked.so"));
}
static void loads_what_throws(void)
{
    hook = throws;
    in = other;
    usf_context_open(other, path_of("libhook.so"));
}

/* From a constructor, and from one that a constructor's load executes: the thread is where it was, and all can be opened, left and destroyed as before. */
static void exceptions(void)
{
    void *base = dlopen(path_of("libthrows.so"), RTLD_NOW);
    CHECK(base);
    int (*catches)(void (*)(const char *)) = (int (*)(void (*)(const char *)))dlsym(base, "throws_catches");
    *(void **)&error = dlsym(base, "throws_error");
    for (int i = 0; i < 4; i++) {
        usf_context_t *outer = make(0, 0), *first = in = make(0, 0);
        other = make(0, 0);
        if (i & 1) CHECK(!usf_context_enter(outer));
        hook = i & 2 ? loads_what_throws : throws;
        CHECK_EQ(catches(opens_what_throws), 1);
        CHECK(!hook);
        CHECK(usf_context_current() == (i & 1 ? outer : NULL));
        CHECK_EQ(usf_context_leave(), i & 1 ? 0 : EPERM);
        CHECK_EQ(usf_context_leave(), EPERM);
        CHECK_EQ(IN(open_in(first, "libhooked.so"), hooked_count)(), 101);
        CHECK_EQ(IN(open_in(other, "libhooked.so"), hooked_count)(), 101);
        CHECK(!usf_context_destroy(first) && !usf_context_destroy(other) && !usf_context_destroy(outer));
    }
}

static void ends_thread(void)
{
    CHECK(usf_context_current() == in);
    pthread_exit(&gate);
}
static void is_cancelled(void)
{
    CHECK(!pthread_cancel(pthread_self()));
    pthread_testcancel();
}
static void *opens_and_ends(void *way)
{
    *(void **)&hook = way;
    usf_context_open(in, path_of("libhooked.so"));
    return 0;
}

/* The constructors' lock is free again. */
static void thread_ends(void)
{
    void (*ways[])(void) = {ends_thread, is_cancelled}, *ends[] = {&gate, PTHREAD_CANCELED};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        void *result;
        in = make(0, 0);
        CHECK(!pthread_create(&thread, 0, opens_and_ends, *(void **)&ways[i]));
        CHECK(!pthread_join(thread, &result));
        CHECK(result == ends[i]);
        CHECK_EQ(IN(open_in(in, "libhooked.so"), hooked_count)(), 101);
        CHECK(!usf_context_destroy(in));
    }
}

/* ---- threads -------------------------------------------------------------------------------------------- */

struct ending { usf_context_t *a, *b; int depth; void (*end)(void); };

static void *enters(void *arg)
{
    struct ending *e = arg;
    for (int i = 0; i < e->depth; i++) CHECK(!usf_context_enter(i % 2 ? e->b : e->a));
    wait_for_gate();
    if (e->end) e->end();
    return arg;
}
static void exits(void) { pthread_exit(0); }

/* A thread that ends without leaving its contexts is not in them any more. */
static void ends_inside(void)
{
    CHECK(!pipe(gate));
    for (int i = 0; i < 9; i++) {
        struct ending e = {make(0, 0), make(0, 0), (int[]){2, 5, 100}[i / 3], (void (*[])(void)){0, exits, is_cancelled}[i % 3]};
        pthread_t thread;
        begins(&thread, enters, &e);
        CHECK_EQ(usf_context_destroy(e.a), EBUSY);
        CHECK_EQ(usf_context_destroy(e.b), EBUSY);
        open_gate();
        CHECK(!pthread_join(thread, 0));
        CHECK(!usf_context_destroy(e.a) && !usf_context_destroy(e.b));
    }
}

static void *forks_in_thread(void *arg)
{
    pid_t pid = fork();
    if (!pid) {
        CHECK(usf_context_current() == in);
        CHECK_EQ(usf_context_destroy(in), EBUSY);
        CHECK(strstr(usf_context_error(), "1 threads"));
        uses_a_context();
        pthread_exit(arg);      /* the last thread of the child: the exit status is 0 */
    }
    child_is_good(pid);
    return arg;
}

/* A child that a library's thread has forked has that thread, and no other. */
static void child_of_a_thread(void)
{
    pthread_t threads[2];
    CHECK(!pipe(gate));
    in = make(0, 0);
    void *h = open_in(in, "libstate.so");
    struct ending e = {in, in, 0, 0};
    set(&begun, 0);
    CHECK_EQ(IN(h, state_thread)(&threads[0], enters, &e), 0);
    while (!get(&begun)) sched_yield();
    CHECK_EQ(IN(h, state_thread)(&threads[1], forks_in_thread, 0), 0);
    CHECK(!pthread_join(threads[1], 0));
    open_gate();
    CHECK(!pthread_join(threads[0], 0));
    int r;
    while ((r = usf_context_destroy(in)) == EBUSY) sched_yield();       /* joined a moment before they have left */
    CHECK_EQ(r, 0);
}

/* ---- dlopen by a library ------------------------------------------------------------------------------- */

/* In a context a library finds what it finds in the program. */
static void runpath(void)
{
    static const char *const callers[] = {"libcaller.so", "libcaller-runpath.so", "libcaller-rpath.so"};
    static const char *const names[] = {"libhidden.so", "$ORIGIN/hidden/libhidden.so", "libnowhere.so"};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            usf_context_t *c = make(0, 0);
            void *base = dlopen(path_of(callers[i]), RTLD_NOW), *h = open_in(c, callers[i]);
            CHECK(base);
            void *there = IN(base, caller_opens)(names[k]), *here = IN(h, caller_opens)(names[k]);
            CHECK_EQ(there != NULL, k == 1 || (k == 0 && i > 0));
            CHECK_EQ(here != NULL, there != NULL);
            if (!here) continue;
            CHECK(here != there && here == usf_context_open(c, path_of("hidden/libhidden.so")));
            CHECK_EQ(IN(here, dep_count)(), 1);
            CHECK(!dlclose(there));         /* the next caller is to look for it */
        }
    CHECK(!usf_context_share("libhidden.so", "the test says so", 0));
    void *h = open_in(make(0, 0), callers[1]), *shared = IN(h, caller_opens)(names[0]);
    CHECK(shared && shared == dlopen(path_of("hidden/libhidden.so"), RTLD_NOW | RTLD_NOLOAD));
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"storm", storm, 0}, {"nested", nested, 0}, {"no_deadlock", no_deadlock, 0}, {"waits", waits, 0}, {"exceptions", exceptions, 0}, {"thread_ends", thread_ends, 0},
        {"ends_inside", ends_inside, 0}, {"child_of_a_thread", child_of_a_thread, 0}, {"runpath", runpath, 0}, {0}};
    run_cases(argc, argv, cases);
    return 0;
}
