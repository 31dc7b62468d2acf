/* src/spin/site.c - the live sites of this process.  SPDX-License-Identifier: Apache-2.0
 *
 * Sites are added by one thread at a time (`held`; who finds it taken gets SPIN_BUSY) and read by
 * anyone: a site is filled before the count that includes it is published. */
#include "spin/internal.h"

#include "arch/code.h"
#include "base/base.h"
#include "gate/gate.h"
#include "os/syscall.h"

#include <errno.h>

struct spin_site usf_spin_sites[SPIN_MAX_SITES];
uint32_t usf_spin_nr_sites;
__thread struct spin_rounds usf_spin_rounds;

static void no_round(uint32_t place, struct spin_regs *regs) { (void)place, (void)regs; }
void (*usf_spin_round)(uint32_t place, struct spin_regs *regs) = no_round;

/* What `usf_spin_nr_sites` publishes holds for as long as the process lives; a site that is
 * forgotten keeps all but its head. */
static bool site_is_valid(const struct spin_site *s)
{
    const struct spin_loop *l = &s->loop;
    size_t len = s->stub_end - s->stub;
    bool in = l->window >= l->head && l->window < l->end && l->window_len >= ARCH_JUMP_LEN;
    bool is_known = s->kind == SPIN_SITE_LOOP || s->kind == SPIN_SITE_POLL;
    bool counts = l->nr_insns && l->nr_insns <= SPIN_MAX_INSNS && l->window_insns && l->window_insns <= l->nr_insns;
    return in && is_known && counts && len && len <= SPIN_MAX_STUB && gate_contains_pc(s->stub) && gate_contains_pc(s->stub_end - 1)
           && (!s->head || s->head == l->head);
}

/* ... and no other site that stands has its window. */
static bool site_is_alone(const struct spin_site *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct spin_site *o = &usf_spin_sites[i];
        if (!site_is_valid(o) || (o != s && o->head && o->loop.window == s->loop.window)) return false;
    }
    return true;
}

static uint32_t nr_sites(void) { return __atomic_load_n(&usf_spin_nr_sites, __ATOMIC_ACQUIRE); }

/* ---- is the window's middle free of jump targets? -------------------------------------------- */
/* The recogniser has seen the function's own direct branches.  What is left: the function's cold
 * part, which has bounds of its own, and jump tables. */
struct middle {
    const struct gate_object *o;
    uintptr_t fstart, fend, lo, hi;     /* strictly between lo and hi */
    uintptr_t seen[8];                  /* functions looked at */
    unsigned nr_seen;
    bool hit;
};

/* Does any direct branch in the code go strictly between lo and hi? */
static bool branches_into(struct spin_scratch *s, uintptr_t start, size_t size, uintptr_t lo, uintptr_t hi)
{
    struct spin_step i;
    for (size_t p = 0; p < size; p += i.len) {
        if (!spin_step(s, (const uint8_t *)start + p, size - p, &i)) return true;
        uintptr_t to = start + p + (uintptr_t)i.to;
        if (i.direct && to > lo && to < hi) return true;
    }
    return false;
}

static void check_neighbour(struct middle *m, uintptr_t target)
{
    uintptr_t start, end;
    if (target > m->lo && target < m->hi) m->hit = true;
    if (m->hit || !gate_function_bounds(m->o, target, &start, &end)) return;
    if (target == start && end - start > SPIN_RADIUS) return;   /* a tail call of a real function */
    for (unsigned i = 0; i < m->nr_seen; i++)
        if (m->seen[i] == start) return;
    if (m->nr_seen == sizeof m->seen / sizeof *m->seen || end - start > SPIN_MAX_FUNCTION) {
        m->hit = true;
        return;
    }
    m->seen[m->nr_seen++] = start;
}

/* Where direct branches lead out of the function. */
static void check_neighbours(struct spin_scratch *s, struct middle *m)
{
    const uint8_t *code = (const uint8_t *)m->fstart;
    struct spin_step i;
    size_t size = m->fend - m->fstart;
    for (size_t p = 0; p < size && spin_step(s, code + p, size - p, &i); p += i.len) {
        uintptr_t to = m->fstart + p + (uintptr_t)i.to;
        if (i.direct && !i.call && (to < m->fstart || to >= m->fend)) check_neighbour(m, to);
    }
}

