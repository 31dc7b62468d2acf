/* src/tasks/pool.c - memory of task records.  SPDX-License-Identifier: Apache-2.0
 *
 * Records of one size class are carved from chunks.  Each thread keeps up to two batches of free
 * ones per class, so that most creations and destructions touch no lock; batches go through a depot
 * that all threads share.  A thread that creates and one that destroys exchange a batch at a time.
 *
 * A chunk stays mapped until the last shutdown. */
#include <stdlib.h>
#include <sys/mman.h>

#include "tasks/tasks.h"

#define BATCH       32u
#define CHUNK_MIN   (64u << 10)     /* the first of a class; the next are twice as large each, */
#define CHUNK_MAX   (4u << 20)      /* ... up to this, in huge pages where the system has them */
#define UNIT        64u
#define HEAD        offsetof(struct nosv_task, metadata)
#define NR_CLASSES  ((HEAD + NOSV_MAX_METADATA_SIZE + UNIT - 1) / UNIT + 1)

/* Free records, linked by next. */
struct batch { struct nosv_task *head; uint32_t n; };

static struct depot {
    _Alignas(TK_LINE) struct tk_lock lock;
    struct nosv_task *full;     /* batches; their first records are linked by sibling, and their lengths are in seq */
    size_t nr_free;             /* records in them */
    char *carve, *end;          /* what is left of the latest chunk, */
    size_t chunk;               /* ... and its size */
} depots[NR_CLASSES];

struct chunk { struct chunk *next; size_t size; };
static struct { struct tk_lock lock; struct chunk *first; size_t size; } chunks;
static _Atomic uint32_t generation = 1;     /* of all records: those of an earlier one are gone */
static struct tk_lock ending;               /* a thread that ends looks at it, and gives its records back, at once */

/* A thread's own. */
struct cache { uint32_t generation; struct { struct batch now, other; } class[NR_CLASSES]; };
static __thread struct cache *cache __attribute__((tls_model("initial-exec")));
static pthread_key_t cache_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void depot_put(unsigned class, struct batch b)
{
    struct depot *d = &depots[class];
    if (!b.n) return;
    tk_lock(&d->lock);
    b.head->sibling = d->full;
    b.head->seq = b.n;
    d->full = b.head;
    d->nr_free += b.n;
    tk_unlock(&d->lock);
}

static void end_cache(void *arg)
{
    struct cache *c = arg;
    tk_lock(&ending);
    if (c->generation == atomic_load(&generation))
        for (unsigned i = 0; i < NR_CLASSES; i++) {
            depot_put(i, c->class[i].now);
            depot_put(i, c->class[i].other);
        }
    tk_unlock(&ending);
    cache = 0;
    free(c);
}

/* Without a key a thread's free records are lost when it ends. */
static bool has_key;
static void make_key(void) { has_key = pthread_key_create(&cache_key, end_cache) == 0; }

static struct cache *new_cache(void)
{
    pthread_once(&key_once, make_key);
    if (!cache && !(cache = malloc(sizeof *cache))) return 0;
    if (has_key) pthread_setspecific(cache_key, cache);
    *cache = (struct cache){.generation = atomic_load(&generation)};
    return cache;
}

static struct cache *own_cache(void)
{
    struct cache *c = cache;
    if (USF_LIKELY(c && c->generation == atomic_load_explicit(&generation, memory_order_relaxed))) return c;
    return new_cache();
}

/* holds the depot's lock */
static bool new_chunk(struct depot *d, size_t record)
{
    size_t size = !d->chunk ? CHUNK_MIN : d->chunk < CHUNK_MAX ? 2 * d->chunk : CHUNK_MAX;
    if (size < 8 * record) size *= 2;
    struct chunk *c = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED) return false;
    if (size >= CHUNK_MAX) madvise(c, size, MADV_HUGEPAGE);
    d->chunk = size;
    c->size = size;
    tk_lock(&chunks.lock);
    c->next = chunks.first;
    chunks.first = c;
    chunks.size += size;
    tk_unlock(&chunks.lock);
    d->carve = (char *)c + UNIT;
    d->end = (char *)c + size;
    return true;
}

static struct batch depot_get(unsigned class)
{
    struct depot *d = &depots[class];
    struct batch b = {0};
    size_t record = class * UNIT;
    tk_lock(&d->lock);
    if (d->full) {
        b = (struct batch){d->full, (uint32_t)d->full->seq};
        d->full = d->full->sibling;
        d->nr_free -= b.n;
    } else {
        while (b.n < BATCH && ((size_t)(d->end - d->carve) >= record || (!b.n && new_chunk(d, record)))) {
            struct nosv_task *t = (void *)d->carve;
            d->carve += record;
            t->next = b.head;
            t->size_class = (uint16_t)class;
            b.head = t;
            b.n++;
        }
    }
    tk_unlock(&d->lock);
    return b;
}

struct nosv_task *tk_task_alloc(size_t metadata_size)
{
    unsigned class = (unsigned)((HEAD + metadata_size + UNIT - 1) / UNIT);
    struct cache *c = own_cache();
    if (!c) return 0;
    struct batch *now = &c->class[class].now, *other = &c->class[class].other;
    if (USF_UNLIKELY(!now->n)) {
        if (other->n) *now = *other, *other = (struct batch){0};
        else *now = depot_get(class);
        if (!now->n) return 0;
    }
    struct nosv_task *t = now->head;
    now->head = t->next;
    now->n--;
    return t;
}

void tk_task_free(struct nosv_task *t)
{
    struct cache *c = own_cache();
    if (!c) return;
    struct batch *now = &c->class[t->size_class].now, *other = &c->class[t->size_class].other;
    if (USF_UNLIKELY(now->n == BATCH)) {
        if (other->n) depot_put(t->size_class, *other);
        *other = *now;
        *now = (struct batch){0};
    }
    t->next = now->head;
    now->head = t;
    now->n++;
}

/* `unmap`: false in the child of a fork, where handlers of the program's may still look at its
 * tasks. */
void tk_pool_reset(bool unmap)
{
    if (unmap) tk_lock(&ending);
    atomic_fetch_add(&generation, 1);
    for (unsigned i = 0; i < NR_CLASSES; i++) depots[i] = (struct depot){0};
    for (struct chunk *c = chunks.first, *next; unmap && c; c = next) {
        next = c->next;
        munmap(c, c->size);
    }
    chunks.first = 0;
    chunks.size = 0;
    chunks.lock = (struct tk_lock){0};
    if (unmap) tk_unlock(&ending);
    else ending = (struct tk_lock){0};
}

size_t tk_pool_used(void)
{
    size_t free = 0;
    for (unsigned i = 0; i < NR_CLASSES; i++) {
        struct depot *d = &depots[i];
        tk_lock(&d->lock);
        free += d->nr_free * i * UNIT + (size_t)(d->end - d->carve);
        tk_unlock(&d->lock);
    }
    return chunks.size > free ? chunks.size - free : 0;
}
