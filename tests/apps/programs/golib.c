/* Threads that call a Go library at the same time.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef long (*callback)(long);
static long (*work)(callback, long), (*faults)(long);

static long square(long x)
{
    volatile long sum = 0;
    for (int i = 0; i < 100000; i++) sum += i & 1;
    return x * x + sum;
}

static void *body(void *arg)
{
    long *sum = arg;
    for (int i = 0; i < 5; i++) *sum += work(square, i) + faults(100);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[6];
    long sum[6] = {0}, all = 0;
    void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!lib) return fprintf(stderr, "%s\n", dlerror()), 1;
    work = (long (*)(callback, long))dlsym(lib, "Work");
    faults = (long (*)(long))dlsym(lib, "Faults");
    for (int i = 0; i < 6; i++) pthread_create(&t[i], NULL, body, &sum[i]);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL), all += sum[i];
    printf("%ld\n", all);
    return 0;
}
