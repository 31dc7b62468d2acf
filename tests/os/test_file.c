/* tests/os/test_file.c - files.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "os/os.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

static char path[128], other[128];

static void reading(void)
{
    char buf[16];
    EXPECT_EQ(os_read_file(path, buf, sizeof buf), -ENOENT);
    EXPECT_EQ(os_read_file(check_dir, buf, sizeof buf), -EISDIR);
    check_write(check_dir, "f", "0123456789");
    EXPECT_EQ(os_read_file(path, buf, sizeof buf), 10);
    EXPECT(!strcmp(buf, "0123456789"));
    EXPECT_EQ(os_read_file(path, buf, 11), 10);
    memset(buf, '#', sizeof buf);
    EXPECT_EQ(os_read_file(path, buf, 10), -EFBIG);
    EXPECT(!strcmp(buf, "012345678") && buf[10] == '#');
    EXPECT_EQ(os_read_file(path, buf, 0), -EINVAL);
    EXPECT(os_read_file("/proc/self/stat", buf, sizeof buf) == -EFBIG);
}

static void linking(void)
{
    struct os_stat st;
    int fd = os_open(check_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return;                 /* not on this file system */
    EXPECT_EQ(os_write(fd, "hello", 5), 5);
    EXPECT_EQ(os_link_fd(fd, path), -EEXIST);
    EXPECT_EQ(os_link_fd(fd, other), 0);
    EXPECT_EQ(os_lstat(other, &st), 0);
    EXPECT_EQ(st.size, 5);
    EXPECT_EQ(st.uid, geteuid());
    EXPECT_EQ(os_chmod(fd, 0640), 0);
    EXPECT_EQ(os_fstat(fd, &st), 0);
    EXPECT_EQ(st.mode & 07777, 0640);
    EXPECT_EQ(os_unlink(other), 0);
    EXPECT_EQ(os_unlink(other), -ENOENT);
    os_close(fd);
}

static void storage(void)
{
    struct os_stat st;
    char c = 1;
    int fd = os_open(path, O_RDWR | O_CLOEXEC, 0);
    EXPECT_EQ(os_truncate(fd, 1 << 20), 0);
    EXPECT_EQ(os_allocate(fd, 4096, 65536), 0);
    EXPECT_EQ(os_fstat(fd, &st), 0);
    EXPECT_EQ(st.size, 1 << 20);
    EXPECT_EQ(os_pread(fd, &c, 1, 5000), 1);
    EXPECT_EQ(c, 0);
    EXPECT_EQ(os_pread(fd, &c, 1, 1 << 20), 0);
    char *p = os_map(1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(!os_is_error(p));
    int r = os_populate(p + 100000, 10000);
    EXPECT(r == 0 || r == -EINVAL, "%d", r);
    EXPECT_EQ(os_truncate(fd, 4096), 0);
    r = os_populate(p + 100000, 10000);         /* behind the end: a touch would be a SIGBUS */
    EXPECT(r == -ENOSPC || r == -EINVAL, "%d", r);
    EXPECT_EQ(os_unmap(p, 1 << 20), 0);
    EXPECT(os_is_error(os_map(0, PROT_READ, MAP_PRIVATE, -1, 0)));
    os_close(fd);
    EXPECT_EQ(os_close(fd), -EBADF);
}

static unsigned resident(const char *p, size_t len)
{
    unsigned char in[64];
    unsigned n = 0;
    EXPECT(mincore((void *)p, len, in) == 0);
    for (size_t i = 0; i < len / 4096; i++) n += in[i] & 1;
    return n;
}

/* Of the file, then its own; new memory that is locked makes no difference. */
static void renewing(void)
{
    size_t len = 64 * 4096;
    int fd = os_open(path, O_RDWR | O_CLOEXEC, 0);
    EXPECT_EQ(os_truncate(fd, 0), 0);
    EXPECT_EQ(os_truncate(fd, len), 0);
    for (int locked = 0; locked < 2; locked++) {
        char *p = os_map(len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *q = os_map(len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), c = 0;
        EXPECT(!os_is_error(p) && !os_is_error(q));
        p[5] = (char)(7 + locked);
        if (locked && mlockall(MCL_FUTURE)) continue;
        EXPECT_EQ(os_renew(p, len), 0);
        EXPECT_EQ(resident(p, len), 0);
        EXPECT_EQ(p[5], 0);
        p[6] = 1;
        EXPECT_EQ(os_pread(fd, &c, 1, 5), 1);
        EXPECT_EQ(c, 7 + locked);
        EXPECT_EQ(os_move(q, len, p), 0);
        EXPECT_EQ(p[5], 7 + locked);
        EXPECT_EQ(p[6], 0);
        EXPECT(mincore(q, len, (unsigned char[64]){0}) != 0);
        EXPECT_EQ(os_unmap(p, len), 0);
        munlockall();
    }
    EXPECT(os_renew((char *)1, 4096) < 0);
    os_close(fd);
}

static void locks(void)
{
    int fd = os_open(path, O_RDWR | O_CLOEXEC, 0), again = os_open(path, O_RDWR | O_CLOEXEC, 0);
    EXPECT_EQ(os_flock(fd, LOCK_EX, 0), 0);
    EXPECT_EQ(os_flock(again, LOCK_EX, 0), -EWOULDBLOCK);
    uint64_t start = os_now();
    EXPECT_EQ(os_flock(again, LOCK_EX, start + 5000000), -EWOULDBLOCK);
    EXPECT(os_now() - start >= 5000000);
    os_close(fd);
    EXPECT_EQ(os_flock(again, LOCK_EX, 0), 0);
    os_close(again);
}

struct names { int n; bool stop; unsigned sum; };

static bool count(const char *name, void *arg)
{
    struct names *l = arg;
    l->n++;
    l->sum += (unsigned)atoi(name);
    return !l->stop;
}

static void listing(void)
{
    char dir[128], name[32];
    struct names all = {0}, first = {.stop = true};
    snprintf(dir, sizeof dir, "%s/many", check_dir);
    for (int i = 1; i <= 300; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        check_write(check_dir, name, "x");
    }
    EXPECT_EQ(os_list_dir(dir, count, &all), 0);
    EXPECT(all.n == 300 && all.sum == 300 * 301 / 2, "%d %u", all.n, all.sum);
    EXPECT_EQ(os_list_dir(dir, count, &first), 0);
    EXPECT_EQ(first.n, 1);
    EXPECT_EQ(os_list_dir(path, count, &first), -ENOTDIR);
}

int main(void)
{
    check_begin(50);
    check_tempdir();
    snprintf(path, sizeof path, "%s/f", check_dir);
    snprintf(other, sizeof other, "%s/g", check_dir);
    reading();
    linking();
    storage();
    renewing();
    locks();
    listing();
    check_remove();
    return check_end();
}
