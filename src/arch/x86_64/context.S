/* src/arch/x86_64/context.S - switch between user contexts (context.h).  SPDX-License-Identifier: Apache-2.0 */
#define SP      0
#define TLS     8
#define MXCSR   16
#define FCW     20
#define IN_USE  24
#define PLAIN   28
#define PKRU    32
#define GS      40
#define VECTOR  64
#define X87     2176

#define IN_X87  0x01
#define INITIAL_FCW 0x37f
/* Each component by itself: on AMD's processors with AVX-512 IN_MASK and IN_HIGH are always set.  SSE code takes two to three times as long after
 * loads of ymm0-15 or zmm0-15, until the next VZEROUPPER: so only what has an upper part in use is loaded that way. */
#define IN_AVX  0x04        /* upper halves of ymm0-15 */
#define IN_MASK 0x20        /* k0-7 */
#define IN_512  0x40        /* upper halves of zmm0-15 */
#define IN_HIGH 0x80        /* zmm16-31 */

    .section .rodata
    .balign 64
.Linitial:                      /* for XRSTOR: it has no component */
    .zero 576

    .text
    .p2align 5
    .globl usf_arch_switch
    .hidden usf_arch_switch
    .type usf_arch_switch, @function
/* rdi: from, rsi: to, edx: does the kernel use protection keys? */
usf_arch_switch:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    push %rbx
    .cfi_adjust_cfa_offset 8
    push %r12
    .cfi_adjust_cfa_offset 8
    push %r13
    .cfi_adjust_cfa_offset 8
    push %r14
    .cfi_adjust_cfa_offset 8
    push %r15
    .cfi_adjust_cfa_offset 8
    mov %edx, %r10d
    mov %rsp, SP(%rdi)
    rdfsbase %rax
    mov %rax, TLS(%rdi)
    rdgsbase %rax
    mov %rax, GS(%rdi)
    stmxcsr MXCSR(%rdi)
    fnstcw FCW(%rdi)
    mov $1, %ecx
    xgetbv
    mov %eax, %r8d              /* in use now */
    test %r10d, %r10d
    jz 1f
    xor %ecx, %ecx
    rdpkru
    mov %eax, PKRU(%rdi)
1:
    cmpl $0, PLAIN(%rdi)
    jne .Lload
    mov %r8d, IN_USE(%rdi)
    test $IN_X87, %r8d
    jz 1f
    movq $0, X87+512(%rdi)      /* the header, of which XSAVE writes only a part */
    mov $1, %eax
    xor %edx, %edx
    xsave64 X87(%rdi)
    cmpl $0, X87+2(%rdi)        /* status and tags: no flag, no register is in use.  After a signal the state counts */
    jne 1f                      /* ... as in use whatever it is (the kernel's frame says so) */
    andl $~IN_X87, IN_USE(%rdi)
1:
    lea VECTOR(%rdi), %r9
    test $IN_MASK, %r8d
    jz 1f
    .irp n,0,1,2,3,4,5,6,7
    kmovq %k\n, 2048+\n*8(%r9)
    .endr
1:
    test $IN_HIGH, %r8d
    jz 1f
    .irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovdqa64 %zmm\n, \n*64(%r9)
    .endr
1:
    test $IN_512, %r8d
    jnz 3f
    test $IN_AVX, %r8d
    jnz 2f
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqa %xmm\n, \n*16(%r9)
    .endr
    jmp .Lload
2:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqa %ymm\n, \n*32(%r9)
    .endr
    jmp .Lload
3:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqa64 %zmm\n, \n*64(%r9)
    .endr

.Lload:
    movzwl FCW(%rdi), %ecx      /* the control word that is in force */
    cmpl $0, PLAIN(%rsi)
    jne .Lcontrol
    mov IN_USE(%rsi), %r11d
    lea VECTOR(%rsi), %r9
    test $IN_MASK, %r11d
    jnz 3f
    test $IN_MASK, %r8d
    jz 4f
    .irp n,0,1,2,3,4,5,6,7
    kxorq %k\n, %k\n, %k\n
    .endr
    jmp 4f
3:
    .irp n,0,1,2,3,4,5,6,7
    kmovq 2048+\n*8(%r9), %k\n
    .endr
4:
    test $IN_HIGH, %r11d
    jnz 3f
    test $IN_HIGH, %r8d
    jz 4f
    .irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vpxord %zmm\n, %zmm\n, %zmm\n
    .endr
    jmp 4f
