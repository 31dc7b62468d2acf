/* src/trace/record.c - the recorder: empties the rings into a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/file.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS     2000000u   /* from one look to the next; half of it each time a ring is found a quarter full, */
#define LEAST_NS      125000u
#define CALIBRATE_NS 10000000u
#define SETTLE_NS     5000000u  /* for events that are being written when the recording ends */
#define ROOM_NS    1000000000u  /* after there was no room for more rings */
#define BATCH        2048u
#define TASK_CHUNK      32u     /* rings made real at a time, */
#define TASK_AHEAD      64u     /* ... and so many for tasks to come */
#define CALL_NS       5000u     /* shorter system calls count as computing */

/* The instance's programs can write over all of the map, so the recorder goes by nothing that it
 * reads there but counts of events. */
struct trace_recorder {
    struct shm *m;
    struct trace_map *map;
    uint32_t gen, nr_rings;
    uint64_t room_at;           /* when to try again to make more rings */
    char path[SHM_PATH_MAX];
    int fd;
    FILE *out;
    uint64_t seen_lost[TRACE_TASKS + 1], homeless, lost, events, pause;
    uint8_t told[USF_MAX_PROCS];    /* process records of which a thread has told */
    uint8_t was[USF_MAX_PROCS];     /* ... and that took part at some time */
    _Atomic bool stop, failed;
    _Atomic bool ending, over;      /* it is to end; another recorder's number is in the header, or none */
    int error;
    pthread_t thread;
    struct trace_event batch[BATCH];
};

bool trace_record_failed(const struct trace_recorder *r)
{ return atomic_load(&((struct trace_recorder *)r)->failed) || atomic_load(&((struct trace_recorder *)r)->over); }

/* ---- the file that is written ---------------------------------------------------------------- */
static bool names(const char *path, const struct stat *st)
{
    struct stat now;
    return stat(path, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

/* 0; -1 with a reason; 1: it is no longer the one at that path. */
static int claim_output(int fd, const char *path, char *why, size_t cap)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return 0;
    if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return snprintf(why, cap, "'%.200s' is being written by another 'usf trace'", path), -1;
    if (!names(path, &st)) return 1;
    if (!ftruncate(fd, 0)) return 0;
    return snprintf(why, cap, "cannot write '%.200s': %s", path, strerror(errno)), -1;
}

#define OPEN_TRIES 4

FILE *trace_open(const char *path, bool anew, bool *made, char *why, size_t cap)
{
    for (int tries = 0; tries < OPEN_TRIES; tries++) {
        int fd = anew ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), r;
        *made = false;
        if (anew || (fd < 0 && errno == ENOENT)) {
            bool last = tries == OPEN_TRIES - 1;        /* a link that leads nowhere is there, and is not */
            fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (anew || !last ? O_EXCL : 0), 0666);
            *made = fd >= 0 && (anew || !last);
            if (fd < 0 && errno == EEXIST && !anew) continue;
        }
        if (fd < 0) break;
        FILE *f = NULL;
        if ((r = claim_output(fd, path, why, cap)) == 0 && (f = fdopen(fd, "w"))) return f;
        close(fd);
        *made = false;          /* another has it */
        if (r < 0) return NULL;
        errno = r ? EBUSY : ENOMEM;
    }
    return snprintf(why, cap, "cannot write '%.200s': %s", path, strerror(errno)), NULL;
}

static void put(struct trace_recorder *r, const void *p, size_t n)
{
    if (atomic_load(&r->failed) || fwrite(p, 1, n, r->out) == n) return;
    r->error = errno ? errno : EIO;
    atomic_store(&r->failed, true);
}

static void put_block(struct trace_recorder *r, uint32_t ring, const struct trace_event *e, uint32_t nr)
{
    struct trace_block b = {ring, nr};
    if (!nr) return;
    put(r, &b, sizeof b);
    put(r, e, nr * sizeof *e);
    r->events += nr;
}

static void tell_lost(struct trace_recorder *r, uint32_t ring, uint64_t nr)
{
    struct trace_event e = {os_now(), TRACE_LOST, 0, ring, nr, 0};
    r->lost += nr;
    put_block(r, TRACE_RECORDER, &e, 1);
}

/* ---- rings ----------------------------------------------------------------------------------- */
static uint32_t nr_tasks(const struct trace_recorder *r)
{
    uint32_t n = atomic_load(&r->m->h->task_hwm);
    return n < USF_MAX_TASKS ? n : USF_MAX_TASKS;
}

