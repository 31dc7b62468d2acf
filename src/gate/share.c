/* src/gate/share.c - patched code that processes share.  SPDX-License-Identifier: Apache-2.0
 *
 * Looking up the sites of libc, building their springboards and writing the jumps costs a process
 * as much as all the rest of its start: the jumps alone are in some fifty pages, of which each
 * process gets a copy.  So the first process that patches an object leaves a copy of the object's
 * file with the jumps in it, and behind it the springboards.  Later processes map the code from
 * there and read the springboards.  Jumps are relative, so the springboards lie at a fixed distance
 * from the object; they hold addresses within the object, which are relative in the file, and enter
 * the library through the chunk's head.
 *
 * The copy takes the place of the text as a whole, so it is used only where that is known to be
 * what the copy was made of: the same build-id, the same file (device, inode, size, times), a
 * library and handlers that make the same springboards, and not a byte of the text written by
 * another process before us, as debuggers and uprobes do.  It is the whole file since profilers
 * look there for symbols.  Only while a process starts: it has one thread, and its objects are
 * relocated. */
#include "gate/internal.h"

#include "arch/code.h"
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE      4096ul
#define LEAST     4u                    /* pages to be written, for it to be worth the mapping */
#define DISTANCE  (64ul << 20)          /* below the object: what is loaded after it lies in between */
#define MAGIC     0x3265646f63667375ull /* "usfcode2" */
#define CODE_MAX  (1ull << 24)

bool usf_gate_share;

/* The object's file, padded to words; the springboards; this. */
struct tail {
    uint64_t magic, sum;
    struct gate_origin origin;
    uint64_t code, room;                /* bytes of springboards, and what the process reserves for them */
    struct gate_stats stats;            /* what the patching of this object counts */
    uint64_t check;                     /* over the fields above */
};

/* ---- is it possible? ------------------------------------------------------------------------- */
static unsigned nr_pages(const struct gate_image *im, const struct gate_list *l)
{
    uint64_t last = ~0ull;
    unsigned n = 0;
    for (uint32_t i = 0; i < l->nr; i++) {
        uint64_t page = (l->rec[i].at - l->rec[i].before) / PAGE;
        if (!gate_to_patch(im, &l->rec[i]) || page == last) continue;
        last = page;
        n++;
    }
    return n;
}

static bool find_text(struct gate_shared *s, const struct gate_image *im, uintptr_t base)
{
    unsigned n = 0;
    for (unsigned i = 0; i < im->nr_segs; i++) {
        const struct gate_seg *g = &im->seg[i];
        if (!g->exec) continue;
        s->text = base + g->addr;
        s->len = (g->len + PAGE - 1) & -PAGE;
        s->off = g->off;
        n++;
    }
    return n == 1 && s->text % PAGE == 0 && s->off % PAGE == 0;
}

#define PM_FILE (1ull << 61)            /* bits of /proc/PID/pagemap */
#define PM_THERE (3ull << 62)           /* present, or swapped out */

/* The kernel looks for a page that is there and is none of the file's (PAGEMAP_SCAN, Linux 6.7).
 * Pages found: 0 or 1; -errno: it cannot. */
static long find_copy(int fd, uintptr_t text, size_t len)
{
    enum { FILE = 1 << 2, PRESENT = 1 << 3, SWAPPED = 1 << 4 };
    struct { uint64_t start, end, categories; } found;
    struct {
        uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, inverted, mask, anyof, reported;
    } scan = {.size = sizeof scan, .start = text, .end = text + len, .vec = (uintptr_t)&found, .vec_len = 1, .max_pages = 1,
              .inverted = FILE, .mask = FILE, .anyof = PRESENT | SWAPPED, .reported = FILE};
    return usf_syscall(__NR_ioctl, fd, 0xc0606610ul /* _IOWR('f', 16, struct pm_scan_arg) */, &scan);
}

/* No process has written into it: no page is a private copy. */
static bool is_pristine(uintptr_t text, size_t len)
{
    static uint64_t map[512];   /* the process starts: it has one thread */
    int fd = os_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    long copies = find_copy(fd, text, len);
    bool good = copies <= 0;
    for (size_t page = 0, n; copies < 0 && good && page < len / PAGE; page += n) {
        n = len / PAGE - page < 512 ? len / PAGE - page : 512;
        good = os_pread(fd, map, n * 8, (text / PAGE + page) * 8) == (long)(n * 8);
        for (size_t i = 0; good && i < n; i++) good = !(map[i] & PM_THERE) || map[i] & PM_FILE;
    }
    os_close(fd);
    return good;
}

