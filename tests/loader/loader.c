/* tests/loader/loader.c - copies of libraries in contexts.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>

#include "tests/loader/cases.h"

/* ---- copies ---------------------------------------------------------------------------------------- */

static void separate(void)
{
    void *base = dlopen(path_of("libstate.so"), RTLD_NOW), *h[3];
    CHECK(base);
    for (int i = 0; i < 3; i++) {
        usf_context_t *c = make(0, 0);
        h[i] = open_in(c, "libstate.so");
        CHECK(h[i] != base);
        CHECK(usf_context_open(c, path_of("libstate.so")) == h[i]);
        CHECK(usf_context_symbol(c, "state_count") == dlsym(h[i], "state_count"));
        CHECK_EQ(IN(h[i], state_order)(), 11);
        CHECK_EQ(IN(h[i], state_weak)(), -1);
        CHECK_EQ(IN(h[i], state_calls_ifunc)(), 41);
        CHECK_EQ(*IN(h[i], state_data_at)(), 7);
        CHECK(dlsym(h[i], "state_data") == IN(h[i], state_data_at)());
        CHECK(!strcmp(**(const char *const **)(void *[]){dlsym(h[i], "state_text")}, "a text that is relocated"));
        for (int k = 0; k < i + 1; k++) {
            CHECK_EQ(IN(h[i], state_count)(), 102 + k);
            CHECK_EQ(IN(h[i], state_count_dep)(), 1 + k);
            CHECK_EQ(IN(h[i], state_count_tls)(), (6 + k) * 100 + 7 + k);
        }
        *IN(h[i], state_data_at)() = i;
    }
    CHECK_EQ(IN(base, state_count)(), 102);
    CHECK_EQ(IN(base, state_count_dep)(), 1);
    CHECK_EQ(*IN(base, state_data_at)(), 7);
    for (int i = 0; i < 3; i++) CHECK_EQ(*IN(h[i], state_data_at)(), i);
}

/* Before the base has the library; a later dlopen finds the original, by any of its names. */
static void base_comes_later(void)
{
    usf_context_t *c = make(0, 0);
    void *copy = open_in(c, "libstate.so"), *base = dlopen(path_of("libstate.so"), RTLD_NOW);
    CHECK(base && base != copy);
    CHECK(dlopen("libstate.so", RTLD_NOW | RTLD_NOLOAD) == base);
    CHECK_EQ(IN(copy, state_count)(), 102);
    CHECK_EQ(IN(base, state_count)(), 102);
}

/* The copy's text is the file's: shown as such, and found by dladdr under its path. */
static void shares_text(void)
{
    usf_context_t *c = make(0, 0);
    void *h = open_in(c, "libdep.so");
    Dl_info info;
    char line[5000], real[5000];
    int (*f)(void) = IN(h, dep_count);
    CHECK(dladdr((void *)f, &info) && info.dli_fname[0] == '/' && realpath(info.dli_fname, real));
    CHECK(!strcmp(real, path_of("libdep.so")));
    CHECK(!strcmp(info.dli_sname, "dep_count"));
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        uintptr_t from, to;
        char rights[8], name[4096] = "";
        CHECK(sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &from, &to, rights, name) >= 3);
        if ((uintptr_t)f < from || (uintptr_t)f >= to) continue;
        found = true;
        CHECK(!strcmp(rights, "r-xp"));
        CHECK(!strcmp(name, path_of("libdep.so")));
    }
    CHECK(found);
    fclose(maps);
}

/* A library finds what was loaded for all. */
static void sibling(void)
{
    usf_context_t *c = make(0, 0);
    void *dep = usf_context_open_global(c, path_of("libdep.so")), *under = open_in(c, "libunder.so");
    CHECK_EQ(IN(dep, dep_count)(), 1);
    CHECK_EQ(IN(under, under_count)(), 2);
    usf_context_t *other = make(0, 0);
    CHECK(!usf_context_open(other, path_of("libunder-now.so")));
    CHECK_EQ(errno, ELIBACC);
    CHECK(strstr(usf_context_error(), "dep_count"));
    dep = usf_context_open_global(other, path_of("libdep.so"));     /* the failure has left nothing */
    under = open_in(other, "libunder-now.so");
    CHECK_EQ(IN(under, under_count)(), 1);
}

