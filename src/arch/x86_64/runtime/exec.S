/* src/arch/x86_64/runtime/exec.S - a call of the program's that is not to be made any more once a word is set.
 * SPDX-License-Identifier: Apache-2.0
 *
 * long rt_exec_call(const struct gate_frame *f, const uint32_t *kept): an interruption in the window goes on at rt_exec_give_up
 * (rt_exec_fix_pc). */
    .text
    .hidden rt_exec_call, rt_exec_window, rt_exec_window_end, rt_exec_give_up
    .globl rt_exec_call, rt_exec_window, rt_exec_window_end, rt_exec_give_up
    .type rt_exec_call, @function
rt_exec_call:
    .cfi_startproc
    mov %rsi, %r11
    mov %rdi, %rcx
    mov (%rcx), %rax
    mov 8(%rcx), %rdi
    mov 16(%rcx), %rsi
    mov 24(%rcx), %rdx
    mov 32(%rcx), %r10
    mov 40(%rcx), %r8
rt_exec_window:
    cmpl $0, (%r11)
    jne rt_exec_give_up
    syscall
rt_exec_window_end:
    ret
rt_exec_give_up:
    mov $-512, %rax
    ret
    .cfi_endproc
    .size rt_exec_call, . - rt_exec_call
    .section .note.GNU-stack, "", @progbits
