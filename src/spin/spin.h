/* src/spin/spin.h - recognise busy-wait loops in machine code and turn them into scheduling points.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A loop whose body has no side effect, whose addresses do not change from round to round and which
 * leaves only when a value in memory changes, can be ended by another thread alone: it is a
 * spin-wait, by construction.  The recogniser proves that for the innermost cycle around a pc, or
 * says why not; the stub builder writes a copy of the loop whose every back edge enters the
 * runtime.
 *
 * The copy behaves as the original does, whatever the loop computes: a wrong verdict costs speed,
 * never a result.  Only the place of the jump (`window`) must be right, and it rests on facts, not
 * on the proof: no branch of the function goes into its middle.
 *
 * Stack: every function here stays below 1 KiB; the large tables are static and held by one flag,
 * so that two threads that ask at once get SPIN_BUSY (ask again later), never a wait.
 */
#ifndef USF_SPIN_H
#define USF_SPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPIN_MAX_INSNS  64      /* longest loop body looked at (with absorbed instructions) */
#define SPIN_MAX_BACK   8       /* places in a loop that back edges go to */
#define SPIN_MAX_STUB   3072    /* bytes; the longest stub */

enum spin_verdict {
    SPIN_YES = 0,
    SPIN_NO_LOOP,        /* pc is in no loop short enough */
    SPIN_NO_STORE,       /* every cycle through pc stores (other than a failed atomic's) */
    SPIN_NO_CALL,        /* ... or calls, returns, jumps indirectly, makes a system call */
    SPIN_NO_ADDRESS,     /* an address changes from round to round */
    SPIN_NO_EXIT,        /* no exit depends on memory alone, or the loop computes something */
    SPIN_NO_DECODE,      /* an instruction could not be decoded */
    SPIN_NO_ROOM,        /* no window for a jump without a jump target inside */
    SPIN_NO_MEMORY,      /* stub memory out of reach, or no site left */
    SPIN_BUSY,           /* the tables are in use: ask again */
};
/* In the child: who held the tables is not there. */
void spin_after_fork(void);

struct spin_insn { uint16_t off; uint8_t len, flags; };   /* off: from head */
#define SPIN_I_BACK     1       /* its branch is a back edge that enters the runtime */
#define SPIN_I_ABSORBED 2       /* not of the loop: lies in the window behind it */
#define SPIN_I_ATOMIC   4       /* writes to memory, if the lock that it tries is free */
#define SPIN_I_FLAGS    8       /* the flags may be read before they are written, from here on */

struct spin_loop {
    uintptr_t pc;               /* where it was asked for; the same pc finds the same loop */
    uintptr_t head, end;        /* [head, end): from the loop's lowest instruction to its highest; other
                                   code may lie between */
    uintptr_t window;           /* where the jump is written: an instruction that every cycle passes */
    uint8_t   window_len;       /* bytes replaced: the jump and padding */
    uint8_t   window_insns;     /* instructions in it; 1: no thread can be in its middle */
    uint8_t   nr_insns;
    bool      pure;             /* another thread may try a round in place of the one that waits (spin_probe) */
    bool      has_pause;        /* pause, or a run of nop */
    bool      atomic;           /* a failed attempt at a lock is part of it (test-and-set lock) */
    struct spin_insn insn[SPIN_MAX_INSNS];   /* by address */
};

/* Look at the loop around pc in the function [fstart, fend) (its bytes are readable).  Pure: no
 * system call, no allocation, async-signal-safe. */
enum spin_verdict spin_recognise(const uint8_t *code, uintptr_t fstart, uintptr_t fend, uintptr_t pc,
                                 struct spin_loop *out);
/* `code` points at the bytes of fstart (so that files and tests can be analysed at other
 * addresses).  Cost: 10 us to 0.5 ms, most of it for walking through a long function.  For code in
 * place (code == fstart) a range where a look failed answers from memory the next 32 times. */

/* The rounds that this thread may go on by itself, in whatever waits: who looks a few times, does
 * something else and looks again may be in one wait for us.  A stub counts down in each round; the
 * runtime is entered when `left` falls below 0, and sets it anew.  Stubs write at these places from
 * the thread pointer: a thread that has set one of its own has them written there. */
struct spin_rounds {
    int32_t left;
    uint32_t entered;           /* the runtime has been entered in this wait; a stub sets it to 0 when one begins */
};
extern __thread struct spin_rounds usf_spin_rounds __attribute__((tls_model("initial-exec")));

/* Offsets in a stub: of each instruction (to move a saved pc), of what enters it and the runtime
 * (from enters to entered), and of the probe round that begins where the back edges of each place
 * go; 0: none. */
struct spin_map { uint16_t insn[SPIN_MAX_INSNS], enters, entered, probe[SPIN_MAX_BACK]; };

