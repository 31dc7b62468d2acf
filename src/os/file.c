/* src/os/file.c - files.  SPDX-License-Identifier: Apache-2.0 */
#include "os/os.h"
#include "os/syscall.h"
#include "os/text.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

int os_open(const char *path, int flags, unsigned mode)
{
    long fd;
    do fd = usf_syscall(__NR_openat, AT_FDCWD, path, flags, mode);
    while (fd == -EINTR);
    return (int)fd;
}

/* Not repeated on EINTR: Linux has closed the descriptor by then. */
int os_close(int fd) { return (int)usf_syscall(__NR_close, fd); }

static long read_again(int fd, void *buf, size_t n)
{
    long got;
    do got = usf_syscall(__NR_read, fd, buf, n);
    while (got == -EINTR);
    return got;
}

long os_read_file(const char *path, char *buf, size_t cap)
{
    size_t len = 0;
    long got, over = 0;
    if (!cap) return -EINVAL;
    buf[0] = 0;
    int fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0) return fd;
    while (len < cap - 1 && (got = read_again(fd, buf + len, cap - 1 - len)) != 0) {
        if (got < 0) {
            os_close(fd);
            return got;
        }
        len += (size_t)got;
    }
    buf[len] = 0;
    if (len == cap - 1) {
        char more;
        over = read_again(fd, &more, 1);
    }
    os_close(fd);
    return over > 0 ? -EFBIG : (long)len;
}

long os_write(int fd, const void *buf, size_t n)
{
    size_t done = 0;
    while (done < n) {
        long put = usf_syscall(__NR_write, fd, (const char *)buf + done, n - done);
        if (put == -EINTR) continue;
        if (put < 0) return done ? (long)done : put;
        done += (size_t)put;
    }
    return (long)done;
}

void *os_map(size_t len, int prot, int flags, int fd, uint64_t off)
{
    return (void *)usf_syscall(__NR_mmap, NULL, len, prot, flags, fd, off);
}

void *os_map_at(void *at, size_t len, int prot, int flags, int fd, uint64_t off)
{
    return (void *)usf_syscall(__NR_mmap, at, len, prot, flags, fd, off);
}

uint64_t os_random(void)
{
    uint64_t r;
    if (usf_syscall(__NR_getrandom, &r, sizeof r, 1 /* GRND_NONBLOCK */) != (long)sizeof r) r = os_cycles() * 0x9e3779b97f4a7c15u >> 20;
    return r;
}

int os_unmap(void *p, size_t len) { return (int)usf_syscall(__NR_munmap, p, len); }

int os_move(void *from, size_t len, void *to)
{
    long r = usf_syscall(__NR_mremap, from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    return os_is_error((void *)r) ? (int)r : 0;
}

/* The kernel reads a set of signals from there before it finds that there is nothing to do with
 * it. */
bool os_can_read(const void *p)
{ return usf_syscall(__NR_rt_sigprocmask, -1, p, NULL, 8) == -EINVAL; }

/* What may not be touched is not filled with pages when it is locked; what is mapped at once in its
 * place would be. */
int os_renew(void *at, size_t len)
{
    void *p = os_map(len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (os_is_error(p)) return (int)(intptr_t)p;
    int r = (int)usf_syscall(__NR_munlock, p, len);
    if (!r) r = (int)usf_syscall(__NR_mprotect, p, len, PROT_READ | PROT_WRITE);
    if (!r) r = os_move(p, len, at);
    if (r) os_unmap(p, len);
    return r;
}

bool text_open(struct text_lines *t, const char *path)
{
    t->len = t->pos = 0;
    t->fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    return t->fd >= 0;
}

bool text_next(struct text_lines *t, char *line, int cap)
{
    int n = 0;
    bool any = false;
    for (;;) {
        if (t->pos == t->len) {
            long got = read_again(t->fd, t->buf, sizeof t->buf);
            if (got <= 0) break;
            t->pos = 0;
            t->len = (int)got;
        }
        char c = t->buf[t->pos++];
        any = true;
        if (c == '\n') break;
        if (n < cap - 1) line[n++] = c;
    }
    line[n] = 0;
    return any;
}

void text_close(struct text_lines *t) { os_close(t->fd); }
