/* src/trace/follow.c - a process takes part in a recording, or no longer.  SPDX-License-Identifier: Apache-2.0
 *
 * Runs inside programs (and the monitor): no libc call.  The place of the file in memory is reserved once and never given back, since other
 * threads may be writing there: when a recording ends, nothing but fresh memory of the process's own lies there, in one step of the kernel,
 * and the pages of the file are free again. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "shm/shm.h"
#include "trace/trace.h"

int trace_path(const char *dir, const char *instance, uint32_t uid, char *buf, size_t cap)
{
    if (!shm_name_is_valid(instance) || shm_is_shared(instance)) return -EINVAL;
    int n = usf_format(buf, cap, "%s/.usf-%u-%s.trace", dir ? dir : SHM_DIR, uid, instance);
    return (size_t)n < cap ? n : -ENAMETOOLONG;
}

static void empty(struct trace_map *m)
{
    if (m) os_map_at(m, TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* The file of the recording `gen`, at `at` if that is not null.  Null: it cannot be had. */
static struct trace_map *map(struct sched *s, struct trace_map *at, uint32_t gen)
{
    char path[SHM_PATH_MAX];
    struct os_stat st;
    if (!s->instance || trace_path(s->shm_dir, s->instance, os_geteuid(), path, sizeof path) < 0) return 0;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return 0;
    bool ok = os_fstat(fd, &st) == 0 && (st.mode & 0170000) == 0100000 && st.uid == os_geteuid() && st.size >= TRACE_OFF_TASKS;
    struct trace_map *m = 0;
    if (ok) m = at ? os_map_at(at, TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0)
                   : os_map(TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    os_close(fd);
    if (!m || os_is_error(m)) return 0;
    if (m->magic == TRACE_MAGIC && m->gen == gen && m->event_size == sizeof(struct trace_event)) return m;
    if (at) empty(at);
    else os_unmap(m, TRACE_SIZE);
    return 0;
}

void trace_follow(struct sched *s)
{
    uint32_t free = 0, gen = atomic_load(&s->h->trace);
    if (!atomic_compare_exchange_strong(&s->following, &free, 1)) return;      /* another thread does */
    struct trace_map *place = s->trace_place;
    s->trace = 0;
    if (s->trace_gen) empty(place);
    struct trace_map *m = gen ? map(s, place, gen) : 0;
    if (m) s->trace_place = m;
    s->trace = m;
    s->trace_gen = gen;
    atomic_store(&s->following, 0);
}

bool trace_clean(struct usf_header *h, const char *dir, const char *instance)
{
    char path[SHM_PATH_MAX];
    if (trace_path(dir, instance, os_geteuid(), path, sizeof path) < 0) return true;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd == -ENOENT) {
        if (h) atomic_store(&h->trace, 0);
        return true;
    }
    if (fd < 0) return false;
    bool dead = os_flock(fd, LOCK_EX, 0) == 0;
    if (dead) {
        if (h) atomic_store(&h->trace, 0);
        os_unlink(path);
        os_flock(fd, LOCK_UN, 0);
    }
    os_close(fd);
    return dead;
}
