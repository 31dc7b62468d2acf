/* tests/float/threads.c CASE - what a thread has of its own stays its own while threads of a program share kernel threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "subjects.h"

/* ---- ids and names -------------------------------------------------------------------------------- */
static void *id_subject(void *arg)
{
    pid_t tid = own_tid();
    char name[16], want[16], path[64];
    snprintf(want, sizeof want, "subject %ld", (long)arg);
    CHECK(!prctl(PR_SET_NAME, want));
    snprintf(path, sizeof path, "/proc/self/task/%d", tid);
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(own_tid() == tid && gettid() == tid);
        if (i % 10) continue;
        CHECK(!access(path, F_OK));
        CHECK(!prctl(PR_GET_NAME, name) && !strcmp(name, want));
        CHECK(!pthread_getname_np(pthread_self(), name, sizeof name) && !strcmp(name, want));
    }
    return 0;
}
static void ids(void) { with_subjects(id_subject); }

/* ---- registers ------------------------------------------------------------------------------------ */
static void *rounding_subject(void *arg)
{
    static const int modes[SUBJECTS] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    volatile long double x = 1.0L / 3;
    CHECK(!fesetround(modes[(long)arg]));
    for (int i = 0; i < ROUNDS; i++) {
        long double live = x * (long)(i + 1);
        mix();
        CHECK(fegetround() == modes[(long)arg] && live == x * (long)(i + 1));
        errno = (int)(1000 + (long)arg);
        sched_yield();
        CHECK(errno == 1000 + (long)arg);
    }
    return 0;
}
static void rounding(void) { with_subjects(rounding_subject); }

/* Code without AVX is several times as slow while upper halves of vector registers are in use: a switch leaves them as they are. */
#define UPPER_HALVES 0x44u      /* XINUSE: of ymm0-15 and zmm0-15 */
static uint32_t xinuse(void)
{
    uint32_t lo = 0, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(1));
    return lo;
}
/* One of them has other registers of AVX-512 in use, which its switches have to keep. */
__attribute__((target("avx512f,avx512bw"))) static void put_512(uint64_t v)
{ __asm__ volatile("vpbroadcastq %0, %%zmm16\n\tvmovdqa64 %%zmm16, %%zmm31\n\tkmovq %0, %%k3" : : "r"(v) : "memory"); }
__attribute__((target("avx512f,avx512bw"))) static void check_512(uint64_t v)
{
    uint64_t z[8], k;
    __asm__ volatile("vmovdqu64 %%zmm31, %0\n\tkmovq %%k3, %1" : "=m"(z), "=r"(k) : : "memory");
    CHECK(k == v);
    for (int i = 0; i < 8; i++) CHECK(z[i] == v);
}
static void *uppers_subject(void *arg)
{
    const bool more = arg && __builtin_cpu_supports("avx512bw");
    for (int i = 0; i < 20 * ROUNDS; i++) {
        __asm__ volatile("vzeroupper" ::: "memory");
        if (xinuse() & UPPER_HALVES) continue;      /* a processor that does not note VZEROUPPER */
        if (more) put_512((uint64_t)i * (uint64_t)(long)arg);
        syscall(SYS_sched_yield);
        if (more) check_512((uint64_t)i * (uint64_t)(long)arg);
        CHECK(!(xinuse() & UPPER_HALVES));
    }
    return arg;
}
static void uppers(void)
{
    uint32_t a, b, c, d;
    if (__get_cpuid_count(13, 1, &a, &b, &c, &d) && a & 4 && __builtin_cpu_supports("avx")) with_subjects(uppers_subject);
}

/* The base of GS, and the rights to memory with a protection key. */
__attribute__((target("fsgsbase"))) static void *gs_subject(void *arg)
{
    uint64_t base = 0x100000 + 0x1000 * (uint64_t)arg, is;
    __asm__ volatile("wrgsbase %0" : : "r"(base));
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        __asm__ volatile("rdgsbase %0" : "=r"(is));
        CHECK(is == base);
    }
    return arg;
}
static void gs(void) { if (getauxval(AT_HWCAP2) & 2 /* FSGSBASE */) with_subjects(gs_subject); }