static struct gate_origin origin_of(const struct stat *st)
{
    return (struct gate_origin){.dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size,
                                .mtime = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec,
                                .ctime = (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec};
}

static bool find_origin(struct gate_origin *o, const char *path)
{
    struct stat st;
    if (path[0] != '/' || usf_syscall(__NR_newfstatat, AT_FDCWD, path, &st, 0)) return false;
    *o = origin_of(&st);
    return S_ISREG(st.st_mode);
}

static bool is_origin(const struct gate_origin *o, int fd)
{
    struct stat st;
    if (usf_syscall(__NR_fstat, fd, &st)) return false;
    struct gate_origin is = origin_of(&st);
    return !__builtin_memcmp(&is, o, sizeof is);
}

/* What the springboards and the choice of sites depend on, besides the object. */
static uint64_t decisions(const struct gate_image *im)
{
    uint64_t h = gate_hash(MAGIC, gate_self_id, sizeof gate_self_id), bits = 0;
    for (unsigned i = 0; i < USF_NR_SYSCALLS; i++) {
        bits = bits << 2 | (usf_gate_handlers[i] ? 1 : 0) | (usf_gate_minor[i] ? 2 : 0);
        if (i % 32 == 31) h = gate_hash(h, &bits, sizeof bits);
    }
    bits = (im->linker ? 1 : 0) | (usf_gate_patch_all ? 2 : 0);
    return gate_hash(h, &bits, sizeof bits);
}

bool gate_share_begin(struct gate_shared *s, const struct gate_image *im, uintptr_t base, const struct gate_key *key, const char *path)
{
    uintptr_t low = base + im->low;
    *s = (struct gate_shared){.key = key, .path = path, .base = base, .code = ((low - DISTANCE) & -PAGE)};
    if (!usf_gate_share || !gate_writer_is_held() || !key->len || !gate_self_id[0] || low < 2 * DISTANCE) return false;
    if (!find_text(s, im, base) || !find_origin(&s->origin, path)) return false;
    s->sum = gate_hash(decisions(im), &s->origin, sizeof s->origin);
    return true;
}

/* ---- use ------------------------------------------------------------------------------------- */
static uint64_t check_of(const struct tail *t) { return gate_hash(MAGIC, t, offsetof(struct tail, check)); }

static size_t tail_at(const struct gate_shared *s, size_t code) { return ((s->origin.size + 7) & ~7ul) + code; }

static bool is_right(const struct gate_shared *s, int fd, const struct gate_copy *c, struct tail *t)
{
    return c->size > sizeof *t && os_pread(fd, t, sizeof *t, c->size - sizeof *t) == (long)sizeof *t && t->magic == MAGIC
           && t->sum == s->sum && !__builtin_memcmp(&t->origin, &s->origin, sizeof t->origin) && t->check == check_of(t)
           && t->room < CODE_MAX && t->code <= t->room && c->size == tail_at(s, t->code) + sizeof *t && s->off + s->len <= c->size;
}

static bool get(int fd, void *p, size_t len, uint64_t at)
{
    for (size_t done = 0; done < len;) {
        long n = os_pread(fd, (char *)p + done, len - done, at + done);
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static bool protect(void *p, size_t len, int prot) { return usf_syscall(__NR_mprotect, p, (len + PAGE - 1) & -PAGE, prot) == 0; }

/* The springboards, filled in before they may be executed. */
static void *load_code(const struct gate_shared *s, int fd, const struct tail *t)
{
    uint8_t *code = gate_claim_code(s->code, t->room);
    if (!code) return NULL;
    bool good = protect(code, t->room, PROT_READ | PROT_WRITE) && get(fd, code, t->code, tail_at(s, 0));
    if (good) {
        gate_chunk_rebase(code, t->code, s->base);
        gate_chunk_head(code);
    }
    if (!protect(code, t->room, PROT_READ | PROT_EXEC)) return NULL;     /* of no use */
    if (good) return code;
    gate_free_code(code, t->room);
    return NULL;
}

/* First beside and then moved: should it not be possible to map it, the text must still be
 * there. */
static bool replace_text(const struct gate_shared *s, int fd)
{
    void *p = os_map(s->len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, s->off);
    if (os_is_error(p)) return false;
    long r = usf_syscall(__NR_mremap, p, s->len, s->len, MREMAP_MAYMOVE | MREMAP_FIXED, s->text);
    if ((uintptr_t)r == s->text) return true;
    os_unmap(p, s->len);
    return false;
}

static bool map_both(struct gate_shared *s, int fd, const struct tail *t, struct gate_patched *out)
{
    void *code = is_pristine(s->text, s->len) ? load_code(s, fd, t) : NULL;
    if (!code) return false;
    *out = (struct gate_patched){code, t->room};
    if (replace_text(s, fd)) return true;
    gate_free_code(code, t->room);
    *out = (struct gate_patched){NULL, 0};
    return false;
}

bool gate_share_use(struct gate_shared *s, struct gate_patched *out)
{
    struct gate_copy c;
    struct tail t;
    int fd = gate_copy_open(s->key, s->sum);
    if (fd < 0) return false;
    bool ours = gate_copy_look(fd, &c), right = ours && is_right(s, fd, &c, &t);
    bool good = right && gate_copy_is_safe() && map_both(s, fd, &t, out);
    s->settled = right || (ours && gate_copy_failed(&c));
    if (good) {
        gate_copy_touch(fd, &c);
        gate_stats_add(&t.stats);
        usf_gate_stats.cache_hits++;
        usf_gate_stats.shared++;
    }
    os_close(fd);
    return good;
}

/* ---- make ------------------------------------------------------------------------------------ */
static bool copy(int to, int from, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        long n = usf_syscall(__NR_sendfile, to, from, NULL, size - done);
        if (n == -EINTR) continue;
        if (n <= 0) return false;
        done += (uint64_t)n;
    }
    return true;
}

static bool put(int fd, const void *p, size_t len, uint64_t at)
{
    for (size_t done = 0; done < len;) {
        long n = usf_syscall(__NR_pwrite64, fd, (const char *)p + done, len - done, at + done);
        if (n == -EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

/* The file's text with the jumps in it.  What runs here has to be just that: otherwise a jump could
 * not be written, a debugger has set a breakpoint meanwhile, or the file is not the one that is
 * loaded. */
static bool is_as_meant(const struct gate_shared *s, const struct gate_made *m, uint8_t *text, size_t len)
{
    for (uint32_t i = 0; i < m->l->nr; i++) {
        const struct gate_rec *r = &m->l->rec[i];
        uintptr_t at = s->base + r->at - r->before;
        if (!m->enter[i]) continue;
        if (at < s->text || at - s->text + ARCH_JUMP_LEN > len) return false;
        gate_encode_jump(text + (at - s->text), r, at, m->enter[i]);
    }
    return !__builtin_memcmp(text, (const void *)s->text, len);
}

static bool fill_text(const struct gate_shared *s, const struct gate_made *m, int to, int from)
{
    size_t len = s->off + s->len < s->origin.size ? s->len : s->origin.size - s->off;
    uint8_t *text = os_map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_is_error(text)) return false;
    bool good = get(from, text, len, s->off) && is_as_meant(s, m, text, len) && put(to, text, len, s->off);
    os_unmap(text, len);
    return good;
}

static bool fill_code(const struct gate_shared *s, const struct gate_made *m, int fd)
{
    gate_chunk_rebase(m->code, m->len, -s->base);
    for (unsigned i = 0; i < GATE_CHUNK_HEAD; i++) m->code[i] = 0;
    struct tail t = {.magic = MAGIC, .sum = s->sum, .origin = s->origin, .code = m->len, .room = m->room, .stats = m->stats};
    t.check = check_of(&t);
    return put(fd, m->code, m->len, tail_at(s, 0)) && put(fd, &t, sizeof t, tail_at(s, m->len));
}

/* On the disk before it has its name: what a crash of the machine leaves of it is executed. */
static bool fill(const struct gate_shared *s, const struct gate_made *m, int fd)
{
    int from = os_open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (from < 0) return false;
    bool good = is_origin(&s->origin, from) && copy(fd, from, s->origin.size) && fill_text(s, m, fd, from);
    os_close(from);
    return good && fill_code(s, m, fd) && usf_syscall(__NR_fsync, fd) == 0;
}

/* By another, since we looked. */
static bool has_been_made(const struct gate_shared *s)
{
    struct gate_copy c;
    struct tail t;
    int fd = gate_copy_open(s->key, s->sum);
    if (fd < 0) return false;
    bool made = gate_copy_look(fd, &c) && (is_right(s, fd, &c, &t) || gate_copy_failed(&c));
    os_close(fd);
    return made;
}

void *gate_share_claim(const struct gate_shared *s, const struct gate_image *im, const struct gate_list *l, size_t room)
{
    bool wanted = !s->settled && room < CODE_MAX && nr_pages(im, l) >= LEAST && gate_copy_is_safe() && is_pristine(s->text, s->len);
    return wanted ? gate_claim_code(s->code, room) : NULL;
}

void gate_share_make(const struct gate_shared *s, const struct gate_made *m)
{
    struct gate_draft d;
    if (s->off >= s->origin.size || !os_file_may_be(tail_at(s, m->len) + sizeof(struct tail))) return;
    if (!gate_copy_draft(&d, s->key, s->sum)) return;
    if (has_been_made(s)) gate_copy_abandon(&d);
    else gate_copy_settle(&d, gate_copy_make_room(&d, s->key) && fill(s, m, d.fd));
}
