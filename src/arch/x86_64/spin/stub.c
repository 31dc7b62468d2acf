/* src/arch/x86_64/spin/stub.c - the copy of a loop that enters the runtime.  SPDX-License-Identifier: Apache-2.0
 *
 *   movl $0,usf_spin_rounds.entered  where the window's jump leads: a wait begins
 *   jmp  the window's first instruction, unless it comes next
 *   copied instructions, in address order; branches in their 32-bit form
 *   for each back edge's target T (enter_shift):
 *       decl usf_spin_rounds         nops instead, where the flags are needed at T
 *       jns T
 *       lea -128(%rsp),%rsp          leave the red zone alone
 *       push head(%rip)              where the unwinder shall believe to be
 *       push $site
 *       call *entry(%rip)
 *       lea 144(%rsp),%rsp
 *       jmp T
 *   if the loop is pure, for each T a probe that begins there: copied instructions without pauses, whose back
 *   edges to T itself go to `stays`, and whose other back edges, exits and lock attempts to `leaves`
 *       leaves: jmp *leaves(%rip);  stays: jmp *stays(%rip)
 *   .quad head, entry, leaves, stays
 */
#include "spin/internal.h"

#include "arch/arch.h"

/* What has more places or instructions is not tried: the stub would become long. */
#define MAX_PROBES      2
#define MAX_PROBE_INSNS 32

struct emit {
    struct spin_scratch *s;
    const uint8_t *code;         /* of head */
    const struct spin_loop *l;
    uint8_t *buf;
    size_t cap, at;
    uintptr_t addr;              /* where buf will run */
    uint16_t *map;               /* of the copy at hand */
    uint16_t live[SPIN_MAX_INSNS], probe[MAX_PROBES][SPIN_MAX_INSNS];
    int from;                    /* the copy is a probe, from this insn; -1: it is the loop */
    uint32_t site;
    bool ok;
    unsigned nr_back;
    struct { uint16_t target; size_t at; } back[SPIN_MAX_BACK];  /* target: index of insn */
    size_t enters, entered;      /* offsets of the calls of the runtime */
    size_t leaves, stays;        /* ... of the ends of the probes */
    size_t literals;             /* offset of the literals; known in the second pass */
};

static void bytes(struct emit *e, const void *p, size_t n)
{
    if (e->at + n > e->cap) {
        e->ok = false;
        return;
    }
    for (size_t i = 0; i < n; i++) e->buf[e->at + i] = ((const uint8_t *)p)[i];
    e->at += n;
}
static void rel32(struct emit *e, uintptr_t target)
{
    int64_t d = (int64_t)(target - (e->addr + e->at + 4));
    int32_t v = (int32_t)d;
    if (v != d) e->ok = false;
    bytes(e, &v, 4);
}
static void jump(struct emit *e, uintptr_t target)
{
    bytes(e, "\xe9", 1);
    rel32(e, target);
}

static int insn_at(const struct spin_loop *l, uintptr_t pc)
{
    for (unsigned i = 0; i < l->nr_insns; i++)
        if (l->head + l->insn[i].off == pc) return (int)i;
    return -1;
}
static uintptr_t back_block(struct emit *e, int target)
{
    for (unsigned i = 0; i < e->nr_back; i++)
        if (e->back[i].target == target) return e->addr + e->back[i].at;
    if (e->nr_back == SPIN_MAX_BACK) {
        e->ok = false;
        return e->addr;
    }
    e->back[e->nr_back].target = (uint16_t)target;
    e->back[e->nr_back].at = 0;
    return e->addr + e->back[e->nr_back++].at;
}
static bool is_not_tried(const struct spin_insn *i) { return i->flags & (SPIN_I_ABSORBED | SPIN_I_ATOMIC); }

