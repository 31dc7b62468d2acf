/* src/arch/x86_64/gate/entry.S - where springboards enter.  SPDX-License-Identifier: Apache-2.0
 *
 * A springboard (springboard.c) jumps to usf_gate_entry with %r11 = address of the site's descriptor: the
 * address after the site's `syscall`, and where the springboard goes on.  With S the caller's rsp at the site:
 *
 *     S-128 .. S  red zone                        S-136  descriptor
 *     S-144  flags                                S-152  rbp             (slow path only)
 *
 * Springboards jump rather than call, and the way back is an indirect jump: the kernel leaves the return
 * predictor empty, so that each `ret` after a system call costs a misprediction.
 *
 * The caller sees what a system call does: rax, rcx and r11 change, nothing else does.  On return rcx
 * says what the springboard has to do: 0 go on, else make the call itself, with no frame (gate.h, action).
 *
 * Unwinders see one frame whose caller is the site: CFA = S, return address = the descriptor's word.  So
 * cancellation, exceptions and debuggers walk through the gate as through the bare instruction. */
#include "gate/entry.h"

#define FLAG_DF_BYTE 4          /* direction flag in the second byte of rflags */

#define RA        0x10                  /* column of the return address */
/* return address at *(reg) */
#define CFI_RA_R11      .cfi_escape 0x10, RA, 2, 0x7b, 0
/* return address at **(rsp + off), **(rbp + off) */
#define CFI_RA_RSP(off) .cfi_escape 0x10, RA, 3, 0x77, off, 0x06
#define CFI_RA_RBP(off) .cfi_escape 0x10, RA, 3, 0x76, off, 0x06

/* The call's arguments, out of the frame at rsp (struct gate_frame, gate.h). */
.macro LOAD_ARGUMENTS
    mov     8(%rsp), %rdi
    mov     16(%rsp), %rsi
    mov     24(%rsp), %rdx
    mov     32(%rsp), %r10
    mov     40(%rsp), %r8
    mov     48(%rsp), %r9
.endm

    .text
    .hidden usf_gate_entry, usf_gate_entry_end, usf_gate_cancel_entry, usf_gate_handlers, usf_gate_after
    .globl usf_gate_entry, usf_gate_entry_end, usf_gate_cancel_entry
    .p2align 6
    .type usf_gate_entry, @function
usf_gate_entry:
    .cfi_startproc
    .cfi_def_cfa rsp, 0
    CFI_RA_R11
    lea     -128(%rsp), %rsp            /* no instruction of the fast path changes flags */
    .cfi_def_cfa_offset 128
    push    %r11
    .cfi_def_cfa_offset 136
    CFI_RA_RSP(0)
    movzwl  %ax, %ecx
    lea     usf_gate_handlers(%rip), %r11
    mov     (%r11, %rcx, 8), %rcx
    jrcxz   .Lpass
    jmp     .Lslow
.Lpass:
    syscall
.Lleave:
    mov     $0, %ecx
.Lback:
    .cfi_remember_state
    pop     %r11
    .cfi_def_cfa_offset 128
    CFI_RA_R11
    lea     128(%rsp), %rsp
    .cfi_def_cfa_offset 0
    jmp     *8(%r11)
    .cfi_restore_state

.Lslow:
    pushfq
    .cfi_def_cfa_offset 144
    CFI_RA_RSP(8)
    cmp     $USF_NR_SYSCALLS, %eax      /* the fast path looked at 16 bits */
    jae     .Lbeyond
    push    %rbp
    .cfi_def_cfa_offset 152
    .cfi_offset rbp, -152
    CFI_RA_RSP(16)
    mov     %rsp, %rbp
    .cfi_def_cfa_register rbp
    CFI_RA_RBP(16)
    and     $-16, %rsp
    mov     16(%rbp), %r11
    push    $0                          /* cancel_arch */
    push    $0                          /* cancel */
    push    $0                          /* action */
    pushq   (%r11)                      /* pc */
    lea     152(%rbp), %r11
    push    %r11                        /* rsp */
    push    %r9
    push    %r8
    push    %r10
    push    %rdx
    push    %rsi
    push    %rdi
    push    %rax
    mov     %rsp, %rdi
    testb   $FLAG_DF_BYTE, 9(%rbp)
    jz      1f
    cld
