/* tests/context/resources.c - what a context's libraries see of the machine, and what programs get that they start.  SPDX-License-Identifier: Apache-2.0
 * usage: resources MACHINE STREAMS [CASE]; two libraries (machine.c, streams.cpp).  77: the process may use one CPU only. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <usf/context.h>

#include "../check.h"
#include "machine.h"

enum { STREAM_LISTS = 3 };

static const char *machine_path, *streams_path;
static int first = -1, second = -1;     /* CPUs that the process may use */
static char first_list[16], second_list[16];

#define IN(handle, name) ({ void *p_ = dlsym(handle, #name); CHECK(p_); (__typeof__(&name))p_; })

static usf_context_t *make(struct usf_context_options o)
{
    usf_context_t *c = usf_context_create(&o);
    if (!c) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(c);
    return c;
}
static void *open_in(usf_context_t *c, const char *path)
{
    void *h = usf_context_open(c, path);
    if (!h) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(h);
    return h;
}

/* ---- folders ------------------------------------------------------------------------------------------- */

static const char *const listings[] = {"/sys/devices/system/cpu", "/sys/bus/cpu/devices", "/sys/devices/system/node/node0"};

static void folders(void)
{
    void *a = open_in(make((struct usf_context_options){.cpus = first_list}), machine_path), *b = open_in(make((struct usf_context_options){.cpus = second_list}), machine_path);
    void *free_one = open_in(make((struct usf_context_options){0}), machine_path), *base = dlopen(machine_path, RTLD_NOW);
    CHECK(base);
    for (unsigned i = 0; i < sizeof listings / sizeof *listings; i++) {
        uint64_t bits, all;
        if (access(listings[i], R_OK)) continue;
        for (int way = 0; way < NR_WAYS; way++) {
            int n = IN(base, machine_list)(way, listings[i], &all), least = way == BY_FTW ? 0 : 1;     /* it follows links, and may come to cpuN by another path */
            CHECK(n >= 1 + least);
            CHECK_EQ(IN(free_one, machine_list)(way, listings[i], &bits), n);
            CHECK_EQ(bits, all);
            for (int round = 0; round < 2; round++) {
                n = IN(a, machine_list)(way, listings[i], &bits);
                CHECK(n >= least && n <= 1 && (!n || first >= 64 || bits == 1ull << first));
                n = IN(b, machine_list)(way, listings[i], &bits);
                CHECK(n >= least && n <= 1 && (!n || second >= 64 || bits == 1ull << second));
            }
        }
        char name[100];
        snprintf(name, sizeof name, "%s/cpu%d", listings[i], second);
        CHECK(IN(a, machine_opens)(name));      /* a sample of what the CPUs are */
        CHECK_EQ(IN(a, machine_count)(listings[i]), IN(base, machine_count)(listings[i]) - IN(base, machine_list)(BY_READDIR, listings[i], &all) + 1);
    }
    CHECK_EQ(IN(a, machine_count)("/proc/self/task"), 3);       /* ".", "..", this thread */
    CHECK_EQ(IN(a, machine_count)("/no/such/folder"), -1);
}

/* ---- C++ ----------------------------------------------------------------------------------------------- */