static int protection_key;
static void *keys_subject(void *arg)
{
    static const unsigned rights[SUBJECTS] = {0, PKEY_DISABLE_WRITE, PKEY_DISABLE_ACCESS};
    CHECK(!pkey_set(protection_key, rights[(long)arg]));
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK_EQ(pkey_get(protection_key), rights[(long)arg]);
    }
    return arg;
}
static void keys(void)
{
    protection_key = pkey_alloc(0, 0);
    if (protection_key < 0) {
        printf("skipped: no protection keys here\n");
        exit(77);
    }
    with_subjects(keys_subject);
}

/* ---- kernel-scheduled threads --------------------------------------------------------------------- */
/* Two threads pass bytes on, and so become kernel-scheduled; the third goes home for each call. */
static int pipes[2][2];
static _Atomic bool passed_on;
static void *passing_subject(void *arg)
{
    const int me = (int)(long)arg;
    char name[16], c = 1;
    if (me == 2) {
        while (!passed_on) CHECK(!prctl(PR_SET_NAME, "homely") && !prctl(PR_GET_NAME, name) && !strcmp(name, "homely"));
        return 0;
    }
    for (int i = 0; i < 20 * ROUNDS; i++) {
        if (me == 0) CHECK(write(pipes[0][1], &c, 1) == 1);
        CHECK(read(pipes[!me][0], &c, 1) == 1);
        if (me == 1) CHECK(write(pipes[1][1], &c, 1) == 1);
    }
    if (me == 0) passed_on = true;
    return 0;
}
static void passing(void)
{
    CHECK(!pipe(pipes[0]) && !pipe(pipes[1]));
    with_subjects(passing_subject);
}

/* ---- locks that the kernel knows ------------------------------------------------------------------ */
static pthread_mutex_t special;
static long guarded;
static void *lock_subject(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        int r = pthread_mutex_lock(&special);
        if (r == EOWNERDEAD) pthread_mutex_consistent(&special);
        else CHECK(!r);
        long was = guarded;
        if (i % 4 == 0) sched_yield();
        CHECK(guarded == was);
        guarded = was + 1;
        CHECK(!pthread_mutex_unlock(&special));
    }
    return arg;
}
static void *dies_with_it(void *arg)
{
    mix();
    int r = pthread_mutex_lock(&special);
    CHECK(!r || r == EOWNERDEAD);
    if (r) pthread_mutex_consistent(&special);
    mix();
    return arg;
}
static void locks(int protocol, int robust)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutexattr_setrobust(&a, robust);
    CHECK(!pthread_mutex_init(&special, &a));
    with_subjects(lock_subject);
    CHECK(guarded == SUBJECTS * ROUNDS);
}
static void robust(void)
{
    pthread_t t;
    locks(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < 50; i++) {
        CHECK(!pthread_create(&t, 0, dies_with_it, 0));
        CHECK(!pthread_join(t, 0));
        CHECK(pthread_mutex_lock(&special) == EOWNERDEAD && !pthread_mutex_consistent(&special));
        CHECK(!pthread_mutex_unlock(&special));
    }
}
static void inherit(void) { locks(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED); }

/* ---- ends, forks, users --------------------------------------------------------------------------- */
static pthread_key_t key;
static _Atomic int destroyed;
static void destroy(void *value) { if (value) atomic_fetch_add(&destroyed, 1); }
static void *short_one(void *arg)
{
    pthread_setspecific(key, &key);
    mix();
    if ((long)arg % 2) pthread_exit(arg);
    return arg;
}
static void *ends_subject(void *arg)
{
    for (long i = 0; i < 40; i++) {
        pthread_t t;
        void *r;
        CHECK(!pthread_create(&t, 0, short_one, (void *)i));
        mix();
        CHECK(!pthread_join(t, &r) && r == (void *)i);
    }
    return arg;
}
static void ends(void)
{
    CHECK(!pthread_key_create(&key, destroy));
    with_subjects(ends_subject);
    CHECK(destroyed == SUBJECTS * 40);
}

