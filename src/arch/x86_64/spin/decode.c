/* src/arch/x86_64/spin/decode.c - from bytes to nodes.  SPDX-License-Identifier: Apache-2.0
 *
 * Two passes.  The first walks the whole function without looking at operands (that is four times
 * as fast): it learns instruction bounds and every branch target near pc.  The second decodes what
 * lies near pc in full. */
#include "spin/internal.h"
#include <Zydis/Register.h>

struct spin_scratch spin_scratch;
static uint32_t scratch_busy;

static void init_decoders(struct spin_decoder *d)
{
    ZydisDecoderInit(&d->full, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderInit(&d->fast, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&d->fast, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

bool spin_scratch_take(void)
{
    if (__atomic_exchange_n(&scratch_busy, 1, __ATOMIC_ACQUIRE)) return false;
    init_decoders(&spin_scratch.decoder);
    return true;
}
void spin_scratch_release(void) { __atomic_store_n(&scratch_busy, 0, __ATOMIC_RELEASE); }

/* The target of a direct jump or call, relative to `at`'s base; false: it is none. */
static bool relative_target(const ZydisDecodedInstruction *i, int64_t at, int64_t *target)
{
    if (!i->raw.imm[0].is_relative) return false;
    *target = at + i->length + i->raw.imm[0].value.s;
    return true;
}
static bool is_call_opcode(const ZydisDecodedInstruction *i)
{
    return i->opcode == 0xe8 && i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
}

static void add_edge(struct spin_scratch *s, uint32_t from, uint32_t to)
{
    if (s->nr_edges < SPIN_EDGES) {
        s->edge[s->nr_edges].s = from;
        s->edge[s->nr_edges++].t = to;
    }
}

/* lea N(%rsp),%r; lea N(%rbp),%r; mov %rsp,%r: an address in the frame goes somewhere. */
static bool takes_frame_address(const ZydisDecodedInstruction *i, const uint8_t *code)
{
    if (i->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT) return false;
    bool sib_rsp = i->raw.modrm.rm == 4 && (i->raw.sib.base & 7) == 4, rbp = i->raw.modrm.rm == 5 && i->raw.modrm.mod;
    if (i->opcode == 0x8d) return i->raw.modrm.mod != 3 && (sib_rsp || rbp);
    return i->opcode == 0x89 && i->raw.modrm.mod == 3 && i->raw.modrm.reg == 4 && !(code[0] & 4) &&
           !(i->raw.modrm.rm == 5 && code[0] == 0x48);
}

enum spin_verdict spin_sweep(struct spin_scratch *s, uint32_t pc)
{
    uint8_t *b = (uint8_t *)s->bound, *t = (uint8_t *)s->target;
    for (unsigned i = 0; i < sizeof s->bound; i++) b[i] = t[i] = 0;
    s->lo = pc > SPIN_RADIUS ? pc - SPIN_RADIUS : 0;
    s->hi = s->size - pc > SPIN_RADIUS ? pc + SPIN_RADIUS : s->size;
    s->nr_edges = 0;
    s->frame = s->escapes = false;
    ZydisDecoderContext ctx;
    unsigned n = 0;
    for (uint32_t p = 0; p < s->size; p += s->decoder.insn.length, n++) {
        const uint8_t *c = s->code + p;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&s->decoder.fast, &ctx, c, s->size - p, &s->decoder.insn)))
            return SPIN_NO_DECODE;
        /* mov %rsp,%rbp or lea N(%rsp),%rbp in the prologue */
        if (n < 12 && s->decoder.insn.length >= 3 && c[0] == 0x48 &&
            ((c[1] == 0x89 && c[2] == 0xe5) || (c[1] == 0x8b && c[2] == 0xec) ||
             (c[1] == 0x8d && (c[2] == 0x6c || c[2] == 0xac) && c[3] == 0x24)))
            s->frame = true;
        s->escapes |= takes_frame_address(&s->decoder.insn, c);
        if (p >= s->lo && p < s->hi) bit_set(s->bound, p - s->lo);
        int64_t to;
        if (!relative_target(&s->decoder.insn, p, &to)) continue;
        if (to < s->lo || to >= s->hi) continue;
        bit_set(s->target, (uint32_t)(to - s->lo));
        if (p >= s->lo && p < s->hi && to <= p && !is_call_opcode(&s->decoder.insn)) add_edge(s, p, (uint32_t)to);
    }
    return bit_get(s->bound, pc - s->lo) ? SPIN_YES : SPIN_NO_DECODE;
}

