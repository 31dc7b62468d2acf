/* src/spin/internal.h - what the files of the spin room share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SPIN_INTERNAL_H
#define USF_SPIN_INTERNAL_H

#include "spin/machine.h"
#include "spin/spin.h"

/* One decoded instruction. */
struct node {
    uint32_t off;            /* from fstart */
    uint8_t  len;
    uint8_t  bad;            /* enum spin_verdict: may not be part of a spin-wait, and why */
    bool branch, cond;       /* direct jump */
    bool stop;               /* control never reaches the next instruction */
    bool ret;
    bool load;               /* reads memory other than a slot */
    bool time;               /* reads a clock, or random numbers */
    bool pause, nop1;        /* nop1: the shortest nop */
    bool atomic;             /* an attempt at a lock, a fence: leaves memory as it is while no other thread changes it */
    bool cas;
    bool plain;              /* a counter may be made of such instructions */
    bool unit;               /* add or subtract of a constant */
    bool compare;            /* sets flags or picks one of its operands */
    bool shift;              /* leaves the flags as they are if its count is 0 */
    int32_t target;          /* of a branch, from fstart (may lie outside the function) */
    int16_t next, taken;     /* indices of successors among the nodes, -1 outside */
    regset rd, wr;           /* values that flow to its results; its results */
    regset addr;             /* registers of the address that it reads */
    regset sink;             /* values that it stores (atomics) */
    bool has_imm;            /* an immediate operand */
    bool tests, test_or_cmp; /* compares the bits that both operands have with 0; that, or the operands */
    bool if_equal, if_differs;          /* a branch on the result of such a comparison */
    uint8_t width;           /* of the operands, in bits */
    int64_t imm;
    bool private;            /* reads what only its own thread can: by the stack pointer, in its TLS */
};

#define SPIN_NODES  320
#define SPIN_RADIUS 640          /* bytes around pc that are looked at */
#define SPIN_REGION (2 * SPIN_RADIUS + 32)
#define SPIN_EDGES  48
#define SPIN_MAX_FUNCTION (1u << 17)   /* bytes; longer ones would take too long inside a handler */

struct spin_slot { int8_t base; int64_t lo, hi; };

/* Static tables, held by spin_scratch_take/release. */
struct spin_scratch {
    struct spin_decoder decoder;
    const uint8_t *code;
    uintptr_t fstart;
    uint32_t size;               /* fend - fstart */
    uint32_t lo, hi;             /* region, offsets from fstart */
    bool frame;                  /* there is a frame pointer */
    bool escapes;                /* others may know of words in the frame */
    uint8_t bound[SPIN_REGION / 8 + 1], target[SPIN_REGION / 8 + 1];   /* bit i: lo + i */
    uint32_t nr_edges;
    struct { uint32_t s, t; } edge[SPIN_EDGES];   /* backward branches within the region */
    uint32_t nr_nodes;
    struct node node[SPIN_NODES];
    struct { int8_t base; int64_t disp; } alias[SPIN_GPRS];   /* base 0: none */
    uint32_t nr_slots;
    struct spin_slot slot[RS_SLOTS];
    uint8_t gone[SPIN_NODES];    /* nodes taken out of the candidate at hand */
    uint8_t mark[SPIN_NODES];
    /* the cycle at hand: its nodes in address order, and bit sets over them */
    uint32_t n;
    int16_t at[SPIN_MAX_INSNS];
    int16_t local[SPIN_NODES];
    uint64_t succ[SPIN_MAX_INSNS], pred[SPIN_MAX_INSNS], dep[SPIN_MAX_INSNS], clo[SPIN_MAX_INSNS];
    regset live[SPIN_MAX_INSNS];
    regset stale[SPIN_NODES];    /* of walk.c: the parts that depend on the value looked at */
    struct spin_loop loop;       /* found last; not yet the answer */
};
extern struct spin_scratch spin_scratch;
bool spin_scratch_take(void);
void spin_scratch_release(void);
void spin_learn_after_fork(void);

