/* src/arch/x86_64/signal.c - signals' frames (signal.h).  SPDX-License-Identifier: Apache-2.0 */
#include "arch/x86_64/signal.h"

#define FP_SIZE   512u
#define FP_MAGIC  0x46505853u
#define FP_SW     464u          /* where the kernel says whether there is more than that */

static size_t size_of_fp(const void *fp)
{
    uint32_t sw[2];
    __builtin_memcpy(sw, (const char *)fp + FP_SW, sizeof sw);
    return sw[0] == FP_MAGIC ? sw[1] : FP_SIZE;
}

void arch_enter_below(uintptr_t top, void (*entry)(int, siginfo_t *, void *), int sig, const siginfo_t *info, const ucontext_t *uc)
{
    const char *from = (const char *)uc - sizeof(void *), *fp = (const char *)uc->uc_mcontext.fpregs;
    if ((const char *)info != (const char *)uc + ARCH_CONTEXT_SIZE) return;
    size_t size = ARCH_FRAME_SIZE + sizeof *info;
    if (fp) {
        size_t n = size_of_fp(fp);
        top = (top - n) & ~(uintptr_t)63;
        __builtin_memcpy((void *)top, fp, n);
    }
    char *to = (char *)((top - size) & ~(uintptr_t)15) - sizeof(void *);
    __builtin_memcpy(to, from, size);
    ucontext_t *moved = (ucontext_t *)(to + sizeof(void *));
    if (fp) moved->uc_mcontext.fpregs = (void *)top;
    __asm__ volatile("mov %0, %%rsp\n jmp *%1"
                     : : "r"(to), "r"(entry), "D"(sig), "S"((char *)moved + ARCH_CONTEXT_SIZE), "d"(moved) : "memory");
    __builtin_unreachable();
}
