/* src/spin/spin_entry.S - from a stub into the runtime.  SPDX-License-Identifier: Apache-2.0
 *
 * On entry:  0(%rsp) return address in the stub, 8 place, 16 an address of the original loop, then 128 bytes
 * of red zone, then the loop's own stack.  Every register and the flags are left as they were; vector
 * registers are not touched because the runtime has no code that uses them.
 * The CFI hides the stub: for an unwinder the caller is the loop at its original place. */
#define FRAME   (17 * 8)
#define ABOVE   (24 + 128)          /* from the entry's rsp to the loop's */

        .text
        .globl  usf_spin_entry
        .hidden usf_spin_entry
        .type   usf_spin_entry, @function
        .p2align 4
usf_spin_entry:
        .cfi_startproc
        .cfi_def_cfa rsp, ABOVE
        .cfi_offset rip, 16 - ABOVE
        leaq    -FRAME(%rsp), %rsp
        .cfi_adjust_cfa_offset FRAME
        movq    %rax, 0(%rsp)
        lahf
        seto    %al
        movzwl  %ax, %eax
        movq    %rax, 128(%rsp)
        leaq    FRAME + ABOVE(%rsp), %rax
        movq    %rcx, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rbx, 24(%rsp)
        .cfi_rel_offset rbx, 24
        movq    %rax, 32(%rsp)
        movq    %rbp, 40(%rsp)
        movq    %rsi, 48(%rsp)
        movq    %rdi, 56(%rsp)
        movq    %r8, 64(%rsp)
        movq    %r9, 72(%rsp)
        movq    %r10, 80(%rsp)
        movq    %r11, 88(%rsp)
        movq    %r12, 96(%rsp)
        movq    %r13, 104(%rsp)
        movq    %r14, 112(%rsp)
        movq    %r15, 120(%rsp)
        movl    FRAME + 8(%rsp), %edi
        movq    %rsp, %rsi
        movq    %rsp, %rbx
        .cfi_def_cfa_register rbx
        andq    $-16, %rsp
        call    *usf_spin_round(%rip)
        movq    %rbx, %rsp
        .cfi_def_cfa_register rsp
        movq    128(%rsp), %rax
        movq    8(%rsp), %rcx
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rbx
        .cfi_restore rbx
        movq    48(%rsp), %rsi
        movq    56(%rsp), %rdi
        movq    64(%rsp), %r8
        movq    72(%rsp), %r9
        movq    80(%rsp), %r10
        movq    88(%rsp), %r11
        addb    $127, %al           /* overflows if seto had found it set */
        sahf
        movq    0(%rsp), %rax
        leaq    FRAME(%rsp), %rsp
        .cfi_adjust_cfa_offset -FRAME
        ret
        .cfi_endproc
        .size   usf_spin_entry, . - usf_spin_entry

/* bool usf_spin_trial(const struct spin_regs *regs, uintptr_t at): run the code at `at` with all of another thread's
 * registers but the stack pointer.  It ends with a jump to one of the labels below, with the stack as it found it; the
 * target waits in the red zone meanwhile. */
        .globl  usf_spin_trial
        .hidden usf_spin_trial
        .type   usf_spin_trial, @function
        .p2align 4
usf_spin_trial:
        .cfi_startproc
        .irp    reg, rbx, rbp, r12, r13, r14, r15
        pushq   %\reg
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset \reg, 0
        .endr
        movq    %rsi, -8(%rsp)
        movq    128(%rdi), %rax
        movq    8(%rdi), %rcx
        movq    16(%rdi), %rdx
        movq    24(%rdi), %rbx
        movq    40(%rdi), %rbp
        movq    48(%rdi), %rsi
        movq    64(%rdi), %r8
        movq    72(%rdi), %r9
        movq    80(%rdi), %r10
        movq    88(%rdi), %r11
        movq    96(%rdi), %r12
        movq    104(%rdi), %r13
        movq    112(%rdi), %r14
        movq    120(%rdi), %r15
        addb    $127, %al
        sahf
        movq    0(%rdi), %rax
        movq    56(%rdi), %rdi
        jmp     *-8(%rsp)
        .globl  usf_spin_leaves, usf_spin_stays
        .hidden usf_spin_leaves, usf_spin_stays
usf_spin_leaves:
        movl    $1, %eax
        jmp     1f
usf_spin_stays:
        xorl    %eax, %eax
1:      .irp    reg, r15, r14, r13, r12, rbp, rbx
        popq    %\reg
        .cfi_adjust_cfa_offset -8
        .cfi_restore \reg
        .endr
        ret
        .cfi_endproc
        .size   usf_spin_trial, . - usf_spin_trial

        .section .note.GNU-stack,"",@progbits
