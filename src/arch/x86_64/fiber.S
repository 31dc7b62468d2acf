/* src/arch/x86_64/fiber.S - change fibers.  SPDX-License-Identifier: Apache-2.0
 * void arch_fiber_switch(void **save, void *to): callee-saved registers go onto the own stack,
 * whose pointer goes to *save; then the same in reverse from `to`.  Vector state is the caller's to
 * save, by the ABI; no code changes the control words. */
    .text
    .globl arch_fiber_switch
    .hidden arch_fiber_switch
    .type arch_fiber_switch, @function
arch_fiber_switch:
    .cfi_startproc
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .cfi_endproc
    .size arch_fiber_switch, . - arch_fiber_switch
    .section .note.GNU-stack, "", @progbits