/* Where a branch of the loop to pc goes in the copy. */
static uintptr_t destination(struct emit *e, uintptr_t pc, bool back)
{
    int i = insn_at(e->l, pc);
    if (e->from >= 0) {
        if (back) return e->addr + (i == e->from ? e->stays : e->leaves);
        return e->addr + (i < 0 || is_not_tried(&e->l->insn[i]) ? e->leaves : e->map[i]);
    }
    if (i < 0) return pc;
    return back ? back_block(e, i) : e->addr + e->map[i];
}

static bool is_movable(const ZydisDecodedInstruction *i)
{
    switch (i->meta.category) {
    case ZYDIS_CATEGORY_CALL: case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT: return false;
    case ZYDIS_CATEGORY_COND_BR:
        return i->opcode_map == ZYDIS_OPCODE_MAP_0F ? (i->opcode & 0xf0) == 0x80 : (i->opcode & 0xf0) == 0x70;
    default: return true;
    }
}

unsigned spin_movable_len(struct spin_scratch *s, const uint8_t *code, size_t size)
{
    ZydisDecodedInstruction *i = &s->decoder.insn;
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&s->decoder.full, NULL, code, size, i)) && is_movable(i) ? i->length : 0;
}

static void branch(struct emit *e, const ZydisDecodedInstruction *i, uintptr_t pc, bool back)
{
    uintptr_t to = pc + i->length + (uintptr_t)i->raw.imm[0].value.s;
    if (i->meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
        jump(e, destination(e, to, back));
        return;
    }
    uint8_t op[2] = { 0x0f, (uint8_t)(0x80 | (i->opcode & 15)) };
    bytes(e, op, 2);
    rel32(e, destination(e, to, back));
}

static void plain(struct emit *e, const ZydisDecodedInstruction *i, const uint8_t *c, uintptr_t pc)
{
    size_t at = e->at;
    bytes(e, c, i->length);
    if (!(i->attributes & ZYDIS_ATTRIB_IS_RELATIVE) || !e->ok) return;
    /* RIP-relative operand: same target from the new place */
    if (i->raw.disp.size != 32 || i->address_width != 64) {
        e->ok = false;
        return;
    }
    int64_t d = i->raw.disp.value + (int64_t)(pc - (e->addr + at));
    int32_t v = (int32_t)d;
    if (v != d) e->ok = false;
    for (int k = 0; k < 4; k++) e->buf[at + i->raw.disp.offset + (unsigned)k] = (uint8_t)((uint32_t)v >> (8 * k));
}

#define COUNT_SIZE 14u
#define ENTER_SIZE 30u
#define JUMP_SIZE  5u

enum literal { HEAD, ENTRY, LEAVES, STAYS };
static void rip_literal(struct emit *e, const char *op, enum literal which)
{
    bytes(e, op, 2);
    rel32(e, e->addr + e->literals + 8 * (size_t)which);
}

/* Where a word of this thread is, seen from its thread pointer: the same for each thread. */
static void word_at(struct emit *e, const void *word)
{
    int32_t d = (int32_t)((uintptr_t)word - arch_thread_pointer());
    bytes(e, &d, 4);
}
static void begin(struct emit *e)
{
    bytes(e, "\x64\xc7\x04\x25", 4);       /* movl, which leaves the flags alone */
    word_at(e, &usf_spin_rounds.entered);
    bytes(e, "\0\0\0", 4);
    if (e->l->insn[0].off || e->l->window != e->l->head) jump(e, destination(e, e->l->window, false));
}

static void count(struct emit *e, uint16_t target)
{
    if (e->l->insn[target].flags & SPIN_I_FLAGS) {
        bytes(e, "\x66\x0f\x1f\x84\0\0\0\0\0\x0f\x1f\x44\0\0", COUNT_SIZE);
        return;
    }
    bytes(e, "\x64\xff\x0c\x25", 4);
    word_at(e, &usf_spin_rounds.left);
    bytes(e, "\x0f\x89", 2);
    rel32(e, e->addr + e->live[target]);
}

