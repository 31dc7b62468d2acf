/* src/os/storage.c - files that become shared memory.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/resource.h>

#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int take_stat(long r, const struct stat *st, struct os_stat *out)
{
    if (r < 0) return (int)r;
    *out = (struct os_stat){.dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size,
                            .uid = st->st_uid, .gid = st->st_gid, .mode = st->st_mode};
    return 0;
}

int os_fstat(int fd, struct os_stat *out)
{
    struct stat st;
    return take_stat(usf_syscall(__NR_fstat, fd, &st), &st, out);
}

int os_lstat(const char *path, struct os_stat *out)
{
    struct stat st;
    return take_stat(usf_syscall(__NR_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW), &st, out);
}

long os_pread(int fd, void *buf, size_t n, uint64_t off)
{
    size_t done = 0;
    while (done < n) {
        long got = usf_syscall(__NR_pread64, fd, (char *)buf + done, n - done, off + done);
        if (got == -EINTR) continue;
        if (got < 0) return got;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (long)done;
}

bool os_file_may_be(uint64_t size)
{
    struct rlimit limit;
    return usf_syscall(__NR_getrlimit, RLIMIT_FSIZE, &limit) || size <= limit.rlim_cur;
}

int os_truncate(int fd, uint64_t size)
{
    if (!os_file_may_be(size)) return -EFBIG;
    return (int)usf_syscall(__NR_ftruncate, fd, size);
}
int os_chmod(int fd, unsigned mode) { return (int)usf_syscall(__NR_fchmod, fd, mode); }
int os_chgrp(int fd, uint32_t gid) { return (int)usf_syscall(__NR_fchown, fd, -1, gid); }
int os_unlink(const char *path) { return (int)usf_syscall(__NR_unlinkat, AT_FDCWD, path, 0); }

/* By the descriptor itself where the kernel lets us, which needs no /proc. */
int os_link_fd(int fd, const char *path)
{
    char self[32];
    long r = usf_syscall(__NR_linkat, fd, "", AT_FDCWD, path, AT_EMPTY_PATH);
    if (r == 0 || r == -EEXIST) return (int)r;
    usf_format(self, sizeof self, "/proc/self/fd/%d", fd);
    return (int)usf_syscall(__NR_linkat, AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int os_link(const char *from, const char *to)
{
    return (int)usf_syscall(__NR_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int os_flock(int fd, int kind, uint64_t deadline)
{
    for (;;) {
        long r = usf_syscall(__NR_flock, fd, kind | LOCK_NB);
        if (r != -EWOULDBLOCK && r != -EINTR) return (int)r;
        if (os_now() >= deadline) return -EWOULDBLOCK;
        os_sleep(200000);
    }
}

int os_lock_bytes(int fd, short type, int64_t first, int64_t count)
{
    struct flock l = {.l_type = type, .l_whence = 0, .l_start = first, .l_len = count};
    return (int)usf_syscall(__NR_fcntl, fd, F_OFD_SETLK, &l);
}

bool os_byte_is_read(int fd, int64_t byte)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = 0, .l_start = byte, .l_len = 1};
    return usf_syscall(__NR_fcntl, fd, F_OFD_GETLK, &l) || l.l_type == F_RDLCK;
}

/* A file system without fallocate (ramfs, 9p) gets zeros written, as posix_fallocate does. */
static int write_zeros(int fd, uint64_t off, uint64_t len)
{
    static const char zeros[4096];
    while (len) {
        uint64_t part = len < sizeof zeros ? len : sizeof zeros;
        long put = usf_syscall(__NR_pwrite64, fd, zeros, part, off);
        if (put == -EINTR) continue;
        if (put < 0) return (int)put;
        off += (uint64_t)put;
        len -= (uint64_t)put;
    }
    return 0;
}

int os_allocate(int fd, uint64_t off, uint64_t len)
{
    long r;
    /* tmpfs gives up, and undoes, when a signal is pending */
    do r = usf_syscall(__NR_fallocate, fd, 0, off, len);
    while (r == -EINTR);
    return r == -EOPNOTSUPP || r == -ENOSYS ? write_zeros(fd, off, len) : (int)r;
}

int os_populate(void *p, size_t len)
{
    uintptr_t from = (uintptr_t)p & ~4095ul, to = ((uintptr_t)p + len + 4095) & ~4095ul;
    long r;
    do r = usf_syscall(__NR_madvise, from, to - from, MADV_POPULATE_WRITE);
    while (r == -EINTR || r == -EAGAIN);
    return r == -EFAULT ? -ENOSPC : (int)r;     /* EFAULT: touching would have been a SIGBUS */
}

/* The kernel's record of a directory entry. */
struct entry {
    uint64_t ino, off;
    uint16_t len;
    uint8_t type;
    char name[];
};

int os_list_dir(const char *path, bool (*fn)(const char *name, void *arg), void *arg)
{
    _Alignas(struct entry) char buf[2048];
    long n;
    int fd = os_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) return fd;
    while ((n = usf_syscall(__NR_getdents64, fd, buf, sizeof buf)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const void *)(buf + at);
            at += e->len;
            if (!strcmp(e->name, ".") || !strcmp(e->name, "..")) continue;
            if (!fn(e->name, arg)) {
                os_close(fd);
                return 0;
            }
        }
    os_close(fd);
    return (int)n;
}
