/* src/arch/x86_64/runtime/restorer.S - the return from a signal handler.  SPDX-License-Identifier: Apache-2.0
 *
 * Unwinders know the frame of a signal by these very bytes, and look at the one before them; gdb knows it by the name. */
    .text
    .hidden __restore_rt
    .globl __restore_rt
    nop
    .type __restore_rt, @function
__restore_rt:
    movq $15, %rax
    syscall
    .size __restore_rt, . - __restore_rt
    .section .note.GNU-stack, "", @progbits