static bool is_rip_relative(const ZydisDecodedInstruction *i) { return i->raw.modrm.mod == 0 && i->raw.modrm.rm == 5; }

bool spin_step(struct spin_scratch *s, const uint8_t *code, size_t size, struct spin_step *out)
{
    ZydisDecoderContext ctx;
    const ZydisDecodedInstruction *i = &s->decoder.insn;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&s->decoder.fast, &ctx, code, size, &s->decoder.insn))) return false;
    *out = (struct spin_step){ .len = i->length, .call = is_call_opcode(i) };
    out->direct = relative_target(i, 0, &out->to);
    if (i->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT) return true;
    out->indirect = i->opcode == 0xff && i->raw.modrm.reg == 4 && !is_rip_relative(i);
    out->address = i->opcode == 0x8d && is_rip_relative(i);
    if (out->address) out->to = i->length + i->raw.disp.value;
    return true;
}

/* ---- full decoding --------------------------------------------------------------------------- */
static void reject(struct node *n, enum spin_verdict why) { if (!n->bad) n->bad = (uint8_t)why; }

static int gpr_number(ZydisRegister r)
{
    return r == ZYDIS_REGISTER_NONE ? -1 : ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(
        ZYDIS_MACHINE_MODE_LONG_64, r));
}
/* The parts that a register name covers; 0: not followed and harmless.  Others are refused. */
static regset register_parts(struct node *n, ZydisRegister r, int *gpr)
{
    *gpr = -1;
    ZydisRegisterClass c = ZydisRegisterGetClass(r);
    int id = ZydisRegisterGetId(r);
    switch (c) {
    case ZYDIS_REGCLASS_GPR8:
        if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH) {
            *gpr = (int)(r - ZYDIS_REGISTER_AH);
            return RS(3 * *gpr + 1);
        }
        *gpr = gpr_number(r);
        return RS(3 * *gpr);
    case ZYDIS_REGCLASS_GPR16: *gpr = gpr_number(r); return (regset)3 << (3 * *gpr);
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64: *gpr = gpr_number(r); return RS_GPR(*gpr);
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: return RS_VEC(id);
    case ZYDIS_REGCLASS_MASK: return RS_MASK(id);
    case ZYDIS_REGCLASS_FLAGS:      /* through cpu_flags */
    case ZYDIS_REGCLASS_IP: return 0;
    default:
        if (r == ZYDIS_REGISTER_MXCSR) return 0;
        reject(n, SPIN_NO_EXIT);
        return 0;
    }
}

/* Is the operand a word of our own frame, and which?  Also through a register that holds its
 * address. */
static bool find_slot(const struct spin_scratch *s, const ZydisDecodedOperand *o, int8_t *base, int64_t *lo)
{
    bool flat = o->mem.segment == ZYDIS_REGISTER_SS || o->mem.segment == ZYDIS_REGISTER_DS;
    if (o->mem.index != ZYDIS_REGISTER_NONE || !flat) return false;
    *lo = o->mem.disp.value;
    *base = (int8_t)gpr_number(o->mem.base);
    if (*base == GPR_RSP || (s->frame && *base == GPR_RBP)) return true;
    if (*base < 0 || *base >= SPIN_GPRS || !s->alias[*base].base) return false;
    *lo += s->alias[*base].disp;
    *base = s->alias[*base].base;
    return true;
}

/* Registers that hold an address in our frame (lea N(%rsp),%r), for as long as the code runs
 * straight on. */
static void track_aliases(struct spin_scratch *s, const struct node *n)
{
    const ZydisDecodedOperand *o = s->decoder.op;
    bool lea = s->decoder.insn.mnemonic == ZYDIS_MNEMONIC_LEA && s->decoder.insn.operand_width == 64 &&
               o[1].mem.index == ZYDIS_REGISTER_NONE &&
               (o[1].mem.base == ZYDIS_REGISTER_RSP || (s->frame && o[1].mem.base == ZYDIS_REGISTER_RBP));
    for (int r = 0; r < SPIN_GPRS; r++)
        if (n->wr & RS_GPR(r) || n->stop || n->bad == SPIN_NO_CALL) s->alias[r].base = 0;
    if (!lea) return;
    int r = gpr_number(o[0].reg.value);
    s->alias[r].base = o[1].mem.base == ZYDIS_REGISTER_RSP ? GPR_RSP : GPR_RBP;
    s->alias[r].disp = o[1].mem.disp.value;
}

