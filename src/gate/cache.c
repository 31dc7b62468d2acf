/* src/gate/cache.c - sites by build-id, so that a start costs a lookup and no decoding.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One file per object: a header and its records as scan.h defines them.  An entry is used only if the
 * directory and the file belong to us and nobody else may write them, the layout of the object's text is
 * the same, and each record's bytes are those in memory.  What cannot be read or written is scanned anew. */
#include "gate/internal.h"

#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* ---- directory -------------------------------------------------------------------------------- */
static bool ours(int fd, unsigned type, unsigned forbidden)
{
    struct stat st;
    return usf_syscall(__NR_fstat, fd, &st) == 0 && (st.st_mode & S_IFMT) == type && !(st.st_mode & forbidden)
           && st.st_uid == (uid_t)usf_syscall(__NR_geteuid);
}

bool gate_cache_owns(int fd) { return ours(fd, S_IFREG, 022); }

static bool directory_ok(void)
{
    int fd = os_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0) return false;
    bool ok = ours(fd, S_IFDIR, 077);
    os_close(fd);
    return ok;
}

void gate_cache_init(const char *path)
{
    dir[0] = 0;
    if (!path || path[0] != '/' || usf_format(dir, sizeof dir, "%s", path) >= GATE_DIR_MAX) {
        dir[0] = 0;
        return;
    }
    if (directory_ok()) return;
    for (char *p = dir + 1;; p++) {     /* make it and its parents */
        char c = *p;
        if (c && c != '/') continue;
        *p = 0;
        usf_syscall(__NR_mkdirat, AT_FDCWD, dir, 0700);
        *p = c;
        if (!c) break;
    }
    if (!directory_ok()) dir[0] = 0;
}

/* ---- keys ------------------------------------------------------------------------------------- */
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

/* ---- entries ---------------------------------------------------------------------------------- */
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
    if (!gate_cache_owns(fd) || !read_all(fd, &h, sizeof h) || h.nr > MAX_SITES) return false;
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

static bool draft(struct gate_draft *d, const struct gate_key *k, const char *suffix)
{
    char end[48];
    usf_format(end, sizeof end, "%s.%d.new", suffix, os_getpid());
    file_name(d->name, sizeof d->name, k, suffix);
    file_name(d->temp, sizeof d->temp, k, end);
    d->fd = os_open(d->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return d->fd >= 0;
}

void gate_cache_settle(struct gate_draft *d, bool good)
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
    if (!draft(&d, k, "")) return;
    gate_cache_settle(&d, os_write(d.fd, &h, sizeof h) == (long)sizeof h && os_write(d.fd, l->rec, len) == (long)len);
}

/* ---- copies of code ----------------------------------------------------------------------------- */
#define CODE ".code"

static void code_suffix(char *buf, size_t cap, uint64_t sum) { usf_format(buf, cap, ".%016lx" CODE, (unsigned long)sum); }

int gate_cache_open(const struct gate_key *k, uint64_t sum)
{
    char suffix[32];
    code_suffix(suffix, sizeof suffix, sum);
    return open_entry(k, suffix);
}

bool gate_cache_draft(struct gate_draft *d, const struct gate_key *k, uint64_t sum)
{
    char suffix[32];
    code_suffix(suffix, sizeof suffix, sum);
    return draft(d, k, suffix);
}

struct old { char prefix[GATE_NAME_MAX]; size_t dir_len, len; int64_t before; };

static bool drop_if_old(const char *name, void *arg)
{
    struct old *o = arg;
    char path[GATE_NAME_MAX];
    struct stat st;
    size_t n = strlen(name), own = o->len - o->dir_len, end = sizeof CODE - 1;
    if (n < own + end || strncmp(name, o->prefix + o->dir_len, own) || strcmp(name + n - end, CODE)) return true;
    if (usf_format(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) return true;
    if (usf_syscall(__NR_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtim.tv_sec < o->before)
        usf_syscall(__NR_unlinkat, AT_FDCWD, path, 0);
    return true;
}

void gate_cache_drop_old(const struct gate_key *k, uint64_t seconds)
{
    struct old o;
    struct timespec now;
    if (usf_syscall(__NR_clock_gettime, CLOCK_REALTIME, &now)) return;
    file_name(o.prefix, sizeof o.prefix, k, ".");
    o.len = strlen(o.prefix);
    o.dir_len = strlen(dir) + 1;
    o.before = now.tv_sec - (int64_t)seconds;
    os_list_dir(dir, drop_if_old, &o);
}
