/* tests/spin/live_loops.S - loops that are patched while they run.  SPDX-License-Identifier: Apache-2.0
 *
 * Each begins with registers as `run_with` (below) sets them; %rdi points to the watched word, the loop ends when
 * it becomes nonzero (or, for locks, zero).  They end with ret. */
        .text
        .macro LOOP name
        .p2align 4
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        .endm
        .macro END name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        LOOP live_barrier               /* load, compare, back */
1:      movq    (%rdi), %rax
        cmpq    %rax, %rsi
        je      1b
        ret
        END live_barrier

        LOOP live_short                 /* four bytes: the window takes the ret in */
1:      cmp     %ecx, (%rdi)
        je      1b
        ret
        END live_short

        LOOP live_nops
        jmp     2f
1:      .rept 8
        nop
        .endr
2:      cmpq    $0, (%rdi)
        je      1b
        ret
        END live_nops

        LOOP live_spinlock              /* two exits, the way round in the middle */
1:      pause
        cmpl    $0, (%rdi)
        jg      2f
        jmp     1b
2:      ret
        END live_spinlock

        LOOP live_rip                   /* RIP-relative operand */
1:      movl    live_word(%rip), %eax
        pause
        test    %eax, %eax
        jz      1b
        ret
        END live_rip

        LOOP live_flags                 /* flags live across the back edge: carry counts the rounds' parity */
        stc
1:      movq    (%rdi), %rax
        inc     %r8
        bt      $0, %rax
        jc      2f
        lea     -1(%r9), %r9
        jmp     1b
2:      setc    %al
        ret
        END live_flags

        LOOP live_counter               /* bounded; leaves by memory */
        movq    $1000000000, %r10
1:      mov     (%rdi), %eax
        test    %eax, %eax
        jne     2f
        pause
        dec     %r10
        jne     1b
2:      xor     %r10d, %r10d
        ret
        END live_counter

        LOOP live_redzone               /* uses the red zone */
        movq    %rsi, -8(%rsp)
        movq    %rdx, -120(%rsp)
1:      movl    (%rdi), %eax
        test    %eax, %eax
        je      1b
        movq    -8(%rsp), %r8
        movq    -120(%rsp), %r9
        ret
        END live_redzone

        LOOP live_far                   /* body in two parts, with other code between */
1:      movl    (%rdi), %eax
        test    %eax, %eax
        je      2f
        ret
        movq    %rax, (%rsi)
        ret
2:      pause
        nop
        jmp     1b
        END live_far

        LOOP live_vector                /* a vector register carries the value */
1:      movq    (%rdi), %xmm9
        movq    %xmm9, %rax
        test    %rax, %rax
        je      1b
        ret
        END live_vector

        LOOP wait_for_flag
1:      cmpl    $0, (%rdi)
        jne     2f
        pause
        jmp     1b
2:      ret
        END wait_for_flag

        LOOP poll_function              /* 3 * (*n += a) + live_word */
        mov     live_word(%rip), %eax
        add     %edi, (%rsi)
        mov     (%rsi), %ecx
        lea     (%rcx,%rcx,2), %ecx
        add     %ecx, %eax
        ret
        END poll_function
        LOOP poll_end
        ret
        END poll_end

/* Never run: what makes a window impossible.  Each loop's only window has two instructions. */
        LOOP taken_inside               /* a branch of the function goes to the second */
        jmp     2f
1:      cmp     %ecx, (%rdi)
2:      .byte   0x75, 1b - . - 1        /* jne 1b, short in every build */
        ret
        END taken_inside
        LOOP taken_from_cold            /* a branch of its cold part does */
        test    %esi, %esi
        js      cold_part
        nop
1:      movq    (%rdi), %rax
back_in: test   %rax, %rax
        .byte   0x74, 1b - . - 1
        ret
        END taken_from_cold
        LOOP cold_part
        neg     %esi
        jmp     back_in
        END cold_part
        LOOP taken_by_table             /* a jump table does */
        lea     table(%rip), %rdx
        movslq  (%rdx,%rcx,4), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
case_1: ret
2:      movq    (%rdi), %rax
case_2: test    %rax, %rax
        .byte   0x74, 2b - . - 1
        ret
        END taken_by_table
        LOOP not_taken_by_table         /* it leads elsewhere */
        lea     harmless(%rip), %rdx
        movslq  (%rdx,%rcx,4), %rcx
        add     %rdx, %rcx
        jmp     *%rcx
case_3: ret
case_4: movq    (%rdi), %rax
        test    %rax, %rax
        je      case_4
        ret
        END not_taken_by_table
        LOOP helps                      /* a wait on one path only */
1:      cmpl    $0, (%rdi)
        jne     2f
        cmpl    $0, (%rsi)
        je      1b
        .globl  helping
helping: call   live_end
        jmp     1b
2:      ret
        END helps
        LOOP live_end
        ret
        END live_end
        .section .rodata
        .p2align 2
table:  .long   case_1 - table, case_2 - table, case_1 - table
        .long   0x7fffffff
harmless: .long case_3 - harmless, case_4 - harmless
        .long   0x7fffffff
        .text

/* void run_with(void (*loop)(void), struct state *s): load all registers from s, call, store them back. */
        .globl  run_with
        .type   run_with, @function
run_with:
        .cfi_startproc
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        push    %rsi
        .cfi_adjust_cfa_offset 56
        push    %rdi
        .cfi_adjust_cfa_offset 8
        movq    %rsi, %rax
        .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  128+16*\n(%rax), %xmm\n
        .endr
        movq    8(%rax), %rcx
        movq    16(%rax), %rdx
        movq    24(%rax), %rbx
        movq    40(%rax), %rbp
        movq    48(%rax), %rsi
        movq    56(%rax), %rdi
        movq    64(%rax), %r8
        movq    72(%rax), %r9
        movq    80(%rax), %r10
        movq    88(%rax), %r11
        movq    96(%rax), %r12
        movq    104(%rax), %r13
        movq    112(%rax), %r14
        movq    120(%rax), %r15
        movq    0(%rax), %rax
        call    *(%rsp)
        push    %rax
        .cfi_adjust_cfa_offset 8
        movq    16(%rsp), %rax
        pop     0(%rax)
        .cfi_adjust_cfa_offset -8
        movq    %rcx, 8(%rax)
        movq    %rdx, 16(%rax)
        movq    %rbx, 24(%rax)
        movq    %rbp, 40(%rax)
        movq    %rsi, 48(%rax)
        movq    %rdi, 56(%rax)
        movq    %r8, 64(%rax)
        movq    %r9, 72(%rax)
        movq    %r10, 80(%rax)
        movq    %r11, 88(%rax)
        movq    %r12, 96(%rax)
        movq    %r13, 104(%rax)
        movq    %r14, 112(%rax)
        movq    %r15, 120(%rax)
        .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  %xmm\n, 128+16*\n(%rax)
        .endr
        addq    $16, %rsp
        .cfi_adjust_cfa_offset -16
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .cfi_endproc
        .size   run_with, . - run_with

        .bss
        .globl  live_word
        .p2align 3
live_word: .quad 0
        .section .note.GNU-stack,"",@progbits
