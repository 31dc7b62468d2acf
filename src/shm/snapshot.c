/* src/shm/snapshot.c - a private copy of an instance, for tools that look.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read, not mapped: a file that is truncated while it is looked at would otherwise be a SIGBUS. */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static int read_part(int fd, struct usf_header *h, uint64_t off, uint64_t len)
{
    long n = os_pread(fd, (char *)h + off, len, off);
    return n < 0 ? (int)n : (uint64_t)n == len ? 0 : -EBADMSG;
}

static int read_tables(int fd, struct usf_header *h)
{
    int r = read_part(fd, h, h->off_cores, h->nr_cores * sizeof(struct usf_core));
    if (!r) r = read_part(fd, h, h->off_runs, h->max_runs * sizeof(struct usf_run));
    if (!r) r = read_part(fd, h, h->off_procs, atomic_load(&h->proc_hwm) * sizeof(struct usf_proc));
    if (!r) r = read_part(fd, h, h->off_groups, atomic_load(&h->group_hwm) * sizeof(struct usf_group));
    if (!r) r = read_part(fd, h, h->off_threads, atomic_load(&h->task_hwm) * sizeof(struct usf_thread));
    if (!r) r = read_part(fd, h, h->off_tasks, atomic_load(&h->task_hwm) * sizeof(struct usf_task));
    return r;
}

/* Everything into the copy, each part checked before the next is looked for by it. */
static int read_checked(int fd, uint64_t file_size, const char *name, const char *path, struct shm *m)
{
    char what[160], command[80];
    int r = read_part(fd, m->h, 0, sizeof *m->h);
    if (r) return r;
    r = shm_check_prefix(m->h, path, NULL, m->why, sizeof m->why);
    if (!r) r = shm_check_header(m->h, file_size, name, path, m->why, sizeof m->why);
    if (!r) r = read_tables(fd, m->h);
    if (r || shm_tables_are_valid(m->h, what, sizeof what)) return r;
    usf_format(m->why, sizeof m->why, "%s is damaged: %s; run '%s'", path, what,
               shm_clean_command(path, command, sizeof command));
    return -EBADMSG;
}

static int read_all(int fd, const char *name, const char *path, struct shm *m)
{
    struct os_stat st;
    struct shm_layout l;
    char command[80];
    int r = shm_check_file(fd, path, name, &st, m->why, sizeof m->why);
    if (r) return r;
    shm_layout_of(SHM_FULL_SIZES, &l);   /* no valid one is larger */
    void *map = os_map(l.total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (os_is_error(map)) return shm_explain((int)(intptr_t)map, "read", path, m->why, sizeof m->why);
    m->h = map;
    m->size = l.total;
    m->snapshot = true;
    r = read_checked(fd, st.size, name, path, m);
    if (!r || m->why[0]) return r;
    if (r != -EBADMSG) return shm_explain(r, "read", path, m->why, sizeof m->why);
    usf_format(m->why, sizeof m->why, "%s is damaged: truncated; run '%s'", path,
               shm_clean_command(path, command, sizeof command));
    return r;
}

int shm_snapshot(const char *dir, const char *name, struct shm *m)
{
    char path[SHM_PATH_MAX];
    memset(m, 0, sizeof *m);
    if (!shm_name_is_valid(name) || shm_path(dir, name, os_geteuid(), path, sizeof path) < 0) {
        usf_format(m->why, sizeof m->why, "'%s' is not an instance name", name);
        return -EINVAL;
    }
    int fd = os_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd == -ENOENT) usf_format(m->why, sizeof m->why, "there is no instance '%s' (%s)", name, path);
    else if (fd == -ELOOP) usf_format(m->why, sizeof m->why, "%s is a symbolic link; remove it", path);
    else if (fd == -EACCES && !sharing_is_member(name)) sharing_refuse(name, m->why, sizeof m->why);
    else if (fd < 0) shm_explain(fd, "open", path, m->why, sizeof m->why);
    if (fd < 0) return fd == -ELOOP ? -EPERM : fd;
    int r = read_all(fd, name, path, m);
    os_close(fd);
    if (r) shm_close(m);
    return r;
}