static void no_soname(void)
{
    usf_context_t *a = make(0, 0), *b = make(0, 0);
    void *h[] = {open_in(a, "libnameless.so"), open_in(b, "libnameless.so")};
    CHECK_EQ(IN(h[0], dep_count)(), 1);
    CHECK_EQ(IN(h[1], dep_count)(), 1);
    CHECK_EQ(IN(h[0], dep_count)(), 2);
}

static void many(void)
{
    enum { N = 200 };
    void *h[N];
    for (int i = 0; i < N; i++) h[i] = open_in(make(0, 0), "libdep.so");
    for (int i = 0; i < N; i++)
        for (int k = 1; k <= 1 + i % 3; k++) CHECK_EQ(IN(h[i], dep_count)(), k);
}

/* Each copy needs a piece of what libc sets aside for such variables: 60 are too many, unless there is more. */
static void static_tls(void)
{
    bool more = getenv("GLIBC_TUNABLES") != 0;
    for (int i = 0; i < 60; i++) {
        usf_context_t *c = make(0, 0);
        void *h = usf_context_open(c, path_of("libtls.so"));
        if (h) {
            CHECK_EQ(IN(h, tls_count)(), 1);
            continue;
        }
        CHECK(!more && i > 2);
        CHECK_EQ(errno, ELIBACC);
        CHECK(strstr(usf_context_error(), path_of("libtls.so")) && strstr(usf_context_error(), "usf run --static-tls"));
        CHECK(!usf_context_destroy(c));
        return;
    }
    CHECK(more);
}

static void cpp(void)
{
    usf_context_t *a = make("0", 0), *b = make(0, 0);
    void *h[] = {open_in(a, "libthrows.so"), open_in(b, "libthrows.so"), dlopen(path_of("libthrows.so"), RTLD_NOW)};
    for (int i = 0; i < 3; i++) {
        int (*count)(void) = dlsym(h[i], "throws_count"), (*catches)(void (*)(const char *)) = dlsym(h[i], "throws_catches"), word = 0;
        int (*thread_end)(int *) = dlsym(h[i], "throws_thread_end"), (*async)(void *(*)(void)) = dlsym(h[i], "throws_async");
        CHECK(count && catches && thread_end && async);
        CHECK_EQ(count(), 2);
        CHECK_EQ(count(), 4);
        for (int k = 0; k < 3; k++) CHECK_EQ(catches((void (*)(const char *))dlsym(h[k], "throws_error")), 1);
        CHECK_EQ(thread_end(&word), 1);
        CHECK_EQ(async((void *(*)(void))usf_context_current), i < 2);
    }
    unsigned (*hardware)(void) = dlsym(h[0], "throws_hardware");
    CHECK_EQ(hardware(), 1);
}

/* ---- what a context sees ------------------------------------------------------------------------------ */

static int first_cpu(void)
{
    cpu_set_t set;
    int cpu = 0;
    CHECK(!sched_getaffinity(0, sizeof set, &set));
    while (!CPU_ISSET(cpu, &set)) cpu++;
    return cpu;
}

static void *own_mask(void *set)
{
    CHECK(!sched_getaffinity(0, sizeof(cpu_set_t), set));
    return usf_context_current();
}

