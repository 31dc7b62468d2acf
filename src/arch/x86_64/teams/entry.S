/* src/arch/x86_64/teams/entry.S - where the stubs of hooked functions lead.  SPDX-License-Identifier: Apache-2.0
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

    .text
    .hidden teams_entry, teams_enter
    .globl  teams_entry
    .p2align 4
    .type   teams_entry, @function
teams_entry:
    .cfi_startproc
    _CET_ENDBR
    .irp    reg, rdi, rsi, rdx, rcx, r8, r9, rax, r10, r11
    push    %\reg
    .cfi_adjust_cfa_offset 8
    .endr
    mov     %r11, %rdi
    mov     %rsp, %rsi              /* r11 r10 rax r9 r8 rcx rdx rsi rdi */
    test    %al, %al
    jnz     .Lvectors
    call    teams_enter
.Lback:
    mov     %rax, (%rsp)
    .irp    reg, r11, r10, rax, r9, r8, rcx, rdx, rsi, rdi
    pop     %\reg
    .cfi_adjust_cfa_offset -8
    .endr
    notrack jmp *%r11
    .cfi_adjust_cfa_offset 72
.Lvectors:
    sub     $128, %rsp
    .cfi_adjust_cfa_offset 128
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
    movups  %xmm\n, 16 * \n(%rsp)
    .endr
    call    teams_enter
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
    movups  16 * \n(%rsp), %xmm\n
    .endr
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
