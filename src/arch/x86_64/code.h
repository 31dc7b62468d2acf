/* src/arch/x86_64/code.h - machine code of x86-64.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_X86_64_CODE_H
#define USF_ARCH_X86_64_CODE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_ELF_MACHINE    EM_X86_64
#define ARCH_NAME           "x86-64"
#define ARCH_LOADER         "ld-linux-x86-64.so"        /* glibc's dynamic linker is called so, and a version */
#define ARCH_LIBRARIES      "x86_64-linux-gnu"          /* the folder of libraries in /lib and /usr/lib: Debian */
#define ARCH_PLATFORM       "x86_64"                    /* $PLATFORM of ld.so */
#define ARCH_CACHE_FLAGS    0x0303                      /* of ld.so.cache: libraries for x86-64, of libc 6 */
#define ARCH_RELOCATION_IRELATIVE R_X86_64_IRELATIVE
#define ARCH_USER_END       (1ul << 47)     /* of the addresses that programs have */
#define ARCH_SYSCALL_LEN    2u              /* syscall */
#define ARCH_JUMP_LEN       5u              /* jmp or call with a 32-bit displacement */
#define ARCH_JUMP_REACH     (2ul << 30)
#define ARCH_RETURN_MAX     6u              /* endbr64; rep ret */

static inline bool arch_is_syscall(const uint8_t *code) { return code[0] == 0x0f && code[1] == 0x05; }
static inline bool arch_is_jump(const uint8_t *code) { return code[0] == 0xe9; }

static inline bool arch_jump_reaches(uintptr_t at, uintptr_t to)
{
    int64_t d = (int64_t)(to - (at + ARCH_JUMP_LEN));
    return d == (int32_t)d;
}

/* A jump or call from `at` to `to`, which it reaches: ARCH_JUMP_LEN bytes. */
static inline void arch_put_jump(uint8_t *code, uintptr_t at, uintptr_t to, bool call)
{
    uint64_t d = to - (at + ARCH_JUMP_LEN);
    code[0] = call ? 0xe8 : 0xe9;
    for (unsigned i = 0; i < 4; i++) code[1 + i] = (uint8_t)(d >> 8 * i);
}

#define ARCH_NOP_LEN 1u
static inline bool arch_is_nop(const uint8_t *code) { return *code == 0x90; }
/* Instructions without effect. */
static inline void arch_put_nops(uint8_t *code, size_t len)
{
    for (size_t i = 0; i < len; i++) code[i] = 0x90;
}

/* Length of the mark that says where an indirect call may lead, at the start of a function that has
 * one. Four bytes can be read. */
static inline unsigned arch_call_mark_len(const uint8_t *code)
{ return *(const uint32_t *)(const void *)code == 0xfa1e0ff3 /* endbr64 */ ? 4 : 0; }

/* The window consists of the system call and an instruction before it that sets the call's number.
 * len: bytes of the window; before: of what precedes the call. */
static inline bool arch_is_numbered_call(const uint8_t *window, uint64_t before, uint64_t len)
{ return before == 5 && len == 7 && window[0] == 0xb8; }

/* The function only returns.  ARCH_RETURN_MAX bytes can be read. */
static inline bool arch_only_returns(const uint8_t *code)
{
    code += arch_call_mark_len(code);
    if (*code == 0xf3) code++;
    return *code == 0xc3;
}

/* The first system call instruction at or after i, which may also be part of another instruction;
 * len: there is none.  Eight bytes at a time: most text has no 0x05 near. */
static inline uint64_t arch_find_syscall(const uint8_t *p, uint64_t i, uint64_t len)
{
    const uint64_t ones = 0x0101010101010101ull, highs = ones << 7;
    for (; i + 9 <= len; i += 8) {
        uint64_t x = *(const uint64_t *)(const void *)(p + i + 1) ^ ones * 0x05;
        if (!((x - ones) & ~x & highs)) continue;
        for (unsigned k = 0; k < 8; k++)
            if (arch_is_syscall(p + i + k)) return i + k;
    }
    for (; i + 2 <= len; i++)
        if (arch_is_syscall(p + i)) return i;
    return len;
}

/* Branches with 32-bit displacements, sought byte by byte, so that none is missed: what looks like
 * one may also be part of other instructions. */
struct arch_branch {
    uint64_t insn;              /* where the instruction begins */
    uint64_t to;                /* both as offsets, like the place that was asked for */
    bool call;
};
static inline bool arch_far_branch(const uint8_t *p, uint64_t i, uint64_t len, struct arch_branch *b)
{
    uint8_t op = p[i];
    bool conditional = (op & 0xf0) == 0x80;
    if (!(op == 0xe8 || op == 0xe9 || conditional) || i + ARCH_JUMP_LEN > len) return false;
    if (conditional && (i == 0 || p[i - 1] != 0x0f)) return false;
    b->insn = conditional ? i - 1 : i;
    b->to = i + ARCH_JUMP_LEN + (uint64_t)(int64_t) * (const int32_t *)(const void *)(p + i + 1);
    b->call = op == 0xe8;
    return true;
}

#endif