/* The call of the runtime. */
static void enter(struct emit *e, uint32_t place)
{
    place |= e->site;
    bytes(e, "\x48\x8d\x64\x24\x80", 5);
    rip_literal(e, "\xff\x35", HEAD);
    bytes(e, "\x68", 1);
    bytes(e, &place, 4);
    rip_literal(e, "\xff\x15", ENTRY);
    bytes(e, "\x48\x8d\xa4\x24\x90\x00\x00\x00", 8);
}

/* How far the stack pointer is from the loop's at this byte of the call. */
static unsigned enter_shift(size_t at)
{ return at < 5 || at >= ENTER_SIZE ? 0 : at < 11 ? 128 : at < 16 ? 136 : 144; }
static void literals(struct emit *e, uintptr_t place)
{
    while (e->ok && e->at % 8) bytes(e, "\xcc", 1);
    e->literals = e->at;
    uintptr_t v[] = { [HEAD] = place, [ENTRY] = (uintptr_t)usf_spin_entry, [LEAVES] = (uintptr_t)usf_spin_leaves,
                      [STAYS] = (uintptr_t)usf_spin_stays };
    bytes(e, v, e->leaves ? sizeof v : 2 * sizeof *v);
}
static bool is_pause(const struct spin_insn *i, const uint8_t *c)
{ return (i->len == 1 && c[0] == 0x90) || (i->len == 2 && c[0] == 0xf3 && c[1] == 0x90); }

/* The instructions [first, last) of l, each at its place of the map. */
static void copy_insns(struct emit *e, unsigned first, unsigned last)
{
    const struct spin_loop *l = e->l;
    for (unsigned k = first; k < last && e->ok; k++) {
        const uint8_t *c = e->code + l->insn[k].off;
        uintptr_t pc = l->head + l->insn[k].off, next = pc + l->insn[k].len;
        ZydisDecodedInstruction *i = &e->s->decoder.insn;
        e->map[k] = (uint16_t)e->at;
        if (e->from >= 0 && is_not_tried(&l->insn[k])) continue;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&e->s->decoder.full, NULL, c, l->insn[k].len, i)) ||
            i->length != l->insn[k].len || !is_movable(i)) {
            e->ok = false;
            return;
        }
        if (i->raw.imm[0].is_relative) branch(e, i, pc, l->insn[k].flags & SPIN_I_BACK);
        else if (e->from < 0 || !is_pause(&l->insn[k], c)) plain(e, i, c, pc);
        bool stops = i->meta.category == ZYDIS_CATEGORY_UNCOND_BR || i->meta.category == ZYDIS_CATEGORY_RET;
        bool gap = k + 1 == last || l->head + l->insn[k + 1].off != next
                   || (e->from >= 0 && is_not_tried(&l->insn[k + 1]));
        if (!stops && gap) jump(e, destination(e, next, false));
    }
}

static void probes(struct emit *e)
{
    for (unsigned i = 0; i < e->nr_back; i++) {
        e->map = e->probe[i];
        e->from = e->back[i].target;
        copy_insns(e, 0, e->l->nr_insns);
    }
    e->leaves = e->at;
    rip_literal(e, "\xff\x25", LEAVES);
    e->stays = e->at;
    rip_literal(e, "\xff\x25", STAYS);
}

