/* src/arch/x86_64/gate/hook.c - the stubs of hooked functions.  SPDX-License-Identifier: Apache-2.0
 *
 *     head         struct gate_hook_site
 *     code_at:     lea    head(%rip), %r11
 *                  notrack jmp *enter(%rip)
 *     resume_at:   the instructions that were moved; calls as a push of their return address and a jump, so that unwinders see the
 *                  function and not the stub, which has no unwind information
 *                  jmp    to what follows them
 *
 * An endbr64 stays where it is. */
#include "gate/internal.h"

#include "arch/code.h"
#include "os/syscall.h"

#include <Zydis/Zydis.h>

#define STUB     GATE_STUB
#define MAX_INSN GATE_HOOK_MAX

_Static_assert(offsetof(struct gate_hook_site, data) == 8 && offsetof(struct gate_hook_site, resume) == 0, "teams/entry.S");
_Static_assert(sizeof(struct gate_hook_site) <= 64, "room for code");

const char gate_hook_undecodable[] = "it has an instruction that the decoder does not know";
static const char short_one[] = "it is too short", immovable[] = "its first instructions cannot be moved";

/* ---- may it be moved? --------------------------------------------------------------------------- */

static bool moves(const ZydisDecodedInstruction *in)
{
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:        /* jrcxz and loop have no long form */
        return in->opcode_map == ZYDIS_OPCODE_MAP_0F ? (in->opcode & 0xf0) == 0x80 : (in->opcode & 0xf0) == 0x70;
    case ZYDIS_CATEGORY_CALL: case ZYDIS_CATEGORY_UNCOND_BR:
        return in->raw.imm[0].is_relative;
    case ZYDIS_CATEGORY_RET: case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_SYSRET: case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSTEM:
        return false;
    default:
        break;
    }
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_XBEGIN: case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_ENDBR64: case ZYDIS_MNEMONIC_ENDBR32:
        return false;
    default:
        return true;
    }
}

const char *gate_hook_choose(const struct gate_function *f, struct gate_hook_window *w)
{
    ZydisDecoder d;
    ZydisDecodedInstruction in;
    uint64_t from = f->len >= 4 ? arch_call_mark_len(f->code) : 0, i = from;
    *w = (struct gate_hook_window){.code = f->code + from, .start = f->fde.start + from};
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (bool ends = false; i - from < ARCH_JUMP_LEN; i += in.length) {
        if (ends || i >= f->len || w->nr == MAX_INSN) return short_one;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, f->code + i, f->len - i, &in))) return gate_hook_undecodable;
        if (!moves(&in)) return in.meta.category == ZYDIS_CATEGORY_RET ? short_one : immovable;
        w->at[w->nr] = (uint8_t)(i - from);
        w->size[w->nr++] = in.length;
        ends = in.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    }
    w->len = (unsigned)(i - from);
    return NULL;
}

bool gate_hook_may_branch(const struct gate_function *f, const struct gate_hook_window *w)
{
    uint64_t lo = w->code - f->code + 1, n = w->len - 1;
    for (uint64_t i = lo - 1; i + 2 <= f->len; i++) {
        const uint8_t *c = f->code + i;
        uint64_t next = i + 2;
        if ((c[0] & 0xf0) == 0x70 || c[0] == 0xeb || (c[0] & 0xfc) == 0xe0) {
            if (next + (uint64_t)(int64_t)(int8_t)c[1] - lo < n) return true;
        } else if (c[0] == 0xff && (c[1] & 0x38) == 0x20) {
            return true;        /* by a register or a table */
        }
        next = i + 5;
        if (next > f->len || !((c[0] & 0xfe) == 0xe8 || ((c[0] & 0xf0) == 0x80 && i && c[-1] == 0x0f))) continue;
        if (next + (uint64_t)(int64_t) * (const int32_t *)(const void *)(c + 1) - lo < n) return true;
    }
    return false;
}

/* ---- the stub ------------------------------------------------------------------------------------ */

struct emit { uint8_t *buf; uintptr_t addr; unsigned at; bool bad; uint64_t literal; unsigned literal_at; };

static void bytes(struct emit *e, const void *p, unsigned n)
{
    if (e->at + n > STUB) {
        e->bad = true;
        return;
    }
    for (unsigned i = 0; i < n; i++) e->buf[e->at++] = ((const uint8_t *)p)[i];
}

/* A displacement that ends its instruction. */
static void rel32(struct emit *e, uintptr_t to)
{
    int64_t d = (int64_t)(to - (e->addr + e->at + 4));
    int32_t v = (int32_t)d;
    if (v != d) e->bad = true;
    bytes(e, &v, 4);
}

static void jump(struct emit *e, uintptr_t to)
{
    bytes(e, "\xe9", 1);
    rel32(e, to);
}

/* The instruction at c, whose place was pc, as it was (with its operand's address kept) or in its
 * long form. */
