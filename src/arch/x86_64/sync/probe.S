/* src/arch/x86_64/sync/probe.S - touch the program's memory without dying.  SPDX-License-Identifier: Apache-2.0
 * A fault on an instruction between the labels continues at its fix-up, which returns 1. */
    .text
    .globl sync_probe_read, sync_probe_cas, sync_probe_start, sync_probe_end, sync_probe_fixup
    .hidden sync_probe_read, sync_probe_cas, sync_probe_start, sync_probe_end, sync_probe_fixup

/* int sync_probe_read(const uint32_t *addr, uint32_t *out) */
    .type sync_probe_read, @function
sync_probe_read:
    .cfi_startproc
sync_probe_start:
    movl (%rdi), %eax
    movl %eax, (%rsi)
    xorl %eax, %eax
    ret
/* int sync_probe_cas(uint32_t *addr, uint32_t *expected, uint32_t desired): 0 done, 2 differs, 1 fault */
sync_probe_cas:
    movl (%rsi), %eax
    lock cmpxchgl %edx, (%rdi)
    jne 1f
    xorl %eax, %eax
    ret
1:  movl %eax, (%rsi)
    movl $2, %eax
    ret
sync_probe_end:
sync_probe_fixup:
    movl $1, %eax
    ret
    .cfi_endproc
    .size sync_probe_read, . - sync_probe_read
    .section .note.GNU-stack, "", @progbits