/* A limit of the size of files is an error, and not the signal that ends a program. */
static int grow(struct trace_recorder *r, uint64_t off, uint64_t len)
{ return os_file_may_be(off + len) ? os_allocate(r->fd, off, len) : -EFBIG; }

/* Make room for the tasks that there are, and some to come. */
static int extend(struct trace_recorder *r)
{
    uint32_t have = r->nr_rings, want = nr_tasks(r);
    while (want && atomic_load(&shm_tasks(r->m->h)[want - 1].state) == USF_TASK_FREE) want--;
    want += TASK_AHEAD;
    want = (want + TASK_CHUNK - 1) / TASK_CHUNK * TASK_CHUNK;
    if (want > TRACE_TASKS) want = TRACE_TASKS;
    if (want <= have) return 0;
    uint64_t one = TRACE_RING_BYTES(TRACE_TASK_EVENTS);
    int e = grow(r, TRACE_OFF_TASKS + have * one, (want - have) * one);
    if (e) return e;
    r->nr_rings = want;
    atomic_store(&r->map->nr_rings, want);
    return 0;
}

/* No room: tasks without a ring are counted.  An attempt takes all that is left for a moment, so
 * there are not many. */
static void try_to_extend(struct trace_recorder *r)
{
    uint64_t now = os_now();
    if (now >= r->room_at && extend(r)) r->room_at = now + ROOM_NS;
}

/* Whose events these are: what a thread tells itself, that it comes, and that it blocks. */
static void note_processes(struct trace_recorder *r, uint32_t ring, const struct trace_event *e, uint32_t nr)
{
    const struct usf_task *t = shm_tasks(r->m->h);
    for (uint32_t i = 0; i < nr; i++) {
        bool own = ring || e[i].kind == TRACE_THREAD || (e[i].kind == TRACE_STATE && e[i].aux >> 8 == USF_TASK_BLOCKED);
        if (!own || e[i].task >= nr_tasks(r)) continue;
        uint32_t proc = e[i].kind == TRACE_THREAD ? (uint32_t)e[i].b : atomic_load(&((struct usf_task *)t)[e[i].task].proc);
        if (proc < USF_MAX_PROCS) r->told[proc] = 1;
    }
}

/* True: it was a quarter full, or more. */
static bool drain(struct trace_recorder *r, uint32_t ring)
{
    struct trace_ring *g = ring ? trace_task_ring(r->map, ring - 1) : trace_lock_ring(r->map);
    uint32_t size = ring ? TRACE_TASK_EVENTS : TRACE_LOCK_EVENTS, all = 0, n;
    uint64_t lost = atomic_load_explicit(&g->lost, memory_order_relaxed), wrong = 0;
    do {
        n = trace_get(g, size, r->batch, BATCH, &wrong);
        note_processes(r, ring, r->batch, n);
        put_block(r, ring, r->batch, n);
        all += n;
    } while (n == BATCH && all < size);
    if (lost > r->seen_lost[ring]) tell_lost(r, ring, lost - r->seen_lost[ring]);
    if (wrong) tell_lost(r, ring, wrong);
    r->seen_lost[ring] = lost;
    return all >= size / 4;
}

/* Times of one ring that go back by what is put right here are mended when the recording is
 * read. */
static void put_clock_right(struct trace_map *m)
{
    if (!m->mult) return;
    uint64_t a = os_cycles(), now = os_now(), b = os_cycles();
    atomic_store_explicit(&m->offset, now - trace_ns(m, a + (b - a) / 2), memory_order_relaxed);
}

/* The kernel goes by them itself, or gives its guests a clock that does. */
static bool cycles_are_good(void)
{
    char name[32] = "";
    long n = os_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name);
    return n > 0 && (!strncmp(name, "tsc", 3) || !strncmp(name, "kvm-clock", 9));
}

/* The lock's ring last: what it tells of a thread comes after what that thread has told before. */
static void drain_all(struct trace_recorder *r)
{
    uint64_t homeless = atomic_load(&r->map->homeless);
    bool full = false;
    for (uint32_t i = r->nr_rings; i > 0; i--) full |= drain(r, i);
    full |= drain(r, 0);
    if (homeless > r->homeless) tell_lost(r, TRACE_RECORDER, homeless - r->homeless);
    r->homeless = homeless;
    r->pause = full ? r->pause / 2 > LEAST_NS ? r->pause / 2 : LEAST_NS : r->pause * 2 < PAUSE_NS ? r->pause * 2 : PAUSE_NS;
    const struct usf_proc *p = shm_procs(r->m->h);
    for (uint32_t i = 0; i < atomic_load(&r->m->h->proc_hwm) && i < USF_MAX_PROCS; i++)
        if (atomic_load(&p[i].state) == USF_PROC_ACTIVE) r->was[i] = 1;
}

