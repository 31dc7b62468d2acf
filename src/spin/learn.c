/* src/spin/learn.c - sites found in earlier runs, by object.  SPDX-License-Identifier: Apache-2.0
 *
 * DIR/spin/KEY is a text file: a line with format and version, then one address per line, relative
 * to the object's base: the pc for which the loop was recognised.  A file is read only if directory
 * and file belong to us and no other user may write them, and what it says is a hint: every address
 * is recognised again before it is patched.  A file is replaced as a whole (written aside,
 * renamed), so that a reader sees an old or a new one; of two writers at once the later wins, and
 * the loser's site is learned again another time.
 *
 * May run in a signal handler; a second caller meanwhile gets -EBUSY. */
#include "spin/internal.h"
#include "gate/gate.h"
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define HEADER      "usf-spin 1\n"
#define MAX_ENTRIES 256
#define MAX_FILE    (sizeof HEADER + MAX_ENTRIES * 17)
#define MAX_PATH    512

static struct {
    uint32_t held;
    unsigned nr;
    uint64_t entry[MAX_ENTRIES];
    char text[MAX_FILE + 1];
} table;

static bool take(void) { return !__atomic_exchange_n(&table.held, 1, __ATOMIC_ACQUIRE); }
static void release(void) { __atomic_store_n(&table.held, 0, __ATOMIC_RELEASE); }
void spin_learn_after_fork(void) { release(); }

/* ---- files ----------------------------------------------------------------------------------- */
static bool is_ours(int fd, unsigned type, unsigned forbidden)
{
    struct stat st;
    return usf_syscall(__NR_fstat, fd, &st) == 0 && (st.st_mode & S_IFMT) == type && !(st.st_mode & forbidden) &&
           st.st_uid == (uid_t)usf_syscall(__NR_geteuid);
}

/* DIR/spin, opened; or -errno.  -EPERM: not ours alone. */
static int open_directory(const char *dir, bool create)
{
    char path[MAX_PATH];
    if (usf_format(path, sizeof path, "%s/spin", dir) >= MAX_PATH) return -ENAMETOOLONG;
    if (create) usf_syscall(__NR_mkdirat, AT_FDCWD, path, 0700);
    int fd = os_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd >= 0 && !is_ours(fd, S_IFDIR, 077)) {
        os_close(fd);
        return -EPERM;
    }
    return fd;
}

/* Named by the build-id; objects without one (those of Python wheels) by what the file is: device,
 * inode, size and time of its last change. */
