/* src/sched/spinwait.h - how long a busy-wait goes on by itself.  SPDX-License-Identifier: Apache-2.0
 *
 * A thread in a recognised busy-wait loop runs SPIN_FREE_ROUNDS rounds as the loop was written.
 * Then it looks, once per chunk of rounds:
 *
 *   no task is ready     it goes on
 *   tasks are ready      it goes on until its patience is over (SPIN_PATIENCE_CYCLES), or short waits
 *                        that follow each other have taken SPIN_IN_A_ROW_CYCLES; then it gives way
 *
 * A thread whose wait has been long gives way at each look.  If the latest SPIN_LONG_WAITS waits at
 * the loop took longer than the patience, a thread gives way at its first look, but for one wait in
 * SPIN_RETRY.  A wait in which another thread had its turn says nothing: how long it would have
 * taken is not known.
 *
 * The decisions are functions of the state, the time and what waits.  They read no clock and make
 * no call, so the simulator (sim/usf.c) executes the same ones as a program
 * (src/runtime/spinwait.c). Times are cycles. */
#ifndef USF_SCHED_SPINWAIT_H
#define USF_SCHED_SPINWAIT_H

#include "base/base.h"
#include "sched/times.h"

/* The busy-wait that a thread is in, or was in last. */
struct spinwait {
    uint64_t began, looked;     /* when it began, after others' turns; the thread's last look */
    uint64_t alone;             /* when a yield to the kernel last found no other thread */
    uint32_t in_a_row;          /* time in waits that followed each other, since the thread last gave way */
    uint32_t chunk;             /* rounds from one look to the next */
    uint32_t retries;           /* waits at loops whose waits take long */
    uint32_t patience;          /* time from `began` until it gives way; 0: at once */
    uint32_t longest;           /* a wait that takes longer is long */
    _Atomic uint8_t *loop;      /* its loop's latest waits that took long, in a row; shared by threads */
    bool is_long;
    bool gave_way;              /* another thread has had a turn since it began */
    bool in_chunk;              /* at its last look the thread was left to itself for a chunk */
};

/* Tasks are ready, or none is; UNKNOWN: the kernel schedules. */
enum spinwait_others { SPINWAIT_NONE, SPINWAIT_READY, SPINWAIT_UNKNOWN };
enum spinwait_next {
    SPINWAIT_GO_ON,             /* for `chunk` rounds */
    SPINWAIT_LET_STRANGERS,     /* the same, and the kernel gets to choose once in SPIN_STRANGERS_NS */
    SPINWAIT_GIVE_WAY,          /* by sched_spin; by a yield to the kernel if that schedules */
};

/* The thread looks.  begins: for the first time in this wait.  floats: it can leave its carrier. */
void spinwait_look(struct spinwait *w, _Atomic uint8_t *loop, uint64_t now, bool begins, bool floats);
/* ... and what it does next.  polls: the loop calls a function that is known to poll. */
enum spinwait_next spinwait_next(struct spinwait *w, uint64_t now, enum spinwait_others others, bool polls);
/* It has asked for others' turns: now is the time after that.  ran: another thread had one. */
void spinwait_gave_way(struct spinwait *w, uint64_t now, bool ran);
/* The same, by a yield to the kernel.  Rounds until it looks again. */
uint32_t spinwait_yielded(struct spinwait *w, uint64_t before, uint64_t now);
/* Rounds until it looks again, after so many turns that found no task (sched_self.unproductive). */
uint32_t spinwait_rounds(uint32_t unproductive, bool has_pause);

#endif