static void cpus(void)
{
    char list[16], text[65536], want[64], back[64];
    int cpu = first_cpu();
    cpu_set_t set, before, now, one;
    CHECK(!sched_getaffinity(0, sizeof before, &before));
    snprintf(list, sizeof list, "%d", cpu);
    usf_context_t *c = make(list, 0);
    void *h = open_in(c, "libstate.so");
    CHECK_EQ(usf_context_get_cpus(c, back, sizeof back), (int)strlen(list));
    CHECK(!strcmp(back, list));
    CHECK_EQ(IN(h, state_nprocs)(), 1);
    CHECK(!IN(h, state_affinity)(&set));
    CHECK_EQ(CPU_COUNT(&set), 1);
    CHECK(CPU_ISSET(cpu, &set));
    snprintf(want, sizeof want, "%d\n", cpu);
    for (int i = 0; i < 3; i++) {
        static const char *const files[] = {"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present"};
        CHECK(IN(h, state_read)(files[i], text, sizeof text) > 0);
        CHECK(!strcmp(text, want));
    }
    CHECK(IN(h, state_read)("/proc/cpuinfo", text, sizeof text) > 0);
    char *p = strstr(text, "processor");
    CHECK(p && !strstr(p + 1, "\nprocessor"));
    CHECK(IN(h, state_read)("/proc/self/status", text, sizeof text) > 0);
    snprintf(want, sizeof want, "Cpus_allowed_list:\t%d\n", cpu);
    CHECK(strstr(text, want));
    CHECK(IN(h, state_read)("/proc/stat", text, sizeof text) > 0);
    snprintf(want, sizeof want, "\ncpu%d ", cpu);
    CHECK(!strncmp(text, "cpu ", 4) && strstr(text, want));
    CHECK_EQ(IN(h, state_read)("/proc/no/such/file", text, sizeof text), -1);
    /* A thread of the library's has the mask in the kernel, too. */
    pthread_t thread;
    void *in;
    CHECK_EQ(IN(h, state_thread)(&thread, own_mask, &set), 0);
    CHECK_EQ(pthread_join(thread, &in), 0);
    CHECK(in == c);
    CHECK_EQ(CPU_COUNT(&set), 1);
    CHECK(CPU_ISSET(cpu, &set));
    /* A library that binds the thread and takes that back leaves the program's mask alone. */
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(!usf_context_enter(c));
    CHECK(!IN(h, state_set_affinity)(&one));
    CHECK(!usf_context_leave());
    CHECK(!sched_getaffinity(0, sizeof now, &now));
    CHECK(CPU_EQUAL(&now, &before));
    CPU_ZERO(&one);
    CPU_SET(1000, &one);
    CHECK_EQ(IN(h, state_set_affinity)(&one), -1);
    CHECK_EQ(errno, EINVAL);
    /* The program's own view has not changed. */
    CHECK_EQ(IN(dlopen(path_of("libstate.so"), RTLD_NOW), state_nprocs)(), (int)sysconf(_SC_NPROCESSORS_ONLN));
}

static void environment(void)
{
    CHECK(!setenv("LOADER_BASE", "base", 1));
    usf_context_t *a = make(0, (const char *const[]){"LOADER_A=1", "HOME", 0}), *b = make(0, 0);
    void *h[] = {open_in(a, "libstate.so"), open_in(b, "libstate.so")};
    CHECK(!strcmp(IN(h[0], state_env)("LOADER_A"), "1") && !IN(h[1], state_env)("LOADER_A") && !getenv("LOADER_A"));
    CHECK(!IN(h[0], state_env)("HOME"));
    CHECK(!strcmp(IN(h[0], state_env)("LOADER_BASE"), "base"));
    CHECK(IN(h[0], state_environ)("LOADER_A=1") && !IN(h[1], state_environ)("LOADER_A=1"));
    CHECK(!IN(h[1], state_setenv)("LOADER_A", "2"));
    CHECK(IN(h[1], state_environ)("LOADER_A=2"));
    CHECK(!strcmp(usf_context_getenv(a, "LOADER_A"), "1") && !strcmp(usf_context_getenv(b, "LOADER_A"), "2") && !getenv("LOADER_A"));
    CHECK(!usf_context_setenv(a, "LOADER_A", "3", 0) && !strcmp(IN(h[0], state_env)("LOADER_A"), "1"));
    CHECK(!usf_context_setenv(a, "LOADER_A", "3", 1) && !strcmp(IN(h[0], state_env)("LOADER_A"), "3"));
    CHECK(!usf_context_unsetenv(a, "LOADER_A") && !IN(h[0], state_env)("LOADER_A"));
    CHECK_EQ(usf_context_setenv(a, "A=B", "3", 1), EINVAL);
    CHECK(!setenv("LOADER_BASE", "changed", 1));
    CHECK(!strcmp(IN(h[0], state_env)("LOADER_BASE"), "base"));
}