static void streams(void)
{
    long (*read[2])(int, const char *, char *, size_t);
    int (*list[2])(int, const char *, uint64_t *);
    void *h[] = {open_in(make((struct usf_context_options){.cpus = first_list}), streams_path), dlopen(streams_path, RTLD_NOW)};
    CHECK(h[1]);
    for (int i = 0; i < 2; i++) {
        *(void **)&read[i] = dlsym(h[i], "streams_read");
        *(void **)&list[i] = dlsym(h[i], "streams_list");
        CHECK(read[i] && list[i]);
    }
    int ways = ((int (*)(void))dlsym(h[0], "streams_ways"))();
    for (int way = 0; way < ways; way++) {
        static char text[1 << 20], want[64];
        snprintf(want, sizeof want, "%d\n", first);
        CHECK(read[0](way, "/sys/devices/system/cpu/online", text, sizeof text) > 0);
        if (strcmp(text, want)) fprintf(stderr, "way %d: %s", way, text);
        CHECK(!strcmp(text, want));
        CHECK(read[0](way, "/proc/cpuinfo", text, sizeof text) > 0);
        char *p = strstr(text, "processor");
        CHECK(p && !strstr(p + 1, "\nprocessor"));
        CHECK(read[1](way, "/proc/cpuinfo", text, sizeof text) > 0);
        CHECK((p = strstr(text, "processor")) && strstr(p + 1, "\nprocessor"));
        CHECK_EQ(read[0](way, "/no/such/file", text, sizeof text), 0);
        CHECK(read[0](way, machine_path, text, sizeof text) > 0 && !memcmp(text + 1, "ELF", 3));
    }
    for (int way = 0; way < STREAM_LISTS; way++) {
        uint64_t bits;
        CHECK(list[1](way, listings[0], &bits) >= 2);
        CHECK_EQ(list[0](way, listings[0], &bits), 1);
        if (first < 64) CHECK_EQ(bits, 1ull << first);
    }
    char file[] = "/tmp/usf-streams-XXXXXX";
    int fd = mkstemp(file);
    CHECK(fd >= 0 && !close(fd));
    CHECK_EQ(((int (*)(const char *))dlsym(h[0], "streams_writes"))(file), 1);
    CHECK(!unlink(file));
    CHECK_EQ(((int (*)(const char *))dlsym(h[0], "streams_opens"))("/proc/no-such-file"), 0);
    CHECK_EQ(((int (*)(const char *))dlsym(h[0], "streams_throws"))("/sys/no/such/folder"), 1);
    int last = dup(0);
    for (int i = 0; i < 100; i++) read[0](i % ways, "/proc/cpuinfo", (char[64]){0}, 64);
    CHECK_EQ(dup(0), last + 1);     /* no descriptor stays open */
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void memory(void)
{
    enum { MB = 1 << 20 };
    struct machine_memory small, large, base;
    void *h = open_in(make((struct usf_context_options){.memory = 64 * MB}), machine_path), *b = dlopen(machine_path, RTLD_NOW);
    void *all = open_in(make((struct usf_context_options){.memory = 1ull << 60}), machine_path);
    char text[16384];
    unsigned long long kb;
    IN(h, machine_memory)(&small);
    IN(all, machine_memory)(&large);
    IN(b, machine_memory)(&base);
    CHECK(base.total > 64 * MB);
    CHECK(small.total == 64 * MB && small.pages == 64 * MB && small.phys == 64 * MB);
    CHECK(small.free <= 64 * MB && small.free_pages <= 64 * MB && small.avphys <= 64 * MB && small.free > 0);
    CHECK(large.total == base.total && large.pages == base.pages && large.phys == base.phys);
    CHECK(IN(h, machine_read)("/proc/meminfo", text, sizeof text) > 0);
    CHECK_EQ(sscanf(text, "MemTotal: %llu kB", &kb), 1);
    CHECK_EQ(kb, 64 * MB / 1024);
    CHECK(strstr(text, "MemAvailable:") && sscanf(strstr(text, "MemAvailable:"), "MemAvailable: %llu kB", &kb) == 1 && kb <= 64 * MB / 1024);
    CHECK(IN(b, machine_read)("/proc/meminfo", text, sizeof text) > 0 && sscanf(text, "MemTotal: %llu kB", &kb) == 1 && kb > 64 * MB / 1024);
    /* What this machine has of control groups, whichever it has. */
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (unsigned i = 0; i < 2; i++) {
        if (access(limits[i], R_OK)) continue;
        CHECK(IN(h, machine_read)(limits[i], text, sizeof text) > 0);
        CHECK(strtoull(text, 0, 10) <= 64 * MB && strtoull(text, 0, 10) > 0);
    }
    CHECK(!usf_context_create(&(struct usf_context_options){.memory = 1000}) && errno == EINVAL && strstr(usf_context_error(), "1000"));
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static char out_path[] = "/tmp/usf-resources-XXXXXX";

static void output_of(void *h, int way, const char *command, char *text, size_t size)
{
    CHECK_EQ(IN(h, machine_start)(way, command, out_path), 0);
    FILE *f = fopen(out_path, "r");
    CHECK(f);
    text[fread(text, 1, size - 1, f)] = 0;
    CHECK(!fclose(f));
}

static void programs(void)
{
    static const char command[] = "echo \"$RESOURCES\"; grep Cpus_allowed_list /proc/self/status";
    static const char *const env[] = {"RESOURCES=given", 0};
    char want[100], text[1000];
    int fd = mkstemp(out_path);
    cpu_set_t before, after;
    CHECK(fd >= 0 && !close(fd) && !setenv("RESOURCES", "the program's", 1) && !sched_getaffinity(0, sizeof before, &before));
    void *h = open_in(make((struct usf_context_options){.cpus = second_list, .env = env}), machine_path);
    snprintf(want, sizeof want, "given\nCpus_allowed_list:\t%d\n", second);
    for (int way = 0; way < NR_STARTS; way++) {
        output_of(h, way, command, text, sizeof text);
        if (strcmp(text, want)) fprintf(stderr, "way %d: %s", way, text);
        CHECK(!strcmp(text, want));
        CHECK(!sched_getaffinity(0, sizeof after, &after) && CPU_EQUAL(&before, &after));
    }
    /* A variable that was set, and an array of the library's own. */
    CHECK(!IN(h, machine_set)("RESOURCES", "changed"));
    output_of(h, BY_SYSTEM, "echo $RESOURCES", text, sizeof text);
    CHECK(!strcmp(text, "changed\n"));
    CHECK(!strcmp(getenv("RESOURCES"), "the program's"));
    /* Without CPUs of its own they are the program's. */
    void *free_one = open_in(make((struct usf_context_options){0}), machine_path);
    char real[1000];
    output_of(free_one, BY_POPEN, command, text, sizeof text);
    FILE *f = popen(command, "r");
    real[fread(real, 1, sizeof real - 1, f)] = 0;
    CHECK(!pclose(f) && !strcmp(text, real));
    CHECK(!unlink(out_path));
}

static void on_interrupt(int sig) { (void)sig; }

/* As libc's. */
static void shell(void)
{
    void *h = open_in(make((struct usf_context_options){0}), machine_path);
    int (*status)(const char *) = IN(h, machine_system_status);
    struct sigaction now, mine = {.sa_handler = on_interrupt};
    sigset_t set;
    CHECK(status(0) == 1);
    CHECK(WEXITSTATUS(status("exit 7")) == 7);
    CHECK(WTERMSIG(status("kill -9 $$")) == 9);
    CHECK(WEXITSTATUS(status("no-such-command-here 2> /dev/null")) == 127);
    CHECK(!sigaction(SIGINT, &mine, 0));
    CHECK_EQ(status("kill -INT $PPID; exit 0"), 0);        /* the program ignores it meanwhile */
    CHECK(!sigaction(SIGINT, 0, &now) && now.sa_handler == on_interrupt);
    CHECK(!pthread_sigmask(SIG_BLOCK, 0, &set) && !sigismember(&set, SIGCHLD));
    CHECK_EQ(WTERMSIG(status("kill -INT $$")), SIGINT);    /* the command does not */
    CHECK(WEXITSTATUS(IN(h, machine_write_to)("read a b; test \"$b\" = two; exit $((3 + $?))", "one two\n")) == 3);
    CHECK_EQ(IN(h, machine_two_pipes)(), 0);
    CHECK_EQ(WEXITSTATUS(IN(h, machine_fclose)("exit 5")), 5);     /* libc's fclose waits, too */
    CHECK(waitpid(-1, 0, WNOHANG) == -1 && errno == ECHILD);
    CHECK_EQ(IN(h, machine_two_pipes)(), 0);
}

/* The program closes a library's stream: the next popen does not look at it, and leaves alone what has its descriptor. */
static void stream_closed_elsewhere(void)
{
    void *h = open_in(make((struct usf_context_options){0}), machine_path);
    FILE *f = IN(h, machine_popen)("exit 0");
    CHECK(f);
    int (*volatile close_stream)(FILE *) = fclose;
    int fd = fileno(f);
    CHECK(!close_stream(f));
    f = fopen("/dev/null", "r");        /* at the same address, usually */
    CHECK(f && fileno(f) == fd);
    char command[60];
    snprintf(command, sizeof command, "test -e /proc/self/fd/%d", fd);
    CHECK_EQ(IN(h, machine_write_to)(command, ""), 0);
    CHECK(!fclose(f));
}

/* ---- the environment ------------------------------------------------------------------------------------ */

/* A changed value leaves the array in its place; threads that walk through it go on. */
static void environment(void)
{
    void *h = open_in(make((struct usf_context_options){.env = (const char *const[]){"RESOURCES=0", 0}}), machine_path);
    char **env = IN(h, machine_environ)(), value[16];
    for (int i = 1; i <= 1000; i++) {
        snprintf(value, sizeof value, "%d", i);
        CHECK(!IN(h, machine_set)("RESOURCES", value) && !strcmp(IN(h, machine_get)("RESOURCES"), value));
        CHECK(IN(h, machine_environ)() == env);
    }
    CHECK(!IN(h, machine_set)("RESOURCES_NEW", "x") && IN(h, machine_environ)() != env && !strcmp(IN(h, machine_get)("RESOURCES_NEW"), "x"));
    /* A library may have an array of its own, as in libc, or none. */
    char *own[] = {(char[]){"RESOURCES=own"}, 0};
    IN(h, machine_set_environ)(own);
    CHECK(!strcmp(IN(h, machine_get)("RESOURCES"), "own") && !IN(h, machine_get)("RESOURCES_NEW"));
    CHECK(!IN(h, machine_set)("RESOURCES_NEW", "y") && !strcmp(IN(h, machine_get)("RESOURCES"), "own"));
    CHECK(!strcmp(IN(h, machine_get)("RESOURCES_NEW"), "y") && IN(h, machine_environ)() != own);
    IN(h, machine_set_environ)(0);
    CHECK(!IN(h, machine_get)("RESOURCES") && !IN(h, machine_set)("RESOURCES", "z") && !strcmp(IN(h, machine_get)("RESOURCES"), "z"));
}

/* As libc's. */
static void mistakes(void)
{
    char pattern[100], got[100];
    void *h = open_in(make((struct usf_context_options){.cpus = first_list}), machine_path);
    CHECK_EQ(IN(h, machine_opens_nothing)(), EFAULT);
    snprintf(pattern, sizeof pattern, "/sys/devices/system/cpu/cpu%d*/uevent", second);
    CHECK_EQ(IN(h, machine_glob_nocheck)(pattern, got, sizeof got), 1);
    CHECK(!strcmp(got, pattern));
}

/* ---- other CPUs ------------------------------------------------------------------------------------------ */

struct worker { int (*bind)(int), (*bind_all)(void), cpu; sem_t began, go, done; pthread_t thread; };

static void *works(void *arg)
{
    struct worker *w = arg;
    if (w->cpu >= 0) CHECK(!w->bind(w->cpu));
    CHECK(!sem_post(&w->began));
    while (sem_wait(&w->go)) continue;
    if (w->cpu >= 0) {
        CHECK(!w->bind_all());
        CHECK(!sem_post(&w->done));
        while (sem_wait(&w->go)) continue;
    }
    return 0;
}

static void has(pthread_t thread, int cpu, int n)
{
    cpu_set_t set;
    CHECK(!pthread_getaffinity_np(thread, sizeof set, &set));
    CHECK_EQ(CPU_COUNT(&set), n);
    CHECK(CPU_ISSET(cpu, &set));
}

/* Threads that there are already have the context's CPUs, whatever these become. */
static void set_cpus(void)
{
    char both[40];
    snprintf(both, sizeof both, "%d,%d", first, second);
    usf_context_t *c = make((struct usf_context_options){.cpus = both});
    void *h = open_in(c, machine_path);
    struct worker w[3] = {{.cpu = -1}, {.cpu = first}, {.cpu = second}};        /* two have a mask of their own */
    for (int i = 0; i < 3; i++) {
        w[i].bind = IN(h, machine_bind);
        w[i].bind_all = IN(h, machine_bind_all);
        CHECK(!sem_init(&w[i].began, 0, 0) && !sem_init(&w[i].go, 0, 0) && !sem_init(&w[i].done, 0, 0));
        CHECK(!IN(h, machine_thread)(&w[i].thread, works, &w[i]));
        while (sem_wait(&w[i].began)) continue;
    }
    has(w[0].thread, first, 2);
    has(w[1].thread, first, 1);
    has(w[2].thread, second, 1);
    CHECK(!usf_context_set_cpus(c, second_list));
    for (int i = 0; i < 3; i++) has(w[i].thread, second, 1);        /* the second one's CPU is none of the context's any more */
    CHECK(!usf_context_set_cpus(c, both));
    has(w[0].thread, first, 2);
    has(w[1].thread, first, 2);
    has(w[2].thread, second, 2);
    CHECK(!usf_context_set_cpus(c, first_list));
    for (int i = 1; i < 3; i++) {       /* all CPUs are the present ones */
        CHECK(!sem_post(&w[i].go));
        while (sem_wait(&w[i].done)) continue;
        has(w[i].thread, first, 1);
    }
    CHECK(!usf_context_set_cpus(c, 0));
    cpu_set_t set;
    CHECK(!pthread_getaffinity_np(w[0].thread, sizeof set, &set) && CPU_COUNT(&set) >= 2);
    for (int i = 0; i < 3; i++) CHECK(!sem_post(&w[i].go) && !pthread_join(w[i].thread, 0));
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {{"folders", folders}, {"streams", streams}, {"memory", memory}, {"programs", programs},
        {"shell", shell}, {"stream_closed_elsewhere", stream_closed_elsewhere}, {"environment", environment}, {"mistakes", mistakes}, {"set_cpus", set_cpus}};
    cpu_set_t set;
    CHECK(argc >= 3 && !sched_getaffinity(0, sizeof set, &set));
    machine_path = argv[1];
    streams_path = argv[2];
    for (int i = 0; i < CPU_SETSIZE && second < 0; i++)
        if (CPU_ISSET(i, &set)) *(first < 0 ? &first : &second) = i;
    if (second < 0) {
        puts("skipped: one CPU");
        return 77;
    }
    snprintf(first_list, sizeof first_list, "%d", first);
    snprintf(second_list, sizeof second_list, "%d", second);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        if (argc > 3 && strcmp(argv[3], cases[i].name)) continue;
        pid_t pid = fork();
        if (!pid) {
            alarm(60);
            cases[i].run();
            _exit(0);
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        if (status) fprintf(stderr, "%s: status %x\n", cases[i].name, (unsigned)status);
        CHECK_EQ(status, 0);
    }
    return 0;
}