/* Memory that may not be mapped: bytes read, or -errno. */
static long read_own(uintptr_t from, void *to, size_t n)
{
    struct { const void *base; size_t len; } mine = { to, n }, theirs = { (const void *)from, n };
    return usf_syscall(__NR_process_vm_readv, usf_syscall(__NR_getpid), &mine, 1, &theirs, 1, 0);
}

/* A table at `at` of 4-byte distances from it, or of 8-byte addresses, that leads into the window's
 * middle.  It is as long as its entries lie in the function. */
static bool table_hits(const struct middle *m, uintptr_t at)
{
    union { int32_t distance[128]; uintptr_t address[64]; } t;
    bool near = true, far = true;
    for (unsigned part = 0; part < 16 && (near || far); part++, at += sizeof t) {
        long n = read_own(at, &t, sizeof t);
        if (n == -EPERM || n == -ENOSYS) return true;   /* cannot tell */
        for (long i = 0; near && 4 * i < n; i++) {
            uintptr_t to = at - part * sizeof t + (uintptr_t)(int64_t)t.distance[i];
            near = to >= m->fstart && to < m->fend;
            if (near && to > m->lo && to < m->hi) return true;
        }
        for (long i = 0; far && 8 * i < n; i++) {
            far = t.address[i] >= m->fstart && t.address[i] < m->fend;
            if (far && t.address[i] > m->lo && t.address[i] < m->hi) return true;
        }
        if (n < (long)sizeof t) break;
    }
    return false;
}

/* Jump tables of a function with indirect jumps: whatever it takes the address of may be one. */
static bool tables_hit(struct spin_scratch *s, const struct middle *m)
{
    const uint8_t *code = (const uint8_t *)m->fstart;
    struct spin_step i;
    size_t size = m->fend - m->fstart;
    bool indirect = false;
    for (int round = 0; round < 2; round++) {
        for (size_t p = 0; p < size; p += i.len) {
            if (!spin_step(s, code + p, size - p, &i)) return true;
            indirect |= i.indirect;
            if (round && i.address && table_hits(m, m->fstart + p + (uintptr_t)i.to)) return true;
        }
        if (!indirect) return false;
    }
    return false;
}

static bool middle_is_free(uintptr_t fstart, const struct spin_loop *l)
{
    struct gate_object o;
    struct middle m = { .o = &o, .lo = l->window, .hi = l->window + l->window_len };
    if (l->window_insns < 2) return true;
    if (!gate_find_object(l->head, &o) || !gate_function_bounds(&o, l->head, &m.fstart, &m.fend)) return true;
    if (m.fstart != fstart || !spin_scratch_take()) return false;
    struct spin_scratch *s = &spin_scratch;
    check_neighbours(s, &m);
    for (unsigned i = 0; i < m.nr_seen && !m.hit; i++) {
        uintptr_t start = m.seen[i], end;
        if (gate_function_bounds(&o, start, &start, &end))
            m.hit = branches_into(s, start, end - start, m.lo, m.hi);
    }
    if (!m.hit) m.hit = tables_hit(s, &m);
    spin_scratch_release();
    return !m.hit;
}

/* ---- prepare, commit ------------------------------------------------------------------------- */
static int insn_holding(const struct spin_site *s, uintptr_t pc)
{
    if (pc - s->head > UINT16_MAX) return -1;
    for (unsigned i = 0; i < s->loop.nr_insns; i++)
        if (s->head + s->loop.insn[i].off == pc) return (int)i;
    return -1;
}

/* The jump that the window gets.  0 or -errno. */
static int make_jump(const struct spin_site *s, uint8_t code[ARCH_JUMP_LEN])
{
    if (!arch_jump_reaches(s->loop.window, s->stub)) return -ERANGE;
    arch_put_jump(code, s->loop.window, s->stub, false);
    return 0;
}

/* Does the patch still stand?  The object may have been unloaded, and another may lie in its
 * place. */
