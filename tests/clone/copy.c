/* tests/clone/copy.c - processes that clone makes without CLONE_VM, on stacks of their own.  SPDX-License-Identifier: Apache-2.0
 *
 * Such a child comes with a copy of its parent's memory and thread, like fork's, but begins in a function of its own. It must not
 * pass for its parent: children outlive it, wait, start threads, fork and exec, while it goes on. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, CHILDREN = 6, STACK = 256 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;
static int to_parent[2];

static void *other(void *arg)
{
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        while (turn % 2 == 0) pthread_cond_wait(&cond, &lock);
        turn++;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

/* Two threads take turns. */
static int with_threads(void)
{
    pthread_t t;
    turn = 0;
    if (pthread_create(&t, NULL, other, NULL)) return 1;
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        while (turn % 2) pthread_cond_wait(&cond, &lock);
        turn++;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&lock);
    }
    return pthread_join(t, NULL) || turn != 100;
}

static int with_fork(void)
{
    int status;
    pid_t p = fork();
    if (p == 0) _exit(with_threads());
    return p < 0 || waitpid(p, &status, 0) != p || status;
}

static int child(void *arg)
{
    char c = 'x';
    int r = 0;
    switch ((int)(long)arg % CHILDREN) {
    case 0: _exit(with_threads());
    case 1: _exit(with_fork());
    case 2: r = write(to_parent[1], &c, 1) != 1; break;
    case 3: usleep(2000); break;
    case 4: execl("/bin/true", "true", (char *)NULL); return 1;
    default: execl("/nowhere/true", "true", (char *)NULL); _exit(with_threads());
    }
    return r;       /* ends this thread alone */
}

static void grandchild_outlives(void)
{
    char c;
    static char stack[STACK];
    int status;
    pid_t p = fork();
    if (p == 0) {
        if (clone(child, stack + STACK, SIGCHLD, (void *)2L) < 0) _exit(1);
        _exit(0);       /* it writes after we have gone, or before */
    }
    if (p < 0 || waitpid(p, &status, 0) != p || status || read(to_parent[0], &c, 1) != 1) exit(2);
}

int main(void)
{
    char *stack[CHILDREN];
    int failed = 0;
    alarm(60);
    if (pipe(to_parent)) return 1;
    for (int i = 0; i < CHILDREN; i++) stack[i] = malloc(STACK);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid[CHILDREN];
        char c;
        for (int i = 0; i < CHILDREN; i++) {
            pid[i] = clone(child, stack[i] + STACK, SIGCHLD, (void *)(long)i);
            if (pid[i] < 0) return perror("clone"), 1;
        }
        failed += with_threads();       /* meanwhile */
        for (int i = 0; i < CHILDREN; i++) {
            int status;
            if (waitpid(pid[i], &status, 0) != pid[i] || status) {
                printf("round %d: child %d ended with %#x\n", round, i, status);
                failed++;
            }
        }
        if (read(to_parent[0], &c, 1) != 1) failed++;
        grandchild_outlives();
    }
    printf("%d failed\n", failed);
    return failed != 0;
}
