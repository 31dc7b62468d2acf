/* src/arch/x86_64/spin/entry.S - from a stub into the runtime.  SPDX-License-Identifier: Apache-2.0
 *
 * On entry:  0(%rsp) return address in the stub, 8 place, 16 an address of the original loop, then 128 bytes
 * of red zone, then the loop's own stack.  Every register and the flags are left as they were; vector
 * registers are not touched because the runtime has no code that uses them.
 * The CFI hides the stub: for an unwinder the caller is the loop at its original place. */
#define FRAME   (17 * 8)
#define ABOVE   (24 + 128)          /* from the entry's rsp to the loop's */
#define FLAGS   (16 * 8)

/* struct spin_regs: .Lat_REG is where a register lies. */
        .set    .Lat, 0
        .irp    reg, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        .set    .Lat_\reg, .Lat
        .set    .Lat, .Lat + 8
        .endr

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
        movq    %rax, .Lat_rax(%rsp)
        lahf
        seto    %al
        movzwl  %ax, %eax
        movq    %rax, FLAGS(%rsp)
        leaq    FRAME + ABOVE(%rsp), %rax
        movq    %rax, .Lat_rsp(%rsp)
        .irp    reg, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        movq    %\reg, .Lat_\reg(%rsp)
        .endr
        .cfi_rel_offset rbx, .Lat_rbx
        movl    FRAME + 8(%rsp), %edi
        movq    %rsp, %rsi
        movq    %rsp, %rbx
        .cfi_def_cfa_register rbx
        andq    $-16, %rsp
        call    *usf_spin_round(%rip)
        movq    %rbx, %rsp
        .cfi_def_cfa_register rsp
        movq    FLAGS(%rsp), %rax
        .irp    reg, rcx, rdx, rbx, rsi, rdi, r8, r9, r10, r11
        movq    .Lat_\reg(%rsp), %\reg
        .endr
        .cfi_restore rbx
        addb    $127, %al           /* overflows if seto had found it set */
        sahf
        movq    .Lat_rax(%rsp), %rax
        leaq    FRAME(%rsp), %rsp
        .cfi_adjust_cfa_offset -FRAME
        ret
        .cfi_endproc
        .size   usf_spin_entry, . - usf_spin_entry

/* bool usf_spin_probe(const struct spin_regs *regs, uintptr_t at): run the code at `at` with all of another thread's
 * registers but the stack pointer.  It ends with a jump to one of the labels below, with the stack as it found it; the
 * target waits in the red zone meanwhile. */
        .globl  usf_spin_probe
        .hidden usf_spin_probe
        .type   usf_spin_probe, @function
        .p2align 4
usf_spin_probe:
        .cfi_startproc
        .irp    reg, rbx, rbp, r12, r13, r14, r15
        pushq   %\reg
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset \reg, 0
        .endr
        movq    %rsi, -8(%rsp)
        movq    FLAGS(%rdi), %rax
        .irp    reg, rcx, rdx, rbx, rbp, rsi, r8, r9, r10, r11, r12, r13, r14, r15
        movq    .Lat_\reg(%rdi), %\reg
        .endr
        addb    $127, %al
        sahf
        movq    .Lat_rax(%rdi), %rax
        movq    .Lat_rdi(%rdi), %rdi
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
        .size   usf_spin_probe, . - usf_spin_probe

        .section .note.GNU-stack,"",@progbits
