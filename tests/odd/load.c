/* tests/odd/load.c - a little of everything that a scheduled program does.  SPDX-License-Identifier: Apache-2.0
 * More threads than cores pass a token by condition variables, semaphores and pipes, wait for each other busily, are born
 * and die; then a child does the same, and an exec.  Prints "done". */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS  50
#define SPINS   10

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static sem_t sems[THREADS];
static int turn, pipes[THREADS][2];
static _Atomic int arrived, ready;

static void must(int ok, const char *what)
{
    if (ok) return;
    perror(what);
    exit(1);
}

static void by_condition(int self)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != self) pthread_cond_wait(&turn_changed, &mutex);
        turn = (self + 1) % THREADS;
        pthread_cond_broadcast(&turn_changed);
        pthread_mutex_unlock(&mutex);
    }
}

static void by_semaphore(int self)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (sem_wait(&sems[self])) {}
        sem_post(&sems[(self + 1) % THREADS]);
    }
}

static void by_pipe(int self)
{
    char c;
    for (int i = 0; i < ROUNDS; i++) {
        must(read(pipes[self][0], &c, 1) == 1, "read");
        must(write(pipes[(self + 1) % THREADS][1], &c, 1) == 1, "write");
    }
}

static void by_spinning(void)
{
    for (int i = 1; i <= SPINS; i++) {
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&arrived) < i * THREADS) {}
    }
}

static void *thread(void *arg)
{
    int self = (int)(long)arg;
    struct timespec little = {0, 100000};
    atomic_fetch_add(&ready, 1);
    by_condition(self);
    nanosleep(&little, NULL);
    by_semaphore(self);
    by_pipe(self);
    by_spinning();
    return NULL;
}

static void *nothing(void *arg) { return arg; }

static void work(void)
{
    pthread_t t[THREADS];
    char c = 0;
    turn = 0;
    arrived = 0;
    for (int i = 0; i < THREADS; i++) {
        must(!sem_init(&sems[i], 0, i == 0), "sem_init");
        must(!pipe(pipes[i]), "pipe");
    }
    for (int i = 0; i < THREADS; i++) must(!pthread_create(&t[i], NULL, thread, (void *)(long)i), "pthread_create");
    must(write(pipes[0][1], &c, 1) == 1, "write");
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 20; i++) {
        must(!pthread_create(&t[0], NULL, nothing, NULL), "pthread_create");
        pthread_join(t[0], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
}

int main(int argc, char **argv)
{
    alarm(90);     /* beside two programs that never rest it takes 10 s on a quiet machine: it waits for their quanta */
    if (argc > 1 && !strcmp(argv[1], "last")) {
        work();
        puts("done");
        return 0;
    }
    work();
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        work();
        _exit(7);
    }
    int status;
    must(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "child");
    execl(argv[0], argv[0], "last", (char *)NULL);
    perror("exec");
    return 1;
}
