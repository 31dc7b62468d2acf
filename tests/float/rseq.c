/* tests/float/rseq.c CASE - restartable sequences, libc's and a program's own.  SPDX-License-Identifier: Apache-2.0
 *
 * cpu: where a thread runs, by libc.  own, aborts: threads register areas of their own (libc's are switched off by GLIBC_TUNABLES), and
 * use them as allocators do.  The same cases pass bare.  Exit status 0, 1 or 77. */
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#include "raw.h"
#include "subjects.h"

#define SIGNATURE 0x53053053

struct area { uint32_t start; volatile int32_t cpu; volatile uint64_t sequence; uint32_t flags, unused[3]; };

static void until_away(void) { while (floats() && !is_away()) mix(); }

static int cpu_in_kernel(void)
{
    unsigned cpu;
    CHECK(!raw(SYS_getcpu, (long)&cpu, 0, 0));
    return (int)cpu;
}

/* ---- libc's ------------------------------------------------------------------------------------------ */
extern const ptrdiff_t __rseq_offset __attribute__((weak));     /* since glibc 2.35 */
extern const unsigned __rseq_size __attribute__((weak));

static bool has_libcs(void) { return &__rseq_offset && &__rseq_size && __rseq_size; }
static int cpu_in_area(void)
{
    char *thread;
    __asm__("movq %%fs:0, %0" : "=r"(thread));
    return has_libcs() ? ((struct area *)(thread + __rseq_offset))->cpu : -1;
}

static cpu_set_t allowed;
static int only_cpu = -1;

/* The kernel may move the thread between two looks: a false answer is one that is false each time. */
enum { LOOKS = 1000, TIMES = 100 };
static void check_cpu(void)
{
    int before = -1, is = -1, told = -1;
    unsigned by_getcpu = 0, node;
    for (int i = 0; i < LOOKS; i++) {
        before = cpu_in_kernel();
        is = sched_getcpu();
        told = cpu_in_area();
        CHECK(!getcpu(&by_getcpu, &node));
        CHECK(CPU_ISSET((unsigned)is, &allowed) && (only_cpu < 0 || is == only_cpu));
        if (cpu_in_kernel() == before && is == before && (int)by_getcpu == before && (told < 0 || told == before)) return;
    }
    CHECK(false, "sched_getcpu: %d, getcpu: %u, the area: %d, the kernel: %d", is, by_getcpu, told, before);
}

static void *cpu_subject(void *arg)
{
    int nr_away = 0;
    for (int i = 0; i < TIMES || (floats() && nr_away < TIMES / 10); i++) {
        mix();
        check_cpu();
        /* What it says is true of the kernel thread that it was registered for, which is another one: so it is not registered. */
        if (is_away()) CHECK(cpu_in_area() < 0);
        nr_away += is_away();
    }
    return arg;
}
static void cpu(void)
{
    CHECK(!sched_getaffinity(0, sizeof allowed, &allowed));
    if (getenv("ONLY_CPU")) only_cpu = atoi(getenv("ONLY_CPU"));
    with_subjects(cpu_subject);
}

/* ---- the program's own ---------------------------------------------------------------------------------- */
static __thread struct area area __attribute__((aligned(32)));

/* The kernel takes one area of a kernel thread. */
static long raw_rseq(int flags) { return raw_code(SYS_rseq, (long)&area, sizeof area, flags, SIGNATURE, 0, 0); }

static void need_none_of_libc(void)
{
    long r = raw_rseq(0);
    if (r) {
        printf("skipped: libc has registered its own, or there are none (%s)\n", strerror((int)-r));
        exit(77);
    }
    CHECK_EQ(raw_rseq(1), 0);
}

static void do_register(void)
{
    until_away();
    CHECK(!syscall(SYS_rseq, &area, sizeof area, 0, SIGNATURE));
}

static void unregister(void) { CHECK(!syscall(SYS_rseq, &area, sizeof area, 1, SIGNATURE)); }

/* A sequence from 1: to 2:, which goes on at 3: when it is aborted; the signature lies before that. */
#define BEGIN_SEQUENCE \
    ".pushsection __rseq_cs, \"aw\"\n\t" \
    ".balign 32\n" \
    "0:\t.long 0, 0\n\t" \
    ".quad 1f, 2f - 1f, 3f\n\t" \
    ".popsection\n\t" \
    "leaq 0b(%%rip), %%rax\n\t" \
    "movq %%rax, 8(%[a])\n"
#define ABORT_SIGNATURE ".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n"

