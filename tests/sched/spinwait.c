/* tests/sched/spinwait.c - when a busy-wait gives way, at exact times.  SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "../check.h"
#include "sched/spinwait.h"

static struct spinwait w;
static _Atomic uint8_t loop, another;
static uint64_t now = 1000000000;

static enum spinwait_next look(_Atomic uint8_t *at, bool begins, enum spinwait_others others)
{
    spinwait_look(&w, at, now, begins, true);
    return spinwait_next(&w, now, others, false);
}

/* A wait of so many cycles, with ready tasks.  Did it give way at its beginning? */
static bool wait_for(uint64_t cycles)
{
    bool at_once = look(&loop, true, SPINWAIT_READY) == SPINWAIT_GIVE_WAY;
    now += cycles;
    look(&loop, false, SPINWAIT_READY);
    now += SPIN_SOON_CYCLES;        /* work */
    return at_once;
}

static void patience(void)
{
    CHECK(look(&loop, true, SPINWAIT_READY) == SPINWAIT_GO_ON);
    now += SPIN_PATIENCE_CYCLES - 1;
    CHECK(look(&loop, false, SPINWAIT_READY) == SPINWAIT_GO_ON && !w.is_long);
    now += 1;
    CHECK(look(&loop, false, SPINWAIT_NONE) == SPINWAIT_GO_ON);
    CHECK(look(&loop, false, SPINWAIT_READY) == SPINWAIT_GIVE_WAY);
    now += 1000000;                 /* others' turn: the wait is no longer for that */
    spinwait_gave_way(&w, now, true);
    CHECK(!w.is_long && look(&loop, false, SPINWAIT_READY) == SPINWAIT_GO_ON);
    now += SPIN_PATIENCE_CYCLES + 1;
    CHECK(look(&loop, false, SPINWAIT_NONE) == SPINWAIT_LET_STRANGERS && w.is_long && loop == 1);
    spinwait_gave_way(&w, now, true);
    CHECK(look(&loop, false, SPINWAIT_READY) == SPINWAIT_GIVE_WAY);
}

/* A switch takes longer where the thread does not float. */
static void at_home(void)
{
    spinwait_look(&w, &another, now, true, false);
    now += SPIN_PATIENCE_HOME_CYCLES - 1;
    CHECK(look(&another, false, SPINWAIT_READY) == SPINWAIT_GO_ON);
    now += 1;
    CHECK(look(&another, false, SPINWAIT_READY) == SPINWAIT_GIVE_WAY);
}

/* A loop whose waits take long gets no patience, but for one wait in SPIN_RETRY; a short one then gives it back. */
static void long_waits(void)
{
    loop = 0;
    w = (struct spinwait){0};
    for (uint32_t i = 0; i < SPIN_LONG_WAITS; i++) CHECK(!wait_for(SPIN_PATIENCE_CYCLES + 1));
    for (uint32_t i = 1; i < SPIN_RETRY; i++) CHECK(wait_for(SPIN_PATIENCE_CYCLES + 1));
    CHECK(!wait_for(SPIN_PATIENCE_CYCLES + 1));
    CHECK(loop == SPIN_LONG_WAITS && wait_for(100));
    spinwait_gave_way(&w, now, true);       /* another thread had its turn: not known to be short */
    CHECK(wait_for(100) && loop == SPIN_LONG_WAITS);
    CHECK(!wait_for(100) && loop == 0);
}

/* Waits that are all short, one after the other, are one long wait; with work between them they are not. */
static void in_a_row(void)
{
    uint64_t from;
    w = (struct spinwait){0};
    for (int i = 0; i < 1000; i++) CHECK(!wait_for(100));
    for (from = now; look(&loop, true, SPINWAIT_READY) == SPINWAIT_GO_ON; now += SPIN_CHUNK_CYCLES)
        CHECK(now - from < SPIN_IN_A_ROW_CYCLES);
    CHECK(now - from >= SPIN_IN_A_ROW_CYCLES);
    spinwait_gave_way(&w, now, true);
    CHECK(look(&loop, true, SPINWAIT_READY) == SPINWAIT_GO_ON);
}

static void chunks(void)
{
    w = (struct spinwait){0};
    spinwait_look(&w, &loop, now, true, true);
    CHECK(w.chunk == SPIN_FREE_ROUNDS);
    for (uint32_t rounds = SPIN_FREE_ROUNDS; rounds < SPIN_MAX_CHUNK;) {
        spinwait_look(&w, &loop, now += 10, false, true);
        CHECK(w.chunk == (rounds *= 2));
    }
    spinwait_look(&w, &loop, now += SPIN_CHUNK_CYCLES, false, true);
    CHECK(w.chunk == SPIN_MAX_CHUNK);
    spinwait_look(&w, &loop, now += 2 * SPIN_CHUNK_CYCLES + 1, false, true);
    CHECK(w.chunk == SPIN_MAX_CHUNK / 2);
    spinwait_gave_way(&w, now, true);       /* it looks at once after that: no chunk */
    spinwait_look(&w, &loop, now += 10, false, true);
    CHECK(w.chunk == SPIN_MAX_CHUNK / 2);
    spinwait_look(&w, &another, now += 10, false, true);
    CHECK(w.chunk == SPIN_FREE_ROUNDS && w.loop == &another && w.began == now);
}

/* Where the kernel schedules, a yield that finds no other thread is not repeated at once. */
static void kernel(void)
{
    w = (struct spinwait){0};
    look(&loop, true, SPINWAIT_UNKNOWN);
    now += SPIN_PATIENCE_CYCLES + 1;
    CHECK(look(&loop, false, SPINWAIT_UNKNOWN) == SPINWAIT_GIVE_WAY);
    CHECK(spinwait_yielded(&w, now, now + SPIN_SWITCHED_CYCLES) == w.chunk);
    now += SPIN_SWITCHED_CYCLES;
    CHECK(look(&loop, false, SPINWAIT_UNKNOWN) == SPINWAIT_GO_ON);
    now += SPIN_ALONE_CYCLES;
    CHECK(look(&loop, false, SPINWAIT_UNKNOWN) == SPINWAIT_GIVE_WAY);
    CHECK(spinwait_yielded(&w, now, now + SPIN_SWITCHED_CYCLES + 1) == 0);
}

int main(void)
{
    patience();
    at_home();
    long_waits();
    in_a_row();
    chunks();
    kernel();
    for (uint32_t n = 0; n < 1000; n++) {
        CHECK(spinwait_rounds(n, true) == (n < SPIN_UNPRODUCTIVE ? n : SPIN_UNPRODUCTIVE));
        CHECK(spinwait_rounds(n, false) == SPIN_NO_PAUSE * spinwait_rounds(n, true));
    }
    return 0;
}