static void move(struct emit *e, const ZydisDecodedInstruction *in, const uint8_t *c, uintptr_t pc)
{
    uintptr_t next = pc + in->length, to = next + (uintptr_t)in->raw.imm[0].value.s;
    uint8_t cond[2] = {0x0f, (uint8_t)(0x80 | (in->opcode & 15))};
    unsigned at = e->at;
    if (in->raw.imm[0].is_relative) {
        if (in->meta.category == ZYDIS_CATEGORY_CALL) {     /* the last one: what follows a call is long enough */
            e->literal = next;
            bytes(e, "\xff\x35", 2);
            rel32(e, e->addr + e->literal_at);
            jump(e, to);
        } else if (in->meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
            jump(e, to);
        } else {
            bytes(e, cond, 2);
            rel32(e, to);
        }
        return;
    }
    bytes(e, c, in->length);
    if (!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE) || e->bad) return;
    int64_t d = in->raw.disp.value + (int64_t)(pc - (e->addr + at));
    int32_t v = (int32_t)d;
    if (in->raw.disp.size != 32 || in->address_width != 64 || v != d) e->bad = true;
    for (unsigned k = 0; k < 4 && !e->bad; k++) e->buf[at + in->raw.disp.offset + k] = (uint8_t)((uint32_t)v >> 8 * k);
}

/* Then a return to where no call was made ends the program. */
static bool has_shadow_stack(void)
{
    enum { STATUS = 0x5005, SHSTK = 1 };       /* of asm/prctl.h, which older headers lack */
    uint64_t features = 0;
    return usf_syscall(__NR_arch_prctl, STATUS, &features) == 0 && features & SHSTK;
}

bool gate_hook_build(const struct gate_hook_window *w, uintptr_t base, uint64_t data, uintptr_t enter, uint8_t buf[STUB], uintptr_t addr)
{
    struct gate_hook_site *h = (void *)buf;
    struct emit e = {.buf = buf, .addr = addr, .at = sizeof *h, .literal_at = STUB - 8};
    ZydisDecoder d;
    ZydisDecodedInstruction in;
    for (unsigned i = 0; i < STUB; i++) buf[i] = 0xcc;
    *h = (struct gate_hook_site){.data = data, .enter = enter, .start = base + w->start, .len = (uint8_t)w->len, .nr = (uint8_t)w->nr,
                                 .code_at = (uint8_t)e.at};
    bytes(&e, "\x4c\x8d\x1d", 3);
    rel32(&e, addr);
    bytes(&e, "\x3e\xff\x25", 3);
    rel32(&e, addr + offsetof(struct gate_hook_site, enter));
    h->resume_at = (uint8_t)e.at;
    h->resume = addr + e.at;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (unsigned i = 0; i < w->nr; i++) {
        const uint8_t *c = w->code + w->at[i];
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, c, w->size[i], &in))) return false;
        if (in.meta.category == ZYDIS_CATEGORY_CALL && (i + 1 < w->nr || has_shadow_stack())) return false;
        h->insn[i].from = w->at[i];
        h->insn[i].to = (uint8_t)e.at;
        move(&e, &in, c, base + w->start + w->at[i]);
    }
    h->insn[w->nr].from = h->len;
    h->insn[w->nr].to = (uint8_t)e.at;
    jump(&e, base + w->start + w->len);
    if (e.at > e.literal_at) return false;
    for (unsigned i = 0; i < 8; i++) buf[e.literal_at + i] = (uint8_t)(e.literal >> 8 * i);
    return !e.bad;
}

uintptr_t gate_hook_original(uintptr_t code, size_t len, uintptr_t pc)
{
    size_t at = (pc - code) % STUB;
    const struct gate_hook_site *h = (const void *)(pc - at);
    (void)len;
    if (at < h->code_at || h->nr > MAX_INSN) return pc;
    uintptr_t is = h->start;
    for (unsigned i = 0; i <= h->nr && at >= h->resume_at; i++) {
        const uint8_t *c = (const uint8_t *)h + h->insn[i].to;
        if (at >= h->insn[i].to) is = h->start + h->insn[i].from;
        /* A call, as good as made: what jumps there is the function called, at its beginning. */
        if (at == h->insn[i].to + 6u && c[0] == 0xff && c[1] == 0x35 && c[6] == 0xe9)
            return pc + 5 + (uintptr_t)(int64_t) * (const int32_t *)(const void *)(c + 7);
    }
    return is;
}

uintptr_t gate_hook_moved(uintptr_t code, size_t len, uintptr_t pc)
{
    for (size_t at = 0; at + STUB <= len; at += STUB) {
        const struct gate_hook_site *h = (const void *)(code + at);
        for (unsigned i = 1; h->code_at && i <= h->nr && h->nr <= MAX_INSN; i++)
            if (h->start + h->insn[i].from == pc) return code + at + h->insn[i].to;
    }
    return pc;
}
