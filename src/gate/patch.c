/* src/gate/patch.c - write an object's springboards and the jumps to them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Only the bytes of the jump change in a window.  Should something jump into the rest after all, it
 * finds the instructions that always stood there, and the bare system call. */
#include "gate/internal.h"

#include "arch/code.h"
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"

#include <sys/mman.h>

struct gate_stats usf_gate_stats;
bool usf_gate_patch_all, usf_gate_minor[USF_NR_SYSCALLS];

void gate_stats_add(const struct gate_stats *s)
{
    usf_gate_stats.sites += s->sites;
    usf_gate_stats.patched += s->patched;
    usf_gate_stats.unneeded += s->unneeded;
    usf_gate_stats.unpatched += s->unpatched;
}

static bool is_left(const struct gate_rec *r) { return r->cls == GATE_SITE_LEFT; }

/* The dynamic linker's own calls that may wait are those that read files when an object is loaded:
 * not worth pages of its code in each process. */
static bool is_needed(const struct gate_image *im, const struct gate_rec *r)
{
    if (r->nr < 0 || r->nr >= USF_NR_SYSCALLS || usf_gate_patch_all) return true;
    return usf_gate_handlers[r->nr] && !(im->linker && usf_gate_minor[r->nr]);
}

bool gate_to_patch(const struct gate_image *im, const struct gate_rec *r) { return !is_left(r) && is_needed(im, r); }

static size_t upper_bound(const struct gate_image *im, const struct gate_rec *r)
{ return gate_to_patch(im, r) ? gate_springboard_room(r) : 0; }

/* A run of windows that lie in one page is written at once: a write costs more than what it
 * writes. */
struct span { uint8_t buf[4096]; uintptr_t start; size_t len; };

static void flush(struct span *s, struct gate_writer *w)
{
    if (s->len && gate_writer_put(w, (void *)s->start, s->buf, s->len))
        usf_warn_once("code cannot be written: system calls stay as they are");
    s->len = 0;
}

void gate_encode_jump(uint8_t *p, const struct gate_rec *r, uintptr_t at, uintptr_t to)
{ arch_put_jump(p, at, to, r->cls == GATE_SITE_CANCEL); }

static void put_jump(struct span *s, struct gate_writer *w, const struct gate_rec *r, uintptr_t at, uintptr_t to)
{
    usf_dassert(to && s->len <= sizeof s->buf);
    if (s->len && (at < s->start + s->len || at + ARCH_JUMP_LEN > s->start + sizeof s->buf
                   || at / sizeof s->buf != s->start / sizeof s->buf))
        flush(s, w);
    if (!s->len) s->start = at;
    size_t len = at + ARCH_JUMP_LEN - s->start;
    if (len > s->len) __builtin_memcpy(s->buf + s->len, (const uint8_t *)s->start + s->len, len - s->len), s->len = len;
    gate_encode_jump(s->buf + (at - s->start), r, at, to);
}


/* Memory for one pass: the springboards under construction, where each is entered, the span. */
struct work { struct span span; uintptr_t *enter; uint8_t *code; };

static size_t build(struct work *k, const struct gate_image *im, const struct gate_chunk *c, const struct gate_list *l, size_t room)
{
    size_t at = GATE_CHUNK_HEAD;
    gate_chunk_head(k->code);
    for (uint32_t i = 0; i < l->nr; i++) {
        if (!gate_to_patch(im, &l->rec[i])) continue;
        uint8_t *buf = k->code + at;
        size_t n = gate_springboard(&l->rec[i], c, buf, c->code + at, &k->enter[i]);
        usf_dassert(n % 8 == 0 && n <= gate_springboard_room(&l->rec[i]));
        if (!n) k->enter[i] = 0;
        at += n;
    }
    for (unsigned i = 0; i < GATE_CHUNK_END; i++) k->code[at + i] = 0;
    usf_dassert(at + GATE_CHUNK_END <= room);
    return at + GATE_CHUNK_END;
}

static void say_stays(const struct gate_rec *r, const char *path, const char *why)
{ usf_say("gate: %s: system call at %lx stays: %s", path, (unsigned long)r->at, why); }

static void count(struct gate_stats *s, const struct gate_image *im, const struct gate_list *l, const uintptr_t *enter, const char *path)
{
    for (uint32_t i = 0; i < l->nr; i++) {
        const struct gate_rec *r = &l->rec[i];
        s->sites++;
        if (enter && enter[i]) s->patched++;
        else if (!is_left(r) && !is_needed(im, r)) s->unneeded++;
        else if (r->why != GATE_WHY_SIGRETURN) {
            s->unpatched++;
            say_stays(r, path, is_left(r) ? gate_why_text[r->why] : "no memory in reach");
        }
    }
}

void gate_say_unpatched(const struct gate_image *im, const struct gate_list *l, const char *path)
{
    for (uint32_t i = 0; i < l->nr; i++)
        if (is_left(&l->rec[i]) && l->rec[i].why != GATE_WHY_SIGRETURN) say_stays(&l->rec[i], path, gate_why_text[l->rec[i].why]);
}

static void write_jumps(struct work *k, struct gate_writer *w, uintptr_t base, const struct gate_list *l)
{
    for (uint32_t i = 0; i < l->nr; i++)
        if (k->enter[i])
            put_jump(&k->span, w, &l->rec[i], base + l->rec[i].at - l->rec[i].before, k->enter[i]);
    flush(&k->span, w);
}

struct gate_patched gate_patch_object(const struct gate_image *im, uintptr_t base, const struct gate_list *l,
                                      struct gate_shared *share, const char *path)
{
    const size_t least = GATE_CHUNK_HEAD + GATE_CHUNK_END;
    size_t bound = least;
    for (uint32_t i = 0; i < l->nr; i++) bound += upper_bound(im, &l->rec[i]);
    size_t scratch = sizeof(struct work) + l->nr * sizeof(uintptr_t) + bound;
    struct work *k = bound == least ? NULL
                   : os_map(scratch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    uintptr_t lo = base + im->low, hi = base + im->high;
    void *code = NULL, *shared = NULL;
    if (k && (uintptr_t)k < -4096ul) {
        if (share) code = shared = gate_share_claim(share, im, l, bound);
        if (!code) code = gate_reuse_code(lo, hi, bound);
        if (!code) code = gate_alloc_code(lo, hi, bound);
    }
    if (!code) {
        count(&usf_gate_stats, im, l, NULL, path);
        if (k && (uintptr_t)k < -4096ul) usf_syscall(__NR_munmap, k, scratch);
        return (struct gate_patched){NULL, 0};
    }
    k->enter = (uintptr_t *)(k + 1);
    k->code = (uint8_t *)(k->enter + l->nr);
    struct gate_made made = {.l = l, .enter = k->enter, .code = k->code, .room = bound};
    made.len = build(k, im, &(struct gate_chunk){.base = base, .code = (uintptr_t)code, .movable = shared}, l, bound);
    struct gate_writer w;
    gate_writer_open(&w);
    bool written = gate_writer_put(&w, code, k->code, made.len) == 0;
    for (uint32_t i = 0; i < l->nr && !written; i++) k->enter[i] = 0;   /* never jump to what is not there */
    write_jumps(k, &w, base, l);
    gate_writer_close(&w);
    count(&made.stats, im, l, k->enter, path);
    gate_stats_add(&made.stats);
    if (shared && written) gate_share_make(share, &made);
    usf_syscall(__NR_munmap, k, scratch);
    return (struct gate_patched){code, bound};
}