static inline bool bit_get(const uint8_t *b, uint32_t i) { return b[i / 8] >> (i % 8) & 1; }
static inline void bit_set(uint8_t *b, uint32_t i) { b[i / 8] |= (uint8_t)(1u << (i % 8)); }

/* Of the architecture (src/arch).  All take the scratch tables as held. */
/* Walk the whole function: instruction bounds and branch targets near pc, backward branches. */
enum spin_verdict spin_sweep(struct spin_scratch *s, uint32_t pc);
/* Decode the region's instructions into nodes. */
enum spin_verdict spin_decode_region(struct spin_scratch *s, uint32_t pc);
/* An instruction without its operands, which takes a quarter of the time. */
struct spin_step {
    uint8_t len;
    bool direct, call;       /* a branch or call whose target it names; it is a call */
    bool indirect;           /* a jump to what a register or a table says */
    bool address;            /* takes the address of something */
    int64_t to;              /* of `direct` and `address`, from where the instruction begins */
};
/* The instruction at code; false: it is not known. */
bool spin_step(struct spin_scratch *s, const uint8_t *code, size_t size, struct spin_step *out);
/* Length of the instruction at code, if it may be copied elsewhere; else 0. */
unsigned spin_movable_len(struct spin_scratch *s, const uint8_t *code, size_t size);

/* flow.c */
/* The cycle around node pc among nodes [a, b] that are not gone, into s->at.. : false if none.
 * *big: there is one, but too long. */
bool spin_cycle(struct spin_scratch *s, int pc, int a, int b, bool *big);
/* Nodes of the cycle whose results node k may see in the parts v. */
uint64_t spin_reaching(const struct spin_scratch *s, unsigned k, regset v);
/* Fill dep and its transitive closure clo. */
void spin_dependences(struct spin_scratch *s);
/* Fill live: the parts that are read on some way from a node on before anything writes them. */
void spin_liveness(struct spin_scratch *s);
/* Is there a way from local node u to v (u itself does not count) with nodes of `mask` only? */
bool spin_reaches(const struct spin_scratch *s, unsigned u, unsigned v, uint64_t mask);

/* walk.c */
#define SPIN_IN_LOOP 4u     /* in mark[], after spin_mark_loops: of the natural loops of the cycle's back edges */
/* false: the loop can be entered at several places, so it has none; all that the cycle leads to and
 * that leads back to it is marked, which may be an outer loop. */
bool spin_mark_loops(struct spin_scratch *s);
/* The other functions take the loops as marked. */
bool spin_leaves_loops(const struct spin_scratch *s, unsigned k);
/* Is the cycle a path through a loop that walks over an array or a list?  candidates: its nodes
 * whose results may make it one. */
bool spin_is_walk(struct spin_scratch *s, uint64_t candidates);
/* Is the scan a path through a loop that searches or sorts?  fixed, moving: its exits that depend
 * on what it reads, at the same address each time or only at others. */
bool spin_is_search(const struct spin_scratch *s, uint64_t fixed, uint64_t moving);

/* recognise.c */
/* As spin_recognise, without memory of what was no wait lately. */
enum spin_verdict spin_recognise_anew(const uint8_t *code, uintptr_t fstart, uintptr_t fend, uintptr_t pc,
                                      struct spin_loop *out);

/* window.c */
enum spin_verdict spin_choose_window(struct spin_scratch *s, struct spin_loop *l);

/* site.c */
/* Prepare and commit: 1, 0 if nothing was patched (it has been before, or its code cannot be
 * written), or -verdict-1. */
int spin_patch(uintptr_t fstart, const struct spin_loop *l);

/* Of the architecture, as spin_build_stub and what it enters. */
size_t spin_build_poll(const uint8_t *code, uintptr_t fstart, const struct spin_loop *l, uint32_t site,
                       uint8_t *buf, size_t cap, uintptr_t stub_addr, struct spin_map *map);
/* Run a round of the probe copy at `at` with these registers; what the copy jumps to says how it
 * ended. */
bool usf_spin_probe(const struct spin_regs *regs, uintptr_t at);
void usf_spin_leaves(void);
void usf_spin_stays(void);

#endif
