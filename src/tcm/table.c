/* src/tcm/table.c - what the processes of a user ask for.  SPDX-License-Identifier: Apache-2.0
 *
 * /dev/shm/.usf-UID-tcm, one per user: a row for each process, and a lock.  Both mutexes are robust and shared, so the
 * kernel marks them when their owner dies:
 *   lock     guards the rows.  Whoever gets it from a dead owner divides anew: rows are written before shares.
 *   alive    of a row: its process's listener holds it for life.  A row that is used, and whose `alive` can be had, is one of
 *            a process that has ended, killed or not, in whatever pid namespace.
 * The holder of `lock` that changes a share wakes the listener of that row, which waits on `word`.  A process that holds
 * `lock` and is stopped makes the others wait for 20 ms; they go by their last shares then and do not ask for a second. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "tcm/tcm.h"

#define ROWS 128u
#define PATIENCE_NS 20000000u
#define PAUSE_NS 1000000000u

struct tcm_row {
    pthread_mutex_t alive;
    _Atomic uint32_t word;
    uint32_t used;
    struct os_cpuset cpus;
    struct tcm_demand demand;
};

struct table {
    uint64_t magic;             /* written last by its maker */
    pthread_mutex_t lock;
    struct tcm_row row[ROWS];
};
#define MAGIC (UINT64_C(0x7573662d74636d00) + sizeof(struct table))

static struct table *table;
static uint64_t silent_until;   /* the lock was not had.  tcm.lock */

static void make_mutex(pthread_mutex_t *m)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* The file is the caller's and locked by it: it is made, or found whole. */
static struct table *map_table(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)) return NULL;
    if (st.st_size && st.st_size != sizeof(struct table)) return NULL;      /* another version's */
    if (!st.st_size && posix_fallocate(fd, 0, sizeof(struct table)) != 0) {
        (void)!ftruncate(fd, 0);
        return NULL;
    }
    struct table *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (t == MAP_FAILED) return NULL;
    if (t->magic != MAGIC) {
        memset(t, 0, sizeof(*t));
        make_mutex(&t->lock);
        for (uint32_t i = 0; i < ROWS; i++) make_mutex(&t->row[i].alive);
        t->magic = MAGIC;
    }
    return t;
}

static struct table *open_table(void)
{
    char path[64];
    struct table *t = NULL;
    snprintf(path, sizeof(path), "/dev/shm/.usf-%u-tcm", (unsigned)geteuid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return NULL;
    for (int look = 0; look < 20; look++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            t = map_table(fd);
            flock(fd, LOCK_UN);     /* the mapping keeps the open file, and with it the lock */
            break;
        }
        usleep(1000);
    }
    close(fd);
    return t;
}

static bool lock_table(void)
{
    if (silent_until && os_now() < silent_until) return false;
    uint64_t until = os_now() + PATIENCE_NS;
    struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    int r = pthread_mutex_clocklock(&table->lock, CLOCK_MONOTONIC, &at);
    if (r == EOWNERDEAD) r = pthread_mutex_consistent(&table->lock);
    silent_until = r == 0 ? 0 : os_now() + PAUSE_NS;
    return r == 0;
}

/* Is the row's process there?  Else the row is cleared. */
static bool lives(struct tcm_row *row)
{
    int r = pthread_mutex_trylock(&row->alive);
    if (r == EBUSY) return true;
    if (r == EOWNERDEAD) pthread_mutex_consistent(&row->alive);
    row->used = 0;
    pthread_mutex_unlock(&row->alive);
    return false;
}

/* A new word for the row; its process's bit stays. */
static void tell_row(struct tcm_row *row, uint32_t to)
{
    uint32_t is = atomic_load(&row->word);
    do if ((is & ~TCM_POKED) == to) return;
    while (!atomic_compare_exchange_weak(&row->word, &is, (is & TCM_POKED) | to));
    os_futex_wake(&row->word, INT_MAX);
}

/* Divide the CPUs among the processes that live, and tell those whose share has changed.  Holds the table's lock. */
static void divide(void)
{
    struct tcm_asker asker[ROWS];
    uint32_t place[ROWS], n = 0, asking = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        struct tcm_row *row = &table->row[i];
        if (!row->used || !lives(row)) continue;
        asker[n] = (struct tcm_asker){row->cpus, row->demand, 0};
        asking += row->demand.max > 0;
        place[n++] = i;
    }
    tcm_share(asker, n);
    for (uint32_t i = 0; i < n; i++)
        tell_row(&table->row[place[i]], asker[i].give | (asking > (asker[i].demand.max > 0) ? TCM_OTHERS : 0));
}

_Atomic uint32_t *tcm_row_word(struct tcm_row *row) { return &row->word; }

struct tcm_row *tcm_row_claim(const struct os_cpuset *cpus)
{
    struct tcm_row *mine = NULL;
    table = open_table();
    if (!table) return NULL;
    if (lock_table()) {
        for (uint32_t i = 0; i < ROWS && !mine; i++) {
            struct tcm_row *row = &table->row[i];
            if ((row->used && lives(row)) || pthread_mutex_trylock(&row->alive) != 0) continue;
            row->cpus = *cpus;
            row->demand = (struct tcm_demand){0, 0, 0};
            atomic_store(&row->word, 0);
            row->used = 1;
            mine = row;
        }
        if (mine) divide();
        pthread_mutex_unlock(&table->lock);
    }
    if (!mine) {
        munmap(table, sizeof(*table));
        table = NULL;
    }
    return mine;
}

bool tcm_row_set(struct tcm_row *row, const struct tcm_demand *demand)
{
    if (!lock_table()) return false;
    row->demand = *demand;
    divide();
    pthread_mutex_unlock(&table->lock);
    return true;
}

void tcm_row_forget(void)
{
    if (table) munmap(table, sizeof(*table));
    table = NULL;
    silent_until = 0;
}
