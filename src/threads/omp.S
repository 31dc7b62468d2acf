/* src/threads/omp.S - parallel regions of OpenMP, before the runtime that the program uses gets them.  SPDX-License-Identifier: Apache-2.0
 *
 * In assembly so that all arguments, those on the stack and those behind an ellipsis too, reach the real function as they are;
 * but for the team's size, which threads_omp_entry may write into the registers that are saved here. */
#include "threads/omp_names.h"
#if defined(__CET__)
#include <cet.h>
#endif
#ifndef _CET_ENDBR
#define _CET_ENDBR
#endif

    .macro  keep reg
    pushq   \reg
    .cfi_adjust_cfa_offset 8
    .endm
    .macro  restore reg
    popq    \reg
    .cfi_adjust_cfa_offset -8
    .endm

    .macro  omp_entry name, number
    .globl  \name
    .type   \name, @function
    .p2align 4
\name:
    .cfi_startproc
    _CET_ENDBR
    keep    %rdi
    keep    %rsi
    keep    %rdx
    keep    %rcx
    keep    %r8
    keep    %r9
    keep    %rax
    movl    $\number, %edi
    movq    %rsp, %rsi              /* rax r9 r8 rcx rdx rsi rdi */
    movq    56(%rsp), %rdx          /* who calls */
    call    threads_omp_entry
    movq    %rax, %r11
    restore %rax
    restore %r9
    restore %r8
    restore %rcx
    restore %rdx
    restore %rsi
    restore %rdi
    jmpq    *%r11
    .cfi_endproc
    .size   \name, . - \name
    .endm

    .text
#define ENTRY(name, number) omp_entry name, number;
    OMP_REGIONS(ENTRY)
    OMP_OTHERS(ENTRY)

    .section .note.GNU-stack, "", @progbits
