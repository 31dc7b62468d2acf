/* src/shm/presence.c - pid namespaces (containers) that share an instance.  SPDX-License-Identifier: Apache-2.0
 *
 * A process id means something in its own pid namespace only, so each of these has a place in the table of spaces, and a monitor that
 * looks after its processes.  Nobody in a container is left to tell when it ends as a whole; but locks of files mean the same
 * everywhere.  Whoever maps the file does so by an open file that has a read lock on the byte of its space, and a mapping
 * keeps its open file: the kernel drops the lock with the last mapping of the last process of that space that had come by it, be
 * that dead or another program by then.  A process that is stopped, or frozen, keeps it.
 *
 *   - Who gets a write lock on a space's byte knows that nobody of that space is there, and that nobody comes while it has the
 *     lock: it may take off what they have left.
 *   - A place in the table is given under a write lock on one more byte, and to another namespace only under the write lock on its own.
 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>

#define FIRST_BYTE  SHM_SPACE_BYTE
#define TABLE_BYTE  (FIRST_BYTE + USF_MAX_SPACES)
#define AGAIN_NS    200000u

/* Others have such a byte for a moment only.  -ETIMEDOUT: not this time. */
static int await_lock(int fd, short type, int64_t byte)
{
    uint64_t end = os_now() + SHM_LOCK_WAIT_NS;
    for (;;) {
        int r = os_lock_bytes(fd, type, byte, 1);
        if (r != -EAGAIN && r != -EACCES) return r;
        if (os_now() > end) return -ETIMEDOUT;
        os_sleep(AGAIN_NS);
    }
}

static uint64_t ns_word(uint64_t ns) { return ns ? ns : USF_NS_UNKNOWN; }

static bool is_single(const struct usf_header *h)
{
    for (uint32_t i = 1; i < USF_MAX_SPACES; i++)
        if (atomic_load(&h->space[i].ns)) return false;
    return true;
}

bool shm_is_space_of(const struct usf_header *h, uint32_t space, uint64_t ns)
{
    uint64_t is = atomic_load(&h->space[space].ns);
    if (is == ns_word(ns)) return true;
    return (!ns || is == USF_NS_UNKNOWN) && is_single(h);       /* it cannot be told: as if there were no namespaces */
}

uint32_t shm_find_space(const struct usf_header *h, uint64_t ns)
{
    for (uint32_t i = 0; i < USF_MAX_SPACES; i++)
        if (atomic_load(&h->space[i].ns) && shm_is_space_of(h, i, ns)) return i;
    return USF_NONE;
}

/* The lock that says that we are there.  Where there are no such locks, or they are denied, it must not be taken for nobody's. */
static int show_up(int fd, struct usf_header *h, uint32_t space)
{
    int r = await_lock(fd, F_RDLCK, FIRST_BYTE + space);
    if (r == -ETIMEDOUT) return r;
    if (r) atomic_fetch_or(&h->mute, 1u << space);
    return 0;
}

static bool has_records(const struct usf_header *h, uint32_t space)
{
    const struct usf_proc *p = shm_procs(h);
    uint32_t hwm = atomic_load(&h->proc_hwm);
    for (uint32_t i = 0; i < hwm; i++)
        if (atomic_load(&p[i].state) != USF_PROC_FREE && p[i].space == space) return true;
    return false;
}

void shm_end_runs(struct usf_header *h, uint32_t space)
{
    for (uint32_t i = 0; i < h->max_runs; i++) {
        struct usf_run *r = &shm_runs(h)[i];
        uint64_t owner = atomic_load(&r->owner);
        if (!owner || owner >> 32 != space) continue;
        atomic_store(&r->state, 0);
        atomic_store(&r->owner, 0);
    }
}

bool shm_run_is_read(const struct usf_run *r, uint32_t space)
{
    uint64_t owner = atomic_load(&r->owner);
    int32_t pid = (int32_t)owner;
    return pid > 0 && owner >> 32 == space && os_kill(pid, 0) != -ESRCH;
}

/* A place for this namespace: an unused one, or one that its namespace has left.  Nobody else gives places meanwhile.
 * -EAGAIN: all are in use; -EBUSY: one may soon not be. */
static int begin_space(int fd, struct usf_header *h, uint64_t ns, uint32_t *space)
{
    int full = -EAGAIN;
    for (uint32_t i = 0; i < USF_MAX_SPACES; i++) {
        struct usf_space *sp = &h->space[i];
        if (atomic_load(&h->mute) >> i & 1) continue;
        int r = os_lock_bytes(fd, F_WRLCK, FIRST_BYTE + i, 1);
        if (r && r != -EAGAIN && r != -EACCES) return r;
        /* A monitor clears away what that space has left, or another process comes or replaces the instance. */
        if (r && os_byte_is_written(fd, FIRST_BYTE + i)) full = -EBUSY;
        if (r) continue;
        if (has_records(h, i)) {
            full = -EBUSY;
            os_lock_bytes(fd, F_UNLCK, FIRST_BYTE + i, 1);
            continue;
        }
        shm_end_runs(h, i);
        atomic_store(&sp->monitor, 0);
        atomic_store(&sp->object, USF_OBJECT_UNKNOWN);
        atomic_store(&sp->looped, 0);
        atomic_store(&sp->tried, 0);
        atomic_store(&sp->missed.since, 0);
        atomic_store(&sp->ns, ns);
        *space = i;
        return os_lock_bytes(fd, F_RDLCK, FIRST_BYTE + i, 1);
    }
    return full;
}