1:  call    *%rcx
    mov     GATE_ACTION(%rsp), %r11d
    test    %r11d, %r11d
    jnz     .Lcalls
.Ldone:
    LOAD_ARGUMENTS
    testb   $FLAG_DF_BYTE, 9(%rbp)
    jz      2f
    std
2:  mov     %rax, %rcx                  /* flags without popfq, which takes 20 cycles: OF, then the rest */
    mov     9(%rbp), %al
    shr     $3, %al
    and     $1, %al
    add     $127, %al
    mov     8(%rbp), %ah
    sahf
    mov     %rcx, %rax
    mov     %r11, %rcx
    mov     %rbp, %rsp
    .cfi_def_cfa_register rsp
    CFI_RA_RSP(16)
    pop     %rbp
    .cfi_def_cfa_offset 144
    .cfi_restore rbp
    CFI_RA_RSP(8)
    lea     8(%rsp), %rsp
    .cfi_def_cfa_offset 136
    CFI_RA_RSP(0)
    jmp     .Lback

.Lcalls:
    .cfi_remember_state
    .cfi_def_cfa rbp, 152
    CFI_RA_RBP(16)
    .cfi_offset rbp, -152
    mov     (%rsp), %rax                /* the springboard makes the call: its number */
    cmp     $ACTION_ENTRY_CALLS, %r11d
    jne     .Ldone
    LOAD_ARGUMENTS
    syscall
    mov     %rax, %rsi
    mov     %rsp, %rdi
    call    *usf_gate_after(%rip)
    xor     %r11d, %r11d
    jmp     .Ldone
    .cfi_restore_state

.Lbeyond:                               /* no such call: let the kernel say so */
    .cfi_def_cfa_offset 144
    CFI_RA_RSP(8)
    popfq
    .cfi_def_cfa_offset 136
    CFI_RA_RSP(0)
    syscall
    jmp     .Lleave
    .cfi_endproc
    .size usf_gate_entry, . - usf_gate_entry

/* glibc >= 2.41: the call of __syscall_cancel_arch(word, nr, a1 .. a6) comes here as a call, with
 * %r11 = descriptor, whose second word is the original function. */
    .p2align 4
    .type usf_gate_cancel_entry, @function
usf_gate_cancel_entry:
    .cfi_startproc
    cmp     $USF_NR_SYSCALLS, %rsi
    jae     3f
    lea     usf_gate_handlers(%rip), %rax
    mov     (%rax, %rsi, 8), %rax
    test    %rax, %rax
    jnz     4f
3:  jmp     *8(%r11)
4:  push    %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov     %rsp, %rbp
    .cfi_def_cfa_register rbp
    and     $-16, %rsp
    push    8(%r11)                     /* cancel_arch */
    push    %rdi                        /* cancel */
    push    $0                          /* action */
    push    8(%rbp)                     /* pc: the caller's */
    lea     16(%rbp), %r10
    push    %r10                        /* rsp */
    push    24(%rbp)                    /* r9: a6 */
    push    16(%rbp)                    /* r8: a5 */
    push    %r9                         /* r10: a4 */
    push    %r8                         /* rdx: a3 */
    push    %rcx                        /* rsi: a2 */
    push    %rdx                        /* rdi: a1 */
    push    %rsi                        /* rax: the number */
    mov     %rsp, %rdi
    call    *%rax
    mov     GATE_ACTION(%rsp), %r11
    test    %r11, %r11
    jnz     5f
    leave
    .cfi_remember_state
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_restore_state
5:  mov     GATE_CANCEL(%rsp), %rdi     /* as it would have been */
    mov     GATE_CANCEL_ARCH(%rsp), %r11
    mov     (%rsp), %rsi
    mov     8(%rsp), %rdx
    mov     16(%rsp), %rcx
    mov     24(%rsp), %r8
    mov     32(%rsp), %r9
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    jmp     *%r11
    .cfi_endproc
    .size usf_gate_cancel_entry, . - usf_gate_cancel_entry
usf_gate_entry_end:

    .section .note.GNU-stack, "", @progbits
