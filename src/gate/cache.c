/* src/gate/cache.c - sites by build-id, so that a start costs a lookup and no decoding.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One file per object: a header and its records as scan.h defines them.  An entry is used only if
 * the directory and the file belong to us and no other user may write them, the layout of the
 * object's text is the same, and each record's bytes are those in memory.  What cannot be read or
 * written is scanned anew. */
#include "gate/internal.h"

#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#define MAGIC   0x3165746167667375ull   /* "usfgate1" */
#define VERSION 1u                      /* of struct gate_rec and of what the scanner decides */
#define MAX_SITES (1u << 20)

struct header {
    uint64_t magic;
    uint32_t version, nr;
    uint64_t text, text_len, eh_hdr;    /* layout of the object */
    uint64_t sum;                       /* over all that follows and the fields above */
};

static char dir[GATE_DIR_MAX];

/* ---- directory ------------------------------------------------------------------------------- */
static bool is_ours(const struct stat *st, unsigned type, unsigned forbidden)
{
    return (st->st_mode & S_IFMT) == type && !(st->st_mode & forbidden) && st->st_uid == (uid_t)usf_syscall(__NR_geteuid);
}

static bool ours(int fd, unsigned type, unsigned forbidden)
{
    struct stat st;
    return usf_syscall(__NR_fstat, fd, &st) == 0 && is_ours(&st, type, forbidden);
}

static const char missing[] = "does not exist";

/* The files there say where the code of programs is patched.  Others must not write them, nor read
 * which programs the user runs. */
static const char *flaw(const char *path)
{
    struct stat st;
    if (path[0] != '/') return "is not an absolute path";
    if (strlen(path) >= GATE_DIR_MAX) return "is longer than 255 bytes";
    long err = usf_syscall(__NR_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
    if (err == -ENOENT) return missing;
    if (err == -EACCES) return "is in a directory that may not be searched";
    if (err) return "cannot be looked at";
    if (S_ISLNK(st.st_mode)) return "is a symbolic link";
    if (!S_ISDIR(st.st_mode)) return "is not a directory";
    if (st.st_uid != (uid_t)usf_syscall(__NR_geteuid)) return "belongs to another user";
    if ((st.st_mode & 0700) != 0700) return "may not be used (chmod 700 would change that)";
    return st.st_mode & 077 ? "is open to other users (chmod 700 would make it private)" : NULL;
}

const char *gate_cache_flaw(const char *path)
{
    const char *why = flaw(path);
    return why == missing ? NULL : why;
}

void gate_cache_init(const char *path)
{
    dir[0] = 0;
    if (!path) return;
    const char *why = flaw(path);
    if (why && why != missing) return;
    usf_format(dir, sizeof dir, "%s", path);
    if (!why) return;
    for (char *p = dir + 1;; p++) {     /* make it and its parents */
        char c = *p;
        if (c && c != '/') continue;
        *p = 0;
        usf_syscall(__NR_mkdirat, AT_FDCWD, dir, 0700);
        *p = c;
        if (!c) break;
    }
    if (flaw(dir)) dir[0] = 0;
}

bool gate_has_cache(void) { return dir[0]; }

/* ---- keys ------------------------------------------------------------------------------------ */
static void add_bytes(struct gate_key *k, const void *p, unsigned n)
{
    for (unsigned i = 0; i < n && k->len < GATE_KEY_MAX; i++) k->bytes[k->len++] = ((const uint8_t *)p)[i];
}

/* Without a build-id, the file's identity: device, inode, size and time of its last change. */
void gate_cache_key(struct gate_key *k, const uint8_t *build_id, unsigned len, const char *path)
{
    struct stat st;
    k->len = 0;
    if (!dir[0]) return;
    if (len >= 8) {
        add_bytes(k, "b", 1);
        add_bytes(k, build_id, len);
    } else if (usf_syscall(__NR_newfstatat, AT_FDCWD, path, &st, 0) == 0) {
        add_bytes(k, "f", 1);
        add_bytes(k, &st.st_dev, 8);
        add_bytes(k, &st.st_ino, 8);
        add_bytes(k, &st.st_size, 8);
        add_bytes(k, &st.st_ctim, 16);
    }
}

static void file_name(char *buf, size_t cap, const struct gate_key *k, const char *suffix)
{
    int n = usf_format(buf, cap, "%s/", dir);
    for (unsigned i = 0; i < k->len; i++) n += usf_format(buf + n, cap - (size_t)n, "%02x", k->bytes[i]);
    usf_format(buf + n, cap - (size_t)n, "%s", suffix);
}

/* ---- entries --------------------------------------------------------------------------------- */
uint64_t gate_hash(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i < n / 8; i++) {
        h = (h ^ ((const uint64_t *)p)[i]) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    }
    return h;
}

static uint64_t checksum(const struct header *h, const struct gate_rec *rec)
{
    _Static_assert(sizeof(struct gate_rec) % 8 == 0 && offsetof(struct header, sum) % 8 == 0, "hashed by words");
    return gate_hash(gate_hash(MAGIC, h, offsetof(struct header, sum)), rec, h->nr * sizeof *rec);
}

