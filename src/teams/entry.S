/* src/teams/entry.S - where the stubs of hooked functions lead.  SPDX-License-Identifier: Apache-2.0
 *
 * %r11 has the stub's head (struct gate_hook_site); everything else is as the function's caller has left it, and is so when the
 * function goes on, but for what teams_enter has written into the registers that are saved here.  Vector registers that carry arguments
 * (%al says whether there are any, for functions with an ellipsis; others leave there what they please) are kept, as the runtime's functions
 * that are called may use them.  The caller's return address stays where it is, so unwinders pass through. */
#if defined(__CET__)
#include <cet.h>
#endif
#ifndef _CET_ENDBR
#define _CET_ENDBR
#endif

    .macro  keep reg
    push    \reg
    .cfi_adjust_cfa_offset 8
    .endm
    .macro  restore reg
    pop     \reg
    .cfi_adjust_cfa_offset -8
    .endm

    .text
    .hidden teams_entry, teams_enter
    .globl  teams_entry
    .p2align 4
    .type   teams_entry, @function
teams_entry:
    .cfi_startproc
    _CET_ENDBR
    keep    %rdi
    keep    %rsi
    keep    %rdx
    keep    %rcx
    keep    %r8
    keep    %r9
    keep    %rax
    keep    %r10
    keep    %r11
    mov     %r11, %rdi
    mov     %rsp, %rsi              /* r11 r10 rax r9 r8 rcx rdx rsi rdi */
    test    %al, %al
    jnz     .Lvectors
    call    teams_enter
.Lback:
    mov     %rax, (%rsp)
    restore %r11
    restore %r10
    restore %rax
    restore %r9
    restore %r8
    restore %rcx
    restore %rdx
    restore %rsi
    restore %rdi
    notrack jmp *%r11
    .cfi_adjust_cfa_offset 72
.Lvectors:
    sub     $128, %rsp
    .cfi_adjust_cfa_offset 128
    movups  %xmm0, (%rsp)
    movups  %xmm1, 16(%rsp)
    movups  %xmm2, 32(%rsp)
    movups  %xmm3, 48(%rsp)
    movups  %xmm4, 64(%rsp)
    movups  %xmm5, 80(%rsp)
    movups  %xmm6, 96(%rsp)
    movups  %xmm7, 112(%rsp)
    call    teams_enter
    movups  (%rsp), %xmm0
    movups  16(%rsp), %xmm1
    movups  32(%rsp), %xmm2
    movups  48(%rsp), %xmm3
    movups  64(%rsp), %xmm4
    movups  80(%rsp), %xmm5
    movups  96(%rsp), %xmm6
    movups  112(%rsp), %xmm7
    add     $128, %rsp
    .cfi_adjust_cfa_offset -128
    jmp     .Lback
    .cfi_endproc
    .size   teams_entry, . - teams_entry

    .globl  teams_return
    .hidden teams_return
    .p2align 4
    .type   teams_return, @function
teams_return:
    .cfi_startproc
    ret
    .cfi_endproc
    .size   teams_return, . - teams_return

    .section .note.GNU-stack, "", @progbits
