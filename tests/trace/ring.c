/* tests/trace/ring.c - the rings themselves.  SPDX-License-Identifier: Apache-2.0
 *
 *   ring [SEED]     wrapping and overflow against a model; a reader beside a writer; writers that are killed; heads of another ring
 *   ring places     nothing of the file overlaps */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "sched/ring.h"

#ifdef __SANITIZE_THREAD__      /* twenty times as slow */
#define LESS 4
#else
#define LESS 1
#endif

static uint64_t seed;
static uint64_t rnd(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

static struct trace_ring *make(uint32_t n)
{
    void *p = mmap(NULL, TRACE_RING_BYTES(n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}
static void drop(struct trace_ring *r, uint32_t n) { munmap(r, TRACE_RING_BYTES(n)); }

static struct trace_event numbered(uint64_t i) { return (struct trace_event){i, TRACE_STATE, (uint16_t)i, (uint32_t)i, ~i, i * 3}; }
static bool is_whole(const struct trace_event *e)
{ return e->kind == TRACE_STATE && e->aux == (uint16_t)e->ns && e->task == (uint32_t)e->ns && e->a == ~e->ns && e->b == e->ns * 3; }

/* One thread: what goes in comes out in order, what does not fit is counted. */
static void against_model(void)
{
    static struct trace_event out[64];
    for (int round = 0; round < 200 / LESS; round++) {
        uint32_t n = 1u << (1 + rnd() % 6);
        struct trace_ring *r = make(n);
        uint64_t next = 0, in = 0, lost = 0;
        static uint64_t kept[1 << 16];
        uint64_t read = 0;
        for (int i = 0; i < 2000; i++) {
            if (rnd() % 3) {
                struct trace_event e = numbered(next);
                if (in - read < n) kept[in++] = next;
                else lost++;
                next++;
                trace_put(r, n, &e);
            } else {
                uint32_t max = (uint32_t)(rnd() % 64), got = trace_get(r, n, out, max, NULL);
                CHECK(got == (in - read < max ? in - read : max));
                for (uint32_t k = 0; k < got; k++) CHECK(is_whole(&out[k]) && out[k].ns == kept[read + k]);
                read += got;
            }
            CHECK(atomic_load(&r->lost) == lost && atomic_load(&r->head) == in && atomic_load(&r->tail) == read);
        }
        drop(r, n);
    }
}

/* A reader beside the writer: whole, in order, none twice; what is missing was counted. */
struct beside { struct trace_ring *r; uint32_t n; uint64_t events, pause; _Atomic bool done; };
static void *writer(void *arg)
{
    struct beside *b = arg;
    for (uint64_t i = 0; i < b->events; i++) {
        struct trace_event e = numbered(i);
        trace_put(b->r, b->n, &e);
        if (i % b->pause == 0) sched_yield();
    }
    atomic_store(&b->done, true);
    return NULL;
}
static void reader_beside(void)
{
    for (int round = 0; round < 6; round++) {
        struct beside b = {.n = 1u << (2 + rnd() % 8), .events = 50000 / LESS, .pause = 1 + rnd() % 100};
        uint64_t got = 0, last = 0;
        struct trace_event out[64];
        pthread_t t;
        b.r = make(b.n);
        CHECK(!pthread_create(&t, NULL, writer, &b));
        for (bool end = false;;) {
            bool was_done = atomic_load(&b.done);
            uint32_t n = trace_get(b.r, b.n, out, 1 + (uint32_t)(rnd() % 64), NULL);
            for (uint32_t i = 0; i < n; i++) {
                CHECK(is_whole(&out[i]) && (got + i == 0 || out[i].ns > last));
                last = out[i].ns;
            }
            got += n;
            end = was_done && !n;
            if (end) break;
            if (!n) sched_yield();
        }
        pthread_join(t, NULL);
        CHECK(got + atomic_load(&b.r->lost) == b.events);
        drop(b.r, b.n);
    }
}

/* Processes that are killed while they write, one after another: each loses its last event at most. */
struct counts { _Atomic uint64_t began, ended; };
static void killed_writers(void)
{
    uint32_t n = 64;
    struct trace_ring *r = make(n);
    struct counts *c = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t got = 0, next = 0, torn = 0;
    struct trace_event out[64];
    CHECK(c != MAP_FAILED);
    for (int victim = 0; victim < 60 / LESS; victim++) {
        uint64_t until = atomic_load(&c->began) + 1 + rnd() % 2000;
        pid_t p = fork();
        CHECK(p >= 0);
        if (!p)
            for (uint64_t i = atomic_load(&c->began);; i++) {
                struct trace_event e = numbered(i);
                atomic_store(&c->began, i + 1);
                trace_put(r, n, &e);
                atomic_store(&c->ended, i + 1);
                if (i % 64 == 0) sched_yield();
            }
        do {
            uint32_t k = trace_get(r, n, out, 64, NULL);
            for (uint32_t i = 0; i < k; i++) {
                CHECK(is_whole(&out[i]) && out[i].ns >= next);
                next = out[i].ns + 1;
            }
            got += k;
            if (!k) sched_yield();
        } while (atomic_load(&c->began) < until);
        for (volatile uint64_t i = rnd() % 2000; i; i--) {}
        kill(p, SIGKILL);
        waitpid(p, NULL, 0);
        torn += atomic_load(&c->began) != atomic_load(&c->ended);
    }
    uint32_t k;
    while ((k = trace_get(r, n, out, 64, NULL))) {
        for (uint32_t i = 0; i < k; i++) {
            CHECK(is_whole(&out[i]) && out[i].ns >= next);
            next = out[i].ns + 1;
        }
        got += k;
    }
    uint64_t sum = got + atomic_load(&r->lost), began = atomic_load(&c->began);
    CHECK(sum <= began && began - sum <= torn);
    printf("killed writers: %lu events, %lu read, %lu dropped, %lu writers killed within one\n", (unsigned long)began, (unsigned long)got,
           (unsigned long)atomic_load(&r->lost), (unsigned long)torn);
    drop(r, n);
}

/* A writer stores the head of another recording's ring: what comes after is told, and nothing twice. */
static void foreign_heads(void)
{
    uint32_t n = 16;
    struct trace_event out[16];
    static const uint64_t heads[] = {1000, 3, UINT64_MAX, 500};
    struct trace_ring *r = make(n);
    for (unsigned i = 0; i < sizeof heads / sizeof *heads; i++) {
        uint64_t lost = 0, tail = atomic_load(&r->tail);
        atomic_store(&r->head, heads[i]);
        CHECK(trace_get(r, n, out, 16, &lost) == 0 && lost == (heads[i] > tail ? heads[i] - tail : 1));
        lost = 0;
        for (uint64_t k = 0; k < n; k++) {
            struct trace_event e = numbered(k);
            trace_put(r, n, &e);
        }
        CHECK(trace_get(r, n, out, 16, &lost) == n && !lost && atomic_load(&r->lost) == 0);
        for (uint32_t k = 0; k < n; k++) CHECK(is_whole(&out[k]) && out[k].ns == k);
    }
    drop(r, n);
}

static void places(void)
{
    struct trace_map *m = 0;
    CHECK(TRACE_OFF_LOCK >= sizeof *m && TRACE_OFF_LOCK % TRACE_PAGE == 0 && TRACE_OFF_TASKS % TRACE_PAGE == 0);
    CHECK((char *)trace_lock_ring(m)->event + TRACE_LOCK_EVENTS * sizeof(struct trace_event) <= (char *)trace_task_ring(m, 0));
    CHECK((char *)trace_task_ring(m, 0)->event + TRACE_TASK_EVENTS * sizeof(struct trace_event) <= (char *)trace_task_ring(m, 1));
    CHECK((uintptr_t)trace_task_ring(m, TRACE_TASKS) == TRACE_SIZE);
    CHECK(!(TRACE_LOCK_EVENTS & (TRACE_LOCK_EVENTS - 1)) && !(TRACE_TASK_EVENTS & (TRACE_TASK_EVENTS - 1)));
}

int main(int argc, char **argv)
{
    alarm(100);
    if (argc > 1 && !strcmp(argv[1], "places")) return places(), 0;
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 2654435761u + (uint64_t)getpid();
    if (!seed) seed = 1;
    check_seed = seed;
    printf("seed %lu\n", (unsigned long)seed);
    against_model();
    foreign_heads();
    reader_beside();
    killed_writers();
    return 0;
}
