/* tests/blocking/passes_on.c - a thread that only hands data on is not kept on one CPU; others are.  SPDX-License-Identifier: Apache-2.0
 *
 * Calls only lend a core, which nobody wants.  Who talks to a `cat` that is not in the instance has to become a guest all the same, which
 * shows in the CPUs that the kernel lets it run on.  A worker that waits for its next job, and writes without waiting, has not; nor has
 * the child of a process that has slept and computed. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20000
#define LOOK   64
#define JOBS   300
#define SLEEPS 40

static unsigned bits(const char *hex)
{
    unsigned n = 0;
    for (; *hex && *hex != '\n'; hex++) {
        char digit[2] = {*hex, 0};
        n += (unsigned)__builtin_popcountl(strtoul(digit, NULL, 16));
    }
    return n;
}

/* As the kernel has it: what sched_getaffinity says under usf is what the program has asked for. */
static unsigned cpus(void)
{
    char text[4096] = "";
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    const char *s = n > 0 ? strstr(text, "Cpus_allowed:\t") : NULL;
    return s ? bits(s + 14) : 0;
}

/* ---- hands data on ----------------------------------------------------------------------------- */

static int talk(void)
{
    int to[2], from[2];
    char c = 'x', *argv[] = {"cat", NULL}, *envp[] = {NULL};
    if (pipe(to) || pipe(from)) return 1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execve("/bin/cat", argv, envp);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    unsigned first = cpus(), most = 0;
    int round;
    for (round = 0; round < ROUNDS && most < 2; round++) {
        if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1) return 1;
        if (round % LOOK == LOOK - 1) most = cpus();
    }
    close(to[1]);
    close(from[0]);
    waitpid(pid, NULL, 0);
    printf("talks: CPUs: %u at first, %u after %d rounds\n", first, most, round);
    return first == 1 && most > 1 ? 0 : 1;
}

/* ---- waits for jobs ---------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int job;

static void *worker(void *most)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int done = 0; done < JOBS; done++) {
        pthread_mutex_lock(&lock);
        while (job <= done) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < 2; i++)
            if (write(fd, "x", 1) != 1) exit(1);
        unsigned n = cpus();
        if (n > *(unsigned *)most) *(unsigned *)most = n;
    }
    close(fd);
    return NULL;
}

static int work(void)
{
    pthread_t th;
    unsigned most = 0;
    if (pthread_create(&th, NULL, worker, &most)) return 1;
    for (int i = 0; i < JOBS; i++) {
        usleep(1000);           /* it has slept before the next one comes */
        pthread_mutex_lock(&lock);
        job++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(th, NULL);
    printf("works: CPUs: %u\n", most);
    return most == 1 ? 0 : 1;
}

/* ---- begins anew ------------------------------------------------------------------------------- */

static uint64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static unsigned most_cpus(int rounds)
{
    unsigned most = 0;
    for (int i = 0; i < rounds; i++) {
        unsigned n = cpus();
        if (n > most) most = n;
    }
    return most;
}

static int begin(void)
{
    int status;
    for (int i = 0; i < SLEEPS; i++) usleep(100);
    while (cpu_ms() < SLEEPS) { }
    unsigned most = most_cpus(LOOK * 4);
    pid_t pid = fork();
    if (pid == 0) {
        unsigned n = most_cpus(LOOK * 4);
        if (n != 1) printf("child: CPUs: %u\n", n);
        fflush(stdout);
        _exit(n != 1);
    }
    waitpid(pid, &status, 0);
    printf("begins: CPUs: %u, child %d\n", most, status);
    return most == 1 && status == 0 ? 0 : 1;
}

/* In a process of its own: one that has become a guest stays so for a while. */
static int apart(int (*fn)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) exit(fn());
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(void)
{
    cpu_set_t may;
    alarm(100);
    if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < 2) {
        fprintf(stderr, "needs two CPUs that it may use\n");
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    return apart(talk) | apart(work) | apart(begin);
}
