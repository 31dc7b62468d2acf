/* tests/spawn/storm.c - everything that starts and ends processes, threads and objects, at once.  SPDX-License-Identifier: Apache-2.0
 * usage: spawn-storm storm SEED SECONDS
 *
 * Threads of all kinds hold whatever locks there are while others fork; the children then use all of it.  With perturbation
 * points (USF_POINTS) the runtime's own locks are held for long, too. */
#include "case.h"

#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

enum { FORKERS = 3, WORKERS = 5 };

static _Atomic bool over;
static _Atomic int counts[8];
static int depth;
static const char *plugin;

static unsigned draw(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16 & 0x7fff;
}

static void load_and_map(void)
{
    void *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (EXPECT(m != MAP_FAILED)) {
        *(unsigned char *)m = 0xc3;
        mprotect(m, 8192, PROT_READ | PROT_EXEC);
        munmap(m, 8192);
    }
    void *h = dlopen(plugin, RTLD_NOW);
    if (EXPECT(h != NULL)) dlclose(h);
}

static void on_signal(int sig) { (void)sig; }

static void *work(void *arg)
{
    unsigned state = (unsigned)(uintptr_t)arg;
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    while (!atomic_load(&over)) {
        switch (draw(&state) % 7) {
        case 0: case 1: EXPECT(works()); break;
        case 2: load_and_map(); break;
        case 3: sigaction(SIGUSR1, &sa, &old); break;
        case 4: sched_yield(); break;
        case 5: usleep(draw(&state) % 300); break;
        default: for (volatile int n = 0; n < 20000; n++); break;
        }
        atomic_fetch_add(&counts[0], 1);
    }
    return NULL;
}

static void fork_one(unsigned *state);

/* The child of a fork that may have come while a dlopen was going on elsewhere: libc does not promise it dlopen. */
static _Noreturn void be_child(unsigned *state)
{
    char *quiet[] = {(char *)spawn_self, "quiet", NULL}, *garbage[] = {"x", NULL};
    unsigned what = draw(state) % 6;
    depth++;
    alarm(60);
    switch (what) {
    case 0: break;
    case 1: if (depth < 3) fork_one(state); break;
    case 2: execv(spawn_self, quiet); _exit(1);
    case 3: execv("/nowhere", garbage); break;
    case 4: EXPECT(system("exit 3") == 3 << 8); break;
    default: usleep(draw(state) % 2000); break;
    }
    if (draw(state) % 4 == 0) raise(SIGKILL);
    end_working();
}

static void fork_one(unsigned *state)
{
    int status;
    unsigned how = draw(state) % 4;
    pid_t pid = how == 3 ? vfork() : fork();
    if (pid == 0 && how == 3) _exit(0);
    if (pid == 0) be_child(state);
    if (!EXPECT(pid > 0)) return;
    if (how == 1) {
        usleep(draw(state) % 500);
        kill(pid, SIGKILL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR);
    bool good = status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (!EXPECT(good)) fprintf(stderr, "child ended with %#x\n", status);
    atomic_fetch_add(&counts[1], 1);
}

static void *forks(void *arg)
{
    unsigned state = (unsigned)(uintptr_t)arg;
    while (!atomic_load(&over)) fork_one(&state);
    return NULL;
}

CASE(quiet) {}

CASE(storm)
{
    unsigned seed = spawn_argv[0] ? (unsigned)atoi(spawn_argv[0]) : 1, seconds = spawn_argv[0] && spawn_argv[1] ? (unsigned)atoi(spawn_argv[1]) : 2;
    pthread_t t[FORKERS + WORKERS];
    plugin = getenv("SPAWN_PLUGIN");
    fprintf(stderr, "seed %u\n", seed);
    alarm(seconds + 120);
    for (uintptr_t i = 0; i < FORKERS + WORKERS; i++)
        EXPECT(pthread_create(&t[i], NULL, i < FORKERS ? forks : work, (void *)(seed * 31 + i)) == 0);
    nap_ms((int)seconds * 1000);
    atomic_store(&over, true);
    for (int i = 0; i < FORKERS + WORKERS; i++) pthread_join(t[i], NULL);
    fprintf(stderr, "%d steps, %d forks\n", counts[0], counts[1]);
    EXPECT(counts[0] && counts[1]);
}