static void *loop(void *arg)
{
    struct trace_recorder *r = arg;
    while (!atomic_load(&r->stop) && !atomic_load(&r->failed)) {
        put_clock_right(r->map);
        try_to_extend(r);
        drain_all(r);
        if (atomic_load(&r->m->h->trace) != r->gen && !atomic_load(&r->ending)) atomic_store(&r->over, true);
        os_sleep(r->pause);
    }
    return NULL;
}

/* ---- begin ----------------------------------------------------------------------------------- */
static uint64_t cycles_per_second(void)
{
    uint64_t ns = os_now(), cycles = os_cycles();
    os_sleep(CALIBRATE_NS);
    uint64_t ns2 = os_now(), cycles2 = os_cycles();
    return (uint64_t)((double)(cycles2 - cycles) * 1e9 / (double)(ns2 - ns));
}

static void put_head(struct trace_recorder *r, const char *command, uint64_t hz)
{
    struct usf_header *h = r->m->h;
    struct trace_head head = {.magic = TRACE_FILE_MAGIC, .version = TRACE_FILE_VERSION, .size = sizeof head, .event_size = sizeof(struct trace_event),
                              .nr_cores = h->nr_cores, .cycles_per_second = hz, .call_ns = CALL_NS};
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    head.start_ns = os_now();
    head.start_real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    snprintf(head.instance, sizeof head.instance, "%s", r->m->name);
    snprintf(head.policy, sizeof head.policy, "%s", h->policy);
    snprintf(head.command, sizeof head.command, "%s", command);
    for (uint32_t i = 0; i < h->nr_cores && i < USF_MAX_CORES; i++) {
        const struct usf_pol_core *c = &shm_cores(h)[i].pol;
        head.cpu[i] = (uint16_t)c->cpu;
        head.node[i] = (uint16_t)c->node;
        head.llc[i] = (uint16_t)c->llc;
    }
    put(r, &head, sizeof head);
}

/* What is there already, as if it had just told. */
static void put_present(struct trace_recorder *r)
{
    struct usf_header *h = r->m->h;
    uint64_t now = os_now();
    for (uint32_t i = 0; i < nr_tasks(r); i++) {
        const struct usf_task *t = &shm_tasks(h)[i];
        uint32_t state = atomic_load(&((struct usf_task *)t)->state), proc = atomic_load(&((struct usf_task *)t)->proc);
        if (state < USF_TASK_READY || state > USF_TASK_BY_KERNEL || proc >= USF_MAX_PROCS) continue;
        const struct usf_proc *p = &shm_procs(h)[proc];
        if (t->pol.group >= atomic_load(&h->group_hwm)) continue;
        const struct usf_pol_group *g = &shm_groups(h)[t->pol.group].pol;
        const struct usf_thread *thread = &shm_threads(h)[t->thread % h->max_tasks];
        struct trace_event e[4] = {{now, TRACE_THREAD, 1, i, (uint32_t)p->pid | (uint64_t)(uint32_t)thread->tid << 32, proc | (uint64_t)USF_NONE << 32},
                                   {now, TRACE_PROCESS, (uint16_t)g->weight, i, 0, 0}, {now, TRACE_NAME, (uint16_t)g->priority, i, 0, 0},
                                   {now, TRACE_STATE, (uint16_t)(state | state << 8), i, atomic_load(&((struct usf_task *)t)->core), 0}};
        memcpy(&e[1].a, p->comm, 16);
        memcpy(&e[2].a, t->name, 16);
        put_block(r, TRACE_RECORDER, e, 4);
    }
}

static void tell_taken(const struct trace_recorder *r, char *why, size_t cap)
{
    struct os_stat st;
    if (os_lstat(r->path, &st) == 0 && st.uid != os_geteuid())
        snprintf(why, cap, "%s belongs to user %u, who can remove it, or root", r->path, st.uid);
    else snprintf(why, cap, "instance '%s' is being recorded already (%s is in use)", r->m->name, r->path);
}

