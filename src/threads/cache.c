/* src/threads/cache.c - records, the kept threads, and who may use them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * cache.lock protects the three lists and every record's state, joiner and detached.  It is held
 * for a few dozen instructions, never while calling user code, waiting or creating.  Nothing
 * async-signal-safe takes it.
 */
#include "base/base.h"
#include "os/os.h"
#include "threads/real.h"
#include "threads/record.h"
#include "threads/threads.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct rec_list { struct thread_rec *head; };
struct chunk {
    struct chunk *next;
    struct thread_rec rec[32];
};

static struct {
    pthread_mutex_t lock;
    struct rec_list parked, unjoined;
    struct thread_rec *pool;                 /* single list through `next` */
    struct chunk *_Atomic chunks;            /* all records; read without the lock, only added to */
    _Atomic unsigned parked_count, kept;     /* kept: in either list */
    unsigned max_parked, idle_ms;
    pid_t pid;                               /* whose memory this is: tells a forked child */
    pthread_t main;                          /* the thread whose end ends the process's last user thread */
    _Atomic uint64_t created, reused, left;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER, .max_parked = 256, .idle_ms = 5000 };

__thread struct threads_self threads_self;
struct threads_flags threads_flags;

void cache_lock(void)
{
    usf_lock_wanted(USF_RANK_CACHE);
    pthread_mutex_lock(&cache.lock);
    usf_lock_taken(USF_RANK_CACHE);
}
void cache_unlock(void)
{
    usf_lock_released(USF_RANK_CACHE);
    pthread_mutex_unlock(&cache.lock);
}
bool cache_has_parked(void) { return atomic_load_explicit(&cache.parked_count, memory_order_relaxed) != 0; }
bool cache_is_main(pthread_t th) { return pthread_equal(cache.main, th); }

void cache_adopt_process(void)
{
    cache.pid = os_getpid();                 /* not libc's: a preloaded library's own may be in its place, and allocate memory */
    cache.main = pthread_self();
}

void threads_set_limits(unsigned parked, unsigned idle_ms)
{
    cache.max_parked = parked;
    cache.idle_ms = idle_ms;
}

void threads_get_stats(struct threads_stats *out)
{
    out->created = atomic_load(&cache.created);
    out->reused = atomic_load(&cache.reused);
    out->left = atomic_load(&cache.left);
    out->parked = atomic_load(&cache.parked_count);
}

/* ---- lists.  All hold cache.lock ------------------------------------------------------------- */
static void list_push(struct rec_list *l, struct thread_rec *r)
{
    r->prev = NULL;
    r->next = l->head;
    if (l->head)
        l->head->prev = r;
    l->head = r;
}

static void list_remove(struct rec_list *l, struct thread_rec *r)
{
    if (r->prev)
        r->prev->next = r->next;
    else
        l->head = r->next;
    if (r->next)
        r->next->prev = r->prev;
}

static void count(_Atomic unsigned *counter, int by)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + (unsigned)by, memory_order_relaxed);
}

static void park(struct thread_rec *r)
{
    atomic_store(&r->state, REC_PARKED);
    r->joiner = 0;
    r->detached = true;                      /* if it leaves, no thread will join it */
    list_push(&cache.parked, r);
    count(&cache.parked_count, 1);
    count(&cache.kept, 1);
}

static void unpark(struct thread_rec *r)
{
    list_remove(&cache.parked, r);
    count(&cache.parked_count, -1);
    count(&cache.kept, -1);
}

static void add_unjoined(struct thread_rec *r)
{
    list_push(&cache.unjoined, r);
    count(&cache.kept, 1);
}

static void remove_unjoined(struct thread_rec *r)
{
    list_remove(&cache.unjoined, r);
    count(&cache.kept, -1);
}

/* Wake r to leave.  The post may come under the lock: a waker goes on running. */
static void quit(struct thread_rec *r)
{
    atomic_store(&r->state, REC_QUIT);
    sem_post(&r->wake);
}

