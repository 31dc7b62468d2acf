/* src/shm/clean.c - remove what cannot be opened.  SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Of processes of other containers we see no more than the locks that they have
 * (sharing/namespaces.c). */
static int remove_locked(const char *path, bool file, char *why, size_t cap)
{
    int fd = file ? os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0) : -EISDIR;
    int r = fd >= 0 ? sharing_lock_namespaces(fd) : 0;
    if (r == -EAGAIN || r == -EACCES) {
        usf_format(why, cap, "%s is in use, by another container as it seems; left alone", path);
        r = -EBUSY;
    } else {
        r = os_unlink(path);
        if (r) shm_explain(r, "remove", path, why, cap);
        else usf_format(why, cap, "%s removed", path);
    }
    if (fd >= 0) os_close(fd);
    return r;
}

int shm_remove_unusable(const char *dir, const char *name, char *why, size_t cap)
{
    char path[SHM_PATH_MAX];
    struct os_stat st;
    int r = shm_name_is_valid(name) ? shm_path(dir, name, os_geteuid(), path, sizeof path) : -EINVAL;
    if (r < 0) return shm_explain(r, "find", name, why, cap);
    r = os_lstat(path, &st);
    if (r) return shm_explain(r, "examine", path, why, cap);
    if (st.uid != os_geteuid() && (os_geteuid() || !shm_is_shared(name))) {
        usf_format(why, cap, "%s belongs to user %u%s; left alone", path, st.uid,
                   shm_is_shared(name) ? ", who can remove it, or root" : "");
        return -EPERM;
    }
    int32_t user = S_ISREG(st.mode) ? os_file_user(st.dev, st.ino) : 0;
    if (user) {
        usf_format(why, cap, "%s is in use by process %d; left alone", path, user);
        return -EBUSY;
    }
    return remove_locked(path, S_ISREG(st.mode), why, cap);
}