3:
    .irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovdqa64 \n*64(%r9), %zmm\n
    .endr
4:
    test $IN_512, %r11d
    jnz 6f
    test $IN_AVX, %r11d
    jnz 5f
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqa \n*16(%r9), %xmm\n
    .endr
    test $IN_AVX|IN_512, %r8d
    jz .Lx87
    vzeroupper                  /* the loads have cleared the upper parts: no slow mixing with SSE code */
    jmp .Lx87
5:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqa \n*32(%r9), %ymm\n
    .endr
    jmp .Lx87
6:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqa64 \n*64(%r9), %zmm\n
    .endr
.Lx87:
    test $IN_X87, %r11d
    jz 7f
    mov $1, %eax
    xor %edx, %edx
    xrstor64 X87(%rsi)
    movzwl FCW(%rsi), %ecx
    jmp .Lcontrol
7:
    test $IN_X87, %r8d
    jz .Lcontrol
    mov $1, %eax                /* not FNINIT: after that the state counts as in use, */
    xor %edx, %edx              /* ... and each later switch would save and load it, 75 ns */
    xrstor64 .Linitial(%rip)
    mov $INITIAL_FCW, %ecx

.Lcontrol:
    mov MXCSR(%rsi), %eax
    cmp MXCSR(%rdi), %eax
    je 8f
    ldmxcsr MXCSR(%rsi)
8:
    movzwl FCW(%rsi), %eax
    cmp %cx, %ax
    je 9f
    fldcw FCW(%rsi)             /* the state counts as in use from now on */
9:
    test %r10d, %r10d
    jz 10f
    mov PKRU(%rsi), %eax
    cmp PKRU(%rdi), %eax
    je 10f
    xor %ecx, %ecx
    xor %edx, %edx
    wrpkru
10:
    mov GS(%rsi), %rax
    cmp GS(%rdi), %rax
    je 11f
    wrgsbase %rax
11:
    mov TLS(%rsi), %rax
    wrfsbase %rax
    .globl usf_arch_takes_stack
    .hidden usf_arch_takes_stack
usf_arch_takes_stack:           /* for debuggers: the TLS base is already the next one's */
    mov SP(%rsi), %rsp
    pop %r15
    .cfi_adjust_cfa_offset -8
    pop %r14
    .cfi_adjust_cfa_offset -8
    pop %r13
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    pop %rbx
    .cfi_adjust_cfa_offset -8
    pop %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size usf_arch_switch, .-usf_arch_switch

/* Where a new context begins: rbx is its function, r12 what that is given. */
    .globl usf_arch_begin
    .hidden usf_arch_begin
    .type usf_arch_begin, @function
usf_arch_begin:
    .cfi_startproc
    .cfi_undefined rip
    mov %r12, %rdi
    xor %ebp, %ebp
    call *%rbx
    ud2
    .cfi_endproc
    .size usf_arch_begin, .-usf_arch_begin

    .globl arch_tls
    .hidden arch_tls
    .type arch_tls, @function
arch_tls:
    rdfsbase %rax
    ret
    .size arch_tls, .-arch_tls

    .globl arch_set_tls
    .hidden arch_set_tls
    .type arch_set_tls, @function
arch_set_tls:
    wrfsbase %rdi
    ret
    .size arch_set_tls, .-arch_set_tls

/* rdi: word, esi: expected, rdx: stop, rcx: timeout */
    .globl arch_idle_wait
    .hidden arch_idle_wait
    .type arch_idle_wait, @function
arch_idle_wait:
    .cfi_startproc
    mov %rcx, %r10
    mov %rdx, %r8
    mov %esi, %edx
    xor %esi, %esi              /* FUTEX_WAIT */
    xor %eax, %eax
    .globl usf_arch_idle_from
    .hidden usf_arch_idle_from
usf_arch_idle_from:
    cmpl $0, (%r8)
    jne usf_arch_idle_over
    mov $202, %eax              /* futex */
    syscall
    .globl usf_arch_idle_over
    .hidden usf_arch_idle_over
usf_arch_idle_over:
    ret
    .cfi_endproc
    .size arch_idle_wait, .-arch_idle_wait

    .globl arch_end_thread
    .hidden arch_end_thread
    .type arch_end_thread, @function
arch_end_thread:
    mov $11, %eax               /* munmap: no stack from here on */
    syscall
    xor %edi, %edi
    mov $60, %eax               /* exit */
    syscall
    ud2
    .size arch_end_thread, .-arch_end_thread

    .section .note.GNU-stack, "", @progbits
