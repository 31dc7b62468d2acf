/* tests/teams/host.c - a program without OpenMP that loads libraries with it.  SPDX-License-Identifier: Apache-2.0
 *
 * Commands on standard input, one per line; each is answered by a number in a line of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define MODULES 16
static struct { char name[32], path[512]; void *handle; } modules[MODULES];

static int number_of(const char *name)
{
    for (int i = 0; i < MODULES; i++)
        if (modules[i].handle && !strcmp(modules[i].name, name)) return i;
    fprintf(stderr, "no module %s\n", name);
    exit(1);
}

static void *symbol(const char *module, const char *name)
{
    void *f = dlsym(modules[number_of(module)].handle, name);
    if (!f) fprintf(stderr, "%s\n", dlerror()), exit(1);
    return f;
}

static int open_module(const char *name, const char *path, long apart)
{
    for (int i = 0; i < MODULES; i++) {
        if (modules[i].handle) continue;
        modules[i].handle = apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!modules[i].handle) fprintf(stderr, "%s\n", dlerror()), exit(1);
        snprintf(modules[i].name, sizeof modules[i].name, "%s", name);
        snprintf(modules[i].path, sizeof modules[i].path, "%s", path);
        return 1;
    }
    exit(1);
}

static int call(const char *module, const char *function, int arg)
{
    char name[64];
    snprintf(name, sizeof name, "m_%s", function);
    return ((int (*)(int))symbol(module, name))(arg);
}

/* The clocks of the threads of the kernel that in_thread had.  Who asks for its id is not used again. */
static clockid_t latest[2];
static clockid_t own_clock(void)
{
    clockid_t c = 0;
    pthread_getcpuclockid(pthread_self(), &c);
    return c;
}

/* ---- from many threads at once --------------------------------------------------------------------- */
static pthread_barrier_t together;
static const char *in_module;
static void *thread(void *sum)
{
    pthread_barrier_wait(&together);
    for (int i = 0; i < 20; i++) __atomic_fetch_add((int *)sum, call(in_module, "plain", 0), __ATOMIC_RELAXED);
    return NULL;
}

/* The sum of the sizes of 20 regions in each of n threads. */
static int threads(const char *module, int n)
{
    pthread_t t[64];
    int sum = 0;
    in_module = module;
    pthread_barrier_init(&together, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        if (pthread_create(&t[i], NULL, thread, &sum)) exit(1);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    pthread_barrier_destroy(&together);
    return sum;
}

/* In a thread of its own that says 2 first; what its successor, perhaps the same thread of the kernel, gets. */
static void *says(void *module)
{
    latest[0] = own_clock();
    ((void (*)(int))symbol(module, "omp_set_num_threads"))(2);
    return (void *)(long)call(module, "plain", 0);
}
static void *says_nothing(void *module)
{
    latest[0] = own_clock();
    return (void *)(long)call(module, "plain", 0);
}

static int in_thread(void *(*fn)(void *), const char *module)
{
    pthread_t t;
    void *n;
    latest[1] = latest[0];
    if (pthread_create(&t, NULL, fn, (void *)module) || pthread_join(t, &n)) exit(1);
    return (int)(long)n;
}

static int in_child(const char *module)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) _exit(call(module, "plain", 0));
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the fake runtime ------------------------------------------------------------------------------- */

static int fake(const char *module, const char *function, int n)
{
    int *last = symbol(module, "last");
    *last = -1;
    ((void (*)(void (*)(void *), void *, unsigned, unsigned))symbol(module, function))(NULL, NULL, (unsigned)n, 0);
    return *last;
}

static int arguments(const char *module, int n)
{
    int *last = symbol(module, "last"), *others = symbol(module, "others");
    double *sum = symbol(module, "sum");
    void *f = symbol(module, "GOMP_parallel_loop_guided");
    /* As a function with an ellipsis is called: %al says that there are vector registers. */
    ((void (*)(void *, void *, unsigned, ...))f)(NULL, NULL, (unsigned)n, 1L, 2L, 3L, 4L, 5L, 1.5, 0.25);
    return *others == 54321 && *sum == 1.75 ? *last : -1;
}

/* ---- unwinding ---------------------------------------------------------------------------------------- */
/* A call that is executed instruction by instruction: how many of them there are from where an unwinder, begun in a signal's handler,
 * does not find the caller. */
static int steps, lost;
static int stepped(void (*f)(void *, void *, unsigned, unsigned));

