/* tests/float/tiles.c - the tiles of AMX, live across waits.  SPDX-License-Identifier: Apache-2.0
 *
 * Threads fill their tiles at random, wait in all ways, and find the tiles as they were, on the same
 * kernel thread.  Handlers have tiles of their own.  In between they release their tiles, and
 * float. */
#include "raw.h"

#include <errno.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REQUEST_PERMISSION 0x1023       /* arch_prctl */
#define TILE_DATA 18
#define BIT_AMX_TILE (1u << 24)         /* of EDX of CPUID 7; gcc and clang name it differently */
#define TARGET __attribute__((target("amx-tile")))
enum { THREADS = 12, ROUNDS = 300, TILES = 8, ROWS = 16, ROW = 64 };

struct config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row[16];                   /* bytes */
    uint8_t rows[16];
};
struct tiles { _Alignas(64) struct config config; _Alignas(64) uint8_t data[TILES][ROWS][ROW]; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long turns;
static _Atomic unsigned long arrived;
static _Atomic int handled, away;
static sem_t sem;

static unsigned next_random(unsigned *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static void choose(struct tiles *t, unsigned *random)
{
    memset(t, 0, sizeof *t);
    t->config.palette = 1;
    for (int i = 0; i < TILES; i++) {
        t->config.rows[i] = (uint8_t)(1 + next_random(random) % ROWS);
        t->config.row[i] = (uint16_t)(4 * (1 + next_random(random) % (ROW / 4)));
        for (int r = 0; r < t->config.rows[i]; r++)
            for (int b = 0; b < t->config.row[i]; b++) t->data[i][r][b] = (uint8_t)next_random(random);
    }
}

/* The instructions name the tile, so there is one of each. */
#define EACH_TILE(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define LOAD(i) _tile_loadd(i, t->data[i], ROW);
#define STORE(i) _tile_stored(i, now.data[i], ROW);

TARGET static void load(const struct tiles *t)
{
    __asm__ volatile("" ::: "memory");      /* gcc 12 does not know what these read and write */
    _tile_loadconfig(&t->config);
    EACH_TILE(LOAD)
}

TARGET static void check(const struct tiles *t, const char *after)
{
    struct tiles now;
    memset(&now, 0, sizeof now);
    _tile_storeconfig(&now.config);
    __asm__ volatile("" ::: "memory");
    CHECK(!memcmp(&now.config, &t->config, sizeof now.config), "after %s", after);
    EACH_TILE(STORE)
    __asm__ volatile("" ::: "memory");
    CHECK(!memcmp(now.data, t->data, sizeof now.data), "after %s", after);
}

TARGET static void release(void) { _tile_release(); }

static void on_signal(int sig)
{
    unsigned random = (unsigned)sig;
    struct tiles mine;
    choose(&mine, &random);
    load(&mine);
    sched_yield();
    check(&mine, "a yield in a handler");
    release();
    handled++;
}

/* The other threads are waited for: they need this core. */
static void handover(void)
{
    pthread_mutex_lock(&mutex);
    unsigned long mine = ++turns;
    pthread_cond_broadcast(&cond);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += until.tv_nsec / 999000000;
    until.tv_nsec = (until.tv_nsec + 1000000) % 1000000000;
    while (turns == mine && !pthread_cond_timedwait(&cond, &mutex, &until)) {}
    pthread_mutex_unlock(&mutex);
}

static void spin(void)
{
    unsigned long until = ++arrived + THREADS / 2;
    for (int i = 0; i < 20000 && arrived < until; i++) _mm_pause();
}

static const char *wait_somehow(unsigned how)
{
    static const struct timespec short_time = {.tv_nsec = 20000};
    switch (how % 6) {
    case 0: sched_yield(); return "a yield";
    case 1: handover(); return "a wait for a condition";
    case 2: nanosleep(&short_time, NULL); return "a sleep";
    case 3: spin(); return "a loop";
    case 4: sem_post(&sem), sem_wait(&sem); return "a semaphore";
    default: raise(SIGUSR1); return "a handler";
    }
}

static void *worker(void *arg)
{
    unsigned random = (unsigned)(uintptr_t)arg + (unsigned)time(NULL);
    for (int i = 0; i < ROUNDS; i++) {
        struct tiles t;
        choose(&t, &random);
        load(&t);
        pid_t carrier = carrier_tid();
        for (int n = 0; n < 5; n++) check(&t, wait_somehow(next_random(&random)));
        CHECK_EQ(carrier_tid(), carrier);
        release();
        for (int n = 0; n < 5; n++) {
            wait_somehow(next_random(&random));
            away += is_away();
        }
    }
    return NULL;
}

int main(void)
{
    unsigned a, b, c, d;
    bool has_tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & BIT_AMX_TILE;
    if (!has_tiles || (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) && errno != ENOSPC)) {
        printf("no processor with AMX, or no kernel that permits its use: %s\n", has_tiles ? strerror(errno) : "no tiles");
        return 77;
    }
    pthread_t t[THREADS];
    alarm(100);
    sem_init(&sem, 0, 1);
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)i));
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("%d handlers, away from home %d times\n", handled, away);
    CHECK(handled > 0);
    CHECK(!floats() || away > 0);
    return 0;
}