/* Build the loop's stub (copy of the loop, each back edge counting rounds and calling
 * usf_spin_entry, exits jumping to their original targets) into buf for execution at stub_addr.
 * Returns its length or 0 if it does not fit / cannot be relocated.  A pure loop's stub has a
 * second copy behind it, for one probe. */
size_t spin_build_stub(const uint8_t *code, uintptr_t fstart, const struct spin_loop *l, uint32_t site,
                       uint8_t *buf, size_t cap, uintptr_t stub_addr, struct spin_map *map);

/* Where the program would be, for whom it is in the stub at this offset, and how far its own stack
 * pointer is above the stub's there.  0: in a probe, which is another's. */
uintptr_t spin_stub_origin(const struct spin_loop *l, const struct spin_map *map, size_t at, uint64_t *shift);

/* Entered by stubs on a back edge when the thread's rounds are used up (usf_spin_entry saves every
 * register and the flags; static CFI that unwinds to the loop's original place), calls this with
 * the place: the loop's index, and which of its back edges above SPIN_SITE_BITS.  The runtime sets
 * it; until then it does nothing. */
#define SPIN_SITE_BITS 16
#define SPIN_UNCOUNTED 0x40000000u  /* in a place: the stub counts no rounds there, since that would change the flags, or polls */
struct spin_regs;               /* the thread's registers, as usf_spin_entry has saved them */
extern void (*usf_spin_round)(uint32_t place, struct spin_regs *regs);
void usf_spin_entry(void);      /* of the architecture; only stubs may call it */

/* ---- live sites of this process -------------------------------------------------------------- */
enum spin_kind {
    SPIN_SITE_LOOP,             /* a recognised loop */
    SPIN_SITE_POLL,             /* entry of a function known to poll (MPI progress): called round after
                                   round while tasks wait, but now and then also otherwise */
};
/* A patched place.  Sites are only ever added; index is stable. */
struct spin_site {
    uintptr_t head, stub, stub_end;   /* head: the loop's; 0: forgotten (its object was unloaded) */
    uint8_t kind;               /* enum spin_kind */
    bool committed;
    _Atomic uint8_t long_waits; /* the latest waits here that took long, in a row (sched/spinwait.h) */
    struct spin_loop loop;      /* kind POLL: only pc, head, end, window*, insn[] and nr_insns are set */
    struct spin_map map;
};
#define SPIN_MAX_SITES 1024
extern struct spin_site usf_spin_sites[SPIN_MAX_SITES];
extern uint32_t usf_spin_nr_sites;   /* published with release order */

/* Prepare the site (stub written, code untouched): its index (an existing one if the window is
 * already jumped from), or -verdict-1. */
int  spin_prepare(uintptr_t fstart, const struct spin_loop *l);
/* Write the jump.  The caller guarantees that no thread executes inside [window, window+window_len)
 * except as fixed up by spin_fix_pc afterwards.  0 or -errno.  A frame *below* a signal handler of
 * the program cannot be fixed up: windows of one instruction, whose middle no pc can name, are
 * chosen where there is one. */
int  spin_commit(uint32_t site);
/* If pc lies in a patched loop's original bytes: the address to continue at (in the stub); else
 * pc. */
uintptr_t spin_fix_pc(uintptr_t pc);
/* For unwinders, which know nothing of stubs: if pc lies in one, where the program itself would be,
 * with *sp as its stack pointer there.  Else pc. */
uintptr_t spin_original_pc(uintptr_t pc, uint64_t *sp);
/* Would a thread that waits in usf_spin_round(place, regs) leave its loop now?  True also if that
 * cannot be told from outside.  Any thread of the process, while the other waits: a round is run
 * with its registers.  Costs about as much as the round. */
bool spin_probe(uint32_t place, const struct spin_regs *regs);
/* Can that be told from outside? */
bool spin_can_probe(uint32_t place);

/* ---- learned sites --------------------------------------------------------------------------- */
/* Kept per object (build-id, or what the file is) in DIR/spin; never trusted: owner and mode
 * checked, each entry recognised again against the bytes it names. */
struct gate_object;
/* 0 (also if it was known), or -errno.  Not async-signal-safe towards itself only; see learn.c. */
int  spin_learn(const char *dir, const struct gate_object *o, const struct spin_loop *l);
/* Is there a learned site of the object in the code around pc? */
bool spin_is_near_learned(const char *dir, const struct gate_object *o, uintptr_t pc);
/* Patch the object's learned sites (before it runs).  Returns how many. */
int  spin_apply_learned(const char *dir, const struct gate_object *o);
/* Known idioms, patched before the object runs: functions that poll for MPI (as POLL sites), and
 * the wait loops of the thread servers of OpenBLAS.  Returns how many. */
int  spin_apply_idioms(const struct gate_object *o);
/* Patch the entry of a function as a POLL site.  Its index, or -verdict-1. */
int  spin_patch_poll(uintptr_t fstart, uintptr_t fend);

#endif
