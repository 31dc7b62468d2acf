/* tests/sched/race/race.c - episodes: see race.h.  SPDX-License-Identifier: Apache-2.0 */
#include "race.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct episode e;
struct view views[VIEWS + 1];
struct thread threads[THREADS], leavers[LEAVERS];
struct os_cpuset cpus;
struct usf_header *header;
_Atomic bool stop;
_Atomic uint32_t finished;
_Thread_local struct thread *self;
_Thread_local uint64_t point_rng;

/* A thread of a process that is being taken off still counts in its record while that is added up: either may lose some. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race_top:add_counters\nrace_top:remove_task\n"; }

static void dump(void)
{
    fprintf(stderr, "stalled: lock %x, %u ready\n", atomic_load(&header->lock.word), atomic_load(&header->nr_ready));
    for (uint32_t i = 0; i < header->nr_cores; i++) {
        uint64_t w = atomic_load(&views[0].s.cores[i].word);
        fprintf(stderr, "core %u: state %u task %u\n", i, core_state(w), core_task(w));
    }
    for (int i = 0; i < THREADS + LEAVERS; i++) {
        struct thread *t = i < THREADS ? &threads[i] : &leavers[i - THREADS];
        uint32_t id = i < THREADS ? atomic_load(&t->id) : t->self.task;
        fprintf(stderr, "thread %d: done %lu credit %u inbox %u", i, atomic_load(&t->done), atomic_load(&t->credit), atomic_load(&t->inbox));
        if (id != USF_NONE) {
            struct usf_task *r = &views[0].s.tasks[id];
            fprintf(stderr, " task %u state %u park %u pending wake %u core %u", id, atomic_load(&r->state), atomic_load(&sched_thread_of(&views[0].s, id)->park),
                    atomic_load(&r->pending_wake), atomic_load(&r->core));
        }
        fputc('\n', stderr);
    }
}

static void wait_for_all(void)
{
    uint64_t last = 0, since = os_now();
    while (atomic_load(&finished) < THREADS + (stop && e.departures ? LEAVERS : 0)) {
        uint64_t sum = stop;
        for (int i = 0; i < THREADS; i++) sum += atomic_load(&threads[i].done);
        if (sum != last) last = sum, since = os_now();
        bool stalled = os_now() - since > STALL_S * 1000000000ull;
        if (stalled) dump();
        CHECK(!stalled);
        usleep(2000);
    }
}

static void choose(uint64_t seed)
{
    uint64_t r = mix(mix(seed));
    check_seed = seed;
    e = (struct episode){.seed = seed, .cores = 1 + (r >> 1) % 4, .unseen = (r >> 4) % 3 == 0,
                         .strays = (r >> 8) % 2, .exchanges = 40, .handlers = (r >> 12) % 3 ? 16 + (r >> 16) % 100 : 0,
                         .builtin = (const char *const[]){"coop", "coop", "coop", "fifo", "fl", "fl", "gang", "gang"}[(r >> 24) % 8]};
    if ((r >> 32) % 3 == 0) e.policy = liars[(r >> 40) % 3];
    e.departures = (r >> 48) % 3 == 0;
    e.traced = r >> 56 & 1;
    e.lonely = !e.departures && !e.unseen && (r >> 52) % 2;
    printf("seed %lu: %u cores, policy %s%s%s%s%s%s, handlers %u\n", seed, e.cores,
           e.policy ? e.policy->name : e.builtin, e.unseen ? ", cores taken unseen" : "", e.strays ? ", stray wakes" : "",
           e.departures ? ", departures" : "", e.lonely ? ", no monitor" : "", e.traced ? ", recorded" : "", e.handlers);
    fflush(stdout);
}

/* Any number of cores: more than there are CPUs do no harm. */
static void set_cores(uint32_t n)
{
    struct usf_core *cores = shm_cores(header);
    for (uint32_t i = header->nr_cores; i < n; i++) {
        cores[i].pol = cores[i % header->nr_cores].pol;
        cores[i].pol.id = i;
        atomic_fetch_or(&header->idle[0], 1ull << i);
    }
    for (uint32_t i = n; i < header->nr_cores; i++) atomic_fetch_and(&header->idle[0], ~(1ull << i));
    header->nr_cores = n;
}

static void bind_view(struct sched *s, const char *dir)
{
    char why[160];
    memset(s, 0, sizeof *s);
    sched_bind(s, header);
    CHECK(sched_use_policy(s, e.policy, why, sizeof why) == 0, "%s", why);
    s->shm_dir = dir;
    s->trace = rings;
    s->spins = calloc(USF_MAX_TASKS, sizeof *s->spins);
    s->probe = probe;
}

