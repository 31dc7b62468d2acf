/* Threads that wait, work and are born while the process does something that takes it off its instance for a
 * while or for good: all of them must go on.  SPDX-License-Identifier: Apache-2.0
 *
 *   goes-on exec     an execve that fails, after everything that the caller can see of it was fine
 *   goes-on trace    ptrace another process */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 20, STEPS = 50 };

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int turn, go, steps;

/* One thread after the other, by condition variable; and all together, by barrier. */
static void *worker(void *arg)
{
    int me = (int)(long)arg;
    for (int r = 0; r < ROUNDS * STEPS; r++) {
        pthread_mutex_lock(&mutex);
        while (turn % THREADS != me) pthread_cond_wait(&cond, &mutex);
        turn++;
        steps++;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutex);
        if (r % STEPS == 0) pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *sleeper(void *arg)
{
    (void)arg;
    while (sem_wait(&sem)) {}
    __atomic_add_fetch(&go, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void failing_exec(void)
{
    static char *argv[] = {"./bad", NULL}, *envp[] = {NULL};
    if (execve("./bad", argv, envp) != -1 || errno != ENOEXEC) puts("execve: something else happened");
}

static void trace(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    if (ptrace(PTRACE_SEIZE, child, 0, 0)) printf("ptrace: %s\n", strerror(errno));
    kill(child, SIGTERM);
    if (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status));
    while (waitpid(child, &status, 0) == child && !WIFSIGNALED(status)) {}
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS], s[THREADS];
    if (argc != 2) return 2;
    alarm(60);
    int fd = open("bad", O_CREAT | O_WRONLY | O_TRUNC, 0755);
    if (fd < 0 || write(fd, "\177nothing", 8) != 8) return 2;
    close(fd);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    sem_init(&sem, 0, 0);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, worker, (void *)i);
        pthread_create(&s[i], NULL, sleeper, NULL);
    }
    for (int r = 0; r < ROUNDS; r++) {
        if (*argv[1] == 'e') failing_exec();
        else trace();
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < THREADS; i++) sem_post(&sem);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        pthread_join(s[i], NULL);
    }
    printf("%d steps, %d woken\n", steps, go);
    return 0;
}