static _Unwind_Reason_Code look(struct _Unwind_Context *c, void *found)
{
    if (_Unwind_GetRegionStart(c) == (uintptr_t)stepped) *(int *)found = 1;
    return _URC_NO_REASON;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
    int found = 0;
    uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    (void)sig, (void)info;
    if (_Unwind_FindEnclosingFunction((void *)pc) == (void *)stepped) return;       /* its own pushes are not described */
    steps++;
    _Unwind_Backtrace(look, &found);
    if (!found && lost++ < 5) fprintf(stderr, "lost at %#lx\n", (unsigned long)pc);
}

__attribute__((noinline)) static int stepped(void (*f)(void *, void *, unsigned, unsigned))
{
    __asm__ volatile("pushf\n orl $0x100, (%%rsp)\n popf" : : : "memory", "cc");
    f(NULL, NULL, 0, 0);
    __asm__ volatile("pushf\n andl $~0x100, (%%rsp)\n popf" : : : "memory", "cc");
    return steps;
}

static int unwind(const char *module, const char *function)
{
    struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    void (*f)(void *, void *, unsigned, unsigned) = (void (*)(void *, void *, unsigned, unsigned))symbol(module, function);
    f(NULL, NULL, 0, 0);
    steps = lost = 0;
    if (sigaction(SIGTRAP, &a, NULL) || stepped(f) < 50) return -1;
    return lost;
}

/* KiB of executable memory that is no file's. */
static int stubs(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1024];
    long sum = 0;
    unsigned long lo, hi, inode;
    char prot[8];
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &lo, &hi, prot, &inode) == 4 && prot[2] == 'x' && !inode) sum += (long)(hi - lo);
    if (f) fclose(f);
    return (int)(sum / 1024);
}

/* Load and unload it so often, with something else in its place now and then: how often its region had the right size. */
static int reload(const char *path, int times)
{
    int right = 0;
    void *between = NULL;
    for (int i = 0; i < times; i++) {
        open_module("again", path, 0);
        right += fake("again", "GOMP_parallel", 0) == 1 && fake("again", "GOMP_parallel_sections", 3) == 3;
        if (i % 4 == 1) ((void (*)(int))symbol("again", "omp_set_num_threads"))(2);
        int m = number_of("again");
        dlclose(modules[m].handle);
        modules[m].handle = NULL;
        if (dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) return -2;
        if (between) free(between);
        between = malloc((size_t)(i % 7 + 1) << 17);
    }
    free(between);
    return right;
}

int main(void)
{
    char line[1024], what[32], module[32], arg[600];
    while (fgets(line, sizeof line, stdin)) {
        *what = *module = *arg = 0;
        sscanf(line, "%31s %31s %599s", what, module, arg);
        int n = atoi(arg), r = 0;
        if (!strcmp(what, "open")) r = open_module(module, arg, 0);
        else if (!strcmp(what, "open-apart")) r = open_module(module, arg, 1);
        else if (!strcmp(what, "environment")) r = setenv(module, arg, 1) == 0;
        else if (!strcmp(what, "visible")) r = dlsym(RTLD_DEFAULT, module) != NULL;
        else if (!strcmp(what, "set")) ((void (*)(int))symbol(module, "omp_set_num_threads"))(n);
        else if (!strcmp(what, "max")) r = ((int (*)(void))symbol(module, "omp_get_max_threads"))();
        else if (!strcmp(what, "without")) r = unsetenv(module) == 0;
        else if (!strcmp(what, "defaults")) ((void (*)(const char *))symbol(module, "kmp_set_defaults"))(arg);
        else if (!strcmp(what, "stubs")) r = stubs();
        else if (!strcmp(what, "same")) r = latest[0] == latest[1];
        else if (!strcmp(what, "level") || !strcmp(what, "most") || !strcmp(what, "dynamic-is")) *(int *)symbol(module, strtok(what, "-")) = n;
        else if (!strcmp(what, "threads")) r = threads(module, n);
        else if (!strcmp(what, "says")) r = in_thread(says, module);
        else if (!strcmp(what, "fresh")) r = in_thread(says_nothing, module);
        else if (!strcmp(what, "child")) r = in_child(module);
        else if (!strcmp(what, "arguments")) r = arguments(module, n);
        else if (!strcmp(what, "unwind")) r = unwind(module, arg);
        else if (!strcmp(what, "reload")) r = reload(arg, 100);
        else if (!strncmp(what, "GOMP_", 5)) r = fake(module, what, n);
        else r = call(module, what, n);
        printf("%d\n", r);
        fflush(stdout);
    }
    return 0;
}