static int settle(int fd, struct usf_header *h, uint64_t ns, uint32_t *space)
{
    os_lock_bytes(fd, F_UNLCK, FIRST_BYTE, USF_MAX_SPACES);  /* of an abandoned one that cannot be replaced */
    int r = await_lock(fd, F_WRLCK, TABLE_BYTE);
    if (r) return r;
    *space = shm_find_space(h, ns);
    r = *space == USF_NONE ? begin_space(fd, h, ns, space) : show_up(fd, h, *space);
    os_lock_bytes(fd, F_UNLCK, TABLE_BYTE, 1);
    return r;
}

static int refuse_for_now(const char *name, char *why, size_t cap)
{
    usf_format(why, cap, "instance '%s' is being cleared up after a container that has ended, for more than %u s; try again, or choose "
               "another --instance", name, (unsigned)(SHM_LOCK_WAIT_NS / 1000000000u));
    return -ETIMEDOUT;
}

static int refuse(const struct usf_header *h, const char *name, uint64_t ns, int error, char *why, size_t cap)
{
    bool clock = h->pidns >> 32 != ns >> 32;
    int n = usf_format(why, cap, "instance '%s' belongs to another container (pid namespace %u, this is %u); ", name,
                       os_pidns_inode(h->pidns), os_pidns_inode(ns));
    if ((size_t)n >= cap) return error;
    why += n;
    cap -= (size_t)n;
    if (clock) usf_format(why, cap, "choose another --instance here, or give both one time namespace");
    else if (shm_is_shared(name))
        usf_format(why, cap, "choose another --instance here, or give both one pid namespace: users share within one only");
    else if (error == -EAGAIN) usf_format(why, cap, "%u containers share it already: choose another --instance here", USF_MAX_SPACES);
    else if (error != -EXDEV) usf_format(why, cap, "choose another --instance here: its file cannot be locked (error %d)", -error);
    else usf_format(why, cap, "choose another --instance here, or start programs by 'usf run' here, too");
    return -EXDEV;
}

int shm_lock_spaces(int fd) { return os_lock_bytes(fd, F_WRLCK, FIRST_BYTE, USF_MAX_SPACES); }

/* ... and stays so until fd is closed, and what is mapped by it unmapped. */
static bool is_abandoned(int fd, const struct usf_header *h) { return !atomic_load(&h->mute) && shm_lock_spaces(fd) == 0; }

static bool may_settle(const struct usf_header *h, const struct shm_config *c, uint64_t ns)
{
    return c->settle && (!c->only_in || c->only_in == os_pidns_inode(ns)) && !shm_is_shared(c->name) && h->pidns >> 32 == ns >> 32;
}

int shm_enter_space(int fd, const struct shm_config *c, const char *path, bool replace, struct shm *m)
{
    struct usf_header *h = m->h;
    uint64_t ns = m->pidns = os_pidns(), end = os_now() + SHM_LOCK_WAIT_NS;
    for (;; os_sleep(AGAIN_NS)) {
        int r = -EXDEV;
        m->space = shm_find_space(h, ns);
        if (m->space != USF_NONE) r = show_up(fd, h, m->space);
        else if (replace && is_abandoned(fd, h)) return -EOWNERDEAD;
        else if (may_settle(h, c, ns)) r = settle(fd, h, ns, &m->space);
        if (r && !shm_path_names(path, m->dev, m->ino)) return -ESTALE;     /* others have replaced it meanwhile */
        if (r == -EBUSY && os_now() < end) continue;
        if (r == -EBUSY || r == -ETIMEDOUT) return refuse_for_now(c->name, m->why, sizeof m->why);
        if (r) return refuse(h, c->name, ns, r, m->why, sizeof m->why);
        if (shm_is_space_of(h, m->space, ns)) return 0;     /* it is not another's since, nor will be as long as we are there */
        os_lock_bytes(fd, F_UNLCK, FIRST_BYTE + m->space, 1);
    }
}

int shm_enter_first_space(int fd, struct shm *m)
{
    m->space = 0;
    return show_up(fd, m->h, 0);
}

int shm_lock_byte(const struct shm *m, uint64_t at) { return m->fd > 0 ? os_lock_bytes(m->fd, F_WRLCK, (int64_t)at, 1) : -EBADF; }

bool shm_seize_space(const struct shm *m, uint32_t space)
{ return !(atomic_load(&m->h->mute) >> space & 1) && shm_lock_byte(m, FIRST_BYTE + space) == 0; }

void shm_release_space(const struct shm *m, uint32_t space) { os_lock_bytes(m->fd, F_UNLCK, FIRST_BYTE + space, 1); }
