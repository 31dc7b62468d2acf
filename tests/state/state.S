/* tests/state/state.S - one step each, taken with every register in a known state.  SPDX-License-Identifier: Apache-2.0
 *
 * NAME(struct job *) loads the job's state, takes the step, and stores the state that the step leaves.  During the step 0(%rsp)
 * is the job and the red zone below it is filled. */
#define JOB_LOAD   0
#define JOB_SAVE   8
#define JOB_IMAGE  16
#define JOB_RESULT 24
#define JOB_CLEAN  32
#define JOB_SP     40
#define JOB_FLAGS  48
#define JOB_IN     56
#define JOB_OUT    184
#define JOB_ZONE   312
#define ZONE_WORDS  16

        .macro MASKED op, mask, area            /* the job is in rbx */
        mov     \mask(%rbx), %rax
        mov     %rax, %rdx
        shr     $32, %rdx
        mov     \area(%rbx), %rcx
        \op     (%rcx)
        .endm

        .macro STEP name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        mov     %rsp, %rbp
        .cfi_def_cfa_register rbp
        .irp    reg, rbx, r12, r13, r14, r15
        push    %\reg
        .endr
        mov     %rdi, %rbx
        mov     %rsp, JOB_SP(%rbx)
        sub     $16, %rsp
        mov     %rbx, (%rsp)
        MASKED  xsave64, JOB_SAVE, JOB_CLEAN
        MASKED  xrstor64, JOB_LOAD, JOB_IMAGE
        pushq   JOB_FLAGS(%rbx)
        popfq
        .set    .Li, 0
        .rept   ZONE_WORDS
        mov     JOB_ZONE + 8 * .Li(%rbx), %rax
        mov     %rax, -8 * (.Li + 1)(%rsp)
        .set    .Li, .Li + 1
        .endr
        mov     %rbx, %rax
        .set    .Li, 1
        .irp    reg, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        .ifnc   \reg, rsp
        mov     JOB_IN + 8 * .Li(%rax), %\reg
        .endif
        .set    .Li, .Li + 1
        .endr
        mov     JOB_IN(%rax), %rax
        .endm

        .macro END name
        xchg    %rax, (%rsp)
        .set    .Li, 1
        .irp    reg, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        mov     %\reg, JOB_OUT + 8 * .Li(%rax)
        .set    .Li, .Li + 1
        .endr
        mov     (%rsp), %rcx
        mov     %rcx, JOB_OUT(%rax)
        .set    .Li, 0
        .rept   ZONE_WORDS
        mov     -8 * (.Li + 1)(%rsp), %rcx
        mov     %rcx, JOB_ZONE + 8 * .Li(%rax)
        .set    .Li, .Li + 1
        .endr
        mov     %rax, %rbx
        pushfq
        popq    JOB_FLAGS(%rbx)
        cld
        MASKED  xsave64, JOB_SAVE, JOB_RESULT
        MASKED  xrstor64, JOB_LOAD, JOB_CLEAN
        mov     JOB_SP(%rbx), %rsp
        .irp    reg, r15, r14, r13, r12, rbx, rbp
        pop     %\reg
        .endr
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   \name, . - \name
        .endm

        STEP    step_nothing
        END     step_nothing

        STEP    step_call
        syscall
        END     step_call

        STEP    step_work                       /* rcx rounds that nobody can tell from work */
1:      dec     %rcx
        jnz     1b
        END     step_work

        STEP    step_spin                       /* until the word at rdi is 1 */
1:      pause
        cmpl    $1, (%rdi)
        jne     1b
        END     step_spin

        STEP    step_lock                       /* take the lock at rdi, and let it go */
        mov     $1, %ecx
1:      xor     %eax, %eax
        lock cmpxchg %ecx, (%rdi)
        je      3f
2:      pause
        cmpl    $0, (%rdi)
        jne     2b
        jmp     1b
3:      movl    $0, (%rdi)
        END     step_lock

        .section .note.GNU-stack, "", @progbits
