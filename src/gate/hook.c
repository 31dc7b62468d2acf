/* src/gate/hook.c - functions of loaded objects that pass through one of ours first.  SPDX-License-Identifier: Apache-2.0
 *
 * The function's first instructions, at least five bytes of them, move to a stub, and a jump takes their place:
 *
 *     head         struct gate_hook_site
 *     code_at:     lea    head(%rip), %r11
 *                  notrack jmp *enter(%rip)
 *     resume_at:   the instructions that were moved; calls as a push of their return address and a jump, so that unwinders see the
 *                  function and not the stub, which has no unwind information
 *                  jmp    to what follows them
 *
 * An endbr64 stays where it is.  Branches of the function itself into what is moved are refused; those of other functions to
 * anything but its beginning lead behind conditional jumps, which are longer than the window where they can reach that far. */
#include "gate/objects.h"

#include "os/os.h"
#include "os/syscall.h"

#include <Zydis/Zydis.h>
#include <sys/mman.h>

#define STUB     192u       /* multiple of 16 */
#define MAX_INSN 5u
#define MAX_LEN  (4096u * 16)

_Static_assert(offsetof(struct gate_hook_site, data) == 8 && offsetof(struct gate_hook_site, resume) == 0, "teams/entry.S");
_Static_assert(sizeof(struct gate_hook_site) <= 64, "room for code");

static const char no_function[] = "there is no description of its bounds", undecodable[] = "it has an instruction that the decoder does not know",
                  branched[] = "something jumps into its first instructions", short_one[] = "it is too short",
                  immovable[] = "its first instructions cannot be moved", no_memory[] = "no memory in reach",
                  not_written[] = "code cannot be written";

/* What is moved: link-time addresses. */
struct window {
    const uint8_t *code;
    uint64_t start;
    unsigned len, nr;
    uint8_t at[MAX_INSN], size[MAX_INSN];
};

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

static const char *choose(const struct gate_function *f, struct window *w)
{
    ZydisDecoder d;
    ZydisDecodedInstruction in;
    uint64_t from = f->len >= 4 && *(const uint32_t *)(const void *)f->code == 0xfa1e0ff3 ? 4 : 0, i = from;
    *w = (struct window){.code = f->code + from, .start = f->fde.start + from};
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (bool ends = false; i - from < GATE_JUMP_LEN; i += in.length) {
        if (ends || i >= f->len || w->nr == MAX_INSN) return short_one;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, f->code + i, f->len - i, &in))) return undecodable;
        if (!moves(&in)) return in.meta.category == ZYDIS_CATEGORY_RET ? short_one : immovable;
        w->at[w->nr] = (uint8_t)(i - from);
        w->size[w->nr++] = in.length;
        ends = in.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    }
    w->len = (unsigned)(i - from);
    return NULL;
}

/* Could anything be a jump into the middle of the window, wherever instructions begin?  To decode functions of libomp takes a millisecond. */
static bool may_branch(const struct gate_function *f, const struct window *w)
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

static const char *look_whole(struct gate_function *f, const struct window *w)
{
    const char *why = NULL;
    f->mark = os_map(f->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_is_error(f->mark)) return no_memory;
    gate_decode(f);
    if (f->undecodable) why = undecodable;
    for (uint64_t i = 1, from = w->code - f->code; i < w->len && !why; i++)
        if (f->mark[from + i] & MARK_TARGET) why = branched;
    os_unmap(f->mark, f->len);
    return why;
}

static const char *look(const struct gate_image *im, uint64_t function, struct window *w)
{
    struct gate_function f = {.im = im};
    if (!gate_fde_find(im, function, &f.fde) || f.fde.start != function) return no_function;
    f.len = f.fde.end - f.fde.start;
    f.code = gate_at(im, function, f.len);
    if (!f.code || f.len > MAX_LEN) return no_function;
    const char *why = choose(&f, w);
    return why || !may_branch(&f, w) ? why : look_whole(&f, w);
}

const char *gate_hook_refuses(const struct gate_image *im, uint64_t function)
{
    struct window w;
    return look(im, function, &w);
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

/* The instruction at c, whose place was pc, as it was (with its operand's address kept) or in its long form. */
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

/* Writes the stub that will lie at addr.  false: something is out of reach, or there is no room. */
static bool build(const struct window *w, uintptr_t base, uint64_t data, uintptr_t enter, uint8_t buf[STUB], uintptr_t addr)
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

/* ---- all of an object's --------------------------------------------------------------------------- */

/* Memory for one pass. */
struct work { struct window *w; uint8_t *code; size_t size, len; };

static bool make_work(struct work *k, unsigned n)
{
    k->len = n * (size_t)STUB;
    k->size = k->len + n * sizeof *k->w;
    k->code = os_map(k->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    k->w = (void *)(k->code + k->len);
    return !os_is_error(k->code);
}

static const char *write_hooks(const struct work *k, uintptr_t base, void *code, unsigned n)
{
    struct gate_writer w;
    gate_writer_open(&w);
    bool good = !gate_writer_put(&w, code, k->code, k->len);
    for (unsigned i = 0; i < n && good; i++) {      /* the rest of the window: decoders that come later are not led astray */
        uint8_t patch[GATE_WINDOW_MAX];
        uintptr_t at = base + k->w[i].start, to = (uintptr_t)code + i * STUB + sizeof(struct gate_hook_site);
        int32_t d = (int32_t)(to - (at + GATE_JUMP_LEN));
        patch[0] = 0xe9;
        for (unsigned b = 0; b < 4; b++) patch[1 + b] = (uint8_t)((uint32_t)d >> 8 * b);
        for (unsigned b = GATE_JUMP_LEN; b < k->w[i].len; b++) patch[b] = 0x90;
        good = !gate_writer_put(&w, (void *)at, patch, k->w[i].len);
    }
    gate_writer_close(&w);
    return good ? NULL : not_written;
}

static const char *prepare(const struct gate_entry *e, struct gate_hook *h, unsigned n, uintptr_t enter, struct work *k, void **code)
{
    uintptr_t base = e->object.base, lo = base + e->image.low, hi = base + e->image.high;
    for (unsigned i = 0; i < n; i++) {
        const char *why = look(&e->image, h[i].at - base, &k->w[i]);
        if (why) return why;
    }
    *code = gate_reuse_code(lo, hi, k->len);
    if (!*code) *code = gate_alloc_code(lo, hi, k->len);
    if (!*code) return no_memory;
    for (unsigned i = 0; i < n; i++) {
        uint8_t *stub = k->code + i * STUB;
        if (!build(&k->w[i], base, h[i].data, enter, stub, (uintptr_t)*code + i * STUB)) return immovable;
        h[i].resume = ((const struct gate_hook_site *)(const void *)stub)->resume;
    }
    return NULL;
}

const char *gate_hook_functions(const struct gate_object *o, struct gate_hook *h, unsigned n, void (*enter)(void))
{
    struct gate_entry *e = gate_entry_of(o);
    struct work k;
    void *code = NULL;
    if (!e || e->hooks.code) return no_function;
    if (!make_work(&k, n)) return no_memory;
    const char *why = prepare(e, h, n, (uintptr_t)enter, &k, &code);
    if (why) gate_free_code(code, k.len);
    else {
        e->hooks = (struct gate_patched){code, k.len};
        why = write_hooks(&k, o->base, code, n);
    }
    os_unmap(k.code, k.size);
    return why;
}