static int file_name(const struct gate_object *o, char *name, size_t cap)
{
    static const char hex[] = "0123456789abcdef";
    struct stat st;
    size_t n = o->build_id ? o->build_id_len : 0;
    if (n < 8 || 2 * n + 1 > cap) {
        if (!o->path || usf_syscall(__NR_newfstatat, AT_FDCWD, o->path, &st, 0)) return -ENOENT;
        usf_format(name, cap, "file-%lx-%lx-%lx-%lx.%lx", (unsigned long)st.st_dev, (unsigned long)st.st_ino,
                   (unsigned long)st.st_size, (unsigned long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        name[2 * i] = hex[o->build_id[i] >> 4];
        name[2 * i + 1] = hex[o->build_id[i] & 15];
    }
    name[2 * n] = 0;
    return 0;
}

static long read_text(int dirfd, const char *name)
{
    long fd = usf_syscall(__NR_openat, dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0) return fd;
    long n = is_ours((int)fd, S_IFREG, 022) ? usf_syscall(__NR_read, fd, table.text, MAX_FILE) : -EPERM;
    os_close((int)fd);
    table.text[n > 0 ? n : 0] = 0;
    return n;
}

/* Fill the table from the text; anything malformed ends it. */
static void parse(void)
{
    const char *p = table.text;
    table.nr = 0;
    for (const char *h = HEADER; *h; h++, p++)
        if (*p != *h) return;
    while (table.nr < MAX_ENTRIES) {
        uint64_t v = 0;
        int digits = 0;
        for (;; p++, digits++) {
            if (*p >= '0' && *p <= '9') v = v << 4 | (uint64_t)(*p - '0');
            else if (*p >= 'a' && *p <= 'f') v = v << 4 | (uint64_t)(*p - 'a' + 10);
            else break;
        }
        if (!digits || digits > 15 || *p++ != '\n') return;
        table.entry[table.nr++] = v;
    }
}

static int load_entries(const char *dir, const struct gate_object *o)
{
    char name[2 * 64 + 1];
    int e = file_name(o, name, sizeof name), dirfd;
    table.nr = 0;
    if (e || (dirfd = open_directory(dir, false)) < 0) return e ? e : dirfd;
    long n = read_text(dirfd, name);
    os_close(dirfd);
    if (n > 0) parse();
    return n < 0 ? (int)n : 0;
}

static int store_entries(const char *dir, const struct gate_object *o)
{
    char name[2 * 64 + 1], tmp[48];
    int e = os_file_may_be(sizeof table.text) ? file_name(o, name, sizeof name) : -EFBIG;
    if (e) return e;
    int dirfd = open_directory(dir, true);
    if (dirfd < 0) return dirfd;
    int n = usf_format(table.text, sizeof table.text, "%s", HEADER);
    for (unsigned i = 0; i < table.nr; i++)
        n += usf_format(table.text + n, sizeof table.text - (size_t)n, "%lx\n", (unsigned long)table.entry[i]);
    usf_format(tmp, sizeof tmp, ".new-%d-%d", os_getpid(), os_gettid());
    usf_syscall(__NR_unlinkat, dirfd, tmp, 0);   /* of one who was killed here */
    long fd = usf_syscall(__NR_openat, dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    e = (int)fd;
    if (fd >= 0) {
        e = os_write((int)fd, table.text, (size_t)n) == n ? 0 : -EIO;
        os_close((int)fd);
        if (!e) e = (int)usf_syscall(__NR_renameat, dirfd, tmp, dirfd, name);
        if (e) usf_syscall(__NR_unlinkat, dirfd, tmp, 0);
    }
    os_close(dirfd);
    return e;
}

/* ---- learn, apply ---------------------------------------------------------------------------- */
static int learn_held(const char *dir, const struct gate_object *o, uint64_t off)
{
    load_entries(dir, o);        /* none, or none that may be trusted: begin anew */
    for (unsigned i = 0; i < table.nr; i++)
        if (table.entry[i] == off) return 0;
    if (table.nr == MAX_ENTRIES) return -ENOSPC;
    table.entry[table.nr++] = off;
    return store_entries(dir, o);
}

int spin_learn(const char *dir, const struct gate_object *o, const struct spin_loop *l)
{
    if (l->pc < o->text || l->pc >= o->text_end || l->pc < o->base) return -EINVAL;
    if (!take()) return -EBUSY;
    int e = learn_held(dir, o, l->pc - o->base);
    release();
    return e;
}

static bool patch_at(const struct gate_object *o, uintptr_t pc)
{
    uintptr_t start, end;
    struct spin_loop l;
    int patched = 0;
    if (pc < o->text || pc >= o->text_end || !gate_function_bounds(o, pc, &start, &end)) return false;
    /* the tables may be in use by another thread's handler, for microseconds */
    for (int tries = 0; tries < 100; tries++) {
        enum spin_verdict v = spin_recognise_anew((const uint8_t *)start, start, end, pc, &l);
        if (v == SPIN_YES) patched = spin_patch(start, &l);
        if (v != SPIN_BUSY && patched != -SPIN_BUSY - 1) break;
        os_sched_yield();
    }
    return patched > 0;
}

bool spin_is_near_learned(const char *dir, const struct gate_object *o, uintptr_t pc)
{
    bool is = false;
    if (!take()) return false;
    load_entries(dir, o);
    for (unsigned i = 0; i < table.nr && !is; i++) is = o->base + table.entry[i] - pc + SPIN_RADIUS <= 2 * SPIN_RADIUS;
    release();
    return is;
}

int spin_apply_learned(const char *dir, const struct gate_object *o)
{
    int n = 0;
    if (!take()) return 0;
    load_entries(dir, o);
    for (unsigned i = 0; i < table.nr; i++) n += patch_at(o, o->base + table.entry[i]);
    release();
    return n;
}
