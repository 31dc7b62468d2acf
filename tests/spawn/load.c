/* tests/spawn/load.c - objects that come and go.  SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <dlfcn.h>

static char plugin[4200];
static void find_plugin(void)
{
    snprintf(plugin, sizeof plugin, "%s", getenv("SPAWN_PLUGIN"));
    EXPECT(*plugin);
}

static void *load_storm(void *arg)
{
    for (int i = 0; i < 40; i++) {
        void *h = dlopen(plugin, RTLD_NOW | (i % 3 ? RTLD_LOCAL : RTLD_GLOBAL));
        if (!EXPECT(h != NULL)) return NULL;
        int (*use)(int) = (int (*)(int))dlsym(h, "plugin_use");
        EXPECT(use && use(i) == i + 1);
        dlclose(h);
    }
    return arg;
}

CASE(storm)
{
    pthread_t t[4];
    find_plugin();
    crowd_start(4);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, load_storm, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    crowd_end();
    EXPECT(works());
}

/* glibc's fork does not wait for a dlopen elsewhere, so the children load nothing */
static void *fork_storm(void *arg)
{
    for (int i = 0; i < 10; i++) child_works();
    return arg;
}

CASE(storm_beside_forks)
{
    pthread_t t[3];
    find_plugin();
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, i ? load_storm : fork_storm, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

/* In a child of a fork that came in the middle of another thread's dlclose an object may be listed that is unmapped. */
static void unmap(const char *name)
{
    char line[4200];
    uintptr_t from[16], to[16];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    if (!EXPECT(f != NULL)) return;
    while (n < 16 && fgets(line, sizeof line, f))
        if (strstr(line, name)) n += sscanf(line, "%lx-%lx", &from[n], &to[n]) == 2;
    fclose(f);
    EXPECT(n > 0);
    while (n--) EXPECT(munmap((void *)from[n], to[n] - from[n]) == 0);
}

CASE(half_unloaded)
{
    EXPECT(dlopen("libm.so.6", RTLD_NOW) != NULL);
    pid_t pid = fork();         /* it ends without the destructors */
    if (pid == 0) {
        EXPECT(works());
        unmap("/libm.so");
        child_works();
        end_working();
    }
    EXPECT(!strcmp(end_of(pid), "exit 0"));
}

/* A destructor of thread-local storage keeps its object loaded until the thread has ended. */
static void *leaves_storage(void *arg)
{
    void *h = dlopen(plugin, RTLD_NOW);
    void (*touch)(void) = h ? (void (*)(void))dlsym(h, "plugin_touch") : NULL;
    if (EXPECT(touch != NULL)) touch();
    if (h) dlclose(h);
    if (arg) pthread_exit(NULL);
    return NULL;
}

CASE(storage_with_destructors)
{
    pthread_t t;
    find_plugin();
    for (intptr_t i = 0; i < 20; i++) {
        pthread_create(&t, NULL, leaves_storage, (void *)(i % 2));
        pthread_join(t, NULL);
    }
    EXPECT(works());
    printf("%s\n", getenv("PLUGIN_DESTROYED") ? getenv("PLUGIN_DESTROYED") : "none");
}

/* ---- other namespaces, with a libc of their own --------------------------------------------------------------------- */
static int in_namespace(const char *name, const char *function)
{
    void *h = dlmopen(LM_ID_NEWLM, name, RTLD_NOW);
    if (!h) return printf("%s\n", dlerror()), -1;
    int (*run)(void) = (int (*)(void))dlsym(h, function);
    int r = run ? run() : -1;
    dlclose(h);
    return r;
}

CASE(namespace)
{
    find_plugin();
    for (int i = 0; i < 3; i++) printf("%d\n", in_namespace(plugin, "plugin_threads"));
    crowd_start(4);
    printf("%d\n", in_namespace(plugin, "plugin_threads"));
    crowd_end();
    EXPECT(works());
}

static void *in_namespace_by_thread(void *arg)
{
    EXPECT(in_namespace(plugin, "plugin_threads") == 60);
    return arg;
}

CASE(namespaces_in_threads)
{
    pthread_t t[3];
    find_plugin();
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, in_namespace_by_thread, NULL);
    }
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    EXPECT(works());
}

CASE(namespace_and_fork)
{
    find_plugin();
    void *h = dlmopen(LM_ID_NEWLM, plugin, RTLD_NOW);
    int (*run)(void) = h ? (int (*)(void))dlsym(h, "plugin_threads") : NULL;
    int (*forks)(void) = h ? (int (*)(void))dlsym(h, "plugin_fork") : NULL;
    if (!EXPECT(run && forks)) return;
    printf("%d %d\n", run(), forks());
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) end_working();
    printf("%s\n", end_of(pid));
}

CASE(namespace_of_openmp)
{
    void *h = spawn_argv[0] ? dlmopen(LM_ID_NEWLM, spawn_argv[0], RTLD_NOW) : NULL;
    int (*run)(void) = h ? (int (*)(void))dlsym(h, "plugin_openmp") : NULL;
    if (!EXPECT(run != NULL)) return;
    printf("%d\n", run());         /* and it stays: libgomp's threads do not end */
    EXPECT(works());
}
