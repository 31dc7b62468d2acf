/* src/arch/x86_64/gate/decode.c - decode one function: instructions and jump targets.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Targets are direct branches, landing pads, ENDBR64 and the entries of jump tables.  Tables are
 * found generously: whatever the function takes the address of is read as a table of offsets for as
 * long as its entries lead into the function.  Too many targets only cost a choice of windows. */
#include "gate/scan.h"

#include <Zydis/Zydis.h>

#define MAX_BASES   256
#define MAX_ENTRIES 8192

struct walk {
    struct gate_function *f;
    uint64_t base[MAX_BASES];   /* addresses that the function takes */
    unsigned nr_bases;
    bool indirect, computed, table_found;
};

static void mark_target(uint64_t addr, void *arg)
{
    struct gate_function *f = arg;
    if (addr >= f->fde.start && addr < f->fde.end) f->mark[addr - f->fde.start] |= MARK_TARGET;
}

static bool is_fixed(const ZydisDecodedInstruction *in)
{
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_COND_BR: case ZYDIS_CATEGORY_UNCOND_BR: case ZYDIS_CATEGORY_CALL: case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_SYSRET: case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSTEM:
        return true;
    default:
        break;
    }
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT: case ZYDIS_MNEMONIC_ENDBR64: case ZYDIS_MNEMONIC_ENDBR32:
        return true;
    default:
        return false;
    }
}

static bool is_rip_relative(const ZydisDecodedInstruction *in)
{
    return in->attributes & ZYDIS_ATTRIB_HAS_MODRM && in->raw.modrm.mod == 0 && in->raw.modrm.rm == 5;
}

static void add_base(struct walk *w, uint64_t addr)
{
    for (unsigned i = 0; i < w->nr_bases; i++)
        if (w->base[i] == addr) return;
    if (w->nr_bases == MAX_BASES) w->f->unsure = true;
    else w->base[w->nr_bases++] = addr;
}

/* disp32 with an index and no base: a table of absolute addresses (code linked at a fixed
 * address). */
static void absolute_table(struct walk *w, const ZydisDecodedInstruction *in)
{
    struct gate_function *f = w->f;
    uint64_t at = (uint64_t)in->raw.disp.value;
    for (unsigned i = 0; i < MAX_ENTRIES; i++, at += 8) {
        const uint64_t *e = (const void *)gate_at(f->im, at, 8);
        if (!e || *e < f->fde.start || *e >= f->fde.end) return;
        mark_target(*e, f);
        w->table_found = true;
    }
}

static void look_at(struct walk *w, const ZydisDecodedInstruction *in, uint64_t addr)
{
    struct gate_function *f = w->f;
    uint64_t next = addr + in->length;
    if (in->raw.imm[0].is_relative) mark_target(next + (uint64_t)in->raw.imm[0].value.s, f);
    if (in->mnemonic == ZYDIS_MNEMONIC_ENDBR64 && addr != f->fde.start) mark_target(addr, f);
    if (in->mnemonic == ZYDIS_MNEMONIC_LEA && is_rip_relative(in)) add_base(w, next + (uint64_t)in->raw.disp.value);
    if (in->mnemonic == ZYDIS_MNEMONIC_JMP && !in->raw.imm[0].is_relative) {
        w->indirect = true;
        bool indexed = in->raw.modrm.mod != 3 && in->raw.modrm.rm == 4 && (in->raw.sib.index != 4 || in->raw.rex.X);
        if (indexed && in->raw.sib.base == 5 && in->raw.modrm.mod == 0) absolute_table(w, in);
        else if (indexed || in->raw.modrm.mod == 3) w->computed = true;
    }
}

/* Tables of 32-bit offsets, from the table itself (switch) or from a label in the function
 * (computed goto). */
static void relative_tables(struct walk *w)
{
    struct gate_function *f = w->f;
    for (unsigned t = 0; t < w->nr_bases; t++) {
        if (w->base[t] >= f->fde.start && w->base[t] < f->fde.end) {
            mark_target(w->base[t], f);
            continue;
        }
        for (unsigned b = 0; b < w->nr_bases; b++) {
            bool label = w->base[b] >= f->fde.start && w->base[b] < f->fde.end;
            if (b != t && !label) continue;
            uint64_t at = w->base[t];
            for (unsigned i = 0; i < MAX_ENTRIES; i++, at += 4) {
                const int32_t *e = (const void *)gate_at(f->im, at, 4);
                if (!e) break;
                uint64_t to = w->base[b] + (uint64_t)(int64_t)*e;
                if (to < f->fde.start || to >= f->fde.end) break;
                mark_target(to, f);
                w->table_found = true;
            }
        }
    }
}