static bool stands(const struct spin_site *s)
{
    uint8_t want[ARCH_JUMP_LEN], now[ARCH_JUMP_LEN];
    if (make_jump(s, want)) return false;
    long n = read_own(s->loop.window, now, sizeof now);
    if (n == -EPERM || n == -ENOSYS) return true;
    return n == sizeof now && !__builtin_memcmp(now, want, sizeof now);
}

static bool same_loop(const struct spin_loop *a, const struct spin_loop *b)
{
    bool same = a->head == b->head && a->window_len == b->window_len && a->nr_insns == b->nr_insns;
    for (unsigned i = 0; same && i < a->nr_insns; i++)
        same = a->insn[i].off == b->insn[i].off && a->insn[i].len == b->insn[i].len &&
               a->insn[i].flags == b->insn[i].flags;
    return same;
}
/* The site that has l's window; one that no longer holds is forgotten. */
static int find_site(const struct spin_loop *l)
{
    for (uint32_t i = 0, n = nr_sites(); i < n; i++) {
        struct spin_site *s = &usf_spin_sites[i];
        if (!s->head || s->loop.window != l->window) continue;
        if (s->committed ? stands(s) : same_loop(&s->loop, l)) return (int)i;
        s->head = 0;
    }
    return -1;
}

static uint32_t held;       /* 1: a thread adds a site */

typedef size_t builder(const uint8_t *code, uintptr_t fstart, const struct spin_loop *l, uint32_t site,
                       uint8_t *buf, size_t cap, uintptr_t stub_addr, struct spin_map *map);

static int add_site_held(builder *build, uintptr_t fstart, const struct spin_loop *l, enum spin_kind kind)
{
    static uint8_t buf[SPIN_MAX_STUB];
    const uint8_t *code = (const uint8_t *)fstart;
    uint32_t i = nr_sites();
    usf_dassert(__atomic_load_n(&held, __ATOMIC_RELAXED));
    if (i == SPIN_MAX_SITES) return -SPIN_NO_MEMORY - 1;
    struct spin_site *s = &usf_spin_sites[i];
    /* Its length does not depend on where it lies; built first as if next to the loop. */
    size_t len = build(code, fstart, l, i, buf, sizeof buf, l->head, &s->map);
    if (!len) return -SPIN_NO_ROOM - 1;
    uint8_t *stub = gate_alloc_stub(l->head, len);
    if (!stub) return -SPIN_NO_MEMORY - 1;
    if (build(code, fstart, l, i, buf, sizeof buf, (uintptr_t)stub, &s->map) != len ||
        gate_write_code(stub, buf, len)) return -SPIN_NO_MEMORY - 1;
    s->loop = *l;
    s->head = l->head;
    s->stub = (uintptr_t)stub;
    s->stub_end = (uintptr_t)stub + len;
    s->kind = (uint8_t)kind;
    s->committed = false;
    usf_dassert(site_is_valid(s));
    usf_xassert(site_is_alone(s, i + 1));
    __atomic_store_n(&usf_spin_nr_sites, i + 1, __ATOMIC_RELEASE);
    return (int)i;
}

static int add_site(builder *build, uintptr_t fstart, const struct spin_loop *l, enum spin_kind kind)
{
    if (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE)) return -SPIN_BUSY - 1;
    int known = find_site(l);
    int i = known >= 0 ? known : add_site_held(build, fstart, l, kind);
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
    return i;
}

void spin_after_fork(void)
{
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
    spin_scratch_release();
    spin_learn_after_fork();
}

int spin_prepare(uintptr_t fstart, const struct spin_loop *l)
{
    int known = find_site(l);
    if (known >= 0) return known;
    if (!middle_is_free(fstart, l)) return -SPIN_NO_ROOM - 1;
    return add_site(spin_build_stub, fstart, l, SPIN_SITE_LOOP);
}

int spin_commit(uint32_t site)
{
    if (site >= nr_sites()) return -EINVAL;
    struct spin_site *s = &usf_spin_sites[site];
    uint8_t code[24];
    usf_dassert(site_is_valid(s));
    if (s->committed) return 0;
    if (s->loop.window_len > sizeof code) return -EINVAL;
    int e = make_jump(s, code);
    arch_put_nops(code + ARCH_JUMP_LEN, s->loop.window_len - ARCH_JUMP_LEN);
    if (!e) e = gate_write_code((void *)s->loop.window, code, s->loop.window_len);
    if (!e) __atomic_store_n(&s->committed, true, __ATOMIC_RELEASE);
    return e;
}

