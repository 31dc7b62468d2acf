/* src/shm/hold.c - is there a monitor, as seen from another pid namespace?  SPDX-License-Identifier: Apache-2.0
 *
 * A container's pids mean nothing outside of it, but locks of files do: the monitor holds one for as long as it lives, and
 * the kernel drops it with its process.  An instance of another container that nobody holds has been left behind by one
 * that ended, and stands in the way of others. */
#include "internal.h"
#include "os/syscall.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#endif

#define LOOK_NS  20000000u
#define SURE_NS  1500000000u    /* a monitor that was killed is started anew within a second */

static struct flock byte_lock(short type, uint64_t at)
{ return (struct flock){.l_type = type, .l_whence = 0, .l_start = (off_t)at, .l_len = 1}; }

int shm_lock_byte(const struct shm *m, const char *dir, int type, uint64_t at)
{
    char path[SHM_PATH_MAX];
    struct os_stat st;
    struct flock l = byte_lock((short)type, at);
    int r = shm_path(dir, m->name, os_geteuid(), path, sizeof path);
    if (r < 0) return r;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) return fd;
    r = os_fstat(fd, &st);
    if (!r && (st.dev != m->dev || st.ino != m->ino)) r = -ESTALE;
    if (!r) r = (int)usf_syscall(__NR_fcntl, fd, F_OFD_SETLK, &l);
    if (!r) return fd;
    os_close(fd);
    return r;
}

int shm_hold(const struct shm *m, const char *dir) { return shm_lock_byte(m, dir, F_RDLCK, 0); }

static bool is_held(int fd)
{
    struct flock l = byte_lock(F_WRLCK, 0);
    return usf_syscall(__NR_fcntl, fd, F_OFD_GETLK, &l) != 0 || l.l_type != F_UNLCK;    /* unknown: yes */
}

bool shm_is_abandoned(int fd)
{
    uint64_t end = os_now() + SURE_NS;
    while (!is_held(fd)) {
        if (os_now() > end) return true;
        os_sleep(LOOK_NS);
    }
    return false;
}