/* ---- records --------------------------------------------------------------------------------- */
static bool pool_grow(void)
{
    struct chunk *chunk = mmap(NULL, sizeof *chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return false;
    for (size_t i = 0; i < sizeof chunk->rec / sizeof *chunk->rec; i++) {
        chunk->rec[i].next = cache.pool;
        cache.pool = &chunk->rec[i];
    }
    chunk->next = atomic_load(&cache.chunks);
    atomic_store(&cache.chunks, chunk);
    return true;
}

struct thread_rec *rec_new(void)
{
    cache_lock();
    struct thread_rec *r = NULL;
    if (cache.pool || pool_grow()) {
        r = cache.pool;
        cache.pool = r->next;
        atomic_store(&r->state, REC_RUNNING);
        atomic_store(&r->spent, false);
        atomic_store(&r->unwanted, false);
        r->detached = r->really_detached = false;
        r->joiner = 0;
        r->tid = 0;
        r->creating = true;
        sem_init(&r->wake, 0, 0);
        sem_init(&r->ended, 0, 0);
    }
    cache_unlock();
    return r;
}

void rec_release(struct thread_rec *r)
{
    if (r->creating)                         /* rec_created does it */
        return;
    atomic_store(&r->state, REC_FREE);
    atomic_store(&r->th, 0);
    r->next = cache.pool;
    cache.pool = r;
}

/* Creator and worker both tell who the worker is: the creator so that it can be joined at once, the
 * worker because it may run before.  The creator touches the thread only if the worker was not
 * there yet: later it may be gone. */
void rec_created(struct thread_rec *r, pthread_t th, int err)
{
    cache_lock();
    if (err == 0) {
        atomic_fetch_add_explicit(&cache.created, 1, memory_order_relaxed);
        if (atomic_load(&r->th) == 0) {
            atomic_store(&r->th, th);
            self_of(th)->rec = r;
        }
    }
    r->creating = false;
    if (err != 0 || (atomic_load(&r->state) == REC_LEFT && r->joiner == 0))
        rec_release(r);
    cache_unlock();
}

void rec_born(struct thread_rec *r)
{
    cache_lock();
    atomic_store(&r->th, pthread_self());
    threads_self.rec = r;
    r->tid = (pid_t)REAL(syscall)(SYS_gettid);
    cache_unlock();
}

struct thread_rec *cache_find(pthread_t th)
{
    return th ? self_of(th)->rec : NULL;
}

/* ---- reuse ----------------------------------------------------------------------------------- */
struct thread_rec *cache_take(size_t stack, size_t guard, const struct job *job, const struct inherited *from,
                              bool detached, pthread_t *th)
{
    cache_lock();
    struct thread_rec *r = cache.parked.head;
    while (r && (r->stack != stack || r->guard != guard))
        r = r->next;
    if (r) {
        unpark(r);
        r->job = *job;
        r->from = *from;
        r->detached = detached;
        *th = atomic_load(&r->th);
        atomic_store(&r->state, REC_RUNNING);
        atomic_fetch_add_explicit(&cache.reused, 1, memory_order_relaxed);
    }
    cache_unlock();
    if (r)
        sem_post(&r->wake);
    return r;
}

/* Its user's thread is over and no thread will ask for it any more. */
void cache_recycle(struct thread_rec *r)
{
    remove_unjoined(r);
    park(r);
    if (atomic_load(&cache.parked_count) > cache.max_parked || !cache_usable()) {
        unpark(r);
        quit(r);
    }
}

bool cache_publish(struct thread_rec *r)
{
    bool wake_joiner = false, stay;
    cache_lock();
    stay = cache_usable() && !atomic_load(&r->spent);
    if (stay && r->detached) {
        stay = atomic_load(&cache.parked_count) < cache.max_parked;
        if (stay)
            park(r);
    } else if (stay) {
        atomic_store(&r->state, REC_ENDED);
        add_unjoined(r);
        wake_joiner = r->joiner != 0;
    }
    cache_unlock();
    if (wake_joiner)
        sem_post(&r->ended);
    return stay;
}

static struct timespec idle_deadline(void)
{
    uint64_t at = os_now() + cache.idle_ms * 1000000ull;
    return (struct timespec){.tv_sec = (time_t)(at / 1000000000u), .tv_nsec = (long)(at % 1000000000u)};
}

/* It was not needed for long, or it has been let go: leave.  A thread that ended but was not joined
 * leaves as well, with its result: pthread_join is then libc's.  (So a join that went around us,
 * straight to libc's, returns late rather than never.) */
static void give_up(struct thread_rec *r)
{
    cache_lock();
    if (atomic_load(&r->state) == REC_PARKED) {
        unpark(r);
        atomic_store(&r->state, REC_QUIT);
    } else if (atomic_load(&r->state) == REC_ENDED) {
        remove_unjoined(r);
        atomic_store(&r->state, REC_QUIT);
    }
    cache_unlock();
}

bool cache_next_job(struct thread_rec *r)
{
    struct timespec deadline = idle_deadline();
    for (;;) {
        bool late = sem_clockwait(&r->wake, CLOCK_MONOTONIC, &deadline) != 0 && errno == ETIMEDOUT;
        if (atomic_exchange(&r->unwanted, false) || late)
            give_up(r);
        switch (atomic_load(&r->state)) {
        case REC_RUNNING:
            return true;
        case REC_QUIT:
            atomic_fetch_add_explicit(&cache.left, 1, memory_order_relaxed);
            return false;
        }
    }
}

void cache_leave(struct thread_rec *r)
{
    bool detach;
    cache_lock();
    /* From here the thread is libc's: those who ask find no record. */
    threads_self.rec = NULL;
    detach = !r->really_detached && r->detached;
    atomic_store(&r->state, REC_LEFT);
    if (r->joiner)
        sem_post(&r->ended);                 /* who joins releases the record */
    else
        rec_release(r);
    cache_unlock();
    if (detach)
        REAL(pthread_detach)(pthread_self());
    if (cache_is_main(pthread_self()))
        cache_close();
}

void cache_close(void)
{
    cache_lock();
    atomic_store(&threads_flags.closed, true);
    while (cache.parked.head) {
        struct thread_rec *r = cache.parked.head;
        unpark(r);
        quit(r);
    }
    while (cache.unjoined.head) {
        struct thread_rec *r = cache.unjoined.head;
        remove_unjoined(r);
        quit(r);
    }
    cache_unlock();
}

BARE bool threads_may_be_kept(void)
{
    return atomic_load_explicit(&threads_flags.ready, memory_order_relaxed) == THREADS_READY &&
           (cache_usable() || atomic_load_explicit(&cache.kept, memory_order_relaxed));
}

/* Each of them takes itself off the lists, as at the end of its idle time.  One that gets a job
 * meanwhile may leave after it. */
BARE unsigned threads_let_go(int32_t *tids, unsigned max)
{
    unsigned n = 0;
    for (struct chunk *c = atomic_load(&cache.chunks); c; c = c->next)
        for (size_t i = 0; i < sizeof c->rec / sizeof *c->rec && n < max; i++) {
            struct thread_rec *r = &c->rec[i];
            int state = atomic_load(&r->state);
            if (state != REC_ENDED && state != REC_PARKED)
                continue;
            tids[n++] = r->tid;
            atomic_store(&r->unwanted, true);
            sem_post(&r->wake);              /* async-signal-safe; libc makes a futex call at the most */
        }
    return n;
}

void threads_before_exit(void)
{
    if (!atomic_load_explicit(&threads_flags.on, memory_order_relaxed))
        return;
    if (threads_self.rec)                    /* not from start_thread: cache_leave has not been called */
        cache_leave(threads_self.rec);
    else if (cache_is_main(pthread_self())) {
        atomic_store(&threads_flags.closed, true);      /* none is kept from here on, */
        while (threads_flush())              /* ... as the process's status is that of the thread that ends last */
            ;
    }
}

/* Only the calling thread is left.  The lists may have been copied in the middle of a change: start
 * anew.  libc itself takes back the stacks of the threads that are gone. */
void threads_after_fork(void)
{
    if (cache.pid == 0 || cache.pid == os_getpid())
        return;
    if (fresh_is_impossible())
        atomic_store(&threads_flags.closed, true);
    cache.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    cache.parked.head = cache.unjoined.head = cache.pool = NULL;
    atomic_store(&cache.chunks, NULL);
    atomic_store(&cache.parked_count, 0);
    atomic_store(&cache.kept, 0);
    cache_adopt_process();
    struct thread_rec *r = threads_self.rec;
    if (r) {                                 /* it is the child's first thread: when it ends, so does the process */
        atomic_store(&r->spent, true);
        r->joiner = 0;
    }
}

bool threads_flush(void)
{
    struct thread_rec *r;
    pid_t tids[64];
    int n = 0;
    cache_lock();
    while (n < 64 && (r = cache.parked.head)) {
        tids[n++] = r->tid;
        unpark(r);
        quit(r);
    }
    while (n < 64 && (r = cache.unjoined.head)) {
        tids[n++] = r->tid;
        remove_unjoined(r);
        quit(r);
    }
    cache_unlock();
    for (int tries = 0, i = 0; i < n && tries < 10000; tries++) {
        if (REAL(syscall)(SYS_tgkill, cache.pid, tids[i], 0) != 0)
            i++;
        else
            usleep(100);
    }
    return n != 0;
}
