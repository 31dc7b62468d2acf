/* src/arch/x86_64/spin/machine.h - the state of the machine, as the recogniser follows it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_X86_64_SPIN_MACHINE_H
#define USF_ARCH_X86_64_SPIN_MACHINE_H

#include <stdint.h>

#include <Zydis/Decoder.h>

/* A set of the parts of the machine's state that the proof follows:
 *   0-47   general register r: 3r bits 0-7, 3r+1 bits 8-15, 3r+2 the rest (32-bit writes clear the top)
 *   48-53  CF PF AF ZF SF OF
 *   54-85  vector registers, 86-93 mask registers
 *   96-111 slots: words of the function's own stack frame (counters of unoptimised code) */
typedef unsigned __int128 regset;
#define RS(i)        ((regset)1 << (i))
#define RS_GPR(r)    ((regset)7 << (3 * (r)))
#define RS_FLAGS     ((regset)63 << 48)
#define RS_VEC(v)    RS(54 + (v))
#define RS_MASK(k)   RS(86 + (k))
#define RS_VECTORS   ((((regset)1 << 42) - 1) << 54)
#define RS_SLOT0     96
#define RS_SLOTS     16
#define RS_ALL_SLOTS (((regset)0xffff) << RS_SLOT0)
#define RS_END       (RS_SLOT0 + RS_SLOTS)
#define GPR_RSP 4
#define GPR_RBP 5
#define RS_GPRS        ((RS(48) - 1) & ~RS_GPR(GPR_RSP))     /* but the stack pointer */
/* What a function that is called leaves as it is. */
#define RS_CALL_KEEPS  (RS_GPR(3) | RS_GPR(5) | RS_GPR(12) | RS_GPR(13) | RS_GPR(14) | RS_GPR(15) | RS_ALL_SLOTS)

#define SPIN_GPRS 16

/* What usf_spin_entry saves. */
struct spin_regs {
    uint64_t r[SPIN_GPRS];      /* by their numbers; r[GPR_RSP]: at the loop */
    uint64_t flags;             /* as lahf and seto leave them in ax */
};

/* Decoders, and the instruction that they have decoded last. */
struct spin_decoder {
    ZydisDecoder fast, full;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

#endif