static regset slot_parts(struct spin_scratch *s, struct node *n, int8_t base, int64_t lo, int64_t hi, bool *exact)
{
    regset r = 0;
    *exact = false;
    for (uint32_t i = 0; i < s->nr_slots; i++) {
        struct spin_slot *k = &s->slot[i];
        if (k->base != base || hi <= k->lo || lo >= k->hi) continue;
        *exact = !r && k->lo >= lo && k->hi <= hi;
        r |= RS(RS_SLOT0 + i);
    }
    if (r) return r;
    if (s->nr_slots == RS_SLOTS) {
        reject(n, SPIN_NO_STORE);
        return 0;
    }
    s->slot[s->nr_slots] = (struct spin_slot){ .base = base, .lo = lo, .hi = hi };
    *exact = true;
    return RS(RS_SLOT0 + s->nr_slots++);
}
/* Writes that leave memory as it is while no other thread changes it: attempts at a lock,
 * fences. */
static bool idempotent_atomic(const struct spin_scratch *s)
{
    const ZydisDecodedInstruction *i = &s->decoder.insn;
    if (i->mnemonic == ZYDIS_MNEMONIC_XCHG) return true;
    if (!(i->attributes & ZYDIS_ATTRIB_HAS_LOCK)) return false;
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_AND: return true;
    case ZYDIS_MNEMONIC_ADD: return s->decoder.op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !s->decoder.op[1].imm.value.u;
    default: return false;
    }
}
static bool is_cas(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_CMPXCHG || m == ZYDIS_MNEMONIC_CMPXCHG8B || m == ZYDIS_MNEMONIC_CMPXCHG16B;
}

static void memory_operand(struct spin_scratch *s, struct node *n, const ZydisDecodedOperand *o)
{
    int unused;
    regset addr = 0;
    if (o->mem.base != ZYDIS_REGISTER_NONE) addr |= register_parts(n, o->mem.base, &unused);
    if (o->mem.index != ZYDIS_REGISTER_NONE) addr |= register_parts(n, o->mem.index, &unused);
    n->private |= o->mem.base == ZYDIS_REGISTER_RSP || o->mem.segment == ZYDIS_REGISTER_FS
                  || o->mem.segment == ZYDIS_REGISTER_GS;
    if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
        n->rd |= addr;
        return;
    }
    if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM) {
        reject(n, SPIN_NO_ADDRESS);
        return;
    }
    bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE, reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    int8_t base;
    int64_t lo;
    if (writes && n->atomic) {
        n->load = true;
        n->addr |= addr;
    } else if (find_slot(s, o, &base, &lo)) {
        bool exact;
        regset r = slot_parts(s, n, base, lo, lo + (o->size + 7) / 8, &exact);
        if (reads || (writes && (!exact || o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))) n->rd |= r;
        if (writes) n->wr |= r;
    } else {
        if (writes) reject(n, SPIN_NO_STORE);
        n->load = true;
        n->addr |= addr;
    }
}

static void register_operand(struct node *n, const ZydisDecodedOperand *o)
{
    int gpr;
    regset r = register_parts(n, o->reg.value, &gpr);
    bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    if (writes && gpr == GPR_RSP) reject(n, SPIN_NO_STORE);
    n->private |= gpr == GPR_RSP;
    if (n->atomic && o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT) {
        n->sink |= r;
        if (writes) n->wr |= r;
        return;
    }
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ || o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) n->rd |= r;
    if (writes) n->wr |= r;
}

static void flag_effects(struct node *n, const ZydisAccessedFlags *f)
{
    if (!f) return;
    static const struct { uint32_t mask; uint8_t bit; } map[] = {
        { ZYDIS_CPUFLAG_CF, 48 }, { ZYDIS_CPUFLAG_PF, 49 }, { ZYDIS_CPUFLAG_AF, 50 },
        { ZYDIS_CPUFLAG_ZF, 51 }, { ZYDIS_CPUFLAG_SF, 52 }, { ZYDIS_CPUFLAG_OF, 53 },
    };
    for (unsigned i = 0; i < sizeof map / sizeof *map; i++) {
        if (f->tested & map[i].mask) n->rd |= RS(map[i].bit);
        if ((f->modified | f->set_0 | f->set_1 | f->undefined) & map[i].mask) n->wr |= RS(map[i].bit);
    }
}

