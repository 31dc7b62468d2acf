/* src/arch/x86_64/context.c - user contexts (context.h).  SPDX-License-Identifier: Apache-2.0 */
#include "arch/x86_64/context.h"

#include <cpuid.h>

#include "arch/arch.h"

#define HWCAP2_FSGSBASE  2u
#define IN_AMX           0x60000u       /* tile configuration and data */
#define NR_ARCH_PRCTL    158
#define GET_XCOMP_PERM   0x1022         /* arch_prctl */
#define REQ_XCOMP_PERM   0x1023
#define SHSTK_STATUS     0x5005

void usf_arch_switch(struct arch_context *from, struct arch_context *to, uint32_t keys);
void usf_arch_begin(void);
extern const char usf_arch_idle_from[], usf_arch_idle_over[];

static uint32_t keys;           /* the kernel uses protection keys */
static bool tiles;              /* the process may use AMX */

static uint32_t extended_control(uint32_t nr)
{
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(nr));
    return lo;
}

const char *arch_context_trouble(uint64_t hwcap2)
{
    uint32_t a, b, c, d;
    uint64_t shadow = 0, allowed = 0;
    if (!(hwcap2 & HWCAP2_FSGSBASE)) return "the kernel does not let programs set their TLS base (FSGSBASE)";
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX)) return "the processor has no AVX";
    if ((extended_control(0) & 6) != 6) return "the system does not use AVX";
    if (!__get_cpuid_count(13, 1, &a, &b, &c, &d) || !(a & 4)) return "the processor does not say which registers are in use (XINUSE)";
    if (extended_control(0) & 0xe0 && (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX512BW)))
        return "the processor has mask registers of 16 bits";
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) keys = c >> 4 & 1;
    if (arch_syscall(NR_ARCH_PRCTL, GET_XCOMP_PERM, (long)&allowed, 0, 0, 0, 0) == 0) tiles = allowed & IN_AMX;
    if (arch_syscall(NR_ARCH_PRCTL, SHSTK_STATUS, (long)&shadow, 0, 0, 0, 0) == 0 && shadow) return "the program has a shadow stack";
    return 0;
}

bool arch_context_has_more(void) { return tiles && extended_control(1) & IN_AMX; }

bool arch_context_notes(uint64_t nr, uint64_t code)
{
    if (nr != NR_ARCH_PRCTL || code < GET_XCOMP_PERM - 2 || code > REQ_XCOMP_PERM + 2) return false;
    if (code == REQ_XCOMP_PERM) tiles = true;
    return true;
}

void arch_context_switch(struct arch_context *from, struct arch_context *to) { usf_arch_switch(from, to, keys); }

void arch_context_make(struct arch_context *c, void *top, uint64_t tls, void (*entry)(void *arg), void *arg)
{
    uint64_t *sp = (uint64_t *)((uintptr_t)top & ~(uintptr_t)63) - 9;
    sp[3] = (uint64_t)arg;      /* r15, r14, r13, r12, rbx, rbp, return address */
    sp[4] = (uint64_t)entry;
    sp[5] = 0;
    sp[6] = (uint64_t)usf_arch_begin;
    c->sp = (uint64_t)sp;
    c->tls = tls;
    c->mxcsr = 0x1f80;
    c->fcw = 0x37f;
    c->plain = 1;
    c->pkru = 0x55555554;       /* as the kernel begins a thread: the first key alone */
}

uintptr_t arch_idle_fix_pc(uintptr_t pc)
{
    uintptr_t over = (uintptr_t)usf_arch_idle_over;
    return pc >= (uintptr_t)usf_arch_idle_from && pc < over ? over : pc;
}
