/* tests/loader/runtimes.c - libgomp, LLVM's libomp and Intel's libiomp5 in one process, two of each, in parallel regions at once.
 * SPDX-License-Identifier: Apache-2.0
 * usage: loader-runtimes REGION-GOMP REGION-LIBOMP REGION-KMP LIBIOMP5; REGION-KMP is not linked with a runtime. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <usf/context.h>

#include "../check.h"

enum { KINDS = 3, EACH = 2, USERS = KINDS * EACH, ROUNDS = 100, THREADS = 3 };

typedef int sum_type(int n, int *threads);

static struct user { sum_type *sum; pthread_t thread; int number; } users[USERS];
static pthread_barrier_t all;

static void *checked(void *found)
{
    if (!found) fprintf(stderr, "%s\n", usf_context_error());
    CHECK(found);
    return found;
}

static void check_sum(const struct user *u, int n)
{
    int threads;
    CHECK_EQ(u->sum(n, &threads), n * (n + 1) / 2);
    CHECK_EQ(threads, THREADS);
}

/* First each thread uses its own runtime, then all of them in turn, so that several threads are in one. */
static void *use(void *arg)
{
    struct user *u = arg;
    pthread_barrier_wait(&all);
    for (int i = 0; i < ROUNDS; i++) check_sum(u, 1000 + i);
    pthread_barrier_wait(&all);
    for (int i = 0; i < ROUNDS; i++) check_sum(&users[(u->number + i) % USERS], 500 + i);
    return 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 + KINDS);
    if (access(argv[4], R_OK)) return fprintf(stderr, "skipped: no %s\n", argv[4]), 77;
    alarm(100);
    for (int i = 0; i < USERS; i++) {
        usf_context_t *c = checked(usf_context_create(&(struct usf_context_options){.env = (const char *const[]){"OMP_NUM_THREADS=3", "OMP_DYNAMIC=false", 0}}));
        if (i / EACH == 2) checked(usf_context_open_global(c, argv[4]));
        static const char *const names[KINDS] = {"libgomp", "libomp", "libiomp5"};
        *(void **)&users[i].sum = checked(dlsym(checked(usf_context_open(c, argv[1 + i / EACH])), "region_sum"));
        users[i].number = i;
        Dl_info info;
        CHECK(dladdr(checked(usf_context_symbol(c, i < EACH ? "GOMP_parallel" : "__kmpc_fork_call")), &info));
        CHECK(strstr(info.dli_fname, names[i / EACH]));
    }
    CHECK(!pthread_barrier_init(&all, 0, USERS));
    for (int i = 0; i < USERS; i++) CHECK(!pthread_create(&users[i].thread, 0, use, &users[i]));
    for (int i = 0; i < USERS; i++) CHECK(!pthread_join(users[i].thread, 0));
    return 0;
}