static void describe(struct header *h, const struct gate_image *im, uint32_t nr)
{
    *h = (struct header){.magic = MAGIC, .version = VERSION, .nr = nr, .eh_hdr = im->eh_hdr};
    for (unsigned i = 0; i < im->nr_segs; i++)
        if (im->seg[i].exec) {
            if (!h->text_len) h->text = im->seg[i].addr;
            h->text_len += im->seg[i].len;
        }
}

static bool read_all(int fd, void *buf, size_t n)
{
    for (size_t done = 0; done < n;) {
        long got = usf_syscall(__NR_read, fd, (char *)buf + done, n - done);
        if (got == -EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static bool load(int fd, const struct gate_image *im, struct gate_list *l)
{
    struct header want, h;
    if (!ours(fd, S_IFREG, 022) || !read_all(fd, &h, sizeof h) || h.nr > MAX_SITES) return false;
    describe(&want, im, h.nr);
    want.sum = h.sum;
    for (size_t i = 0; i < sizeof h / 8; i++)
        if (((uint64_t *)&h)[i] != ((uint64_t *)&want)[i]) return false;
    if (h.nr) {
        l->rec = os_map(h.nr * sizeof *l->rec, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if ((uintptr_t)l->rec > -4096ul) return false;
        l->cap = l->nr = h.nr;
        if (!read_all(fd, l->rec, h.nr * sizeof *l->rec)) return false;
    }
    if (checksum(&h, l->rec) != h.sum) return false;
    for (uint32_t i = 0; i < l->nr; i++)
        if (gate_to_patch(im, &l->rec[i]) && !gate_rec_matches(im, &l->rec[i])) return false;
    return true;
}

static int open_entry(const struct gate_key *k, const char *suffix)
{
    char name[GATE_NAME_MAX];
    if (!k->len) return -ENOENT;
    file_name(name, sizeof name, k, suffix);
    return os_open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
}

static bool draft(struct gate_draft *d, const struct gate_key *k)
{
    char end[32];
    usf_format(end, sizeof end, ".%d.new", os_getpid());
    file_name(d->name, sizeof d->name, k, "");
    file_name(d->temp, sizeof d->temp, k, end);
    d->fd = os_open(d->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return d->fd >= 0;
}

static void settle(struct gate_draft *d, bool good)
{
    os_close(d->fd);
    if (!good || usf_syscall(__NR_renameat2, AT_FDCWD, d->temp, AT_FDCWD, d->name, 0))
        usf_syscall(__NR_unlinkat, AT_FDCWD, d->temp, 0);
}

bool gate_cache_get(const struct gate_key *k, const struct gate_image *im, struct gate_list *l)
{
    int fd = open_entry(k, "");
    if (fd < 0) return false;
    bool ok = load(fd, im, l);
    os_close(fd);
    if (!ok) gate_list_free(l);
    return ok;
}

void gate_cache_put(const struct gate_key *k, const struct gate_image *im, const struct gate_list *l)
{
    struct gate_draft d;
    struct header h;
    size_t len = l->nr * sizeof *l->rec;
    if (!k->len || !os_file_may_be(sizeof h + len)) return;
    describe(&h, im, l->nr);
    h.sum = checksum(&h, l->rec);
    if (!draft(&d, k)) return;
    settle(&d, os_write(d.fd, &h, sizeof h) == (long)sizeof h && os_write(d.fd, l->rec, len) == (long)len);
}

/* ---- copies of code -----------------------------------------------------------------------------
 * A draft's name is fixed, and the process that has it locked makes the copy, so that many first
 * starts make one.  Only the owner of the lock that finds the file still under that name may write
 * to it, rename or unlink it: what a killed maker leaves is used by the next. */
#define CODE     ".code"
#define DRAFT    ".new"
#define MAX_COPIES 8u               /* of one object: containers see the same one as different files */
#define USED_S   3600               /* a copy's use is noted this often */
#define IDLE_S   (2 * USED_S)       /* may go when there are too many */
#define OLD_S    (30 * 86400)       /* goes anyway */
#define FAILED_S 600                /* an empty file stands for a failure (no space ...) for so long */
#define LEFT_S   3600               /* a draft's maker has been killed */

static int64_t now_s(void) { return (int64_t)(os_clock_ns(CLOCK_REALTIME) / 1000000000u); }

/* Local ones.  On those that others can change beside this kernel (NFS, FUSE ...) the name's
 * removal elsewhere takes the pages away from programs that run them. */
bool gate_copy_is_safe(void)
{
    static const uint32_t local[] = {
        0xef53 /* ext */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */, 0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */,
        0x794c7630 /* overlay */, 0xf2f52010 /* f2fs */, 0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */, 0x3153464a /* jfs */,
    };
    struct statfs fs = {0};
    if (usf_syscall(__NR_statfs, dir, &fs)) return false;
    for (unsigned i = 0; i < sizeof local / sizeof *local; i++)
        if ((uint32_t)fs.f_type == local[i]) return true;
    usf_say("gate: no shared code: the file system of %s (%lx) is not known to be this machine's alone", dir, (unsigned long)fs.f_type);
    return false;
}

static void code_suffix(char *buf, size_t cap, uint64_t sum, const char *end)
{
    usf_format(buf, cap, ".%016lx" CODE "%s", (unsigned long)sum, end);
}

int gate_copy_open(const struct gate_key *k, uint64_t sum)
{
    char suffix[32];
    code_suffix(suffix, sizeof suffix, sum, "");
    return open_entry(k, suffix);
}

bool gate_copy_look(int fd, struct gate_copy *c)
{
    struct stat st;
    if (usf_syscall(__NR_fstat, fd, &st) || !is_ours(&st, S_IFREG, 0222)) return false;
    *c = (struct gate_copy){.size = (uint64_t)st.st_size, .age = now_s() - st.st_mtim.tv_sec};
    return true;
}

void gate_copy_touch(int fd, const struct gate_copy *c)
{
    if (c->age < 0 || c->age >= USED_S) usf_syscall(__NR_utimensat, fd, NULL, NULL, 0);
}

bool gate_copy_failed(const struct gate_copy *c) { return !c->size && c->age >= 0 && c->age < FAILED_S; }

/* Lock it, if it is still what the name stands for. */
static bool own_draft(int fd, const char *name)
{
    struct stat at, is;
    return os_flock(fd, LOCK_EX, 0) == 0 && usf_syscall(__NR_fstat, fd, &is) == 0 && is_ours(&is, S_IFREG, 022)
           && usf_syscall(__NR_newfstatat, AT_FDCWD, name, &at, AT_SYMLINK_NOFOLLOW) == 0
           && at.st_dev == is.st_dev && at.st_ino == is.st_ino;
}

bool gate_copy_draft(struct gate_draft *d, const struct gate_key *k, uint64_t sum)
{
    char suffix[32];
    code_suffix(suffix, sizeof suffix, sum, "");
    file_name(d->name, sizeof d->name, k, suffix);
    code_suffix(suffix, sizeof suffix, sum, DRAFT);
    file_name(d->temp, sizeof d->temp, k, suffix);
    d->fd = os_open(d->temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (d->fd < 0) return false;
    if (own_draft(d->fd, d->temp) && os_truncate(d->fd, 0) == 0) return true;
    os_close(d->fd);
    return false;
}

void gate_copy_abandon(struct gate_draft *d)
{
    os_unlink(d->temp);
    os_close(d->fd);
}

void gate_copy_settle(struct gate_draft *d, bool good)
{
    if (!good && os_truncate(d->fd, 0)) os_unlink(d->temp);
    else if (os_chmod(d->fd, 0400) || usf_syscall(__NR_renameat2, AT_FDCWD, d->temp, AT_FDCWD, d->name, 0)) os_unlink(d->temp);
    os_close(d->fd);
}

/* A walk through the directory. */
struct room {
    const struct gate_draft *d;
    const char *prefix;             /* of the object's copies, without the directory */
    int64_t now, oldest_age;
    unsigned nr;
    char oldest[GATE_NAME_MAX];
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void drop_draft(const char *path)
{
    int fd = os_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0) return;
    if (own_draft(fd, path)) os_unlink(path);
    os_close(fd);
}

static bool look_at(const char *name, void *arg)
{
    struct room *r = arg;
    char path[GATE_NAME_MAX];
    struct stat st;
    bool code = ends_with(name, CODE);
    if ((!code && !ends_with(name, DRAFT)) || usf_format(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) return true;
    if (!strcmp(path, r->d->temp) || !strcmp(path, r->d->name)) return true;
    if (usf_syscall(__NR_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW)) return true;
    int64_t age = r->now - st.st_mtim.tv_sec;
    if (!code) {
        if (age > LEFT_S) drop_draft(path);
    } else if (age > (st.st_size ? OLD_S : FAILED_S)) {
        os_unlink(path);
    } else if (st.st_size && !strncmp(name, r->prefix, strlen(r->prefix))) {
        r->nr++;
        if (age > r->oldest_age) r->oldest_age = age, __builtin_memcpy(r->oldest, path, sizeof path);
    }
    return true;
}

bool gate_copy_make_room(const struct gate_draft *d, const struct gate_key *k)
{
    char prefix[GATE_NAME_MAX];
    struct room r = {.d = d, .now = now_s(), .oldest_age = IDLE_S};
    file_name(prefix, sizeof prefix, k, ".");
    r.prefix = prefix + strlen(dir) + 1;
    os_list_dir(dir, look_at, &r);
    if (r.nr < MAX_COPIES) return true;
    return r.oldest[0] && os_unlink(r.oldest) == 0 && r.nr == MAX_COPIES;
}
