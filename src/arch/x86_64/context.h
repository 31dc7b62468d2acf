/* src/arch/x86_64/context.h - user contexts: what a thread's registers hold, apart from the kernel
 * thread that executes it. SPDX-License-Identifier: Apache-2.0
 *
 * A switch saves what the program may have live at a system call or in a loop: the callee-saved
 * registers, the TLS base, mxcsr, the x87 state, the protection keys, and all vector and mask
 * registers.  Of the vector registers it saves those that are in use (XINUSE): some 25 ns, where
 * XSAVEC and XRSTOR take 175. */
#ifndef USF_ARCH_X86_64_CONTEXT_H
#define USF_ARCH_X86_64_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets known to context.S. */
struct arch_context {
    uint64_t sp;                /* there lie r15, r14, r13, r12, rbx, rbp and the return address */
    uint64_t tls;               /* FS base */
    uint32_t mxcsr;
    uint16_t fcw, reserved;
    uint32_t in_use;            /* XINUSE when it was saved */
    uint32_t plain;             /* 1: code of ours without vector registers: none are saved, and x87 is not either */
    uint32_t pkru, reserved1;
    uint64_t gs;                /* GS base */
    uint64_t reserved2;
    _Alignas(64) uint8_t vector[32 * 64 + 64];
    _Alignas(64) uint8_t x87[576];      /* XSAVE area, legacy part and header */
};
_Static_assert(offsetof(struct arch_context, vector) == 64 && offsetof(struct arch_context, gs) == 40 && offsetof(struct arch_context, x87) == 2176, "context.S");

/* Once per process, before any switch.  Why this machine or this process cannot switch contexts;
 * null: it can.  hwcap2: AT_HWCAP2. */
const char *arch_context_trouble(uint64_t hwcap2);
/* The calling thread has state live that a switch does not save (AMX tiles). */
bool arch_context_has_more(void);
/* The program is about to make this arch_prctl.  True: it is about what the process may use, which
 * is noted, not about the thread's registers. */
bool arch_context_notes(uint64_t nr, uint64_t code);
/* Leave `from`, go on in `to`.  Returns when another switch goes to `from`. */
void arch_context_switch(struct arch_context *from, struct arch_context *to);
/* A plain context that calls entry(arg) on the stack that ends at `top` when it is first switched
 * to.  entry does not return. */
void arch_context_make(struct arch_context *c, void *top, uint64_t tls, void (*entry)(void *arg), void *arg);
/* The calling thread's TLS base; set it. */
uint64_t arch_tls(void);
void arch_set_tls(uint64_t tls);

/* Sleep on the futex word (shared) while it is `expected`, for timeout (a struct timespec; null:
 * without limit), unless *stop is set. A signal's handler that sets *stop moves the interrupted pc
 * by arch_idle_fix_pc: the wait is then over, also if it had not begun. The system call's result; 0
 * if *stop was set. */
long arch_idle_wait(_Atomic uint32_t *word, uint32_t expected, const uint32_t *stop, const void *timeout);
uintptr_t arch_idle_fix_pc(uintptr_t pc);

/* End the calling kernel thread, whose stack is [stack, stack + size), which is unmapped.  No
 * thread of libc's must be here. */
_Noreturn void arch_end_thread(void *stack, size_t size);

#endif
