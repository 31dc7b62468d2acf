/* src/spin/spin.h - recognise busy-wait loops in machine code and turn them into scheduling points.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A loop whose body has no side effect, whose addresses do not change from round to round and which
 * leaves only when a value in memory changes, can be ended by another thread alone: it is a
 * spin-wait, by construction.  The recogniser proves that for the innermost loop around a pc, or
 * says why not; the stub builder writes a copy of the loop whose every back edge enters the runtime.
 */
#ifndef USF_SPIN_H
#define USF_SPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPIN_MAX_INSNS  48      /* longest loop body looked at */
#define SPIN_MAX_LOADS  4

enum spin_verdict {
    SPIN_YES = 0,
    SPIN_NO_LOOP,        /* pc is in no loop short enough */
    SPIN_NO_STORE,       /* the body stores (other than a failed atomic's) */
    SPIN_NO_CALL,        /* ... calls something that is not known to be a pause */
    SPIN_NO_ADDRESS,     /* an address changes from round to round */
    SPIN_NO_EXIT,        /* an exit depends on more than memory (an unbounded counter is tolerated:
                            see bounded) */
    SPIN_NO_DECODE,      /* an instruction could not be decoded */
    SPIN_NO_ROOM,        /* no 5-byte window without a jump target inside */
    SPIN_NO_MEMORY,      /* stub memory out of reach */
};

/* One load that the exit depends on: value at [base + index*scale + disp], `size` bytes. */
struct spin_load { int8_t base, index; uint8_t scale, size; bool fs; int64_t disp; };
/* base/index: register number as in gate order rax=0 rcx=1 rdx=2 rbx=3 rsp=4 rbp=5 rsi=6 rdi=7 r8..r15,
 * -1 none, 16 rip (disp is then absolute). */

struct spin_loop {
    enum spin_verdict verdict;
    uintptr_t head, end;        /* [head, end): the loop's bytes */
    uintptr_t window;           /* where the jump is written: >= head */
    uint8_t   window_len;       /* bytes replaced (5 plus padding) */
    uint8_t   nr_insns, nr_loads;
    bool      has_pause;        /* pause, rep nop, or a run of nop */
    bool      bounded;          /* counts rounds in a register and leaves when it runs out */
    bool      atomic;           /* a failed xchg/cmpxchg is part of it (test-and-set lock) */
    struct spin_load load[SPIN_MAX_LOADS];
    struct { uint8_t off, len; } insn[SPIN_MAX_INSNS];  /* offsets from head */
};

/* Look at the loop around pc in the function [fstart, fend) (its bytes are readable).  Pure: no
 * system call, no allocation, async-signal-safe. */
enum spin_verdict spin_recognise(const uint8_t *code, uintptr_t fstart, uintptr_t fend, uintptr_t pc,
                                 struct spin_loop *out);
/* `code` points at the bytes of fstart (so that files and tests can be analysed at other addresses). */

/* Build the loop's stub (copy of the loop, each back edge calling `gate_spin_entry`, exits jumping to
 * their original targets) into buf for execution at stub_addr.  Returns its length or 0 if it does not
 * fit / cannot be relocated.  map: for each insn, its offset in the stub (to move a saved pc). */
size_t spin_build_stub(const uint8_t *code, uintptr_t fstart, const struct spin_loop *l,
                       uint8_t *buf, size_t cap, uintptr_t stub_addr, uint16_t map[SPIN_MAX_INSNS]);

/* Entered by stubs on each back edge (spin_entry.S saves every register and the flags; static CFI),
 * calls this with the loop's index.  The runtime sets it. */
struct spin_regs { uint64_t r[16]; uint64_t flags; };   /* r[] in the order above; r[4] = rsp at the loop */
extern void (*usf_spin_round)(uint32_t site, struct spin_regs *regs);

/* ---- live sites of this process -------------------------------------------------------------- */
/* A patched loop.  Sites are only ever added; index is stable. */
struct spin_site {
    uintptr_t head, end, window, stub, stub_end;
    uint8_t window_len;
    struct spin_loop loop;
    uint16_t map[SPIN_MAX_INSNS];
    uint64_t rounds;            /* statistics, racy */
};
#define SPIN_MAX_SITES 1024
extern struct spin_site usf_spin_sites[SPIN_MAX_SITES];
extern uint32_t usf_spin_nr_sites;

/* Prepare the site (stub written, code untouched): its index, or -verdict-1. */
int  spin_prepare(const uint8_t *code, uintptr_t fstart, const struct spin_loop *l);
/* Write the jump.  The caller guarantees that no thread executes inside [window, window+window_len)
 * except as fixed up by spin_fix_pc afterwards.  0 or -errno. */
int  spin_commit(uint32_t site);
/* If pc lies in a patched loop's original bytes: the address to continue at (in the stub); else pc. */
uintptr_t spin_fix_pc(uintptr_t pc);
/* Address that load i of the site reads now, from the registers. */
uintptr_t spin_load_addr(const struct spin_load *l, const struct spin_regs *regs);

/* ---- learned sites --------------------------------------------------------------------------- */
/* Kept by build-id in DIR/spin/<hex>; never trusted: owner and mode checked, each entry recognised
 * again against the bytes it names. */
struct gate_object;
int  spin_learn(const char *dir, const struct gate_object *o, const struct spin_loop *l);
/* Patch the object's learned sites (before it runs).  Returns how many. */
int  spin_apply_learned(const char *dir, const struct gate_object *o);
/* Known idioms: short loops around runs of >= 4 `nop` or a `pause` with a bare load (as in the OpenBLAS
 * of numpy's wheels).  Scans the object's text; patches before it runs.  Returns how many. */
int  spin_apply_idioms(const struct gate_object *o);

#endif
