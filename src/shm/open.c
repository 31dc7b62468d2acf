/* src/shm/open.c - find the instance of a name.  SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define TRIES 100   /* rounds in which others retire, replace and create it */

static int explain_open(int error, const char *path, const char *name, char *why, size_t cap)
{
    struct os_stat st;
    if (error == -ELOOP) {
        usf_format(why, cap, "%s is a symbolic link; remove it, or choose another --instance", path);
        return -EPERM;
    }
    if (error == -EACCES && os_lstat(path, &st) == 0 && st.uid != os_geteuid()) {
        if (shm_is_shared(name))
            usf_format(why, cap, "%s may not be opened: user %u has made it, with another group or mode than it is to have; choose "
                       "another --instance", path, st.uid);
        else
            usf_format(why, cap, "%s belongs to user %u, not to you (user %u); choose another --instance", path, st.uid,
                       os_geteuid());
        return -EPERM;
    }
    if (error == -EISDIR || error == -ENXIO) {
        usf_format(why, cap, "%s is not a regular file; remove it, or choose another --instance", path);
        return -EBADMSG;
    }
    return shm_explain(error, "open", path, why, cap);
}

static int map_checked(int fd, const struct shm_config *c, const char *path, struct shm *m)
{
    struct os_stat st;
    _Alignas(8) char prefix[SHM_PREFIX_SIZE];
    int r = shm_check_file(fd, path, c->name, &st, m->why, sizeof m->why);
    if (r) return r;
    long n = os_pread(fd, prefix, sizeof prefix, 0);
    if (n != (long)sizeof prefix) return shm_explain(n < 0 ? (int)n : -EIO, "read", path, m->why, sizeof m->why);
    r = shm_check_prefix((const struct usf_header *)prefix, path, c->build_id, m->why, sizeof m->why);
    if (r) return r;
    m->size = st.size;
    m->dev = st.dev;
    m->ino = st.ino;
    void *map = shm_map(fd, m->size);
    if (os_is_error(map)) return shm_explain((int)(intptr_t)map, "map", path, m->why, sizeof m->why);
    m->h = map;
    return shm_check_header(m->h, m->size, c->name, path, m->why, sizeof m->why);
}

/* No process is in it, and none of its namespaces is ours.  Where its path cannot be taken away, be
 * it bound into a container by itself or another user's, we take a place in it, or none. */
static int replace_abandoned(int fd, const struct shm_config *c, const char *path, struct shm *m)
{
    int r = shm_discard(fd, path, m->h);
    if (!r || r == -ENOENT || r == -ESTALE) return -ESTALE;
    if (r != -EPERM || !shm_is_shared(c->name)) return sharing_enter(fd, c, path, false, m);
    usf_format(m->why, sizeof m->why,
               "instance '%s' was left behind by a container that has ended; user %u has made it, and can remove it, "
               "or root: 'usf clean'; or choose another --instance", c->name, m->h->uid);
    return r;
}

static int replace_condemned(int fd, const struct shm_config *c, const char *path, struct shm *m)
{
    int r = shm_discard(fd, path, m->h);
    if (!r || r == -ENOENT || r == -ESTALE) return -ESTALE;
    usf_format(m->why, sizeof m->why,
               "instance '%s' is damaged, and its file %s cannot be removed (error %d): remove it, or choose another --instance", c->name, path, -r);
    return r;
}

/* 0; -ENOENT: no such file; -ESTALE: it has just been replaced, look again. */
static int open_existing(const struct shm_config *c, bool create, const char *path, struct shm *m)
{
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd == -ENOENT) return fd;
    if (fd < 0) return explain_open(fd, path, c->name, m->why, sizeof m->why);
    int r = map_checked(fd, c, path, m);
    if (!r && create && shm_is_condemned(m->h)) r = replace_condemned(fd, c, path, m);
    if (!r) r = sharing_enter(fd, c, path, true, m);
    if (r == -EOWNERDEAD) r = replace_abandoned(fd, c, path, m);
    if (!r && atomic_load(&m->h->state) == USF_INST_RETIRED) {
        r = shm_settle_retired(fd, path, create && shm_is_shared(c->name), m);
        if (r == -EPERM && shm_is_shared(c->name))
            usf_format(m->why, sizeof m->why, "instance '%s' has ended; its file is another user's, and will be used again", c->name);
        else if (r && r != -ESTALE) shm_explain(r, "replace", path, m->why, sizeof m->why);
    }
    if (!r && c->keep) m->fd = fd;
    else os_close(fd);
    if (r) shm_close(m);
    return r;
}

int shm_open_instance(const struct shm_config *c, bool create, struct shm *m)
{
    char path[SHM_PATH_MAX];
    const char *dir = shm_dir_or_default(c->dir);
    memset(m, 0, sizeof *m);
    if (!shm_name_is_valid(c->name)) {
        usf_format(m->why, sizeof m->why, "'%s' is not an instance name: 1 to %u letters, digits, '.', '_', '-'%s",
                   c->name, USF_NAME_MAX - 1, "; gGID: or public: before it");
        return -EINVAL;
    }
    if (shm_path(dir, c->name, os_geteuid(), path, sizeof path) < 0) {
        usf_format(m->why, sizeof m->why, "the path of the directory for instances is too long");
        return -ENAMETOOLONG;
    }
    int r = sharing_may_join(c->name, m->why, sizeof m->why);
    if (r) return r;
    usf_format(m->name, sizeof m->name, "%s", c->name);
    for (int i = 0; i < TRIES; i++) {
        r = open_existing(c, create, path, m);
        if (r == -ENOENT && !create) {
            usf_format(m->why, sizeof m->why, "there is no instance '%s' (%s)", c->name, path);
            return r;
        }
        if (r == -ENOENT) {
            r = shm_create(c, dir, path, m);
            if (r == -EEXIST) continue;
            return r;
        }
        if (r != -ESTALE) return r;
    }
    usf_format(m->why, sizeof m->why, "%s keeps being replaced by others; try again", path);
    return -EBUSY;
}

void shm_close(struct shm *m)
{
    if (m->h && m->snapshot) os_unmap(m->h, m->size);
    else if (m->h) shm_unmap(m->h, m->size);
    if (m->fd > 0) os_close(m->fd);
    m->h = NULL;
    m->fd = 0;
    m->size = 0;
}
