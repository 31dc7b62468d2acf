/* tests/futex/delay.c - the machine is suspended while a woken thread is delayed.  SPDX-License-Identifier: Apache-2.0
 *
 * The counter of cycles begins anew then.  Here it does so at each of its first readings in turn: the delay is over soon, by the number
 * of readings. */
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "os/os.h"
#include "sync/internal.h"

enum { STEP = 100, READINGS = 5000, PLACES = 60 };
static uint64_t cycles;
static unsigned readings, suspended_at;
static uint32_t word;
static struct usf_task tasks[2];
static bool waker_makes_calls = true;

static uint64_t read_cycles(void)
{
    CHECK(++readings < READINGS, "suspended at reading %u", suspended_at);
    if (readings == suspended_at) cycles = 0;
    word ^= 1;                                  /* others use the lock */
    if (waker_makes_calls) tasks[0].release += USF_RELEASE_BITS + 1;
    else tasks[0].release ^= USF_RELEASE_PROVISIONAL;      /* one call begins and ends: that is none after the wake-up */
    return cycles += STEP;
}

#define os_cycles read_cycles
#include "../../src/sync/delay.c"

static struct usf_header header;
static struct sched s = {.h = &header, .tasks = tasks};
static struct sync y = {.sched = &s};
static struct sched_self self = {.task = 1};

static void begin(unsigned place)
{
    cycles = 1000000000000000;                  /* days */
    readings = 0;
    suspended_at = place;
}

static void at_lock(void)
{
    struct sync_self me = {.sched = &self, .locks = {.addr = &word, .left = cycles - STEP, .hot = HOT_WAITS + DELAY_DOUBLED}};
    sync_delay_at_lock(&y, &me, &word, cycles);
    CHECK(suspended_at || readings > 4 * PLACES);      /* it was delayed */
}

static void after_wake(void)
{
    struct sync_waiter w = {.by = 0};
    struct sync_self me = {.sched = &self, .others = {.addr = &word}};
    sync_delay_after(&y, &me, &word, cycles, &w);
    CHECK(suspended_at || (me.others.delayed && readings > PLACES));
}

/* A waker that makes no calls may wait for the woken thread, in a loop: delays end soon, though
 * that thread waits again at once, as after a futile wake-up. */
static void waker_loops(bool calls)
{
    struct sync_waiter w = {.by = 0};
    struct sync_self me = {.sched = &self, .others = {.addr = &word}};
    waker_makes_calls = calls;
    unsigned delays = 0;
    for (int i = 0; i < 100; i++) {
        begin(0);
        w.by_calls = sync_calls(&y, 0);
        sync_delay_after(&y, &me, &word, me.others.delayed ? me.others.left : cycles, &w);
        delays += readings > PLACES;
    }
    CHECK(calls ? delays == 100 : delays == FUTILE_WRONG, "%u delays", delays);
    waker_makes_calls = true;
}

int main(void)
{
    atomic_store(&tasks[0].state, USF_TASK_RUNNING);
    waker_loops(false);
    waker_loops(true);
    for (unsigned place = 0; place < PLACES; place++) {
        begin(place);
        at_lock();
        begin(place);
        after_wake();
    }
    return 0;
}
