/* src/sharing/namespaces.c - pid namespaces (containers) that share an instance.  SPDX-License-Identifier: Apache-2.0
 *
 * A process id means something in its own pid namespace only.  So each pid namespace has a record
 * (struct usf_namespace), which its processes' records name, and a monitor that looks after its
 * processes.  When a namespace ends as a whole, none of its processes is left to say so.  File
 * locks mean the same everywhere, and tell it:
 *
 *   - Each process maps the file by an open file that has a read lock on the byte of its namespace, the
 *     liveness lock.  A mapping keeps its open file, so the kernel drops the lock with the last mapping
 *     that was made by it, and not before.  Stopped and frozen processes keep it.
 *   - The holder of a write lock on that byte knows that no process of the namespace is alive, and that
 *     none joins while it holds the lock.  It may remove their records.
 *   - A record is given to a namespace under a write lock on the table's byte.  It is given to another
 *     namespace only under the write lock on its own byte, too.
 */
#include "sharing/sharing.h"
#include "base/base.h"
#include "shm/internal.h"
#include <errno.h>
#include <fcntl.h>

#define FIRST_BYTE  SHARING_NAMESPACE_BYTE
#define TABLE_BYTE  (FIRST_BYTE + USF_MAX_NAMESPACES)
#define AGAIN_NS    200000u

/* Others hold such a lock for a moment only.  -ETIMEDOUT: not this time. */
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
    for (uint32_t i = 1; i < USF_MAX_NAMESPACES; i++)
        if (atomic_load(&h->namespace[i].ns)) return false;
    return true;
}

bool sharing_is_namespace(const struct usf_header *h, uint32_t namespace, uint64_t ns)
{
    uint64_t is = atomic_load(&h->namespace[namespace].ns);
    if (is == ns_word(ns)) return true;
    return (!ns || is == USF_NS_UNKNOWN) && is_single(h);   /* unknown: as if there were no namespaces */
}

uint32_t sharing_find_namespace(const struct usf_header *h, uint64_t ns)
{
    for (uint32_t i = 0; i < USF_MAX_NAMESPACES; i++)
        if (atomic_load(&h->namespace[i].ns) && sharing_is_namespace(h, i, ns)) return i;
    return USF_NONE;
}

/* Take the liveness lock.  Where file locks do not exist or are denied, the namespace must not
 * pass for ended. */
static int be_alive(int fd, struct usf_header *h, uint32_t namespace)
{
    int r = await_lock(fd, F_RDLCK, FIRST_BYTE + namespace);
    if (r == -ETIMEDOUT) return r;
    if (r) atomic_fetch_or(&h->liveness_unknown, 1u << namespace);
    return 0;
}

static bool has_records(const struct usf_header *h, uint32_t namespace)
{
    const struct usf_proc *p = shm_procs(h);
    uint32_t hwm = atomic_load(&h->proc_hwm);
    for (uint32_t i = 0; i < hwm; i++)
        if (atomic_load(&p[i].state) != USF_PROC_FREE && p[i].namespace == namespace) return true;
    return false;
}

void sharing_end_runs(struct usf_header *h, uint32_t namespace)
{
    for (uint32_t i = 0; i < h->max_runs; i++) {
        struct usf_run *r = &shm_runs(h)[i];
        uint64_t owner = atomic_load(&r->owner);
        if (!owner || shm_run_namespace(owner) != namespace) continue;
        atomic_store(&r->state, 0);
        atomic_store(&r->owner, 0);
    }
}

/* Give this namespace a record: an unused one, or one whose namespace has ended.  The table's lock
 * is held.
 * -EAGAIN: all are in use; -EBUSY: one may soon not be. */
static int begin_namespace(int fd, struct usf_header *h, uint64_t ns, uint32_t *namespace)
{
    int full = -EAGAIN;
    for (uint32_t i = 0; i < USF_MAX_NAMESPACES; i++) {
        struct usf_namespace *ours = &h->namespace[i];
        if (atomic_load(&h->liveness_unknown) >> i & 1) continue;
        int r = os_lock_bytes(fd, F_WRLCK, FIRST_BYTE + i, 1);
        if (r && r != -EAGAIN && r != -EACCES) return r;
        if (r && !os_byte_is_read(fd, FIRST_BYTE + i)) full = -EBUSY;       /* it is written, or free by now */
        if (r) continue;
        if (has_records(h, i)) {
            full = -EBUSY;
            os_lock_bytes(fd, F_UNLCK, FIRST_BYTE + i, 1);
            continue;
        }
        sharing_end_runs(h, i);
        atomic_store(&ours->monitor, 0);
        atomic_store(&ours->object, USF_OBJECT_UNKNOWN);
        atomic_store(&ours->looped, 0);
        atomic_store(&ours->tried, 0);
        atomic_store(&ours->missed.since, 0);
        atomic_store(&ours->ns, ns);
        *namespace = i;
        return os_lock_bytes(fd, F_RDLCK, FIRST_BYTE + i, 1);
    }
    return full;
}

