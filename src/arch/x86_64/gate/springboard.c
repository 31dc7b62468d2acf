/* src/arch/x86_64/gate/springboard.c - the code that a patched site jumps to.  SPDX-License-Identifier: Apache-2.0
 *
 *     descriptor:  .quad  address after the site's syscall
 *                  .quad  resume; classes CANCEL and NOTIFY: the original function
 *                  its layout (struct shape), for gate_original_pc
 *     enter:       the instructions that stood before the syscall in the window
 *                  lea    descriptor(%rip), %r11
 *                  jmp    usf_gate_entry
 *     resume:      jrcxz  after
 *                  syscall                         action 1: no frame of ours on the stack
 *                  mov    %eax, %ecx               from here on only where the number may be clone's
 *                  jrcxz  after                    the child has a thread storage of its own, or the parent's
 *                  mov    $tpoff, %rcx
 *                  mov    %fs:1(%rcx), %r11d       usf_gate_vforked, a byte less; a shift would change flags
 *                  mov    %r11d, %fs:(%rcx)
 *     after:       the instructions that stood after the syscall in the window
 *                  jmp    back
 *
 * Class CANCEL: enter: lea descriptor(%rip), %r11; jmp usf_gate_cancel_entry.
 * Class NOTIFY: enter: jmp gate_notify. */
#include "gate/internal.h"

#include "arch/arch.h"
#include "arch/code.h"

/* Descriptor of a springboard, at its start. */
struct shape {
    uint64_t after;             /* address after the site */
    uint64_t resume;
    uint16_t size;              /* of the whole springboard */
    uint8_t before, insn;       /* as in struct gate_rec */
    uint8_t resume_at, after_at;        /* offsets; after_at == 0: class CANCEL or NOTIFY */
    uint8_t reserved[2];
};
#define DESCRIPTOR sizeof(struct shape)

struct emit { uint8_t *buf; uintptr_t addr; unsigned at; bool bad; };

static void byte(struct emit *e, unsigned v) { e->buf[e->at++] = (uint8_t)v; }

static void bytes(struct emit *e, const uint8_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) byte(e, p[i]);
}

static void word(struct emit *e, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) byte(e, (unsigned)(v >> 8 * i) & 0xff);
}

/* A displacement that ends its instruction. */
static void rel32(struct emit *e, uintptr_t to)
{
    int64_t d = (int64_t)(to - (e->addr + e->at + 4));
    if (d != (int32_t)d) e->bad = true;
    word(e, (uint64_t)d, 4);
}

static bool near(const struct emit *e, uintptr_t to)
{
    int64_t d = (int64_t)(to - (e->addr + e->at + 6));
    return d == (int32_t)d;
}

/* Part of the window, from offset `from` to `to`, with its RIP-relative operand adjusted. */
static void moved(struct emit *e, const struct gate_rec *r, uintptr_t base, unsigned from, unsigned to)
{
    unsigned start = e->at;
    bytes(e, r->bytes + from, to - from);
    if (r->rip_at == GATE_NO_RIP || r->rip_at < from || r->rip_at >= to) return;
    int32_t disp = *(const int32_t *)(const void *)(r->bytes + r->rip_at);
    uintptr_t old_end = base + r->at - r->before + r->rip_end, new_end = e->addr + start + (r->rip_end - from);
    int64_t d = (int64_t)(old_end + (uint64_t)(int64_t)disp - new_end);
    if (d != (int32_t)d) e->bad = true;
    for (unsigned i = 0; i < 4; i++) e->buf[start + (r->rip_at - from) + i] = (uint8_t)((uint64_t)d >> 8 * i);
}

static int32_t vforked_offset(void)
{
    return (int32_t)((uintptr_t)&usf_gate_vforked - arch_thread_pointer());
}

size_t gate_springboard_room(const struct gate_rec *r) { return (r->len + 80u) & ~7u; }

static bool may_clone(const struct gate_rec *r) { return r->nr < 0 || r->cls == GATE_SITE_CLONE; }

/* Where own_call has the thread storage's offset, from the call on. */
#define TLS_AT   11
#define OWN_LEN  24     /* of own_call, if it has one */

static void own_call(struct emit *e, const struct gate_rec *r)
{
    unsigned tail = may_clone(r) ? OWN_LEN - 2 : 2;
    byte(e, 0xe3), byte(e, tail);                                   /* jrcxz after */
    byte(e, 0x0f), byte(e, 0x05);                                   /* syscall */
    if (!may_clone(r)) return;
    byte(e, 0x89), byte(e, 0xc1);                                   /* mov %eax, %ecx */
    byte(e, 0xe3), byte(e, 16);                                     /* jrcxz after */
    byte(e, 0x48), byte(e, 0xc7), byte(e, 0xc1);                    /* mov $tpoff, %rcx */
    word(e, (uint64_t)(int64_t)vforked_offset(), 4);
    byte(e, 0x64), byte(e, 0x44), byte(e, 0x8b), byte(e, 0x59), byte(e, 1);     /* mov %fs:1(%rcx), %r11d */
    byte(e, 0x64), byte(e, 0x44), byte(e, 0x89), byte(e, 0x19);                 /* mov %r11d, %fs:(%rcx) */
}

