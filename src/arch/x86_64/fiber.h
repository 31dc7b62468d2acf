/* src/arch/x86_64/fiber.h - stacks of fibers, on x86-64.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_X86_64_FIBER_H
#define USF_ARCH_X86_64_FIBER_H

#include <stdint.h>

/* The caller's stack pointer goes to *save; goes on where `to` was saved. */
void arch_fiber_switch(void **save, void *to);

/* What lies at the end of the stack of a fiber that begins in `run`, as if arch_fiber_switch had
 * left it. run does not return. */
#define ARCH_FIBER_WORDS 8
static inline void arch_fiber_begin(uintptr_t frame[ARCH_FIBER_WORDS], void (*run)(void))
{
    for (unsigned i = 0; i < ARCH_FIBER_WORDS; i++) frame[i] = 0;
    frame[6] = (uintptr_t)run;      /* behind six registers; its own return address is 0 */
}

#endif
