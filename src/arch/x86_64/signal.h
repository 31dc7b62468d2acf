/* src/arch/x86_64/signal.h - signals' frames on x86-64.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_X86_64_SIGNAL_H
#define USF_ARCH_X86_64_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define ARCH_RED_ZONE     128u      /* below the stack pointer, which code without calls may use */
#define ARCH_CONTEXT_SIZE 304u      /* of the kernel's struct ucontext in a signal's frame: libc's is longer */
#define ARCH_CODE_SEGMENT 0x33

/* ---- the interrupted code's registers ----------------------------------------------------------- */
static inline uintptr_t arch_pc(const ucontext_t *uc) { return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP]; }
static inline void arch_set_pc(ucontext_t *uc, uintptr_t pc) { uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc; }
static inline uintptr_t arch_sp(const ucontext_t *uc) { return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP]; }
static inline void arch_set_sp(ucontext_t *uc, uintptr_t sp) { uc->uc_mcontext.gregs[REG_RSP] = (greg_t)sp; }
/* At the first instruction of a function: its third argument. */
static inline uintptr_t arch_third_argument(const ucontext_t *uc) { return (uintptr_t)uc->uc_mcontext.gregs[REG_RDX]; }
/* After a system call: its result. */
static inline void arch_set_result(ucontext_t *uc, long result) { uc->uc_mcontext.gregs[REG_RAX] = result; }

/* ---- frames ------------------------------------------------------------------------------------- */
/* A handler's frame, as the kernel lays it out, up to the end of its context. */
struct arch_frame { void *restorer; ucontext_t context; };
#define ARCH_FRAME_SIZE (sizeof(void *) + ARCH_CONTEXT_SIZE)

/* Can it be one, of an interrupted program? */
static inline bool arch_is_frame(const struct arch_frame *f)
{ return (f->context.uc_mcontext.gregs[REG_CSGSFS] & 0xffff) == ARCH_CODE_SEGMENT; }

/* The handler `entry` has been called with these arguments: call it anew, with its frame below
 * `top`. Returns only if the frame has an unknown form. */
void arch_enter_below(uintptr_t top, void (*entry)(int, siginfo_t *, void *), int sig, const siginfo_t *info, const ucontext_t *uc);

#endif