static void dlopen_inside(void)
{
    usf_context_t *c = make(0, 0);
    void *h = open_in(c, "libstate.so"), *dep = IN(h, state_dlopen)("libdep.so", RTLD_NOW | RTLD_NOLOAD);
    CHECK(dep && !dlclose(dep));
    CHECK(dep == usf_context_open(c, path_of("libdep.so")));
    void *more = IN(h, state_dlopen)(path_of("libnameless.so"), RTLD_NOW);
    CHECK(more && more == usf_context_open(c, path_of("libnameless.so")));
    CHECK(!IN(h, state_dlopen)("libnameless-nowhere.so", RTLD_NOW) && dlerror());
    CHECK(IN(h, state_dlopen)("libm.so.6", RTLD_NOW) == dlopen("libm.so.6", RTLD_NOW));
}

static volatile sig_atomic_t stop;

/* ---- entering, ending ---------------------------------------------------------------------------------- */

static void nesting(void)
{
    usf_context_t *a = make(0, 0), *b = make(0, 0);
    CHECK(!usf_context_current());
    CHECK_EQ(usf_context_leave(), EPERM);
    for (int i = 0; i < 100; i++) CHECK(!usf_context_enter(i % 2 ? a : b));
    CHECK(usf_context_current() == a);
    CHECK_EQ(usf_context_destroy(a), EBUSY);
    for (int i = 99; i >= 0; i--) {
        CHECK(usf_context_current() == (i % 2 ? a : b));
        CHECK(!usf_context_leave());
    }
    CHECK(!usf_context_current());
    CHECK(!usf_context_destroy(a) && !usf_context_destroy(b));
    CHECK_EQ(usf_context_destroy(a), EINVAL);
    CHECK_EQ(usf_context_enter(NULL), EINVAL);
}

static int gate[2], begun;
static void *waits(void *arg)
{
    char c;
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(read(gate[0], &c, 1), 1);
    return arg;
}

static void unload(void)
{
    int destroyed = 0;
    char word[64];
    snprintf(word, sizeof word, "STATE_WORD=%p", (void *)&destroyed);
    usf_context_t *c = make(0, (const char *const[]){word, 0});
    void *h = open_in(c, "libstate.so");
    Dl_info info;
    pthread_t thread;
    int (*f)(void) = IN(h, state_count);
    CHECK(!pipe(gate));
    CHECK_EQ(IN(h, state_thread)(&thread, waits, 0), 0);
    do CHECK_EQ(usf_context_destroy(c), EBUSY);
    while (!strstr(usf_context_error(), "loader"));     /* the thread's name, once it has begun */
    CHECK_EQ(write(gate[1], "x", 1), 1);
    CHECK(!pthread_join(thread, 0));
    int r;
    while ((r = usf_context_destroy(c)) == EBUSY) sched_yield();     /* joined a moment before it has left */
    CHECK_EQ(r, 0);
    CHECK_EQ(destroyed, 1);
    CHECK(!dladdr((void *)f, &info));
}

/* A key of the library's own has its turn after ours; until then the thread counts. */
static void last_key(void)
{
    for (int i = 0; i < 30; i++) {
        usf_context_t *c = make(0, 0);
        void *h = open_in(c, "libstate.so");
        pthread_t thread;
        CHECK_EQ(IN(h, state_thread)(&thread, IN(h, state_keyed), 0), 0);
        CHECK(!pthread_detach(thread));
        int r;
        while ((r = usf_context_destroy(c)) == EBUSY) sched_yield();
        CHECK_EQ(r, 0);
    }
}

