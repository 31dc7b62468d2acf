/* tests/gate/proc.c - every way to make a process or a thread.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLONES() (gated() ? gate_test_clones : 0)
#define FORKS()  (gated() ? gate_test_forks : 0)

static int status_of(pid_t p)
{
    int st;
    CHECK(waitpid(p, &st, __WALL) == p);
    CHECK(WIFEXITED(st));
    return WEXITSTATUS(st);
}

static void not_vforked(void)
{
    if (gated()) CHECK(gate_test_vforked() == 0);
}

static void forks(void)
{
    uint64_t f = FORKS();
    pid_t p = fork();
    if (p == 0) _exit(getppid() > 0 ? 11 : 1);
    CHECK(status_of(p) == 11);
    p = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (p == 0) _exit(12);
    CHECK(status_of(p) == 12);
    p = (pid_t)syscall(SYS_fork);
    if (p == 0) _exit(13);
    CHECK(status_of(p) == 13);
    struct clone_args a = {.exit_signal = SIGCHLD};
    p = (pid_t)syscall(SYS_clone3, &a, sizeof a);
    if (p == 0) _exit(14);
    CHECK(p < 0 ? errno == ENOSYS : status_of(p) == 14);
    CHECK(syscall(SYS_clone3, NULL, 0) == -1 && (errno == EINVAL || errno == ENOSYS));
    if (gated()) CHECK(FORKS() >= f + 3);
    not_vforked();
}

static void vforks(void)
{
    volatile int touched = 0;
    volatile uint64_t c = CLONES();
    pid_t p = vfork();
    if (p == 0) {
        touched = 1;
        if (gated() && gate_test_vforked() != 1) _exit(1);
        getppid();                      /* a call through the gate, on the parent's stack */
        execl("/bin/sh", "sh", "-c", "exit 21", (char *)NULL);
        _exit(2);
    }
    CHECK(status_of(p) == 21);
    CHECK(touched == 1);
    if (gated()) CHECK(CLONES() == c + 1);
    not_vforked();
}

/* A child that vforks is still one when its own child has ended. */
static void nested(void)
{
    pid_t p = vfork();
    if (p == 0) {
        pid_t inner = vfork();
        if (inner == 0) _exit(gated() && gate_test_vforked() != 0x101);
        if (inner < 0 || waitpid(inner, NULL, 0) != inner) _exit(2);
        _exit(gated() && gate_test_vforked() != 1 ? 3 : 22);
    }
    CHECK(status_of(p) == 22);
    not_vforked();
}

static void spawns(void)
{
    extern char **environ;
    char *argv[] = {"sh", "-c", "exit 31", NULL};
    pid_t p;
    posix_spawn_file_actions_t fa;
    volatile uint64_t c = CLONES();
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 9, "/dev/null", 0, 0);
    CHECK(posix_spawn(&p, "/bin/sh", &fa, NULL, argv, environ) == 0);
    CHECK(status_of(p) == 31);
    CHECK(posix_spawn(&p, "/no/such/program", &fa, NULL, argv, environ) == ENOENT);
    CHECK(system("exit 32") == 32 << 8);
    char buf[16] = "";
    FILE *f = popen("echo hello", "r");
    CHECK(f && fgets(buf, sizeof buf, f) && strcmp(buf, "hello\n") == 0);
    CHECK(pclose(f) == 0);
    if (gated()) CHECK(CLONES() >= c + 4);
    not_vforked();
}

static int child_on_stack(void *arg)
{
    *(volatile int *)arg = 1;
    for (int i = 0; i < 100; i++) getppid();
    return 41;
}

static void clones(void)
{
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int seen = 0;
    volatile uint64_t c = CLONES();
    CHECK(stack != MAP_FAILED);
    pid_t p = clone(child_on_stack, stack + 65536, CLONE_VM | SIGCHLD, (void *)&seen);
    CHECK(p > 0 && status_of(p) == 41 && seen == 1);
    seen = 0;
    p = clone(child_on_stack, stack + 65536, SIGCHLD, (void *)&seen);
    CHECK(p > 0 && status_of(p) == 41 && seen == 0);
    CHECK(clone(child_on_stack, stack + 65536, CLONE_SIGHAND, NULL) == -1 && errno == EINVAL);
    not_vforked();
    /* A site whose number is not known until it runs, as in libc's syscall(). */
    long ret;
    register long r10 __asm__("r10") = 0;
    __asm__ volatile("mov %1, %%rax\n\tsyscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\t"
                     "mov $60, %%eax\n\tmov $42, %%edi\n\tsyscall\n1:"
                     : "=&a"(ret) : "r"((long)SYS_clone), "D"((long)(CLONE_VM | SIGCHLD)), "S"(stack + 65536), "d"(0l),
                       "r"(r10) : "rcx", "r11", "memory");
    CHECK(ret > 0 && status_of((pid_t)ret) == 42);
    if (gated()) CHECK(CLONES() == c + 4);
    not_vforked();
    munmap(stack, 65536);
}

static void *thread(void *arg) { return (void *)((uintptr_t)arg + (uintptr_t)syscall(SYS_gettid) * 0); }

static void threads(void)
{
    pthread_t t[16];
    void *r;
    for (uintptr_t i = 0; i < 16; i++) CHECK(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
    for (uintptr_t i = 0; i < 16; i++) CHECK(pthread_join(t[i], &r) == 0 && r == (void *)i);
    not_vforked();
}

/* fork in one thread while others make calls */
static volatile int stop;
static void *caller(void *arg)
{
    while (!stop) getppid(), sched_yield();
    return NULL;
}

static void fork_among_threads(int rounds)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, caller, NULL);
    for (int i = 0; i < rounds; i++) {
        pid_t p = i % 2 ? fork() : vfork();
        if (p == 0) _exit(i & 63);
        CHECK(status_of(p) == (i & 63));
    }
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    printf("gate %s\n", gated() ? "on" : "off");
    kill_after(100);
    for (int i = 0; i < rounds; i++) {
        forks();
        vforks();
    nested();
        spawns();
        clones();
        threads();
    }
    fork_among_threads(rounds * 5);
    return 0;
}