/* The child's time is its own: its parent's threads wait for less long, or longer. */
static void *naps(void *arg) { return sleep(60), arg; }
static int child(bool execs)
{
    pthread_t t;
    sem_t never;
    struct timespec until;
    if (own_tid() != getpid()) return 3;
    for (int k = 0; k < 3; k++) sched_yield();
    sem_init(&never, 0, 0);
    if (pthread_create(&t, 0, naps, 0)) return 4;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    if (!sem_timedwait(&never, &until) || errno != ETIMEDOUT) return 5;
    if (execs) execl("/bin/true", "true", (char *)0);
    return 0;
}
static void *fork_subject(void *arg)
{
    for (int i = 0; i < 20; i++) {
        mix();
        int status;
        pid_t pid = fork();
        if (pid == 0) _exit(child(i % 2));
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
    return arg;
}
static void forks(void) { with_subjects(fork_subject); }

/* Each thread of the process has the user that one of them sets. */
static void *user_subject(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) mix();
    return arg;
}
static void users(void)
{
    pthread_t t[SUBJECTS];
    char path[300], line[256];
    if (geteuid()) {
        printf("skipped: not root\n");
        exit(77);
    }
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, user_subject, (void *)i));
    for (int i = 0; i < 20; i++) {      /* some threads end away from home, whose kernel threads live on */
        pthread_t brief;
        CHECK(!pthread_create(&brief, 0, short_one, 0));
        mix();
        CHECK(!pthread_join(brief, 0));
    }
    CHECK(!setresgid(12345, 12345, 12345));
    DIR *d = opendir("/proc/self/task");
    CHECK(d);
    for (struct dirent *e; (e = readdir(d)); ) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *f = e->d_name[0] == '.' ? 0 : fopen(path, "r");
        while (f && fgets(line, sizeof line, f))
            if (!strncmp(line, "Gid:", 4)) CHECK(strstr(line, "12345\t12345\t12345\t12345"));
        if (f) fclose(f);
    }
    closedir(d);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* ---- CPU time ------------------------------------------------------------------------------------- */
static uint64_t clock_of(clockid_t clock)
{
    struct timespec t;
    CHECK(!clock_gettime(clock, &t));
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static uint64_t rusage_ns(int who)
{
    struct rusage u;
    CHECK(!getrusage(who, &u));
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
}

static _Atomic uint64_t subjects_time;
static _Atomic int nr_busy;
static void *clock_subject(void *arg)
{
    uint64_t was = clock_of(CLOCK_THREAD_CPUTIME_ID), first = was, used = rusage_ns(RUSAGE_THREAD), now;
    clockid_t own;
    CHECK(!pthread_getcpuclockid(pthread_self(), &own));
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        if (i % 3 == 0)         /* 1 ms of its own */
            for (uint64_t from = was; was < from + 1000000; was = now) CHECK((now = clock_of(CLOCK_THREAD_CPUTIME_ID)) >= was);
        CHECK((now = clock_of(own)) >= was);
        was = now;
        CHECK((now = rusage_ns(RUSAGE_THREAD)) >= used);
        used = now;
    }
    atomic_fetch_add(&subjects_time, was - first);
    atomic_fetch_sub(&nr_busy, 1);
    while (nr_busy) mix();      /* its clock is read until then */
    return arg;
}
static void clocks(void)
{
    pthread_t t[SUBJECTS];
    clockid_t clock[SUBJECTS];
    uint64_t was[SUBJECTS] = {0}, now, all = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    nr_busy = SUBJECTS + 1;
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, clock_subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_getcpuclockid(t[i], &clock[i]));
    while (nr_busy > 1) {
        for (int i = 0; i < SUBJECTS; i++) {
            CHECK((now = clock_of(clock[i])) >= was[i]);
            was[i] = now;
        }
        mix();
    }
    all = clock_of(CLOCK_PROCESS_CPUTIME_ID) - all;
    nr_busy = 0;
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
    /* No thread is charged with others' time: all of them have used no more than the process (cycles stand for some of it: 5 %). */
    printf("subjects %llu us of %llu us\n", (unsigned long long)subjects_time / 1000, (unsigned long long)all / 1000);
    CHECK(subjects_time <= all + all / 20);
    CHECK(subjects_time >= (uint64_t)SUBJECTS * ROUNDS / 3 * 1000000u);
    CHECK(clock_getcpuclockid(getpid(), &clock[0]) == 0 && clock_of(clock[0]) >= all);
}