static void *destroys(void *c)
{
    while (!stop) CHECK_EQ(usf_context_destroy(c), EBUSY);
    return c;
}

/* A refused destruction takes two locks, as a fork does. */
static void forks_beside_destroy(void)
{
    usf_context_t *c = make(0, 0);
    pthread_t destroyer, thread;
    CHECK(!pipe(gate));
    CHECK_EQ(IN(open_in(c, "libstate.so"), state_thread)(&thread, waits, 0), 0);
    CHECK(!pthread_create(&destroyer, 0, destroys, c));
    for (int i = 0; i < 1000; i++) {
        pid_t pid = fork();
        if (!pid) _exit(0);
        child_is_good(pid);
    }
    stop = 1;
    CHECK(!pthread_join(destroyer, 0));
    CHECK_EQ(write(gate[1], "x", 1), 1);
    CHECK(!pthread_join(thread, 0));
}

/* Needs without SONAME, and by a path. */
static void odd_needs(void)
{
    usf_context_t *a = make(0, 0), *b = make(0, 0);
    void *h[] = {open_in(a, "libneeds.so"), open_in(b, "libneeds.so"), open_in(a, "libneeds-path.so")};
    CHECK_EQ(IN(h[0], under_count)(), 1);
    CHECK_EQ(IN(h[1], under_count)(), 1);
    CHECK_EQ(IN(h[0], under_count)(), 2);
    CHECK_EQ(IN(h[2], under_count)(), 3);       /* the same library */
}

static long mappings(void)
{
    long n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    for (int c; (c = getc(f)) != EOF;) n += c == '\n';
    fclose(f);
    return n;
}

/* Nothing stays behind: mappings, descriptors, static thread-local storage (300 times 32 bytes are more than libc has set aside). */
static void cycles(void)
{
    long before = 0, fd = 0;
    for (int i = 0; i < 300; i++) {
        usf_context_t *c = make(0, 0);
        void *h = open_in(c, "libstate.so");
        CHECK_EQ(IN(h, state_count)(), 102);
        CHECK_EQ(IN(h, state_count_tls)(), 607);
        CHECK_EQ(IN(open_in(c, "libtls.so"), tls_count)(), 1);
        CHECK(!usf_context_destroy(c));
        if (i == 50) before = mappings(), fd = dup(0), close((int)fd);
    }
    CHECK(mappings() <= before + 4);
    CHECK_EQ(dup(0), fd);
}

static void in_forks(void)
{
    usf_context_t *c = make(0, 0);
    void *h = open_in(c, "libstate.so");
    CHECK(!usf_context_enter(c));
    pid_t pid = fork();
    if (!pid) {
        usf_context_t *other = make(0, 0);
        CHECK(usf_context_current() == c);
        CHECK_EQ(IN(h, state_count)(), 102);
        CHECK_EQ(IN(open_in(other, "libstate.so"), state_count)(), 102);
        CHECK(!usf_context_leave() && !usf_context_destroy(other));
        _exit(0);
    }
    child_is_good(pid);
    CHECK_EQ(IN(h, state_count)(), 102);
    CHECK(!usf_context_leave());
}

