/* src/arch/x86_64/control.h - how a thread computes, on x86-64.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_X86_64_CONTROL_H
#define USF_ARCH_X86_64_CONTROL_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#define ARCH_X87_DEFAULT   0x37fu
#define ARCH_MXCSR_DEFAULT 0x1f80u
#define ARCH_MXCSR_FTZ_DAZ 0x8040u

/* XSAVE can be used. */
static inline bool arch_saves_all_vectors(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE;
}

/* What a thread inherits from its creator. */
struct arch_control {
    uint32_t mxcsr;
    uint16_t x87;
    uint32_t pkru;              /* 0 without protection keys */
};

/* The kernel uses protection keys. */
static inline bool arch_has_keys(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & 1u << 4);
}
static inline uint32_t arch_keys(void)
{
    uint32_t value, edx;
    __asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(value), "=d"(edx) : "c"(0));       /* rdpkru */
    return value;
}
static inline void arch_set_keys(uint32_t value)
{ __asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(value), "c"(0), "d"(0) : "memory"); }     /* wrpkru */

static inline uint32_t arch_mxcsr(void)
{
    uint32_t v;
    __asm__ volatile("stmxcsr %0" : "=m"(v));
    return v;
}
static inline void arch_set_mxcsr(uint32_t v) { __asm__ volatile("ldmxcsr %0" : : "m"(v)); }

/* keys: arch_has_keys. */
static inline void arch_control_get(struct arch_control *c, bool keys)
{
    __asm__ volatile("fnstcw %0" : "=m"(c->x87));
    c->mxcsr = arch_mxcsr();
    c->pkru = keys ? arch_keys() : 0;
}
/* Not by FNINIT if there is XSAVE (xsave: arch_saves_all_vectors): after that the x87 state counts
 * as in use, and the kernel and usf_arch_switch would save and load it at each switch from then on,
 * for some 75 ns. */
static inline void arch_x87_initial(bool xsave)
{
    static const struct { _Alignas(64) char none[576]; } image;
    if (xsave) __asm__ volatile("xrstor64 %0" : : "m"(image), "a"(1), "d"(0));
    else __asm__ volatile("fninit");
}
/* keys, xsave: arch_has_keys, arch_saves_all_vectors. */
static inline void arch_control_set(const struct arch_control *c, bool keys, bool xsave)
{
    arch_x87_initial(xsave);
    if (c->x87 != ARCH_X87_DEFAULT) __asm__ volatile("fldcw %0" : : "m"(c->x87));
    if (arch_mxcsr() != c->mxcsr) arch_set_mxcsr(c->mxcsr);
    if (keys && arch_keys() != c->pkru) arch_set_keys(c->pkru);
}

/* Floating point as a program begins with it.  xsave: arch_saves_all_vectors. */
static inline void arch_math_default(bool xsave)
{
    arch_x87_initial(xsave);
    arch_set_mxcsr(ARCH_MXCSR_DEFAULT);
}
/* Denormal numbers count as 0 in this thread.  What to give to arch_math_restore. */
static inline uint32_t arch_math_fast(void)
{
    uint32_t before = arch_mxcsr();
    arch_set_mxcsr(before | ARCH_MXCSR_FTZ_DAZ);
    return before;
}
static inline void arch_math_restore(uint32_t before)
{ arch_set_mxcsr((arch_mxcsr() & ~ARCH_MXCSR_FTZ_DAZ) | (before & ARCH_MXCSR_FTZ_DAZ)); }

#endif