static int open_instance(struct shm *m, const char *dir)
{
    char name[USF_NAME_MAX];
    snprintf(name, sizeof name, "race-%d", getpid());
    struct shm_config c = {.name = name, .dir = dir, .policy = e.policy ? e.policy->name : e.builtin,
                           .policy_path = e.policy ? "a liar" : ""};
    int r = shm_open_instance(&c, true, m);
    if (r) return fprintf(stderr, "%s\n", m->why), r;
    header = m->h;
    CHECK(os_getaffinity(0, &cpus) == 0);
    set_cores(e.cores);
    for (int i = 0; i <= VIEWS; i++) {
        struct view *v = &views[i];
        memset(v, 0, sizeof *v);
        bind_view(&v->s, dir);
        if (i == VIEWS && !e.departures) break;
        if (i < VIEWS) v->s.after_crit = after_crit;
        v->s.remote_pin = i == 0;
        v->s.no_contention = true;      /* S5 holds at each moment */
        v->y.sched = &v->s;
        CHECK(sched_proc_join(&v->s, getpid(), os_start_time(getpid()), "race", &cpus, 0) >= 0);
    }
    return 0;
}

static void start_threads(void)
{
    memset(threads, 0, sizeof threads);
    forget_users();
    finished = 0;
    /* ... or has had no CPU for so long that it counts as unresponsive, which must not happen here */
    header->progress_ns = e.unseen ? 1000000 : UINT64_MAX / 16;
    for (int i = 0; i < THREADS; i++) {
        struct thread *t = &threads[i];
        t->v = &views[i < THREADS / 2 ? i / 2 % VIEWS : (i + i / 2) % VIEWS];  /* pairs within a view, and across */
        t->partner = &threads[i ^ 1];
        t->rng = mix(e.seed * 64 + (unsigned)i);
        t->id = USF_NONE;
        t->checked = !e.unseen;     /* a core is taken only from who asks for it, ... */
        t->sync.sched = &t->self;
        t->self.task = USF_NONE;
    }
    memset(leavers, 0, sizeof leavers);
    for (int i = 0; i < LEAVERS && e.departures; i++) {
        leavers[i].v = &views[VIEWS];
        leavers[i].rng = mix(~e.seed * 64 + (unsigned)i);
        leavers[i].self.task = USF_NONE;
        CHECK(pthread_create(&leavers[i].pthread, 0, run_leaver, &leavers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i].pthread, 0, run_actor, &threads[i]) == 0);
}

static void check_end(void)
{
    for (uint32_t i = 0; i < header->nr_cores; i++) CHECK(core_state(atomic_load(&views[0].s.cores[i].word)) == USF_CORE_IDLE);
    CHECK(atomic_load(&header->nr_ready) == 0);
    CHECK(atomic_load(&header->lock.word) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(atomic_load(&threads[i].done) == e.exchanges);
        CHECK(atomic_load(&threads[i].credit) == 0 && atomic_load(&threads[i].inbox) == 0);
    }
    for (int i = 0; i < VIEWS; i++) {
        CHECK(views[i].sum == 0);
        CHECK(atomic_load(&views[i].box) == atomic_load(&views[i].ops));
        for (unsigned b = 0; b < SYNC_BUCKETS; b++) {
            struct sync_bucket *k = &views[i].y.bucket[b];
            CHECK(!k->head && !k->tail && !atomic_load(&k->count) && !atomic_load(&k->lock));
        }
    }
}

static int episode(uint64_t seed, const char *dir)
{
    struct shm m;
    struct sched watching;
    pthread_t mon, rec;
    choose(seed);
    if (e.traced) begin_recording(&rec);
    if (open_instance(&m, dir)) return 77;
    bind_view(&watching, dir);
    stop = false;
    start_threads();
    if (pthread_create(&mon, 0, run_monitor, &watching)) return 1;
    wait_for_all();
    stop = true;
    wait_for_all();
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i].pthread, 0);
    for (int i = 0; i < LEAVERS && e.departures; i++) pthread_join(leavers[i].pthread, 0);
    pthread_join(mon, 0);
    check_end();
    for (uint32_t i = 0, n = atomic_load(&header->proc_hwm); i < n; i++) sched_proc_remove(&watching, i, false);
    if (e.traced) end_recording(rec);
    CHECK(shm_retire_if_empty(&m, dir));
    shm_close(&m);
    return 0;
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/usf-race-XXXXXX";
    uint64_t seed = argc > 1 ? strtoull(argv[1], 0, 0) : (uint64_t)time(0) * 1000 + (uint64_t)getpid() % 1000;
    uint64_t until = os_now() + (argc > 2 ? strtoull(argv[2], 0, 0) : 10) * 1000000000ull;
    int r;
    setvbuf(stdout, NULL, _IOLBF, 0);    /* a seed is told before what it leads to */
    alarm(100);
    if (!mkdtemp(dir)) return 77;
    do r = episode(seed++, dir);
    while (!r && os_now() < until);
    rmdir(dir);
    return r;
}
