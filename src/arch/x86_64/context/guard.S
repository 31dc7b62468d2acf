/* src/arch/x86_64/context/guard.S - void guard_run(void (*body)(void *), void *arg): see src/context/guard.c.
 * SPDX-License-Identifier: Apache-2.0 */
    .text
    .hidden guard_run
    .globl guard_run
    .type guard_run, @function
    .p2align 4
guard_run:
    .cfi_startproc
    .cfi_personality 0x1b, guard_unwinds        /* its distance, 4 bytes */
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size guard_run, . - guard_run
    .section .note.GNU-stack, "", @progbits