static void init_decoder(ZydisDecoder *d)
{
    ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

void gate_decode(struct gate_function *f)
{
    struct walk w = {.f = f};
    ZydisDecoder d;
    ZydisDecodedInstruction in;
    init_decoder(&d);
    for (uint64_t i = 0; i < f->len; i += in.length) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, f->code + i, f->len - i, &in))) {
            f->undecodable = true;
            return;
        }
        uint8_t m = in.length;
        if (is_fixed(&in)) m |= MARK_FIXED;
        if (is_rip_relative(&in)) m |= MARK_RIP;
        if (in.mnemonic == ZYDIS_MNEMONIC_SYSCALL) m |= MARK_SYSCALL;
        f->mark[i] |= m;
        look_at(&w, &in, f->fde.start + i);
    }
    if (w.indirect) {
        relative_tables(&w);
        /* A computed jump without a table is a tail call, unless the table holds absolute
         * addresses. */
        if (w.computed && !w.table_found && w.nr_bases) f->unsure = true;
    }
    if (!gate_landing_pads(f->im, &f->fde, mark_target, f)) f->unsure = true;
}

static bool decode_full(const struct gate_function *f, uint64_t at, ZydisDecodedInstruction *in, ZydisDecodedOperand *op)
{
    ZydisDecoder d;
    init_decoder(&d);
    uint64_t i = at - f->fde.start;
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, f->code + i, f->len - i, in, op));
}

static ZydisRegister whole(ZydisRegister r)
{
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
}

/* 1: sets eax to *value; 0: leaves rax alone; -1: anything else. */
static int sets_eax(const struct gate_function *f, uint64_t at, int32_t *value)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    if (!decode_full(f, at, &in, op)) return -1;
    bool reg = in.operand_count >= 2 && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].size >= 32
               && whole(op[0].reg.value) == ZYDIS_REGISTER_RAX;
    if (reg && in.mnemonic == ZYDIS_MNEMONIC_MOV && op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        *value = (int32_t)op[1].imm.value.s;
        return 1;
    }
    if (reg && in.mnemonic == ZYDIS_MNEMONIC_XOR && op[1].type == ZYDIS_OPERAND_TYPE_REGISTER
        && op[1].reg.value == op[0].reg.value) {
        *value = 0;
        return 1;
    }
    for (unsigned i = 0; i < in.operand_count; i++)
        if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
            && whole(op[i].reg.value) == ZYDIS_REGISTER_RAX)
            return -1;
    return 0;
}

int32_t gate_static_nr(const struct gate_function *f, uint64_t at)
{
    uint64_t i = at - f->fde.start;
    for (int steps = 0; steps < 24; steps++) {
        uint64_t p = gate_insn_before(f, i);
        if (p == i || f->mark[i] & MARK_TARGET || f->mark[p] & MARK_FIXED) return -1;
        int32_t nr = -1;
        int how = sets_eax(f, f->fde.start + p, &nr);
        if (how) return how > 0 ? nr : -1;
        i = p;
    }
    return -1;
}

bool gate_may_follow(const struct gate_function *f, uint64_t at)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    if (!decode_full(f, at, &in, op)) return false;
    for (unsigned i = 0; i < in.operand_count; i++) {
        ZydisRegister r[2] = {ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_NONE};
        if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) r[0] = op[i].mem.base, r[1] = op[i].mem.index;
        else if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ || op[i].size < 32))
            r[0] = op[i].reg.value;
        for (int k = 0; k < 2; k++)
            if (r[k] != ZYDIS_REGISTER_NONE && (whole(r[k]) == ZYDIS_REGISTER_RCX || whole(r[k]) == ZYDIS_REGISTER_R11))
                return false;
    }
    return true;
}

unsigned gate_rip_offset(const struct gate_function *f, uint64_t at)
{
    ZydisDecoder d;
    ZydisDecodedInstruction in;
    init_decoder(&d);
    uint64_t i = at - f->fde.start;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, f->code + i, f->len - i, &in)) || !is_rip_relative(&in))
        return 0;
    return in.raw.disp.offset;
}

/* `test the thread's word; move the arguments; syscall; ret` */
bool gate_is_cancel_arch(const struct gate_function *f, uint64_t at)
{
    static const uint8_t moves[] = {0x48, 0x89, 0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89, 0xce, 0x4c, 0x89, 0xc2,
                                    0x4d, 0x89, 0xca};     /* rax=rsi rdi=rdx rsi=rcx rdx=r8 r10=r9 */
    bool tests = false, moved = false;
    for (uint64_t i = 0; i + sizeof moves <= at; i++) {
        if (f->code[i] == 0xf6 && f->code[i + 1] == 0x07) tests = true;      /* testb $x,(%rdi) */
        unsigned k = 0;
        while (k < sizeof moves && f->code[i + k] == moves[k]) k++;
        if (k == sizeof moves) moved = true;
    }
    return tests && moved && at < 80;
}