/* xor %eax,%eax and the like read nothing. */
static bool clears_register(const struct spin_scratch *s)
{
    const ZydisDecodedInstruction *i = &s->decoder.insn;
    unsigned a = 0, b = 1;
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_XOR: case ZYDIS_MNEMONIC_SUB: case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS: case ZYDIS_MNEMONIC_XORPD: break;
    case ZYDIS_MNEMONIC_VPXOR: case ZYDIS_MNEMONIC_VXORPS: case ZYDIS_MNEMONIC_VXORPD: a = 1; b = 2; break;
    default: return false;
    }
    return i->operand_count > b && s->decoder.op[a].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           s->decoder.op[b].type == ZYDIS_OPERAND_TYPE_REGISTER && s->decoder.op[a].reg.value == s->decoder.op[b].reg.value;
}

static void classify_counter(const struct spin_scratch *s, struct node *n)
{
    const ZydisDecodedInstruction *i = &s->decoder.insn;
    bool imm = i->operand_count > 1 && s->decoder.op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_INC: case ZYDIS_MNEMONIC_DEC: n->plain = n->unit = true; break;
    case ZYDIS_MNEMONIC_ADD: case ZYDIS_MNEMONIC_SUB: n->plain = true; n->unit = imm; break;
    case ZYDIS_MNEMONIC_LEA:
        n->plain = true;
        n->unit = s->decoder.op[1].mem.index == ZYDIS_REGISTER_NONE;
        break;
    case ZYDIS_MNEMONIC_MOV: case ZYDIS_MNEMONIC_MOVZX: case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD: case ZYDIS_MNEMONIC_CDQE: case ZYDIS_MNEMONIC_CWDE:
        n->plain = n->unit = true; break;
    case ZYDIS_MNEMONIC_SHL: case ZYDIS_MNEMONIC_SHR: case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_AND: case ZYDIS_MNEMONIC_OR: case ZYDIS_MNEMONIC_NEG: n->plain = true; break;
    case ZYDIS_MNEMONIC_CMP: case ZYDIS_MNEMONIC_TEST: case ZYDIS_MNEMONIC_BT:
        n->plain = n->compare = true; break;
    default: break;
    }
    n->shift = i->meta.category == ZYDIS_CATEGORY_SHIFT || i->meta.category == ZYDIS_CATEGORY_ROTATE;
    if (i->meta.category == ZYDIS_CATEGORY_CMOV || i->meta.category == ZYDIS_CATEGORY_SETCC)
        n->plain = n->compare = true;
}

static void classify_flow(const struct spin_scratch *s, struct node *n)
{
    const ZydisDecodedInstruction *i = &s->decoder.insn;
    int64_t to;
    switch (i->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        /* jrcxz, loop and xbegin have no long form or more than a jump's effect */
        if (i->opcode_map == ZYDIS_OPCODE_MAP_0F ? (i->opcode & 0xf0) != 0x80 : (i->opcode & 0xf0) != 0x70)
            reject(n, SPIN_NO_EXIT);
        n->branch = n->cond = true;
        n->if_equal = (i->opcode & 15) == 4;
        n->if_differs = (i->opcode & 15) == 5;
        if (relative_target(i, n->off, &to)) n->target = (int32_t)to;
        break;
    case ZYDIS_CATEGORY_UNCOND_BR:
        n->stop = true;
        if (relative_target(i, n->off, &to)) {
            n->branch = true;
            n->target = (int32_t)to;
            if (i->mnemonic != ZYDIS_MNEMONIC_JMP) reject(n, SPIN_NO_CALL);
        } else reject(n, SPIN_NO_CALL);
        break;
    case ZYDIS_CATEGORY_RET:
        n->stop = n->ret = true;
        /* fall through */
    case ZYDIS_CATEGORY_CALL: case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT: case ZYDIS_CATEGORY_IO: case ZYDIS_CATEGORY_IOSTRINGOP:
        reject(n, SPIN_NO_CALL);
        break;
    case ZYDIS_CATEGORY_STRINGOP: reject(n, SPIN_NO_ADDRESS); break;
    case ZYDIS_CATEGORY_SYSTEM:
        if (i->mnemonic == ZYDIS_MNEMONIC_RDTSC || i->mnemonic == ZYDIS_MNEMONIC_RDTSCP) n->time = true;
        else if (i->mnemonic != ZYDIS_MNEMONIC_RDPID) reject(n, SPIN_NO_CALL);
        break;
    default: break;
    }
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_PAUSE: case ZYDIS_MNEMONIC_UMWAIT: case ZYDIS_MNEMONIC_TPAUSE: n->pause = true; break;
    case ZYDIS_MNEMONIC_RDRAND: case ZYDIS_MNEMONIC_RDSEED: n->time = true; break;
    case ZYDIS_MNEMONIC_CPUID: case ZYDIS_MNEMONIC_HLT: case ZYDIS_MNEMONIC_UD2: reject(n, SPIN_NO_CALL); break;
    case ZYDIS_MNEMONIC_NOP: n->nop1 = i->length == 1; break;
    default: break;
    }
}

