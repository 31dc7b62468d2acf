/* src/trace/follow.c - a process takes part in a recording, or no longer.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs inside programs (and the monitor): no libc call.  The place of the file in memory is
 * reserved once and never given back, since other threads may be writing there: when a recording
 * ends, nothing but fresh memory of the process's own lies there, in one step of the kernel, and
 * the pages of the file are free again. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "shm/shm.h"
#include "trace/trace.h"

int trace_path(const char *dir, const char *instance, uint32_t uid, char *buf, size_t cap)
{
    if (!shm_name_is_valid(instance) || shm_is_shared(instance)) return -EINVAL;
    int n = usf_format(buf, cap, "%s/.usf-%u-%s" TRACE_SUFFIX, dir ? dir : SHM_DIR, uid, instance);
    return (size_t)n < cap ? n : -ENAMETOOLONG;
}

/* ---- take part ------------------------------------------------------------------------------- */
/* The file of the recording `gen`, anywhere.  Null: it cannot be had. */
static struct trace_map *map(struct sched *s, uint32_t gen)
{
    char path[SHM_PATH_MAX];
    struct os_stat st;
    uint32_t owner = s->h->uid;     /* the program may be another user for the moment */
    if (!s->instance || trace_path(s->shm_dir, s->instance, owner, path, sizeof path) < 0) return 0;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return 0;
    bool ok = os_fstat(fd, &st) == 0 && (st.mode & 0170000) == 0100000 && st.uid == owner && st.size >= TRACE_OFF_TASKS;
    struct trace_map *m = ok ? os_map(TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : 0;
    os_close(fd);
    if (!m || os_is_error(m)) return 0;
    if (m->magic == TRACE_MAGIC && m->gen == gen && m->event_size == sizeof(struct trace_event)) return m;
    os_unmap(m, TRACE_SIZE);
    return 0;
}

/* ... at the place that there is for it, once there is one. */
static struct trace_map *take(struct sched *s, uint32_t gen)
{
    struct trace_map *m = map(s, gen);
    if (!m || !s->trace_place) return m;
    if (!os_move(m, TRACE_SIZE, s->trace_place)) return s->trace_place;
    os_unmap(m, TRACE_SIZE);
    return 0;
}

static bool has_left(const struct sched *s) { return atomic_load(&((struct sched *)s)->leaving) == SCHED_LEFT; }

void trace_follow(struct sched *s)
{
    do {
        uint32_t free = 0;
        if (!atomic_compare_exchange_strong(&s->following, &free, 1)) return;      /* another thread does, and looks again */
        uint32_t gen = has_left(s) ? 0 : atomic_load(&s->h->trace);
        s->trace = NULL;
        if (gen && s->trace_place) s->trace_mapped = true;      /* now: a child may be forked in the middle */
        struct trace_map *m = gen ? take(s, gen) : 0;
        /* Where that cannot be, the last recording's file stays, and no process reads it. */
        if (!m && s->trace_mapped) s->trace_mapped = os_renew(s->trace_place, TRACE_SIZE) != 0;
        if (m) s->trace_place = m, s->trace_mapped = true;
        s->trace = m;
        s->trace_gen = gen;
        atomic_store(&s->following, 0);
    } while (has_left(s) && s->trace_gen);
}

/* ---- what a recorder leaves ------------------------------------------------------------------ */
static bool is_at(int fd, const char *path)
{
    struct os_stat a, b;
    return os_fstat(fd, &a) == 0 && os_lstat(path, &b) == 0 && a.dev == b.dev && a.ino == b.ino && a.uid == os_geteuid();
}

bool trace_remove(int fd, const char *path) { return is_at(fd, path) && os_unlink(path) == 0; }

bool trace_clean(struct usf_header *h, const char *dir, const char *instance)
{
    char path[SHM_PATH_MAX];
    uint32_t gen = h ? atomic_load(&h->trace) : 0;      /* before the file is looked for: a later recorder's number stays */
    if (trace_path(dir, instance, h ? h->uid : os_geteuid(), path, sizeof path) < 0) return true;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd == -ENOENT) return true;
    if (fd < 0) return false;
    bool gone = false;
    if (os_flock(fd, LOCK_EX, 0) == 0) {        /* its recorder has died; but another process may have removed it meanwhile, and this be the next one's */
        if (h && is_at(fd, path)) atomic_compare_exchange_strong(&h->trace, &gen, 0);
        gone = trace_remove(fd, path);
        os_flock(fd, LOCK_UN, 0);
    }
    os_close(fd);
    return gone;
}
