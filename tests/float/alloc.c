/* tests/float/alloc.c [LIBRARY] - threads that allocate, and free what others have allocated.  SPDX-License-Identifier: Apache-2.0
 *
 * An allocator keeps free blocks for each thread, in its thread-local storage, or for each CPU, of which it asks libc or reads restartable
 * sequences.  LIBRARY: it is preloaded, or the test cannot run.  The same passes bare.  Exit status 0, 1 or 77. */
#include <stdint.h>
#include <stdlib.h>

#include "raw.h"
#include "subjects.h"

enum { WORKERS = 4, SLOTS = 64, STEPS = 60, LARGEST = 3000 };

struct block { size_t size; uint64_t pattern; unsigned char at[]; };
static struct { pthread_mutex_t lock; struct block *block[SLOTS]; } shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic long nr_made, nr_freed;

static uint64_t next(uint64_t *seed) { return *seed = *seed * 6364136223846793005u + 1442695040888963407u; }

static struct block *make(uint64_t *seed)
{
    size_t size = next(seed) >> 33;
    size = next(seed) >> 60 ? size % LARGEST : size % (100 * LARGEST);
    struct block *b = next(seed) >> 63 ? malloc(sizeof *b + size) : calloc(1, sizeof *b + size);
    CHECK(b && (uintptr_t)b % 16 == 0);
    b->size = size;
    b->pattern = next(seed);
    memset(b->at, (int)(b->pattern & 255), size);
    nr_made++;
    return b;
}

static void check(const struct block *b)
{
    for (size_t i = 0; i < b->size; i++) CHECK(b->at[i] == (b->pattern & 255));
}

static void check_and_free(struct block *b)
{
    if (!b) return;
    check(b);
    free(b);
    nr_freed++;
}

static struct block *swap(struct block *b, uint64_t where)
{
    pthread_mutex_lock(&shared.lock);
    struct block *was = shared.block[where % SLOTS];
    shared.block[where % SLOTS] = b;
    pthread_mutex_unlock(&shared.lock);
    return was;
}

static struct block *grow(struct block *b, uint64_t more)
{
    size_t size = b->size + more % 1000;
    check(b);
    CHECK((b = realloc(b, sizeof *b + size)));
    memset(b->at + b->size, (int)(b->pattern & 255), size - b->size);
    b->size = size;
    return b;
}

static void *brief(void *arg)
{
    uint64_t seed = (uint64_t)arg;
    for (int i = 0; i < 5; i++) {
        struct block *mine = make(&seed);
        sched_yield();
        check_and_free(swap(mine, next(&seed) >> 32));
    }
    return arg;
}

static void *worker(void *arg)
{
    uint64_t seed = 1 + (uint64_t)arg;
    bool was_away = !floats();
    for (long i = 0; i < STEPS || !was_away; i++) {
        struct block *mine[20];
        for (int k = 0; k < 20; k++) mine[k] = make(&seed);
        mix();
        was_away = was_away || is_away();
        for (int k = 0; k < 20; k++) {
            struct block *other = swap(mine[k], next(&seed) >> 32);
            if (other && next(&seed) >> 62 == 0) other = swap(grow(other, next(&seed) >> 32), next(&seed) >> 32);
            check_and_free(other);
            if (k % 5 == 0) sched_yield();
        }
        if (i % 10 == 0) {
            pthread_t t;
            CHECK(!pthread_create(&t, 0, brief, (void *)(next(&seed) >> 1)));
            mix();
            CHECK(!pthread_join(t, 0));
        }
    }
    return 0;
}

static bool is_loaded(const char *library)
{
    char line[4096];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "re");
    CHECK(f);
    while (fgets(line, sizeof line, f)) found = found || strstr(line, library);
    fclose(f);
    return found;
}

int main(int argc, char **argv)
{
    pthread_t t[WORKERS];
    alarm(100);
    if (argc > 1 && !is_loaded(argv[1])) {
        printf("skipped: %s is not installed\n", argv[1]);
        return 77;
    }
    begin();
    for (long i = 0; i < WORKERS; i++) CHECK(!pthread_create(&t[i], 0, worker, (void *)i));
    for (int i = 0; i < WORKERS; i++) CHECK(!pthread_join(t[i], 0));
    end();
    for (int i = 0; i < SLOTS; i++) check_and_free(shared.block[i]);
    CHECK_EQ(nr_made, nr_freed);
    return 0;
}
