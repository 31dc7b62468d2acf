/* tests/shm/test_race.c - many come, join, leave and retire at once; some are killed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What must hold: while a process is a member of an instance, the instance's path names that instance, so
 * that newcomers find it; and at the end nothing is left that cannot be cleaned up. */
#include "check.h"
#include "shm/internal.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define WORKERS 6

static struct shm_config config;
static char path[SHM_PATH_MAX];
static struct { _Atomic uint64_t rounds, created, stale, retired; _Atomic uint32_t wrong; } *shared;

static void stay(struct shm *m, int i)
{
    struct stat st;
    for (int n = (int)check_below(4); n >= 0; n--) {
        if (stat(path, &st) || st.st_ino != m->h->file_ino || atomic_load(&m->h->state) == USF_INST_EMPTY) {
            fprintf(stderr, "a member's instance (inode %lu) is not at its path\n", (unsigned long)m->h->file_ino);
            atomic_fetch_add(&shared->wrong, 1);
        }
        if (check_below(2)) sched_yield();
    }
    atomic_store(&shm_procs(m->h)[i].state, USF_PROC_ACTIVE);
}

static void one_round(void)
{
    struct shm m;
    int i = -ESTALE;
    while (i == -ESTALE) {
        int r = shm_open_instance(&config, true, &m);
        if (r) {
            fprintf(stderr, "open: %d %s\n", r, m.why);
            atomic_fetch_add(&shared->wrong, 1);
            return;
        }
        if (m.created) atomic_fetch_add(&shared->created, 1);
        i = shm_join_begin(m.h, config.dir, 0, getpid(), os_start_time(getpid()));
        if (i == -ESTALE) {
            atomic_fetch_add(&shared->stale, 1);
            shm_close(&m);
        }
    }
    if (i < 0) {
        fprintf(stderr, "join: %d\n", i);
        atomic_fetch_add(&shared->wrong, 1);
        return;
    }
    stay(&m, i);
    shm_leave(m.h, (uint32_t)i);
    if (check_below(2) && shm_retire_if_empty(&m, config.dir)) atomic_fetch_add(&shared->retired, 1);
    shm_close(&m);
    atomic_fetch_add(&shared->rounds, 1);
    usleep(check_below(3000));          /* so that now and then nobody is a member */
}

static pid_t start_worker(void)
{
    uint64_t seed = check_random();
    pid_t pid = fork();
    if (pid) return pid;
    check_random_state = seed;
    alarm(110);
    for (;;) one_round();
}

static pid_t worker[WORKERS];

static void end_worker(int i)           /* anywhere, also between any two steps */
{
    kill(worker[i], SIGKILL);
    waitpid(worker[i], NULL, 0);
}

/* On a busy machine some member is always about, and what is never empty is never made anew. */
static void leave_one_alone(void)
{
    uint64_t before = shared->created;
    for (int i = 0; i < WORKERS; i++) end_worker(i);
    worker[0] = start_worker();
    while (shared->created == before) {
        usleep(1000);
        if (waitpid(worker[0], NULL, WNOHANG) > 0) worker[0] = start_worker();     /* at a perturbation point */
    }
    for (int i = 1; i < WORKERS; i++) worker[i] = start_worker();
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    check_begin(seconds + 100);
    config.dir = check_shmdir();
    config.name = "race";
    shm_path(config.dir, config.name, geteuid(), path, sizeof path);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < WORKERS; i++) worker[i] = start_worker();
    for (uint64_t end = os_now() + seconds * 1000000000ull; os_now() < end || shared->rounds <= 100 || shared->created <= 10;) {
        usleep(5000);
        int k = (int)check_below(WORKERS);
        end_worker(k);
        worker[k] = start_worker();
        if (check_below(20) == 0) leave_one_alone();
    }
    for (int i = 0; i < WORKERS; i++) end_worker(i);
    printf("%lu rounds, %lu created, %lu retired, %lu too late\n", (unsigned long)shared->rounds,
           (unsigned long)shared->created, (unsigned long)shared->retired, (unsigned long)shared->stale);
    EXPECT_EQ(shared->wrong, 0);
    struct shm m;
    EXPECT_EQ(shm_open_instance(&config, true, &m), 0);
    EXPECT_EQ(shm_nr_members(m.h, 0), 0);
    EXPECT(shm_retire_if_empty(&m, config.dir) && access(path, F_OK) != 0);
    check_remove();
    return check_end();
}
