/* tests/gate/dl.c - objects that come and go.  SPDX-License-Identifier: Apache-2.0
 *
 * dl LIB... : opens and closes the libraries at random, in several threads; their system calls must be seen
 * from the constructor on, also when another library takes the same address. */
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_LIBS 8
static char **libs;
static int nr_libs, rounds;
static pid_t parent;

static void visit(const char *path, int exact)
{
    uint64_t before = gated() ? gate_test_calls[SYS_getppid] : 0;
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) fprintf(stderr, "%s\n", dlerror());
    CHECK(h);
    long (*get)(void) = (long (*)(void))dlsym(h, "dl_getppid");
    long (*which)(void) = (long (*)(void))dlsym(h, "dl_which");
    long *seen = (long *)dlsym(h, "dl_seen_by_constructor");
    CHECK(get && which && seen);
    CHECK(*seen == parent && get() == parent && which() > 0);
    if (gated() && exact) CHECK(gate_test_calls[SYS_getppid] == before + 2);
    CHECK(dlclose(h) == 0);
}

static void *storm(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < rounds; i++) visit(libs[rand_r(&seed) % (unsigned)nr_libs], 0);
    return NULL;
}

static void namespaces(void)
{
    uint64_t before = gated() ? gate_test_calls[SYS_getppid] : 0;
    void *h = dlmopen(LM_ID_NEWLM, libs[0], RTLD_NOW);
    if (!h) {
        printf("no other namespace: %s\n", dlerror());
        return;
    }
    long (*get)(void) = (long (*)(void))dlsym(h, "dl_getppid");
    CHECK(get && get() == parent);
    if (gated()) CHECK(gate_test_calls[SYS_getppid] == before + 2);
    CHECK(dlclose(h) == 0);
}

int main(int argc, char **argv)
{
    libs = argv + 1;
    nr_libs = argc - 1;
    rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 200;
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
    printf("seed %u, gate %s\n", seed, gated() ? "on" : "off");
    kill_after(100);
    CHECK(nr_libs > 0);
    parent = getppid();
    uint64_t met = gated() ? *gate_test_met : 0;
    for (int i = 0; i < rounds; i++) visit(libs[i % nr_libs], 1);      /* each mostly at the last one's address */
    if (gated()) CHECK(*gate_test_met == met + (uint64_t)rounds);      /* what is known is not looked at again */
    namespaces();
    pthread_t t[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&t[i], NULL, storm, (void *)(uintptr_t)(seed + (unsigned)i)) == 0);
    for (int i = 0; i < 3; i++) CHECK(pthread_join(t[i], NULL) == 0);
    if (gated()) CHECK(gate_test_loads >= (uint64_t)rounds);
    return 0;
}
