/* tests/blocking/passes_on.c - a thread that only hands data on becomes kernel-scheduled; others do not.  SPDX-License-Identifier: Apache-2.0
 *
 * Calls only release a core provisionally, and no other task wants it.  A thread that talks to a
 * `cat` outside the instance has to become kernel-scheduled all the same.  A worker that waits for
 * its next job, and writes without waiting, must not; nor must the child of a process that has
 * slept and computed. Another process looks at the records by `usf dump`; it is outside the
 * instance, so that it disturbs nothing there. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../asleep.h"

#define LOOKS  5
#define ROUNDS 100              /* between two looks */
#define TRIES  300
#define SLEEPS 40
#define WATCHED "is-watched"       /* the name of threads that are looked at */

/* Shared with the child that is looked at. */
static struct { _Atomic int enough, rounds; } *shared;

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
    prctl(PR_SET_NAME, WATCHED);
    close(to[0]);
    close(from[1]);
    while (!shared->enough)
        if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1) return 1;
    close(to[1]);
    close(from[0]);
    waitpid(pid, NULL, 0);
    return 0;
}

/* ---- waits for jobs ---------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int job;

static void *worker(void *arg)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    prctl(PR_SET_NAME, WATCHED);
    for (int done = 0;; done++) {
        pthread_mutex_lock(&lock);
        while (job >= 0 && job <= done) pthread_cond_wait(&changed, &lock);
        bool over = job < 0;
        pthread_mutex_unlock(&lock);
        if (over) break;
        for (int i = 0; i < 2; i++)
            if (write(fd, "x", 1) != 1) exit(1);
        shared->rounds++;
    }
    close(fd);
    return arg;
}

static int work(void)
{
    pthread_t th;
    if (pthread_create(&th, NULL, worker, NULL)) return 1;
    for (bool over = false; !over;) {
        /* It has done the last job, and sleeps, before the next one comes. */
        do usleep(100);
        while (!shared->enough && (shared->rounds < job || !any_sleeps_in(SYS_futex, -1)));
        pthread_mutex_lock(&lock);
        over = shared->enough;
        job = over ? -1 : job + 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return pthread_join(th, NULL);
}

/* ---- begins anew ------------------------------------------------------------------------------- */

static uint64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void look_at_files(void)
{
    char text[4096];
    for (unsigned n = 1; !shared->enough; n++) {
        int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        if (read(fd, text, sizeof text) < 0) exit(1);
        close(fd);
        if (n % 64 == 0) shared->rounds++;
    }
}

static int begin(void)
{
    int status;
    prctl(PR_SET_NAME, WATCHED);
    for (int i = 0; i < SLEEPS; i++) usleep(100);
    while (cpu_ms() < SLEEPS) { }
    pid_t pid = fork();
    look_at_files();
    if (pid == 0) _exit(0);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

/* ---- who looks --------------------------------------------------------------------------------- */

static bool map_shared(int fd)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return shared != MAP_FAILED;
}

/* Is a thread of that name kernel-scheduled?  Exits if that cannot be seen. */
static bool any_kernel_run(const char *name)
{
    char command[4200], line[1024];
    bool kernel_run = false, seen = false;
    snprintf(command, sizeof command, "%s dump -i %s", getenv("USF"), name);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "task ", 5) || !strstr(line, WATCHED)) continue;
        seen = true;
        if (strstr(line, "(by-kernel)")) kernel_run = true;
    }
    if (!f || pclose(f) || !seen) {
        printf("'%s' says nothing of kernel-scheduled threads\n", command);
        exit(1);
    }
    return kernel_run;
}

/* It does so much more.  False: not in a long time. */
static bool goes_on(void)
{
    int before = shared->rounds;
    for (int i = 0; i < TRIES; i++, usleep(50000))
        if (shared->rounds - before >= ROUNDS) return true;
    return false;
}

static int watch(const char *program, const char *what, bool wanted)
{
    char name[64], number[16];
    int status, looks = 0, fd = memfd_create("enough", 0);
    bool kernel_run = false, stuck = false;
    if (fd < 0 || ftruncate(fd, sizeof *shared) || !map_shared(fd)) return 1;
    snprintf(name, sizeof name, "test-passes-on-%d", (int)getpid());
    snprintf(number, sizeof number, "%d", fd);
    pid_t pid = fork();
    if (pid == 0) {
        execl(getenv("USF"), "usf", "run", "-i", name, "--", program, what, number, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < TRIES && !shared->enough; i++) usleep(50000);      /* it says when it has begun */
    shared->enough = 0;
    while (!kernel_run && !stuck && looks++ < (wanted ? TRIES : LOOKS)) {
        if (wanted) usleep(50000);
        else stuck = !goes_on();
        kernel_run = any_kernel_run(name);
    }
    shared->enough = 1;
    bool ended = waitpid(pid, &status, 0) == pid && status == 0;
    printf("%s: %s after %d looks%s%s\n", what, kernel_run ? "kernel-scheduled" : "not kernel-scheduled", looks, stuck ? ", and it is stuck" : "",
           ended ? "" : ", and it has failed");
    return kernel_run == wanted && ended && !stuck ? 0 : 1;
}

static int run(const char *what, int fd)
{
    if (!map_shared(fd)) return 1;
    close(fd);
    for (shared->enough = 1; shared->enough;) usleep(10000);
    return !strcmp(what, "talks") ? talk() : !strcmp(what, "works") ? work() : begin();
}

int main(int argc, char **argv)
{
    alarm(100);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 3) return run(argv[1], atoi(argv[2]));
    if (!getenv("USF")) {
        fprintf(stderr, "USF is not set\n");
        return 77;
    }
    return watch(argv[0], "talks", true) | watch(argv[0], "works", false) | watch(argv[0], "begins", false);
}