int spin_patch(uintptr_t fstart, const struct spin_loop *l)
{
    int site = spin_prepare(fstart, l);
    return site < 0 ? site : !usf_spin_sites[site].committed && spin_commit((uint32_t)site) == 0;
}

/* ---- lookups --------------------------------------------------------------------------------- */
uintptr_t spin_fix_pc(uintptr_t pc)
{
    for (uint32_t i = 0, n = nr_sites(); i < n; i++) {
        const struct spin_site *s = &usf_spin_sites[i];
        if (!s->head || !s->committed) continue;
        int k = insn_holding(s, pc);
        /* a poll function's first instruction enters by the jump as every call does */
        if (k < 0 || (s->kind == SPIN_SITE_POLL && pc == s->loop.window) || !stands(s)) continue;
        usf_dassert(s->stub + s->map.insn[k] < s->stub_end);
        return s->stub + s->map.insn[k];
    }
    return pc;
}

uintptr_t spin_original_pc(uintptr_t pc, uint64_t *sp)
{
    for (uint32_t i = 0, n = nr_sites(); i < n; i++) {
        const struct spin_site *s = &usf_spin_sites[i];
        uint64_t shift;
        if (!s->head || pc < s->stub || pc >= s->stub_end) continue;
        uintptr_t origin = spin_stub_origin(&s->loop, &s->map, pc - s->stub, &shift);
        if (!origin) return pc;
        *sp += shift;
        return origin;
    }
    return pc;
}

/* Where the round begins; 0: there is none. */
static uintptr_t probe_at(uint32_t place)
{
    uint32_t site = place & ((1u << SPIN_SITE_BITS) - 1), back = (place & ~SPIN_UNCOUNTED) >> SPIN_SITE_BITS;
    if (site >= nr_sites() || back >= SPIN_MAX_BACK || !usf_spin_sites[site].map.probe[back]) return 0;
    usf_dassert(site_is_valid(&usf_spin_sites[site]));
    return usf_spin_sites[site].stub + usf_spin_sites[site].map.probe[back];
}

bool spin_can_probe(uint32_t place) { return probe_at(place) != 0; }

bool spin_probe(uint32_t place, const struct spin_regs *regs)
{
    uintptr_t at = probe_at(place);
    return !at || usf_spin_probe(regs, at);
}

/* ---- poll functions -------------------------------------------------------------------------- */
int spin_patch_poll(uintptr_t fstart, uintptr_t fend)
{
    const uint8_t *code = (const uint8_t *)fstart;
    struct spin_loop l = { .pc = fstart, .head = fstart, .window = fstart };
    if (fend <= fstart || fend - fstart > SPIN_MAX_FUNCTION) return -SPIN_NO_ROOM - 1;
    if (!spin_scratch_take()) return -SPIN_BUSY - 1;
    struct spin_scratch *s = &spin_scratch;
    bool ok = true;
    while (ok && l.window_len < ARCH_JUMP_LEN) {
        unsigned len = spin_movable_len(s, code + l.window_len, fend - fstart - l.window_len);
        ok = len;
        l.insn[l.nr_insns++] = (struct spin_insn){ l.window_len, (uint8_t)len, 0 };
        l.window_len = (uint8_t)(l.window_len + len);
    }
    l.window_insns = l.nr_insns;
    l.end = fstart + l.window_len;
    ok = ok && !branches_into(s, fstart, fend - fstart, fstart, fstart + l.window_len);
    spin_scratch_release();
    if (!ok || !middle_is_free(fstart, &l)) return -SPIN_NO_ROOM - 1;
    int site = add_site(spin_build_poll, fstart, &l, SPIN_SITE_POLL);
    if (site < 0) return site;      /* patched before: its first instruction is a jump, and movable */
    int e = spin_commit((uint32_t)site);
    return e ? -SPIN_NO_MEMORY - 1 : site;
}
