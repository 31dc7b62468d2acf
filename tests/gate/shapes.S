/* tests/gate/shapes.S - system call sites in all the shapes the patcher must tell apart.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Unless said otherwise each takes the call's number in %rdi, makes it, and returns its result.  Names tell
 * what is expected: site_* can be patched, left_* cannot. */
#define FN(name) .p2align 4; .globl name; .type name, @function; name: .cfi_startproc
#define END(name) .cfi_endproc; .size name, . - name

    .text
/* shape_regs(struct regs *): every register and the flags as in the struct, the call, and back.
 * rsp is moved down by `skew` bytes, so that the stack may have any alignment. */
FN(shape_regs)
    push    %rbx
    push    %rbp
    push    %r12
    push    %r13
    push    %r14
    push    %r15
    mov     %rsp, saved_rsp(%rip)
    mov     %rdi, saved_regs(%rip)
    sub     136(%rdi), %rsp
    movq    $0x1111, -8(%rsp)           /* red zone: both ends */
    movq    $0x2222, -128(%rsp)
    mov     (%rdi), %rax
    mov     8(%rdi), %rcx
    mov     16(%rdi), %rdx
    mov     24(%rdi), %rbx
    mov     40(%rdi), %rbp
    mov     48(%rdi), %rsi
    mov     64(%rdi), %r8
    mov     72(%rdi), %r9
    mov     80(%rdi), %r10
    mov     88(%rdi), %r11
    mov     96(%rdi), %r12
    mov     104(%rdi), %r13
    mov     112(%rdi), %r14
    mov     120(%rdi), %r15
    mov     %rsp, before_rsp(%rip)
    lea     -256(%rsp), %rsp            /* flags without touching the red zone */
    pushq   128(%rdi)
    mov     56(%rdi), %rdi
    popfq
    lea     256(%rsp), %rsp
    .byte   0x0f, 0x1f, 0x44, 0, 0      /* five bytes that may move */
    syscall
    lea     -256(%rsp), %rsp
    pushfq
    mov     %rdi, kept_rdi(%rip)
    mov     saved_regs(%rip), %rdi
    popq    128(%rdi)
    lea     256(%rsp), %rsp
    cld
    mov     %rax, (%rdi)
    mov     %rcx, 8(%rdi)
    mov     %rdx, 16(%rdi)
    mov     %rbx, 24(%rdi)
    mov     %rbp, 40(%rdi)
    mov     %rsi, 48(%rdi)
    mov     %r8, 64(%rdi)
    mov     %r9, 72(%rdi)
    mov     %r10, 80(%rdi)
    mov     %r11, 88(%rdi)
    mov     %r12, 96(%rdi)
    mov     %r13, 104(%rdi)
    mov     %r14, 112(%rdi)
    mov     %r15, 120(%rdi)
    mov     kept_rdi(%rip), %rax
    mov     %rax, 56(%rdi)
    mov     %rsp, %rax
    sub     before_rsp(%rip), %rax      /* 0 */
    mov     %rax, 32(%rdi)
    xor     %eax, %eax
    cmpq    $0x1111, -8(%rsp)
    setne   %al
    cmpq    $0x2222, -128(%rsp)
    setne   %ah
    mov     saved_rsp(%rip), %rsp
    pop     %r15
    pop     %r14
    pop     %r13
    pop     %r12
    pop     %rbp
    pop     %rbx
    ret
END(shape_regs)

FN(site_plain)
    mov     $110, %eax
    syscall
    ret
END(site_plain)

FN(site_after)                          /* something jumps to the syscall itself: the window opens there */
    mov     %rdi, %rax
    test    %rdi, %rdi
    jnz     1f
    mov     $110, %eax
1:  syscall
    mov     %rax, %rdx
    nop
    mov     %rdx, %rax
    ret
END(site_after)

FN(site_loop)                           /* four rounds through the window's start */
    mov     %rdi, %rdx
    mov     $4, %r8d
