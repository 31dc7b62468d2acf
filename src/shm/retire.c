/* src/shm/retire.c - the end of an instance.  SPDX-License-Identifier: Apache-2.0
 *
 * The protocol is described in shm.h.  The file lock excludes others who would unlink or replace
 * the path; joining does not take it. */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

bool shm_path_names(const char *path, uint64_t dev, uint64_t ino)
{
    struct os_stat st;
    return os_lstat(path, &st) == 0 && st.dev == dev && st.ino == ino;
}

/* Closing alone would not do: a mapping of the same open file, or a child forked meanwhile, keeps
 * the lock. */
static void unlock(int fd) { os_flock(fd, LOCK_UN, 0); }

/* RETIRED if no process takes part.  True: it is. */
static bool mark_retired(struct usf_header *h, uint32_t namespace)
{
    uint32_t ready = USF_INST_READY;
    if (shm_nr_members(h, namespace)) return false;    /* spare joiners a needless look at RETIRED */
    if (!atomic_compare_exchange_strong(&h->state, &ready, USF_INST_RETIRED)) return ready == USF_INST_RETIRED;
    USF_POINT("shm.retire.marked");
    if (!shm_nr_members(h, namespace)) return true;
    atomic_store(&h->state, USF_INST_READY);
    return false;
}

bool shm_retire_if_empty(struct shm *m, const char *dir)
{
    struct usf_header *h = m->h;
    char path[SHM_PATH_MAX];
    struct os_stat st;
    bool done = false;
    if (m->snapshot || shm_path(dir, m->name, os_geteuid(), path, sizeof path) < 0) return false;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd == -ENOENT) return mark_retired(h, m->namespace);      /* removed by hand: no newcomer can find it */
    if (fd < 0) return false;
    if (os_fstat(fd, &st) == 0 && (st.dev != m->dev || st.ino != m->ino)) {
        done = mark_retired(h, m->namespace);                     /* removed by hand, and another is in its place */
    } else if (os_flock(fd, LOCK_EX, 0) == 0) {
        done = mark_retired(h, m->namespace);
        /* What another user has made is left (/dev/shm is sticky): the next process that wants the
         * instance takes it as it is. */
        if (done && shm_path_names(path, m->dev, m->ino)) os_unlink(path);
        unlock(fd);
    }
    os_close(fd);
    return done;
}

/* No other process retires or replaces this file meanwhile.  reuse: if it cannot be replaced, being
 * another user's, it is used again; all in it is as in any instance that no process takes part in
 * at the moment. */
static int settle_locked(int fd, const char *path, bool reuse, struct shm *m)
{
    struct usf_header *h = m->h;
    struct os_stat st;
    int r = os_fstat(fd, &st);
    if (r) return r;
    if (!shm_path_names(path, st.dev, st.ino)) return -ESTALE;
    if (atomic_load(&h->state) == USF_INST_READY) return 0;
    if (shm_nr_members(h, m->namespace)) {
        atomic_store(&h->state, USF_INST_READY);    /* the process that retired it died before it saw them */
        return 0;
    }
    r = os_unlink(path);
    if (r == -EBUSY || (reuse && (r == -EPERM || r == -EACCES))) {     /* (what is bound into a container by itself is busy) */
        atomic_store(&h->state, USF_INST_READY);
        return 0;
    }
    return r && r != -ENOENT ? r : -ESTALE;
}

int shm_discard(int fd, const char *path, struct usf_header *h)
{
    struct os_stat st;
    int r = os_flock(fd, LOCK_EX, os_now() + SHM_LOCK_WAIT_NS);
    if (r) return r;
    r = os_fstat(fd, &st);
    atomic_store(&h->state, USF_INST_RETIRED);      /* for processes that have opened it before */
    if (!r && shm_path_names(path, st.dev, st.ino)) r = os_unlink(path);
    if (r && r != -ENOENT && !shm_is_condemned(h)) atomic_store(&h->state, USF_INST_READY);
    unlock(fd);
    return r;
}

void shm_discard_condemned(struct shm *m, const char *dir)
{
    char path[SHM_PATH_MAX];
    if (shm_path(dir, m->name, os_geteuid(), path, sizeof path) < 0) return;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) return;
    shm_discard(fd, path, m->h);
    os_close(fd);
}

int shm_settle_retired(int fd, const char *path, bool reuse, struct shm *m)
{
    int r = os_flock(fd, LOCK_EX, os_now() + SHM_LOCK_WAIT_NS);
    if (r) return r;
    r = settle_locked(fd, path, reuse, m);
    unlock(fd);
    return r;
}
