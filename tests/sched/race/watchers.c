/* tests/sched/race/watchers.c - who looks on: the monitor, and somebody who records.  SPDX-License-Identifier: Apache-2.0 */
#include "race.h"
#include "sched/watch.h"
#include <string.h>
#include <sys/mman.h>

/* ---- the monitor --------------------------------------------------------------------------------- */

static void preempt(void *arg, uint32_t task)
{
    (void)arg;
    for (int i = 0; i < THREADS; i++)
        if (atomic_load(&threads[i].id) == task) atomic_store_explicit(&threads[i].signalled, true, memory_order_relaxed);
}
static char state(void *arg, uint32_t task)
{
    (void)arg, (void)task;
    return e.unseen && next(&point_rng) % 4 ? 'S' : 'R';
}

/* Holds the scheduler lock. */
static void check_instance(struct sched *s)
{
    char why[160];
    uint32_t running = 0, held = 0, ready = 0, hwm = atomic_load(&s->h->task_hwm);
    CHECK(sched_is_valid(s, why, sizeof why), "%s", why);
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        if (atomic_load(&t->state) != USF_TASK_RUNNING) continue;
        uint32_t core = atomic_load(&t->core);
        running++;
        CHECK(core < s->h->nr_cores);
        if (core < s->h->nr_cores) CHECK(core_task(atomic_load(&s->cores[core].word)) == i);
    }
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        bool idle = core_state(atomic_load(&s->cores[i].word)) == USF_CORE_IDLE;
        held += !idle;
        /* Without its bit it is somebody's who has just come back and found it taken: he is about to look. */
        bool known = atomic_load(&s->h->idle[i / 64]) >> (i % 64) & 1;
        if (idle && known) CHECK(!sched_is_waited_for(s, i));
    }
    CHECK(running == held);
    for (uint32_t i = 0, n = atomic_load(&s->h->group_hwm); i < n; i++) {
        unsigned st = atomic_load(&s->groups[i].state);
        if (st == USF_GROUP_ACTIVE) ready += s->groups[i].pol.nr_ready;
    }
    CHECK(ready == atomic_load(&s->h->nr_ready));
}

static bool nobody_is_dead(void *arg, uint32_t name) { return (void)arg, (void)name, false; }

void *run_monitor(void *arg)
{
    static struct sched_watcher memory;
    struct sched *m = arg;
    struct sched_self me = {.task = USF_NONE};
    struct wakes none = {0};
    memory = (struct sched_watcher){0};
    m->watch = &memory;
    point_rng = e.seed;
    for (unsigned n = 0; atomic_load(&finished) < THREADS + (e.departures ? LEAVERS : 0); n++) {
        uint64_t ns = e.lonely ? 1000000 : sched_watch(m, preempt, state, 0);
        if (core_enter(m, &me)) {
            check_instance(m);
            core_leave(m, &me, &none);
        }
        if (n % 64 == 63) sched_recover(m, nobody_is_dead, 0);
        usleep(ns > 500000 ? 500 : (unsigned)(ns / 1000));
    }
    return 0;
}

/* ---- a recording ----------------------------------------------------------------------------------- */

/* Half of the episodes are recorded: what the lock's ring tells of a task follows upon what it told before, up to the last state. */
struct trace_map *rings;
static _Atomic bool recorded;
static uint64_t events;
static uint8_t told[USF_MAX_TASKS];     /* state of each task, as it was told last */

static void follow(const struct trace_event *ev)
{
    if (ev->kind != TRACE_STATE) return;
    CHECK(ev->task < USF_MAX_TASKS && ev->aux >> 8 <= USF_TASK_GONE);
    unsigned from = ev->aux & 0xff;
    bool first = !told[ev->task];
    if (told[ev->task] != from && !first) fprintf(stderr, "task %u: %u, then from %u to %u\n", ev->task, told[ev->task], from, ev->aux >> 8);
    CHECK(first ? from == USF_TASK_NEW : told[ev->task] == from);
    told[ev->task] = ev->aux >> 8 == USF_TASK_GONE ? 0 : ev->aux >> 8;
}

static bool read_ring(struct trace_ring *r, uint32_t size, bool locked)
{
    static struct trace_event out[512];
    uint64_t wrong = 0;
    uint32_t n = trace_get(r, size, out, 512, &wrong);
    CHECK(!wrong);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(out[i].kind > TRACE_NONE && out[i].kind < TRACE_LOST);
        if (locked) follow(&out[i]);
    }
    events += n;
    return n;
}

static void *recorder(void *arg)
{
    (void)arg;
    for (bool last = false; !last;) {
        last = atomic_load(&recorded);
        while (read_ring(trace_lock_ring(rings), TRACE_LOCK_EVENTS, true)) {}
        for (uint32_t i = 0; i < USF_TASK_CHUNK; i++) read_ring(trace_task_ring(rings, i), TRACE_TASK_EVENTS, false);
        if (!last) usleep(500);
    }
    CHECK(atomic_load(&trace_lock_ring(rings)->lost) == 0);
    for (uint32_t i = 0; i < USF_TASK_CHUNK; i++) CHECK(told[i] == 0);
    return 0;
}

void begin_recording(pthread_t *t)
{
    rings = mmap(NULL, TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(rings != MAP_FAILED);
    memset(told, 0, sizeof told);
    atomic_store(&recorded, false);
    atomic_store(&rings->nr_rings, USF_TASK_CHUNK);
    events = 0;
    CHECK(pthread_create(t, 0, recorder, 0) == 0);
}

void end_recording(pthread_t t)
{
    atomic_store(&recorded, true);
    pthread_join(t, 0);
    CHECK(events > 0);
    munmap(rings, TRACE_SIZE);
    rings = NULL;
}
