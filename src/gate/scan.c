/* src/gate/scan.c - find real system call instructions and choose their windows.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of the instruction occur by chance far more often than the instruction does: a site is
 * real if decoding its function (bounds from .eh_frame) from the start arrives at it.  A window
 * with room for a jump is made by taking in neighbouring instructions; nothing may jump into its
 * inside. */
#include "gate/scan.h"

#include "arch/code.h"
#include "os/os.h"
#include "os/syscall.h"

#include <errno.h>
#include <sys/mman.h>

#define MAX_BEFORE 6
#define MAX_AFTER  3

const char *const gate_why_text[GATE_NR_WHY] = {
    [GATE_WHY_NONE] = "", [GATE_WHY_SIGRETURN] = "returns from a signal handler",
    [GATE_WHY_DECODE] = "its function has an instruction that the decoder does not know",
    [GATE_WHY_ROOM] = "no window of five bytes without a jump into it",
    [GATE_WHY_INDIRECT] = "its function has a computed jump that is not understood",
    [GATE_WHY_PADS] = "its function's landing pads could not be read",
    [GATE_WHY_CANCEL] = "cancellation window whose caller was not found",
};

/* ---- lists ------------------------------------------------------------------------------------ */
struct gate_rec *gate_list_add(struct gate_list *l)
{
    if (l->nr == l->cap) {
        uint32_t cap = l->cap ? l->cap * 2 : 256;
        void *p = l->cap ? (void *)usf_syscall(__NR_mremap, l->rec, l->cap * sizeof *l->rec, cap * sizeof *l->rec,
                                               MREMAP_MAYMOVE)
                         : os_map(cap * sizeof *l->rec, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if ((uintptr_t)p > -4096ul) return NULL;
        l->rec = p;
        l->cap = cap;
    }
    struct gate_rec *r = &l->rec[l->nr++];
    *r = (struct gate_rec){0};
    return r;
}

void gate_list_free(struct gate_list *l)
{
    if (l->cap) usf_syscall(__NR_munmap, l->rec, l->cap * sizeof *l->rec);
    *l = (struct gate_list){0};
}

/* ---- state of one scan ------------------------------------------------------------------------ */
struct scan {
    const struct gate_image *im;
    struct gate_list *out;
    struct gate_function f;     /* the function at hand; fde.end == 0: none */
    uint8_t *marks;             /* f.mark's memory */
    uint64_t marks_cap;
    uint64_t free_from;         /* end of the last window chosen */
    bool changed, give_up;      /* a window was chosen anew; do not try again */
    uint64_t cancel_arch;       /* glibc's cancellation window: start of its function, 0 = not seen */
    int error;
};

static bool enter_function(struct scan *s, uint64_t pc)
{
    struct gate_function *f = &s->f;
    if (pc >= f->fde.start && pc < f->fde.end) return true;
    struct gate_fde fde;
    if (!gate_fde_find(s->im, pc, &fde) && !gate_fde_before(s->im, pc, &fde)) return false;
    uint64_t len = fde.end - fde.start;
    const uint8_t *code = gate_at(s->im, fde.start, len);
    if (!code) return false;
    if (len > s->marks_cap) {
        if (s->marks_cap) usf_syscall(__NR_munmap, s->marks, s->marks_cap);
        uint64_t cap = (len + 0xffff) & ~0xffffull;
        s->marks = os_map(cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        s->marks_cap = cap;
        if ((uintptr_t)s->marks > -4096ul) {
            s->marks_cap = 0;
            s->error = -ENOMEM;
            f->fde.end = 0;
            return false;
        }
    }
    for (uint64_t i = 0; i < len; i++) s->marks[i] = 0;
    *f = (struct gate_function){.im = s->im, .fde = fde, .code = code, .mark = s->marks, .len = len};
    gate_decode(f);
    return true;
}

/* ---- windows ---------------------------------------------------------------------------------- */
/* Is [from, to) of the function, with the site at `at`, a window?  Fills r. */
static bool window_ok(const struct scan *s, uint64_t from, uint64_t at, uint64_t to, struct gate_rec *r)
{
    const struct gate_function *f = &s->f;
    if (to - from < ARCH_JUMP_LEN || to - from > GATE_WINDOW_MAX || f->fde.start + from < s->free_from) return false;
    if (f->unsure && !arch_is_numbered_call(f->code + from, at - from, to - from)) return false;
    for (uint64_t i = from + 1; i < to; i++)
        if (f->mark[i] & MARK_TARGET) return false;
    r->rip_at = GATE_NO_RIP;
    for (uint64_t i = from; i < to; i += f->mark[i] & MARK_LEN) {
        if (!(f->mark[i] & MARK_RIP) || i == at) continue;
        if (r->rip_at != GATE_NO_RIP) return false;
        r->rip_at = (uint8_t)(i - from + gate_rip_offset(f, f->fde.start + i));
        r->rip_end = (uint8_t)(i - from + (f->mark[i] & MARK_LEN));
    }
    r->before = (uint8_t)(at - from);
    r->len = (uint8_t)(to - from);
    for (unsigned i = 0; i < r->len; i++) r->bytes[i] = f->code[from + i];
    return true;
}

static bool movable(const struct gate_function *f, uint64_t i)
{
    return f->mark[i] & MARK_LEN && !(f->mark[i] & (MARK_FIXED | MARK_SYSCALL));
}

/* The window with the fewest instructions around the site, those before it preferred. */
static bool choose_window(const struct scan *s, uint64_t at, struct gate_rec *r)
{
    const struct gate_function *f = &s->f;
    uint64_t start[MAX_BEFORE + 1] = {at}, end[MAX_AFTER + 1] = {at + ARCH_SYSCALL_LEN};
    unsigned nb = 0, na = 0;
    while (nb < MAX_BEFORE) {
        uint64_t p = gate_insn_before(f, start[nb]);
        if (p == start[nb] || !movable(f, p)) break;
        start[++nb] = p;
    }
    while (na < MAX_AFTER && end[na] < f->len && movable(f, end[na]) && gate_may_follow(f, f->fde.start + end[na])) {
        end[na + 1] = end[na] + (f->mark[end[na]] & MARK_LEN);
        na++;
    }
    for (unsigned n = 1; n <= nb + na; n++)
        for (unsigned a = 0; a <= na && a <= n; a++)
            if (n - a <= nb && window_ok(s, start[n - a], at, end[a], r)) return true;
    return false;
}

static void add_site(struct scan *s, uint64_t pc)
{
    struct gate_function *f = &s->f;
    struct gate_rec r = {.at = pc, .nr = -1, .insn = ARCH_SYSCALL_LEN, .cls = GATE_SITE_LEFT, .rip_at = GATE_NO_RIP};
    uint64_t at = pc - f->fde.start;
    r.nr = gate_static_nr(f, pc);
    if (f->fde.signal || r.nr == __NR_rt_sigreturn) r.why = GATE_WHY_SIGRETURN;
    else if (f->undecodable) r.why = GATE_WHY_DECODE;
    else if (gate_is_cancel_arch(f, at)) {
        s->cancel_arch = f->fde.start;
        r.why = GATE_WHY_CANCEL;
    } else if (choose_window(s, at, &r)) {
        r.cls = r.nr == __NR_clone || r.nr == __NR_vfork || r.nr == __NR_clone3 ? GATE_SITE_CLONE : GATE_SITE_PATCHABLE;
        s->free_from = pc - r.before + r.len;
    } else r.why = f->unsure ? GATE_WHY_INDIRECT : GATE_WHY_ROOM;
    struct gate_rec *slot = gate_list_add(s->out);
    if (slot) *slot = r;
    else s->error = -ENOMEM;
}

/* ---- all of an object ------------------------------------------------------------------------- */
static void scan_segment(struct scan *s, const struct gate_seg *g)
{
    for (uint64_t i = arch_find_syscall(g->data, 0, g->len); i < g->len && !s->error;
         i = arch_find_syscall(g->data, i + ARCH_SYSCALL_LEN, g->len)) {
        uint64_t pc = g->addr + i;
        if (!enter_function(s, pc)) continue;
        uint8_t m = s->f.mark[pc - s->f.fde.start];
        if (m & MARK_SYSCALL && m & MARK_LEN) add_site(s, pc);
        else if (s->f.undecodable && !(m & MARK_LEN)) add_site(s, pc);   /* beyond what could be decoded */
    }
}

/* Branches from anywhere in the object (split-off cold parts, tail jumps) into the inside of a
 * window: the window is given up. */
static struct gate_rec *window_around(struct gate_list *l, uint32_t from, uint64_t addr)
{
    uint32_t lo = from, hi = l->nr;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (l->rec[mid].at - l->rec[mid].before + l->rec[mid].len <= addr) lo = mid + 1;
        else hi = mid;
    }
    if (lo == l->nr || l->rec[lo].cls == GATE_SITE_LEFT) return NULL;
    return addr > l->rec[lo].at - l->rec[lo].before ? &l->rec[lo] : NULL;
}

typedef void (*branch_fn)(struct scan *s, uint64_t at, uint64_t to, bool call);

static void far_branches(struct scan *s, const struct gate_seg *g, uint64_t low, uint64_t high, branch_fn fn)
{
    struct arch_branch b;
    for (uint64_t i = 0; i < g->len; i++) {
        if (!arch_far_branch(g->data, i, g->len, &b)) continue;
        uint64_t to = g->addr + b.to;
        if (to >= low && to < high) fn(s, g->addr + b.insn, to, b.call);
    }
}

static bool real_instruction(struct scan *s, uint64_t at)
{
    return enter_function(s, at) && s->f.mark[at - s->f.fde.start] & MARK_LEN;
}

static void check_branch(struct scan *s, uint64_t at, uint64_t to, bool call)
{
    struct gate_rec *r = window_around(s->out, 0, to);
    if (!r) return;
    uint64_t site = r->at;
    if (!real_instruction(s, at)) return;
    /* Choose again with this target marked; windows stay ordered, so the neighbours bound it. */
    if (!enter_function(s, site)) return;
    s->f.mark[to - s->f.fde.start] |= MARK_TARGET;
    s->free_from = r > s->out->rec ? r[-1].at - r[-1].before + r[-1].len : 0;
    s->changed = true;
    if (s->give_up || !choose_window(s, site - s->f.fde.start, r)
        || (r < s->out->rec + s->out->nr - 1 && site - r->before + r->len > r[1].at - r[1].before)) {
        r->cls = GATE_SITE_LEFT;
        r->why = GATE_WHY_ROOM;
        r->before = r->len = 0;
    }
}

static void check_cancel_call(struct scan *s, uint64_t at, uint64_t to, bool call)
{
    if (!call || to != s->cancel_arch || !real_instruction(s, at)) return;
    const uint8_t *code = gate_at(s->im, at, ARCH_JUMP_LEN);
    struct gate_rec *r = gate_list_add(s->out);
    if (!r) {
        s->error = -ENOMEM;
        return;
    }
    *r = (struct gate_rec){.at = at, .nr = -1, .cls = GATE_SITE_CANCEL, .insn = ARCH_JUMP_LEN, .len = ARCH_JUMP_LEN,
                             .rip_at = GATE_NO_RIP};
    for (unsigned i = 0; i < ARCH_JUMP_LEN; i++) r->bytes[i] = code[i];
}

static void all_branches(struct scan *s, uint64_t low, uint64_t high, branch_fn fn)
{
    for (unsigned i = 0; i < s->im->nr_segs && !s->error; i++)
        if (s->im->seg[i].exec) far_branches(s, &s->im->seg[i], low, high, fn);
}

static void check_whole_text(struct scan *s)
{
    struct gate_list *l = s->out;
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < l->nr; i++) {
        if (l->rec[i].cls == GATE_SITE_LEFT) continue;
        uint64_t from = l->rec[i].at - l->rec[i].before;
        if (from < low) low = from;
        if (from + l->rec[i].len > high) high = from + l->rec[i].len;
    }
    s->changed = high != 0;
    for (int round = 0; s->changed && !s->error; round++) {
        s->changed = false;
        s->give_up = round >= 2;    /* a new window may hold a target met before it was chosen */
        all_branches(s, low > GATE_WINDOW_MAX ? low - GATE_WINDOW_MAX : 0, high + GATE_WINDOW_MAX, check_branch);
    }
    /* Calls are appended last: check_branch relies on the order of windows. */
    if (s->cancel_arch) all_branches(s, s->cancel_arch, s->cancel_arch + 1, check_cancel_call);
}

