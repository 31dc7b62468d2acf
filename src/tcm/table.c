/* src/tcm/table.c - what the processes of a user ask for.  SPDX-License-Identifier: Apache-2.0
 *
 * /dev/shm/.usf-UID-INSTANCE.tcm: a row for each process of the instance, and a lock.  Both mutexes
 * are robust and shared, so the kernel marks them when their owner dies:
 *   lock     guards the rows.  A process that gets it from a dead owner divides anew: rows are
 *            written before shares.
 *   alive    of a row: its process's listener holds it for life.  A row that is used, and whose
 *            `alive` can be had, is one of a process that has ended, killed or not, in whatever pid
 *            namespace.
 * The holder of `lock` that changes a share wakes the listener of that row, which waits on `word`.
 * A process that holds `lock` and is stopped makes the others wait for 20 ms; they go by their last
 * shares then and do not ask for a second.  A process that has no row divides its own CPUs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    pthread_mutex_t lock;
    struct tcm_row row[ROWS];
};

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

/* A lock of one byte of the open file: F_WRLCK, F_RDLCK or F_UNLCK.  Does not wait. */
static bool lock_byte(int fd, off_t byte, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

static void make_table(struct table *t)
{
    memset(t, 0, sizeof(*t));
    make_mutex(&t->lock);
    for (uint32_t i = 0; i < ROWS; i++) make_mutex(&t->row[i].alive);
}

/* A process that maps the file has a read lock of its second byte, which the mapping keeps until it
 * ends.  A process that gets a write lock there is alone, and begins with an empty table, whatever
 * was in the file.  The first byte is locked meanwhile. */
static struct table *map_table(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) || !st.st_nlink) return NULL;
    bool first = lock_byte(fd, 1, F_WRLCK);
    /* The pages are made real: where /dev/shm is full, a write would be a SIGBUS. */
    if (first && (ftruncate(fd, sizeof(struct table)) != 0 || posix_fallocate(fd, 0, sizeof(struct table)) != 0)) {
        (void)!ftruncate(fd, 0);
        return NULL;
    }
    if (!first && st.st_size != sizeof(struct table)) return NULL;          /* another version's */
    struct table *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (t == MAP_FAILED) return NULL;
    if (first) make_table(t);
    if (lock_byte(fd, 1, F_RDLCK)) return t;
    munmap(t, sizeof(*t));
    return NULL;
}

static void path_of_table(char *path, size_t size)
{
    const char *name = secure_getenv("USF_INSTANCE");
    if (!name || !*name || strchr(name, '/') || strlen(name) > NAME_MAX / 2) name = "default";
    snprintf(path, size, "/dev/shm/.usf-%u-%s.tcm", (unsigned)geteuid(), name);
}

static struct table *open_table(void)
{
    char path[NAME_MAX];
    struct table *t = NULL;
    path_of_table(path, sizeof(path));
    for (int look = 0; look < 20 && !t; look++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0) return NULL;
        bool locked = lock_byte(fd, 0, F_WRLCK);
        if (locked) t = map_table(fd);
        if (locked) lock_byte(fd, 0, F_UNLCK);
        close(fd);
        if (!t) usleep(1000);       /* another process begins, or has removed the file */
    }
    return t;
}

static bool lock_table(void)
{
    if (silent_until && os_now() < silent_until) return false;
    uint64_t until = os_now() + PATIENCE_NS;
    int r;
    for (int look = 0; (r = pthread_mutex_trylock(&table->lock)) == EBUSY && os_now() < until; look++) {
        if (look < 100) os_pause();
        else usleep(50);
    }
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

/* Divide the CPUs among the processes that live, and tell those whose share has changed.  Holds the
 * table's lock. */
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
            if (lives(row) || pthread_mutex_trylock(&row->alive) != 0) continue;
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
