/* src/arch/x86_64/threads/syscall.S - syscall(2) and clone() as functions: look at what is called, go on in libc's.  SPDX-License-Identifier: Apache-2.0
 *
 * In assembly so that all arguments, the stack and the caller's frame reach libc untouched, for a few instructions more:
 * OpenMP and TBB make their futex calls through this function. */
#if defined(__CET__)
#include <cet.h>
#endif
#ifndef _CET_ENDBR
#define _CET_ENDBR
#endif

/* Call the function, which is told the first three arguments and answers where to go on: all else stays as it is. */
    .macro  GO_ON target
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    pushq   %rdx
    .cfi_adjust_cfa_offset 8
    pushq   %rcx
    .cfi_adjust_cfa_offset 8
    pushq   %r8
    .cfi_adjust_cfa_offset 8
    pushq   %r9
    .cfi_adjust_cfa_offset 8
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    call    \target
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %r9
    .cfi_adjust_cfa_offset -8
    popq    %r8
    .cfi_adjust_cfa_offset -8
    popq    %rcx
    .cfi_adjust_cfa_offset -8
    popq    %rdx
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    jmpq    *%rax
    .endm

    .text
    .globl  syscall
    .type   syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    _CET_ENDBR
    movq    threads_real_syscall(%rip), %rax
    testq   %rax, %rax
    jz      1f
    cmpq    $512, %rdi
    jae     2f
    leaq    threads_matters(%rip), %r11
    cmpb    $0, (%r11,%rdi)
    jne     1f
2:  jmpq    *%rax

1:  GO_ON threads_syscall_target
    .cfi_endproc
    .size   syscall, . - syscall

/* clone() likewise. */
    .globl  clone
    .type   clone, @function
    .p2align 4
clone:
    .cfi_startproc
    _CET_ENDBR
    GO_ON threads_clone_target
    .cfi_endproc
    .size   clone, . - clone

    .section .note.GNU-stack, "", @progbits