/* For test_groups.py: three threads in two contexts, until a line is read; then none. */
static void groups(void)
{
    char list[16], line[8];
    pthread_t threads[3];
    snprintf(list, sizeof list, "%d", first_cpu());
    usf_context_t *c[] = {usf_context_create(&(struct usf_context_options){.name = "own", .cpus = list, .flags = USF_CONTEXT_STRICT}),
                          usf_context_create(&(struct usf_context_options){.name = "may-lend", .cpus = list})};
    CHECK(c[0] && c[1] && !pipe(gate));
    for (int i = 0; i < 3; i++) CHECK(!IN(open_in(c[i / 2], "libstate.so"), state_thread)(&threads[i], waits, 0));
    while (get(&begun) < 3) sched_yield();
    CHECK(puts("ready") >= 0 && !fflush(stdout) && fgets(line, sizeof line, stdin));
    CHECK_EQ(write(gate[1], "xxx", 3), 3);
    for (int i = 0; i < 3; i++) CHECK(!pthread_join(threads[i], 0));
    for (int i = 0, r; i < 2; i++) {
        while ((r = usf_context_destroy(c[i])) == EBUSY) sched_yield();
        CHECK_EQ(r, 0);
    }
    CHECK(puts("ended") >= 0 && !fflush(stdout) && fgets(line, sizeof line, stdin));
}

/* ---- at once -------------------------------------------------------------------------------------------- */

static void on_signal(int sig) { (void)sig; }
static void *loads(void *arg)
{
    for (int i = 0; i < 20; i++) {
        usf_context_t *c = make(0, 0);
        void *h = open_in(c, i % 2 ? "libstate.so" : "libthrows.so");
        if (i % 2) CHECK_EQ(IN(h, state_count)(), 102);
        CHECK(!usf_context_destroy(c));
    }
    return arg;
}
static void *opens(void *arg)
{
    while (!stop) {
        void *h = dlopen(path_of("libdep.so"), RTLD_NOW);
        CHECK(h && !dlclose(h));
    }
    return arg;
}
static void *forks(void *arg)
{
    while (!stop) {
        pid_t pid = fork();
        if (!pid) {
            usf_context_t *c = make(0, 0);
            void *h = open_in(c, "libdep.so");
            _exit(IN(h, dep_count)() != 1);
        }
        child_is_good(pid);
        usleep(2000);
    }
    return arg;
}
static void *storms(void *arg)
{
    while (!stop) {
        kill(getpid(), SIGUSR1);
        usleep(100);
    }
    return arg;
}

static void beside(void *(*other)(void *))
{
    pthread_t loaders[3], others[2];
    signal(SIGUSR1, on_signal);
    CHECK(!pthread_create(&others[0], 0, storms, 0) && !pthread_create(&others[1], 0, other, 0));
    for (int i = 0; i < 3; i++) CHECK(!pthread_create(&loaders[i], 0, loads, 0));
    for (int i = 0; i < 3; i++) CHECK(!pthread_join(loaders[i], 0));
    stop = 1;
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(others[i], 0));
}

/* Loads beside each other and signals; beside dlopen, or forks.  (Not both: a fork during a dlopen of another thread leaves the child with
 * half of it, in any program.  robust.c has both.) */
static void beside_dlopen(void) { beside(opens); }
static void beside_forks(void) { beside(forks); }

/* ---- bad input ------------------------------------------------------------------------------------------ */

static void refuses(usf_context_t *c, const char *library, int error, const char *word)
{
    errno = 0;
    CHECK(!usf_context_open(c, library));
    CHECK_EQ(errno, error);
    if (!strstr(usf_context_error(), word)) fprintf(stderr, "'%s' is not in: %s\n", word, usf_context_error());
    CHECK(strstr(usf_context_error(), word));
}

static void write_file(const char *path, const void *what, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    CHECK(fd >= 0 && write(fd, what, size) == (ssize_t)size && !close(fd));
}