/* A record of the cancellation window itself is dropped if its callers are patched instead. */
static void drop_cancel_arch(struct gate_list *l)
{
    bool called = l->nr && l->rec[l->nr - 1].cls == GATE_SITE_CANCEL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->nr; i++)
        if (!called || l->rec[i].why != GATE_WHY_CANCEL) l->rec[n++] = l->rec[i];
    l->nr = n;
}

int gate_scan(const struct gate_image *im, struct gate_list *out)
{
    struct scan s = {.im = im, .out = out};
    for (unsigned i = 0; i < im->nr_segs; i++)
        if (im->seg[i].exec) scan_segment(&s, &im->seg[i]);
    if (out->nr && !s.error) check_whole_text(&s);
    drop_cancel_arch(out);
    if (s.marks_cap) usf_syscall(__NR_munmap, s.marks, s.marks_cap);
    return s.error;
}

bool gate_rec_matches(const struct gate_image *im, const struct gate_rec *r)
{
    if (r->cls == GATE_SITE_LEFT) return true;
    if (r->cls > GATE_SITE_LEFT || r->len < ARCH_JUMP_LEN || r->len > GATE_WINDOW_MAX
        || r->before + r->insn > r->len || (r->insn != ARCH_SYSCALL_LEN && r->insn != ARCH_JUMP_LEN))
        return false;
    if (r->rip_at != GATE_NO_RIP && (r->rip_at + 4 > r->rip_end || r->rip_end > r->len)) return false;
    const uint8_t *code = gate_at(im, r->at - r->before, r->len);
    if (!code || (r->insn == ARCH_SYSCALL_LEN && !arch_is_syscall(code + r->before))) return false;
    for (unsigned i = 0; i < r->len; i++)
        if (code[i] != r->bytes[i]) return false;
    return true;
}

int gate_scan_image(const void *image, size_t size, void (*fn)(const struct gate_site *, void *), void *arg)
{
    struct gate_image im;
    struct gate_list l = {0};
    int rc = gate_image_from_file(&im, image, size);
    if (rc) return rc;
    rc = gate_scan(&im, &l);
    for (uint32_t i = 0; i < l.nr && !rc; i++) {
        const struct gate_rec *r = &l.rec[i];
        struct gate_site site = {r->at, r->cls, r->before, r->len, gate_why_text[r->why]};
        fn(&site, arg);
    }
    if (!rc) rc = (int)l.nr;
    gate_list_free(&l);
    return rc;
}
