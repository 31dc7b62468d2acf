/* src/arch/x86_64/context/stub.S - where a stub library's resolvers lead.  SPDX-License-Identifier: Apache-2.0
 *
 * On the stack: the header, k, the return address of the call.  All registers that may hold arguments are as they were when the function
 * is called: rax has the number of vector arguments, r10 the frame of a nested function.  XSAVE of the vector registers (components 1, 2, 5, 6
 * and 7) needs 2688 bytes; its header must be 0. */
    .text
    .hidden stub_resolve, stub_saves_all
    .globl usf_context_stub_resolve
    .type usf_context_stub_resolve, @function
    .p2align 4
usf_context_stub_resolve:
    .cfi_startproc
    .cfi_def_cfa_offset 24
    endbr64
    push %rbp
    .cfi_def_cfa_offset 32
    .cfi_offset %rbp, -32
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    .irp reg, rax, rcx, rdx, rsi, rdi, r8, r9, r10
    push %\reg
    .endr
    sub $2688, %rsp
    and $-64, %rsp
    xor %edx, %edx
    cmpb $0, stub_saves_all(%rip)
    je 1f
    .irp at, 512, 520, 528, 536, 544, 552, 560, 568
    mov %rdx, \at(%rsp)
    .endr
    mov $0xe6, %eax
    xsave (%rsp)
    jmp 2f
1:  fxsave (%rsp)
2:  mov 8(%rbp), %rdi
    mov 16(%rbp), %rsi
    call stub_resolve
    mov %rax, %r11
    xor %edx, %edx
    cmpb $0, stub_saves_all(%rip)
    je 3f
    mov $0xe6, %eax
    xrstor (%rsp)
    jmp 4f
3:  fxrstor (%rsp)
4:  lea -64(%rbp), %rsp
    .irp reg, r10, r9, r8, rdi, rsi, rdx, rcx, rax
    pop %\reg
    .endr
    pop %rbp
    .cfi_def_cfa %rsp, 24
    add $16, %rsp
    .cfi_def_cfa_offset 8
    jmp *%r11
    .cfi_endproc
    .size usf_context_stub_resolve, . - usf_context_stub_resolve
    .section .note.GNU-stack, "", @progbits