static void pass(struct emit *e)
{
    e->at = 0;
    e->map = e->live;
    e->from = -1;
    begin(e);
    copy_insns(e, 0, e->l->nr_insns);
    e->enters = e->at;
    for (unsigned i = 0; i < e->nr_back; i++) {
        uint32_t uncounted = e->l->insn[e->back[i].target].flags & SPIN_I_FLAGS ? SPIN_UNCOUNTED : 0;
        e->back[i].at = e->at;
        count(e, e->back[i].target);
        enter(e, i << SPIN_SITE_BITS | uncounted);
        jump(e, e->addr + e->live[e->back[i].target]);
    }
    e->entered = e->at;
    if (e->l->pure && e->nr_back <= MAX_PROBES && e->l->nr_insns <= MAX_PROBE_INSNS) probes(e);
    /* the unwinder looks up the byte before: the loop's first instruction */
    literals(e, e->l->head + e->l->insn[0].len);
}
static void pass_poll(struct emit *e)
{
    e->at = 0;
    e->map = e->live;
    e->from = -1;
    e->enters = 0;
    enter(e, SPIN_UNCOUNTED);
    e->entered = e->at;
    copy_insns(e, 0, e->l->nr_insns);
    literals(e, e->l->head + 1);
}

static void report(const struct emit *e, struct spin_map *map)
{
    map->enters = (uint16_t)e->enters;
    map->entered = (uint16_t)e->entered;
    for (unsigned k = 0; k < e->l->nr_insns; k++) map->insn[k] = e->live[k];
    for (unsigned i = 0; i < SPIN_MAX_BACK; i++) {
        bool can = e->leaves && i < e->nr_back && !is_not_tried(&e->l->insn[e->back[i].target]);
        map->probe[i] = can ? e->probe[i][e->back[i].target] : 0;
    }
}

static size_t build(void (*one_pass)(struct emit *), const uint8_t *code, uintptr_t fstart, const struct spin_loop *l,
                    uint32_t site, uint8_t *buf, size_t cap, uintptr_t stub_addr, struct spin_map *map)
{
    if (l->head < fstart || !l->nr_insns || l->nr_insns > SPIN_MAX_INSNS || !spin_scratch_take()) return 0;
    struct emit e = { .s = &spin_scratch, .code = code + (l->head - fstart), .l = l, .buf = buf, .cap = cap,
                      .addr = stub_addr, .site = site, .ok = true };
    /* Lengths do not depend on targets: the first pass finds all places, the second writes what
     * they are. */
    one_pass(&e);
    if (e.ok) one_pass(&e);
    spin_scratch_release();
    report(&e, map);
    return e.ok ? e.at : 0;
}

size_t spin_build_stub(const uint8_t *code, uintptr_t fstart, const struct spin_loop *l, uint32_t site,
                       uint8_t *buf, size_t cap, uintptr_t stub_addr, struct spin_map *map)
{
    return build(pass, code, fstart, l, site, buf, cap, stub_addr, map);
}
size_t spin_build_poll(const uint8_t *code, uintptr_t fstart, const struct spin_loop *l, uint32_t site,
                       uint8_t *buf, size_t cap, uintptr_t stub_addr, struct spin_map *map)
{
    return build(pass_poll, code, fstart, l, site, buf, cap, stub_addr, map);
}

/* Between the copies of two instructions there may be a jump from one to where the next lies. */
static uintptr_t copied(const struct spin_loop *l, const struct spin_map *map, size_t at)
{
    unsigned k = 0;
    while (k + 1u < l->nr_insns && map->insn[k + 1] <= at) k++;
    const struct spin_insn *i = &l->insn[k];
    return l->head + i->off + (at - map->insn[k] < i->len ? 0 : i->len);
}

uintptr_t spin_stub_origin(const struct spin_loop *l, const struct spin_map *map, size_t at, uint64_t *shift)
{
    bool poll = !map->enters;
    *shift = 0;
    if (poll && at < map->entered) {
        *shift = enter_shift(at);
        return l->head;
    }
    if (!poll && at < map->insn[0]) return l->window;
    if (at >= map->enters && at < map->entered) {
        size_t in = (at - map->enters) % (COUNT_SIZE + ENTER_SIZE + JUMP_SIZE);
        *shift = in < COUNT_SIZE ? 0 : enter_shift(in - COUNT_SIZE);
        return l->head;
    }
    return poll || at < map->enters ? copied(l, map, at) : 0;
}