/* ---- cancellation --------------------------------------------------------------------------------- */
static _Atomic int cleaned;
static void clean(void *arg) { (void)arg; atomic_fetch_add(&cleaned, 1); }
static void *victim(void *arg)
{
    int old;
    long kind = (long)arg;
    sem_t never;
    sem_init(&never, 0, 0);
    pthread_cleanup_push(clean, 0);
    if (kind == 0) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        for (;;) { }
    }
    if (kind == 1)
        for (;;) sched_yield(), pthread_testcancel();
    if (kind == 2) sem_wait(&never);
    if (kind == 3) pause();
    pthread_cleanup_pop(0);
    return 0;
}
static void *cancel_subject(void *arg)
{
    for (long i = 0; i < 24; i++) {
        pthread_t t;
        void *r;
        CHECK(!pthread_create(&t, 0, victim, (void *)(i % 4)));
        mix();
        CHECK(!pthread_cancel(t));
        CHECK(!pthread_join(t, &r) && r == PTHREAD_CANCELED);
    }
    return arg;
}
static void cancels(void)
{
    with_subjects(cancel_subject);
    CHECK(cleaned == SUBJECTS * 24);
}

/* What is executed on a thread's kernel thread sleeps in a call, with all signals blocked, until that
 * thread has told its name and has forked. */
static int bell[2];
static pthread_barrier_t round_begins;
static void *deaf_reader(void *arg)
{
    char c;
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        pthread_barrier_wait(&round_begins);
        CHECK(read(bell[0], &c, 1) == 1);
    }
    return arg;
}
static void *named_forker(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        char name[16], told[16];
        int status;
        mix();
        pthread_barrier_wait(&round_begins);
        mix();
        snprintf(name, sizeof name, "thread-%d", i);
        CHECK(!prctl(PR_SET_NAME, name) && !prctl(PR_GET_NAME, told) && !strcmp(name, told));
        if (i % 50 == 0) {
            pid_t pid = fork();
            if (pid == 0) _exit(prctl(PR_GET_NAME, told) ? 3 : 0);
            CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        }
        CHECK(write(bell[1], "", 1) == 1);
    }
    return arg;
}
static void occupied(void)
{
    sigset_t all;
    pthread_t reader, forker;
    sigfillset(&all);
    CHECK(!pipe(bell) && !pthread_barrier_init(&round_begins, 0, 2));
    CHECK(!pthread_sigmask(SIG_SETMASK, &all, 0));
    CHECK(!pthread_create(&reader, 0, deaf_reader, 0) && !pthread_create(&forker, 0, named_forker, 0));
    CHECK(!pthread_join(forker, 0) && !pthread_join(reader, 0));
}

int main(int argc, char **argv)
{
    static const struct subject_case cases[] = {
        {"ids", ids, false}, {"rounding", rounding, false}, {"uppers", uppers, false}, {"gs", gs, false}, {"keys", keys, false}, {"passing", passing, false}, {"robust", robust, false}, {"inherit", inherit, false}, {"ends", ends, false},
        {"forks", forks, false}, {"users", users, false}, {"cancel", cancels, false}, {"clocks", clocks, false}, {"occupied", occupied, false},
    };
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
