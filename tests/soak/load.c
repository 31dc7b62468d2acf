/* tests/soak/load.c - one participant of an instance whose participants are killed.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: load KIND SLOT THREADS FILE
 * Works and checks itself until the killer says stop; tells its progress in FILE (load.h).
 * On SIGUSR1 the program starts itself anew by execve, in whatever thread and wherever that is; on SIGUSR2 by a system call that
 * nobody can have seen. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

struct load_head *head;
struct load_slot *slot;
static char **args;
long (*load_unseen)(long nr, const void *a, const void *b, const void *c);
extern char **environ;

void load_bad(int line)
{
    uint64_t none = 0;
    atomic_compare_exchange_strong(&slot->bad, &none, (uint64_t)line);
}

bool load_round(unsigned i)
{
    struct load_thread *t = &slot->t[i];
    uint64_t epoch = atomic_load_explicit(&head->epoch, memory_order_relaxed);
    uint64_t count = atomic_load_explicit(&t->count, memory_order_relaxed) + 1;
    atomic_store_explicit(&t->count, count, memory_order_relaxed);
    if (count % 16 == 0) atomic_fetch_or_explicit(&slot->cpus, 1ull << (sched_getcpu() % 64), memory_order_relaxed);
    if (epoch != atomic_load_explicit(&t->epoch, memory_order_relaxed)) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        atomic_store(&t->first_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
        atomic_store(&t->epoch, epoch);
    }
    return !atomic_load_explicit(&head->stop, memory_order_relaxed);
}

void load_step(unsigned i) { atomic_fetch_add_explicit(&slot->t[i].count, 1, memory_order_relaxed); }

static void start_anew(int sig)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, 0);
    if (sig == SIGUSR1) execve("/proc/self/exe", args, environ);
    else load_unseen(SYS_execve, "/proc/self/exe", args, environ);
    _exit(3);
}

/* A system call in memory that is made while the program runs. */
static void prepare_unseen(void)
{
    static const unsigned char code[] = {   /* mov %rdi,%rax; mov %rsi,%rdi; mov %rdx,%rsi; mov %rcx,%rdx; syscall; ret */
        0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x0f, 0x05, 0xc3,
    };
    void *p = mmap(0, LOAD_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(77);
    memcpy(p, code, sizeof code);
    mprotect(p, LOAD_PAGE, PROT_READ | PROT_EXEC);
    load_unseen = (long (*)(long, const void *, const void *, const void *))p;
}

int main(int argc, char **argv)
{
    if (argc != 5) return fprintf(stderr, "usage: load KIND SLOT THREADS FILE\n"), 2;
    const struct load_kind *k = load_kinds;
    unsigned long n = strtoul(argv[2], 0, 0), threads = strtoul(argv[3], 0, 0);
    int fd = open(argv[4], O_RDWR | O_CLOEXEC);
    args = argv;
    while (k->name && strcmp(k->name, argv[1])) k++;
    if (!k->name || fd < 0 || !threads || threads > LOAD_THREADS) return 2;
    char *p = mmap(0, LOAD_PAGE + (n + 1) * LOAD_SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return 2;
    head = (struct load_head *)p;
    slot = (struct load_slot *)(p + LOAD_PAGE + n * LOAD_SLOT);
    prepare_unseen();
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = start_anew}, 0);
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = start_anew}, 0);
    atomic_store(&slot->threads, threads);
    atomic_fetch_add(&slot->execs, 1);
    atomic_store(&slot->pid, (uint64_t)getpid());
    k->run((unsigned)threads);
    return atomic_load(&slot->bad) ? 1 : 0;
}