static void bad_input(void)
{
    static const char *const lists[] = {"", "x", "3-1", "99999", "1000"};
    char copy[] = "/tmp/usf-loader-XXXXXX", *bytes = malloc(1 << 20);
    usf_context_t *c = make(0, 0);
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
        CHECK(!usf_context_create(&(struct usf_context_options){.cpus = lists[i]}));
        CHECK_EQ(errno, EINVAL);
        CHECK(*usf_context_error());
    }
    CHECK(!usf_context_create(&(struct usf_context_options){.flags = 0x80}) && errno == EINVAL);
    CHECK(!usf_context_create(&(struct usf_context_options){.weight = 10001}) && errno == EINVAL);
    CHECK(!usf_context_create(&(struct usf_context_options){.priority = 1001}) && errno == EINVAL);
    CHECK(!usf_context_create(&(struct usf_context_options){.priority = -1001}) && errno == EINVAL);
    CHECK(!usf_context_create(&(struct usf_context_options){.env = (const char *const[]){"=x", 0}}) && errno == EINVAL);
    refuses(c, "libnowhere.so.9", ENOENT, "libnowhere.so.9");
    refuses(c, "/nowhere/lib.so", ENOENT, "/nowhere/lib.so");
    refuses(c, "/tmp", ELIBBAD, "/tmp");
    refuses(c, "/proc/self/exe", ELIBBAD, "program");
    refuses(c, path_of("libneedy.so"), ENOENT, "libgone.so");
    int fd = mkstemp(copy), lib = open(path_of("libdep.so"), O_RDONLY);
    CHECK(fd >= 0 && lib >= 0);
    ssize_t size = read(lib, bytes, 1 << 20);
    CHECK(size > 1000);
    write_file(copy, bytes, 0);
    refuses(c, copy, ELIBBAD, "ELF");
    write_file(copy, "hello, this is a text that is no library, and long enough to be looked at as one", 80);
    refuses(c, copy, ELIBBAD, "ELF");
    for (ssize_t cut = 64; cut < size - 64; cut += size / 37) {
        write_file(copy, bytes, (size_t)cut);
        void *h = usf_context_open(c, copy);
        CHECK(h || errno == ELIBBAD || errno == ELIBACC);
    }
    bytes[18] = 40;     /* ARM */
    write_file(copy, bytes, (size_t)size);
    refuses(c, copy, ELIBBAD, "architecture");
    CHECK_EQ(IN(open_in(c, "libdep.so"), dep_count)(), 1);
    CHECK(!usf_context_symbol(c, "no_such_symbol") && errno == ENOENT);
    CHECK(usf_context_shared("libc.so.6") && !usf_context_shared("libgomp.so.1"));
    unlink(copy);
}

static void rules(void)
{
    usf_context_t *a = make(0, 0), *b = make(0, 0);
    CHECK(!usf_context_share("libdep.so", "the test says so", 0));
    CHECK(!strcmp(usf_context_shared(path_of("libdep.so")), "the test says so"));
    void *h[] = {open_in(a, "libstate.so"), open_in(b, "libstate.so")};
    CHECK_EQ(IN(h[0], state_count)(), 102);
    CHECK_EQ(IN(h[1], state_count)(), 102);
    CHECK_EQ(IN(h[0], state_count_dep)(), 1);
    CHECK_EQ(IN(h[1], state_count_dep)(), 2);
    CHECK(!usf_context_share("libdep.so", 0, 1));
    CHECK(!usf_context_shared("libdep.so"));
    CHECK_EQ(IN(open_in(make(0, 0), "libstate.so"), state_count_dep)(), 1);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"separate", separate, 0}, {"base_comes_later", base_comes_later, 0}, {"shares_text", shares_text, 0}, {"sibling", sibling, 0}, {"no_soname", no_soname, 0},
        {"many", many, 0}, {"static_tls", static_tls, 0}, {"cpp", cpp, 0}, {"cpus", cpus, 0}, {"environment", environment, 0}, {"dlopen_inside", dlopen_inside, 0},
        {"nesting", nesting, 0}, {"unload", unload, 0}, {"last_key", last_key, 0}, {"forks_beside_destroy", forks_beside_destroy, 0}, {"odd_needs", odd_needs, 0},
        {"cycles", cycles, 0}, {"in_forks", in_forks, 0}, {"beside_dlopen", beside_dlopen, 0}, {"beside_forks", beside_forks, 0}, {"bad_input", bad_input, 0},
        {"rules", rules, 0}, {"groups", groups, 1}, {0}};
    run_cases(argc, argv, cases);
    return 0;
}