/* *count += 1, if the thread is on this CPU and no other has the CPU meanwhile. */
static bool count_on(struct area *a, int on, long *count)
{
    __asm__ goto(
        BEGIN_SEQUENCE
        "1:\tcmpl %[on], 4(%[a])\n\t"
        "jne %l[no]\n\t"
        "movq (%[count]), %%rax\n\t"
        "incq %%rax\n\t"
        "movq %%rax, (%[count])\n"
        "2:\n\t"
        ".pushsection __rseq_abort, \"ax\"\n\t"
        ABORT_SIGNATURE
        "3:\tjmp %l[no]\n\t"
        ".popsection"
        : : [a] "r"(a), [on] "r"(on), [count] "r"(count) : "rax", "memory", "cc" : no);
    return true;
no:
    return false;
}

static struct { long count; long unused[7]; } counts[CPU_SETSIZE];
enum { COUNTS = 200 };
static pthread_barrier_t registered;
static _Atomic int users;

static void *own_subject(void *arg)
{
    do_register();
    pthread_barrier_wait(&registered);
    for (int i = 0; i < TIMES; i++) {
        mix();
        CHECK(!floats() || !is_away());
        for (int k = 0, at; k < COUNTS; k++) {
            do at = area.cpu;
            while (!count_on(&area, at, &counts[at].count));
        }
        for (int k = 0; area.cpu != cpu_in_kernel(); k++) CHECK(k < LOOKS);
    }
    unregister();
    users--;
    return arg;
}

/* The others float on, and have none. */
static void *other_subject(void *arg)
{
    bool was_away = !floats();
    while (users || !was_away) {
        mix();
        CHECK_EQ(raw_rseq(0), 0);
        CHECK_EQ(raw_rseq(1), 0);
        was_away = was_away || is_away();
    }
    return arg;
}

static void own(void)
{
    pthread_t t;
    long sum = 0;
    need_none_of_libc();
    users = SUBJECTS;
    CHECK(!pthread_barrier_init(&registered, 0, SUBJECTS));
    CHECK(!pthread_create(&t, 0, other_subject, 0));
    with_subjects(own_subject);
    CHECK(!pthread_join(t, 0));
    for (int i = 0; i < CPU_SETSIZE; i++) sum += counts[i].count;
    CHECK_EQ(sum, (long)SUBJECTS * TIMES * COUNTS);
}

/* A sequence that does not end, until a signal ends it. */
static void compute_until_abort(struct area *a, volatile long *rounds)
{
    __asm__ volatile(
        BEGIN_SEQUENCE
        "1:\tincq (%[rounds])\n\t"
        "jmp 1b\n"
        "2:\n\t"
        ABORT_SIGNATURE
        "3:"
        : : [a] "r"(a), [rounds] "r"(rounds) : "rax", "memory", "cc");
}

static struct { _Atomic pid_t tid; volatile long rounds; _Atomic int aborts; } computing[SUBJECTS];
enum { ABORTS = 20 };

static void *abort_subject(void *arg)
{
    long me = (long)arg;
    do_register();
    pthread_barrier_wait(&registered);
    computing[me].tid = own_tid();
    for (int i = 0; i < ABORTS; i++) {
        mix();
        computing[me].rounds = 0;
        compute_until_abort(&area, &computing[me].rounds);
        computing[me].aborts++;
    }
    unregister();
    return arg;
}

static void on_signal(int sig) { (void)sig; }

static void *abort_sender(void *arg)
{
    for (int i = 0; i < SUBJECTS; i++) {
        while (!computing[i].tid) mix();
        for (int was; (was = computing[i].aborts) < ABORTS;) {
            if (computing[i].rounds && syscall(SYS_tgkill, getpid(), computing[i].tid, SIGUSR1)) CHECK(errno == ESRCH && computing[i].aborts == ABORTS);
            mix();
        }
    }
    return arg;
}

static void aborts(void)
{
    pthread_t t;
    need_none_of_libc();
    CHECK(!sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, 0));
    CHECK(!pthread_barrier_init(&registered, 0, SUBJECTS));
    CHECK(!pthread_create(&t, 0, abort_sender, 0));
    with_subjects(abort_subject);
    CHECK(!pthread_join(t, 0));
}

/* Threads that end and leave theirs registered; later ones have none. */
static void *leaves_its_own(void *arg)
{
    mix();
    do_register();
    mix();
    return arg;
}
static void *follows(void *arg)
{
    for (int i = 0; i < TIMES / 5; i++) {
        pthread_t t;
        CHECK(!pthread_create(&t, 0, leaves_its_own, 0));
        mix();
        CHECK(!pthread_join(t, 0));
    }
    return arg;
}
static void ends(void)
{
    need_none_of_libc();
    with_subjects(follows);
}

int main(int argc, char **argv)
{
    static const struct subject_case cases[] = {{"cpu", cpu, false}, {"own", own, false}, {"aborts", aborts, false}, {"ends", ends, false}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