static int make_rings(struct trace_recorder *r, char *why, size_t cap)
{
    int n = trace_path(NULL, r->m->name, os_geteuid(), r->path, sizeof r->path), e = 0;
    if (n < 0) {
        snprintf(why, cap, "instance '%s' is shared with other users: it cannot be recorded", r->m->name);
        return n;
    }
    if (!trace_clean(r->m->h, NULL, r->m->name)) return tell_taken(r, why, cap), -EBUSY;
    r->fd = os_open(SHM_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (r->fd < 0) e = r->fd;
    if (!e) e = os_flock(r->fd, LOCK_EX, 0);    /* before another process can see it, and take it for a dead recorder's */
    if (!e) e = grow(r, 0, TRACE_OFF_TASKS);
    if (!e) {
        r->map = os_map(TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
        if (os_is_error(r->map)) e = (int)(intptr_t)r->map;
    }
    if (!e) e = extend(r);
    if (!e) e = os_link_fd(r->fd, r->path);
    if (e == -EEXIST) tell_taken(r, why, cap);
    else if (e) snprintf(why, cap, "the rings of a recording cannot be made as %s: %s%s", r->path, strerror(-e), e == -EFBIG ? " (ulimit -f)" : "");
    return e;
}

static void drop(struct trace_recorder *r)
{
    if (r->map && !os_is_error(r->map)) os_unmap(r->map, TRACE_SIZE);
    if (r->fd >= 0) os_close(r->fd);
    if (r->out) fclose(r->out);
    free(r);
}

/* All signals are the other thread's. */
static int start_thread(struct trace_recorder *r)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&r->thread, NULL, loop, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -e;
}

/* The rings are there, and the file. */
static int begin(struct trace_recorder *r, const char *command, char *why, size_t cap)
{
    uint64_t hz = cycles_per_second();
    setvbuf(r->out, NULL, _IOFBF, 1u << 20);
    r->gen = (uint32_t)(os_now() >> 10) ^ (uint32_t)os_getpid();
    if (!r->gen) r->gen = 1;
    r->map->magic = TRACE_MAGIC;
    r->map->event_size = sizeof(struct trace_event);
    r->map->call_cycles = (uint64_t)((double)hz * CALL_NS / 1e9);
    r->map->gen = r->gen;
    if (cycles_are_good()) r->map->mult = (uint64_t)(1e9 * 4294967296.0 / (double)hz);
    put_clock_right(r->map);
    put_head(r, command, hz);
    put_present(r);
    /* A number that is there is that of a recorder which has died, or whose file only another
     * container sees: that recording ends here. */
    atomic_store(&r->m->h->trace, r->gen);
    if (!start_thread(r)) return 0;
    atomic_store(&r->m->h->trace, 0);
    snprintf(why, cap, "no thread can be made to record");
    return -1;
}

struct trace_recorder *trace_record(struct shm *m, const char *path, bool anew, const char *command, char *why, size_t cap)
{
    struct trace_recorder *r = calloc(1, sizeof *r);
    bool made;
    if (!r) return snprintf(why, cap, "out of memory"), NULL;
    *r = (struct trace_recorder){.m = m, .fd = -1, .pause = PAUSE_NS};
    if (!strcmp(m->h->policy, "linux")) {
        snprintf(why, cap, "policy linux leaves all to the kernel: there is nothing to record ('perf sched record' can)");
    } else if (!make_rings(r, why, cap)) {
        r->out = trace_open(path, anew, &made, why, cap);
        if (r->out && !begin(r, command, why, cap)) return r;
        if (r->out && made) unlink(path);
        trace_remove(r->fd, r->path);
    }
    drop(r);
    return NULL;
}

int trace_record_end(struct trace_recorder *r, struct trace_tail *out, char *why, size_t cap)
{
    struct trace_tail tail = {0};
    struct trace_block b = {TRACE_TAIL, 1};
    uint32_t gen = r->gen;
    atomic_store(&r->ending, true);
    bool over = !atomic_compare_exchange_strong(&r->m->h->trace, &gen, 0);
    tail.end_ns = os_now();
    os_sleep(SETTLE_NS);
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    drain_all(r);
    trace_remove(r->fd, r->path);
    for (uint32_t i = 0; i < USF_MAX_PROCS; i++) tail.unrecorded += r->was[i] && !r->told[i];
    tail.lost = r->lost;
    tail.events = r->events;
    put(r, &b, sizeof b);
    put(r, &tail, sizeof tail);
    if (!atomic_load(&r->failed) && fflush(r->out)) {
        r->error = errno;
        atomic_store(&r->failed, true);
    }
    int failed = atomic_load(&r->failed);
    if (failed) snprintf(why, cap, "the recording could not be written whole: %s", strerror(r->error));
    else if (over) snprintf(why, cap, "the recording ends early: %s",
                            gen ? "the instance is being recorded from another container" : "another process has ended it");
    drop(r);
    *out = tail;
    return failed || over ? -1 : 0;
}
