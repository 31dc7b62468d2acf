/* tests/gate/test.h - for the programs that run with the gate preloaded.  SPDX-License-Identifier: Apache-2.0 */
#ifndef GATE_TEST_H
#define GATE_TEST_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../check.h"

#ifdef __cplusplus
extern "C" {
#endif
/* preload.c; absent when run bare */
extern uint64_t gate_test_calls[512] __attribute__((weak));
extern uint64_t gate_test_clones __attribute__((weak)), gate_test_forks __attribute__((weak)),
    gate_test_loads __attribute__((weak)), gate_test_moved __attribute__((weak));
extern uint32_t gate_test_vforked(void) __attribute__((weak));
extern uint64_t *gate_test_met __attribute__((weak));
#ifdef __cplusplus
}
#endif

static inline int gated(void) { return gate_test_calls != 0; }

/* The self-kill timer: a signal that no handler and no mask stops. */
static inline void kill_after(int seconds)
{
    struct sigevent ev;
    struct itimerspec t;
    timer_t id;
    memset(&ev, 0, sizeof ev);
    memset(&t, 0, sizeof t);
    ev.sigev_notify = SIGEV_SIGNAL;
    ev.sigev_signo = SIGKILL;
    t.it_value.tv_sec = seconds;
    if (timer_create(CLOCK_MONOTONIC, &ev, &id) == 0) timer_settime(id, 0, &t, NULL);
}

#endif