/* s->decoder.insn and s->decoder.op hold the instruction at n->off. */
static void describe(struct spin_scratch *s, struct node *n, uintptr_t fstart)
{
    const ZydisDecodedInstruction *i = &s->decoder.insn;
    classify_flow(s, n);
    ZydisInstructionCategory c = i->meta.category;
    if (n->branch && !n->cond) return;
    if (c == ZYDIS_CATEGORY_NOP || c == ZYDIS_CATEGORY_WIDENOP || c == ZYDIS_CATEGORY_PREFETCH ||
        c == ZYDIS_CATEGORY_PREFETCHWT1 || i->mnemonic == ZYDIS_MNEMONIC_PAUSE) return;
    bool memory = false;
    for (unsigned k = 0; k < i->operand_count; k++) memory |= s->decoder.op[k].type == ZYDIS_OPERAND_TYPE_MEMORY;
    for (unsigned k = 0; k < i->operand_count; k++)
        if (s->decoder.op[k].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) n->has_imm = true, n->imm = s->decoder.op[k].imm.value.s;
    n->width = i->operand_width;
    n->tests = i->mnemonic == ZYDIS_MNEMONIC_TEST;
    n->test_or_cmp = n->tests || i->mnemonic == ZYDIS_MNEMONIC_CMP;
    n->atomic = memory && idempotent_atomic(s);
    n->cas = n->atomic && is_cas(i->mnemonic);
    for (unsigned k = 0; k < i->operand_count; k++) {
        const ZydisDecodedOperand *o = &s->decoder.op[k];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) register_operand(n, o);
        else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) memory_operand(s, n, o);
    }
    flag_effects(n, i->cpu_flags);
    if (clears_register(s)) n->rd = 0;
    classify_counter(s, n);
    if (s->frame && n->wr & RS_GPR(GPR_RBP)) reject(n, SPIN_NO_STORE);
    if (n->load && !n->atomic && i->attributes & ZYDIS_ATTRIB_HAS_LOCK) reject(n, SPIN_NO_STORE);
}

static int node_at(const struct spin_scratch *s, int32_t off)
{
    int a = 0, b = (int)s->nr_nodes - 1;
    while (a <= b) {
        int m = (a + b) / 2;
        if ((int32_t)s->node[m].off == off) return m;
        if ((int32_t)s->node[m].off < off) a = m + 1;
        else b = m - 1;
    }
    return -1;
}

/* Narrow [lo, hi) around pc until its instructions fit the table. */
static void fit_region(const struct spin_scratch *s, uint32_t pc, uint32_t *lo, uint32_t *hi)
{
    for (uint32_t r = SPIN_RADIUS;; r /= 2) {
        *lo = pc - s->lo > r ? pc - r : s->lo;
        *hi = s->hi - pc > r ? pc + r : s->hi;
        uint32_t n = 0;
        for (uint32_t p = *lo; p < *hi; p++) n += bit_get(s->bound, p - s->lo);
        if (n <= SPIN_NODES) return;
    }
}

enum spin_verdict spin_decode_region(struct spin_scratch *s, uint32_t pc)
{
    uint32_t lo, hi;
    fit_region(s, pc, &lo, &hi);
    s->nr_nodes = s->nr_slots = 0;
    for (int r = 0; r < SPIN_GPRS; r++) s->alias[r].base = 0;
    for (uint32_t p = lo; p < hi; p++) {
        if (!bit_get(s->bound, p - s->lo)) continue;
        struct node *n = &s->node[s->nr_nodes++];
        *n = (struct node){ .off = p, .target = INT32_MIN, .next = -1, .taken = -1 };
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&s->decoder.full, s->code + p, s->size - p, &s->decoder.insn, s->decoder.op)))
            return SPIN_NO_DECODE;
        n->len = s->decoder.insn.length;
        if (bit_get(s->target, p - s->lo))
            for (int r = 0; r < SPIN_GPRS; r++) s->alias[r].base = 0;
        describe(s, n, s->fstart);
        track_aliases(s, n);
    }
    for (uint32_t i = 0; i < s->nr_nodes; i++) {
        struct node *n = &s->node[i];
        if (!n->stop && i + 1 < s->nr_nodes && n[1].off == n->off + n->len) n->next = (int16_t)(i + 1);
        if (n->branch) n->taken = (int16_t)node_at(s, n->target);
    }
    return SPIN_YES;
}