static int take_record(int fd, struct usf_header *h, uint64_t ns, uint32_t *namespace)
{
    os_lock_bytes(fd, F_UNLCK, FIRST_BYTE, USF_MAX_NAMESPACES);  /* taken by is_abandoned */
    int r = await_lock(fd, F_WRLCK, TABLE_BYTE);
    if (r) return r;
    *namespace = sharing_find_namespace(h, ns);
    r = *namespace == USF_NONE ? begin_namespace(fd, h, ns, namespace) : be_alive(fd, h, *namespace);
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
    else if (error == -EAGAIN) usf_format(why, cap, "%u containers share it already: choose another --instance here", USF_MAX_NAMESPACES);
    else if (error != -EXDEV) usf_format(why, cap, "choose another --instance here: its file cannot be locked (error %d)", -error);
    else usf_format(why, cap, "choose another --instance here, or start programs by 'usf run' here, too");
    return -EXDEV;
}

int sharing_lock_namespaces(int fd) { return os_lock_bytes(fd, F_WRLCK, FIRST_BYTE, USF_MAX_NAMESPACES); }

/* ... and stays so until fd is closed, and what is mapped by it unmapped. */
static bool is_abandoned(int fd, const struct usf_header *h)
{ return !atomic_load(&h->liveness_unknown) && sharing_lock_namespaces(fd) == 0; }

static bool may_take_record(const struct usf_header *h, const struct shm_config *c, uint64_t ns)
{
    return c->settle && (!c->only_in || c->only_in == os_pidns_inode(ns)) && !shm_is_shared(c->name) && h->pidns >> 32 == ns >> 32;
}

int sharing_enter(int fd, const struct shm_config *c, const char *path, bool replace, struct shm *m)
{
    struct usf_header *h = m->h;
    uint64_t ns = m->pidns = os_pidns(), end = os_now() + SHM_LOCK_WAIT_NS;
    for (;; os_sleep(AGAIN_NS)) {
        int r = -EXDEV;
        m->namespace = sharing_find_namespace(h, ns);
        if (m->namespace != USF_NONE) r = be_alive(fd, h, m->namespace);
        else if (replace && is_abandoned(fd, h)) return -EOWNERDEAD;
        else if (may_take_record(h, c, ns)) r = take_record(fd, h, ns, &m->namespace);
        if (r && !shm_path_names(path, m->dev, m->ino)) return -ESTALE;     /* replaced meanwhile */
        if (r == -EBUSY && os_now() < end) continue;
        if (r == -EBUSY || r == -ETIMEDOUT) return refuse_for_now(c->name, m->why, sizeof m->why);
        if (r) return refuse(h, c->name, ns, r, m->why, sizeof m->why);
        if (sharing_is_namespace(h, m->namespace, ns)) return 0;    /* our lock keeps it from now on */
        os_lock_bytes(fd, F_UNLCK, FIRST_BYTE + m->namespace, 1);
    }
}

int sharing_enter_first(int fd, struct shm *m)
{
    m->namespace = 0;
    return be_alive(fd, m->h, 0);
}

int sharing_lock_byte(const struct shm *m, uint64_t at)
{ return m->fd > 0 ? os_lock_bytes(m->fd, F_WRLCK, (int64_t)at, 1) : -EBADF; }

bool sharing_seize_namespace(const struct shm *m, uint32_t namespace)
{ return !(atomic_load(&m->h->liveness_unknown) >> namespace & 1) && sharing_lock_byte(m, FIRST_BYTE + namespace) == 0; }

void sharing_release_namespace(const struct shm *m, uint32_t namespace)
{ os_lock_bytes(m->fd, F_UNLCK, FIRST_BYTE + namespace, 1); }

uint64_t shm_run_owner(uint32_t namespace, int32_t pid)
{ return (uint32_t)pid | (uint64_t)(uint16_t)namespace << 32 | (uint64_t)(uint16_t)os_start_time(pid) << 48; }

bool shm_run_is_read(const struct usf_run *r, uint32_t namespace)
{
    uint64_t owner = atomic_load(&r->owner);
    int32_t pid = (int32_t)owner;
    if (pid <= 0 || shm_run_namespace(owner) != namespace || os_kill(pid, 0) == -ESRCH) return false;
    uint16_t is = (uint16_t)os_start_time(pid), was = (uint16_t)(owner >> 48);
    return !is || !was || is == was;    /* 0: /proc does not tell */
}
