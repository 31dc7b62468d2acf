/* src/arch/x86_64/context/stub_code.c - the machine code of stub libraries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "context/stub_code.h"

#include <string.h>

enum { CIE_SIZE = 24, FDE_SIZE = 20, FDE2_SIZE = 32 };
_Static_assert(CIE_SIZE + FDE_SIZE + FDE2_SIZE + 4 == STUB_EH_FRAME_SIZE, "a 0 at the end");

static void set32(uint8_t *p, size_t value)
{
    uint32_t v = (uint32_t)value;
    memcpy(p, &v, 4);
}

/* An instruction whose last four bytes are the distance from its end. */
static size_t put(const struct stub_places *p, size_t at, const char *bytes, size_t n, size_t target)
{
    memcpy(p->file + at, bytes, n);
    set32(p->file + at + n, target - (at + n + 4));
    return at + n + 4;
}

void stub_write_code(const struct stub_places *p)
{
    for (uint32_t k = 0; k < p->nr; k++) {
        size_t at = p->code + (size_t)k * STUB_CODE_SIZE;
        at = put(p, at, "\xf3\x0f\x1e\xfa\x4c\x8b\x1d", 7, p->got[STUB_GOT_TABLES]);     /* endbr64; mov tables@gottpoff(%rip), %r11 */
        memcpy(p->file + at, "\x64\x4d\x8b\x1b", 4);                                /* mov %fs:(%r11), %r11 */
        at = put(p, at + 4, "\x4c\x03\x1d", 3, p->index);                        /* add index(%rip), %r11 */
        memcpy(p->file + at, "\x4d\x8b\x1b\x41\xff\xa3", 6);                        /* mov (%r11), %r11; jmp *8*k(%r11) */
        set32(p->file + at + 6, 8 * (size_t)k);
        at = p->resolvers + (size_t)k * STUB_RESOLVER_SIZE;
        memcpy(p->file + at, "\xf3\x0f\x1e\xfa\x68", 5);                            /* endbr64; push k */
        set32(p->file + at + 5, k);
        at = put(p, at + 9, "\xe9", 1, p->common);                                  /* jmp common */
        memcpy(p->file + at, "\x66\x90", 2);
    }
    size_t at = put(p, p->common, "\xff\x35", 2, p->got[STUB_GOT_HEADER]);               /* push header */
    put(p, at, "\xff\x25", 2, p->got[STUB_GOT_RESOLVE]);                                 /* jmp *usf_context_stub_resolve */
    at = put(p, p->init, "\xf3\x0f\x1e\xfa\x48\x8d\x3d", 7, p->header);    /* endbr64; lea header(%rip), %rdi */
    put(p, at, "\xff\x25", 2, p->got[STUB_GOT_ADD]);                                     /* jmp *usf_context_stub_add */
}

/* In the functions nothing is on the stack but the return address; in a resolver there is one word
 * more after its `push`. */
void stub_write_unwind(const struct stub_places *p)
{
    static const uint8_t cie[CIE_SIZE] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
    static const uint8_t push[] = {0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22};    /* CFA = rsp + 8 + ((rip & 15) >= 9) * 8 */
    const struct { size_t at, from, size; } fdes[2] = {{p->eh_frame + CIE_SIZE, p->code, (size_t)p->nr * STUB_CODE_SIZE},
                                                       {p->eh_frame + CIE_SIZE + FDE_SIZE, p->resolvers, (size_t)p->nr * STUB_RESOLVER_SIZE}};
    uint8_t *h = p->file + p->eh_hdr;
    memcpy(p->file + p->eh_frame, cie, sizeof cie);
    memcpy(h, "\1\x1b\3\x3b", 4);
    set32(h + 4, p->eh_frame - (p->eh_hdr + 4));
    set32(h + 8, 2);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *f = p->file + fdes[i].at;
        set32(f, (i ? FDE2_SIZE : FDE_SIZE) - 4);
        set32(f + 4, fdes[i].at + 4 - p->eh_frame);
        set32(f + 8, fdes[i].from - (fdes[i].at + 8));
        set32(f + 12, fdes[i].size);
        if (i) memcpy(f + 16, push, sizeof push);
        set32(h + 12 + 8 * i, fdes[i].from - p->eh_hdr);
        set32(h + 16 + 8 * i, fdes[i].at - p->eh_hdr);
    }
}

void stub_write_relocations(const struct stub_places *p, Elf64_Rela *r, const uint32_t symbol[STUB_NR_GOT])
{
    static const uint32_t type[STUB_NR_GOT] = {[STUB_GOT_TABLES] = R_X86_64_TPOFF64, [STUB_GOT_ADD] = R_X86_64_GLOB_DAT,
                                               [STUB_GOT_RESOLVE] = R_X86_64_GLOB_DAT};
    *r++ = (Elf64_Rela){p->got[STUB_GOT_HEADER], ELF64_R_INFO(0, R_X86_64_RELATIVE), (int64_t)p->header};
    for (unsigned i = 0; i < STUB_GOT_HEADER; i++) *r++ = (Elf64_Rela){p->got[i], ELF64_R_INFO((uint64_t)symbol[i], type[i]), 0};
}