1:  mov     %edx, %eax
    nopl    0(%rax)
    syscall
    dec     %r8d
    jnz     1b
    ret
END(site_loop)

FN(site_rip_before)
    mov     number_110(%rip), %eax
    syscall
    ret
END(site_rip_before)

FN(site_rip_after)
    mov     %rdi, %rax
    jmp     1f
1:  syscall
    mov     %rax, result(%rip)
    mov     result(%rip), %rax
    ret
END(site_rip_after)

FN(site_target_before)                  /* a jump into what stands before: the window must lie after */
    mov     %rdi, %rax
    test    %eax, %eax
    jns     2f
    mov     $110, %eax
    xor     %edx, %edx
2:  mov     %edi, %eax
    syscall
    mov     %rax, %rdx
    mov     %rdx, %rax
    ret
END(site_target_before)

FN(left_both)                           /* jumps to the syscall and to what follows */
    mov     %rdi, %rax
    test    %eax, %eax
    js      2f
    jnz     1f
    mov     $110, %eax
1:  syscall
2:  mov     %rax, %rdx
    mov     %rdx, %rax
    ret
END(left_both)

FN(site_pair)                           /* two sites whose windows may not overlap */
    mov     $110, %eax
    syscall
    mov     $39, %eax
    syscall
    ret
END(site_pair)

FN(site_doubled)                        /* nothing between them: only one can have a window */
    mov     %rdi, %rax
    mov     %rax, %r8
    nop
    syscall
    syscall
    ret
END(site_doubled)

FN(site_lock_skip)                      /* a jump into the middle of an instruction, over its prefix */
    mov     $1, %ecx
    xor     %eax, %eax
    test    %edi, %edi
    jz      1f
    lock
1:  addl    %ecx, -8(%rsp)
    mov     %edi, %eax
    syscall
    mov     %rax, %rdx
    mov     %rdx, %rax
    ret
END(site_lock_skip)

    .p2align 12
    .skip   4096 - 3
    .globl  site_straddle
    .type   site_straddle, @function
site_straddle:                          /* the jump crosses a page boundary */
    .cfi_startproc
    mov     $110, %eax
    syscall
    ret
END(site_straddle)

FN(site_pushes)                         /* the window moves the stack pointer */
    push    %rdi
    .cfi_adjust_cfa_offset 8
    mov     (%rsp), %rax
    pop     %rdx
    .cfi_adjust_cfa_offset -8
    syscall
    ret
END(site_pushes)

FN(site_cold)                           /* split-off code jumps back to just before the syscall */
    mov     %rdi, %rax
    test    %rdi, %rdi
    js      cold_part
    xor     %edx, %edx
back_from_cold:
    mov     %rdi, %r8
    syscall
    mov     %rax, %rdx
    mov     %rdx, %rax
    ret
END(site_cold)

FN(site_table)                          /* a switch; its cases meet at the syscall */
    lea     table(%rip), %rdx
    and     $3, %edi
    movslq  (%rdx, %rdi, 4), %rax
    add     %rdx, %rax
    jmp     *%rax
case0:
    mov     $110, %eax
    jmp     meet
case1:
    mov     $39, %eax
    jmp     meet
case2:
    mov     $102, %eax
meet:
    syscall
    mov     %rax, %rdx
    mov     %rdx, %rax
    ret
case3:
    mov     $104, %eax
    syscall
    ret
END(site_table)

    .section .text.unlikely, "ax"
    .type cold_part, @function
cold_part:
    .cfi_startproc
    mov     $110, %eax
    jmp     back_from_cold
END(cold_part)

    .section .rodata
    .p2align 2
table: .long case0 - table, case1 - table, case2 - table, case3 - table
number_110: .long 110

    .bss
    .lcomm saved_rsp, 8
    .lcomm before_rsp, 8
    .lcomm saved_regs, 8
    .lcomm kept_rdi, 8
    .lcomm result, 8
    .section .note.GNU-stack, "", @progbits
