/* tests/lock/test_lock_kill.c - processes that die with and in front of the lock.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_lock_kill [SEED]
 * Workers in processes of their own enter sections.  Each is killed, at one of the lock's perturbation
 * points or at any instruction.  The parent is the monitor: it recovers the lock, repairs what it
 * protects and starts another worker.  All workers that are alive must go on. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "os/os.h"
#include "sched/lock.h"

enum { WORKERS = 6, KILLS = 250, MAX_NAMES = KILLS + WORKERS + 2 };
static const char *const points[] = {
    "lock.owned", "lock.release", "lock.released", "lock.sleep", "section",
};

struct shared {
    struct usf_lock lock;
    uint64_t a, b;                      /* equal whenever the lock is free */
    _Atomic uint64_t sections[MAX_NAMES];
    _Atomic uint32_t broken;
};
static struct shared *s;
static bool dead[MAX_NAMES];
static pid_t pid_of[MAX_NAMES];
static uint64_t rng;

static uint64_t rnd(void)
{
    rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
    return rng >> 11;
}

static void section(void)
{
    if (s->a != s->b) s->broken = 1;
    s->a++;
    USF_POINT("section");
    for (int i = 0; i < 50; i++) os_pause();
    if (s->a % 16 == 0) os_sched_yield();       /* so that others wait, also with few cores */
    s->b++;
}

static void work(uint32_t name)
{
    for (uint64_t i = 0;; i++) {
        lock_acquire(&s->lock, name);
        section();
        lock_release(&s->lock, name);
        atomic_fetch_add(&s->sections[name], 1);
        if (i % 64 == 0) os_sched_yield();
    }
}

static pid_t start_worker(uint32_t name)
{
    char plan[96];
    snprintf(plan, sizeof plan, "seed=%u,delay=20,yield=20,kill=%s:%u", name, points[rnd() % (sizeof points / sizeof *points)],
             (unsigned)(rnd() % 30 + 1));
    pid_t pid = fork();
    if (pid) return pid_of[name] = pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("USF_POINTS", plan, 1);
    usf_points_again();
    work(name);
    _exit(0);
}

static bool has_died(pid_t pid)
{
    siginfo_t si = {.si_pid = 0};
    return !waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid;
}

/* Looks afresh: the owner may have died after the death that is being handled. */
static bool is_dead(void *arg, uint32_t name)
{ return name < MAX_NAMES && pid_of[name] && (dead[name] || has_died(pid_of[name])); }

static void recover(void)
{
    if (lock_recover(&s->lock, LOCK_NAME_MONITOR, is_dead, NULL)) s->b = s->a;
    if (s->a != s->b) s->broken = 3;
    lock_release(&s->lock, LOCK_NAME_MONITOR);
}

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL); }

static uint32_t died_owning;

static void reap(pid_t pid[], uint32_t name[], int i, uint32_t *next_name)
{
    dead[name[i]] = true;
    died_owning += (s->lock.word & ~LOCK_SLEEPERS) == name[i];
    recover();
    name[i] = (*next_name)++;
    pid[i] = start_worker(name[i]);
}

/* A worker dies at its point within a few milliseconds, or where it stands. */
static pid_t next_death(const pid_t pid[], int *status)
{
    pid_t gone;
    for (uint64_t ms = rnd() % 40; ms; ms--) {
        if ((gone = waitpid(-1, status, WNOHANG)) > 0) return gone;
        sleep_ms(1);
    }
    kill(pid[rnd() % WORKERS], SIGKILL);
    return waitpid(-1, status, 0);
}

static uint64_t ran_ns(pid_t pid)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    return os_read_file(path, text, sizeof text) > 0 ? strtoull(text, NULL, 10) : 0;
}

/* A worker that enters nothing may just not get the CPU: only one that sleeps or spins is stuck. */
static bool is_starved(pid_t pid, uint64_t ran_before)
{ return os_thread_state(pid, pid) == 'R' && ran_ns(pid) - ran_before < 200000000u; }

/* Every worker enters a section within ten seconds (the machine may be busy), unless one dies again meanwhile. */
static bool all_go_on(const pid_t pid[], const uint32_t name[])
{
    uint64_t before[WORKERS], ran[WORKERS];
    for (int i = 0; i < WORKERS; i++) before[i] = s->sections[name[i]], ran[i] = ran_ns(pid[i]);
    for (int ms = 0; ms < 10000; ms += 2) {
        bool all = true;
        for (int i = 0; i < WORKERS; i++) {
            if (has_died(pid[i])) return true;
            all &= s->sections[name[i]] != before[i];
        }
        if (all) return true;
        sleep_ms(2);
    }
    for (int i = 0; i < WORKERS; i++)
        if (s->sections[name[i]] == before[i] && !is_starved(pid[i], ran[i])) return false;
    return true;
}

static void describe(const pid_t pid[], const uint32_t name[])
{
    printf("word %x\n", s->lock.word);
    for (int i = 0; i < WORKERS; i++)
        printf("worker %u: %lu sections, %s, thread state %c, ran %lu ms\n", name[i], s->sections[name[i]],
               has_died(pid[i]) ? "dead" : "alive", os_thread_state(pid[i], pid[i]), ran_ns(pid[i]) / 1000000);
}

int main(int argc, char **argv)
{
    pid_t pid[WORKERS];
    uint32_t name[WORKERS], next_name = 1, kills = 0, deaths = 0;
    alarm(120);
    rng = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    printf("seed %lu\n", rng);
    fflush(stdout);
    if (!rng) rng = 1;
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < WORKERS; i++) pid[i] = start_worker(name[i] = next_name++);

    for (bool ok = true; kills < KILLS; kills++) {
        int i = 0, status;
        pid_t gone = next_death(pid, &status);
        for (i = 0; i < WORKERS && pid[i] != gone; i++) {}
        if (i == WORKERS || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) s->broken = 4;
        else deaths++, reap(pid, name, i, &next_name);
        if (kills % 5 == 4) ok = all_go_on(pid, name);
        if (ok && !s->broken) continue;
        printf("FAILED after %u kills: broken %u, %s; word %x, a %lu, b %lu\n", kills, s->broken,
               ok ? "all go on" : "somebody is stuck", s->lock.word, s->a, s->b);
        describe(pid, name);
        for (i = 0; i < WORKERS; i++) kill(pid[i], SIGKILL);
        return 1;
    }
    for (int i = 0; i < WORKERS; i++) kill(pid[i], SIGKILL), waitpid(pid[i], NULL, 0), dead[name[i]] = true;
    recover();
    if (s->lock.word) return printf("FAILED: the lock is not free at the end: word %x\n", s->lock.word), 1;
    printf("ok: %u deaths, %u owned the lock\n", deaths, died_owning);
    printf("%lu sections, lock seized %u times\n", s->a, s->lock.epoch);
    return 0;
}