static void lea_descriptor(struct emit *e)
{
    byte(e, 0x4c), byte(e, 0x8d), byte(e, 0x1d);
    rel32(e, e->addr);
}

/* Directly if `to` is near, else through the word at `slot` that holds it. */
static void jump(struct emit *e, const struct gate_chunk *c, uintptr_t to, uintptr_t slot)
{
    if (!c->movable && near(e, to)) byte(e, 0xe9), rel32(e, to);
    else byte(e, 0xff), byte(e, 0x25), rel32(e, slot);
}

void gate_chunk_head(uint8_t *buf)
{
    struct emit e = {.buf = buf};
    word(&e, (uintptr_t)usf_gate_entry, 8);
    word(&e, (uintptr_t)usf_gate_cancel_entry, 8);
    word(&e, (uintptr_t)gate_notify, 8);
    while (e.at < GATE_CHUNK_HEAD) byte(&e, 0xcc);
}

size_t gate_springboard(const struct gate_rec *r, const struct gate_chunk *c, uint8_t *buf, uintptr_t addr, uintptr_t *enter)
{
    uintptr_t base = c->base;
    struct emit e = {.buf = buf, .addr = addr, .at = DESCRIPTOR};
    uintptr_t after = base + r->at + r->insn, back = base + r->at - r->before + r->len;
    struct shape d = {.after = after, .before = r->before, .insn = r->insn};
    *enter = addr + DESCRIPTOR;
    if (r->cls == GATE_SITE_NOTIFY) {
        d.resume = base + r->at;
        jump(&e, c, (uintptr_t)gate_notify, c->code + 16);
    } else if (r->cls == GATE_SITE_CANCEL) {
        d.resume = after + (uint64_t)(int64_t) * (const int32_t *)(const void *)(r->bytes + 1);
        lea_descriptor(&e);
        jump(&e, c, (uintptr_t)usf_gate_cancel_entry, c->code + 8);
    } else {
        moved(&e, r, base, 0, r->before);
        lea_descriptor(&e);
        jump(&e, c, (uintptr_t)usf_gate_entry, c->code);
        d.resume = addr + e.at;
        d.resume_at = (uint8_t)e.at;
        own_call(&e, r);
        d.after_at = (uint8_t)e.at;
        moved(&e, r, base, r->before + r->insn, r->len);
        byte(&e, 0xe9), rel32(&e, back);
    }
    while (e.at % 8) byte(&e, 0xcc);
    d.size = (uint16_t)e.at;
    *(struct shape *)(void *)buf = d;
    return e.bad ? 0 : e.at;
}

/* The next one in a chunk; null: there is none. */
static struct shape *shape_at(uint8_t *chunk, size_t len, size_t at)
{
    struct shape *d = (void *)(chunk + at);
    return at + DESCRIPTOR <= len && d->size && d->size <= len - at ? d : NULL;     /* size 0: the rest was not needed */
}

void gate_chunk_rebase(uint8_t *chunk, size_t len, uint64_t delta)
{
    size_t at = GATE_CHUNK_HEAD;
    for (struct shape *d; (d = shape_at(chunk, len, at)); at += d->size) {
        d->after += delta;
        d->resume += delta;
        if (d->after_at == d->resume_at + OWN_LEN && d->after_at <= d->size) {
            int32_t tls = vforked_offset();
            __builtin_memcpy(chunk + at + d->resume_at + TLS_AT, &tls, sizeof tls);
        }
    }
}

/* Offset `at` in a springboard, in terms of the code it stands for. */
static uintptr_t original(const struct shape *d, size_t at, uintptr_t pc)
{
    uintptr_t site = d->after - d->insn;
    if (at < DESCRIPTOR) return pc;
    if (!d->after_at) return d->resume;         /* called, and about to enter the function */
    if (at < DESCRIPTOR + d->before) return site - d->before + (at - DESCRIPTOR);
    if (at < d->resume_at) return site;
    return at < d->after_at ? d->after : d->after + (at - d->after_at);
}

uintptr_t gate_chunk_original(uintptr_t code, size_t len, uintptr_t pc)
{
    size_t at = GATE_CHUNK_HEAD;
    for (const struct shape *d; (d = shape_at((uint8_t *)code, len, at)); at += d->size)
        if (pc >= code + at && pc < code + at + d->size) return original(d, pc - code - at, pc);
    return pc;
}

uintptr_t gate_chunk_moved(uintptr_t code, size_t len, uintptr_t pc)
{
    size_t at = GATE_CHUNK_HEAD;
    for (const struct shape *d; (d = shape_at((uint8_t *)code, len, at)); at += d->size) {
        uintptr_t site = d->after - d->insn, start = site - d->before;
        if (!d->after_at && d->resume + ARCH_JUMP_LEN > pc && d->resume < pc) return code + at + DESCRIPTOR;    /* class NOTIFY: its `ret` */
        if (!d->after_at || pc <= start || pc >= start + ARCH_JUMP_LEN) continue;
        return code + at + (pc <= site ? DESCRIPTOR + (pc - start) : d->after_at + (pc - d->after));
    }
    return pc;
}
