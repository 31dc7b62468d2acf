/* tests/share/attributes.c - a program whose threads say where and how they would like to run.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: attributes CPU    Threads "on" (bound to that CPU), "nice" (nice by 5 more), "child" (made by that one) and "plain" wait until standard
 * input ends. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_barrier_t ready;
static int end[2];

static void *wait_for_end(void *arg)
{
    char c;
    pthread_barrier_wait(&ready);
    return read(end[0], &c, 1) < 0 ? 0 : arg;
}

static void *on(void *arg)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(arg), &set);
    pthread_setname_np(pthread_self(), "on");
    if (sched_setaffinity(0, sizeof set, &set)) exit(1);
    return wait_for_end(arg);
}

static void *child(void *arg)
{
    pthread_setname_np(pthread_self(), "child");
    return wait_for_end(arg);
}

static void *nicer(void *arg)
{
    pthread_t t;
    pthread_setname_np(pthread_self(), "nice");
    if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 5)) exit(1);
    pthread_create(&t, 0, child, arg);
    wait_for_end(arg);
    pthread_join(t, 0);
    return arg;
}

static void *plain(void *arg)
{
    pthread_setname_np(pthread_self(), "plain");
    return wait_for_end(arg);
}

int main(int argc, char **argv)
{
    void *(*const what[])(void *) = {on, nicer, plain};
    pthread_t t[3];
    if (argc < 2 || pipe(end)) return 1;
    pthread_barrier_init(&ready, 0, 5);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, what[i], argv[1]);
    pthread_barrier_wait(&ready);
    puts("ready=1");
    fflush(stdout);
    while (getchar() != EOF) {}
    close(end[1]);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
