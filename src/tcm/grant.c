/* src/tcm/grant.c - the threads of a process are divided among its permits.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/base.h"
#include "tcm/tcm.h"

/* The thread that asks, counted beside the grant (R3): 1, 0, or -1 if it is one of the grant and
 * counted elsewhere. */
static int32_t caller_of(const struct tcm_permit *p) { return (p->counts_caller ? 0 : 1) - (p->nested ? 1 : 0); }

static uint32_t with(uint32_t threads, int32_t more) { return more < 0 && threads == 0 ? 0 : threads + (uint32_t)more; }

/* CPUs that it has to have. */
static uint32_t needs(const struct tcm_permit *p)
{
    int32_t caller = caller_of(p);
    return with(p->fixed ? p->grant : p->min, caller < 0 ? caller : 0);
}

static uint32_t active_needs(void)
{
    uint32_t sum = 0;
    for (struct tcm_permit *p = tcm.permits; p; p = p->next)
        if (p->state == TCM_PERMIT_STATE_ACTIVE) sum += needs(p);
    return sum;
}

/* PENDING permits whose minimum fits become ACTIVE, by priority, then in their order.  False: one
 * remains. */
static bool admit(void)
{
    uint32_t used = active_needs();
    for (;;) {
        struct tcm_permit *best = NULL;
        bool waits = false;
        for (struct tcm_permit *p = tcm.permits; p; p = p->next) {
            if (p->state != TCM_PERMIT_STATE_PENDING) continue;
            if (!p->nested && used + needs(p) > tcm.ncpus) waits = true;
            else if (!best || p->priority > best->priority) best = p;
        }
        if (!best) return !waits;
        best->state = TCM_PERMIT_STATE_ACTIVE;
        used += needs(best);
    }
}

static struct tcm_demand demand(void)
{
    struct tcm_demand d = {0, 0, 0};
    for (struct tcm_permit *p = tcm.permits; p; p = p->next) {
        if (p->state == TCM_PERMIT_STATE_IDLE) d.idle += p->grant;
        if (p->state != TCM_PERMIT_STATE_ACTIVE) continue;
        d.min += with(p->fixed ? p->grant : p->min, caller_of(p));
        d.max += with(p->fixed ? p->grant : p->max, caller_of(p));
    }
    if (d.min > tcm.ncpus) d.min = tcm.ncpus;
    if (d.max > tcm.ncpus) d.max = tcm.ncpus;
    if (d.idle > tcm.ncpus - d.max) d.idle = tcm.ncpus - d.max;
    return d;
}

/* Tell the table.  Beside others a lower demand is told after 5 ms, if it lasts: regions that
 * follow each other closely would wake the other processes at each end and beginning. */
#define LOWER_AFTER_NS 5000000u
#define AGAIN_AFTER_NS 1000000000u     /* the table did not answer */
static void publish(void)
{
    struct tcm_demand now = demand(), old = tcm.published, told = now;
    bool others = atomic_load(tcm_row_word(tcm.row)) & TCM_OTHERS;
    bool lower = now.min < old.min || now.max < old.max || now.idle < old.idle;
    if (!lower || !others) {
        tcm.lower_at = 0;
    } else if (tcm.lower_at && os_now() >= tcm.lower_at) {
        tcm.lower_at = 0;
    } else {
        if (told.min < old.min) told.min = old.min;
        if (told.max < old.max) told.max = old.max;
        if (told.idle < old.idle) told.idle = old.idle;
        if (!tcm.lower_at) {
            tcm.lower_at = os_now() + LOWER_AFTER_NS;
            tcm_poke();
        }
    }
    if (told.min == old.min && told.max == old.max && told.idle == old.idle) return;
    if (tcm_row_set(tcm.row, &told)) {
        tcm.published = told;
    } else {
        tcm.lower_at = os_now() + AGAIN_AFTER_NS;
        tcm_poke();
    }
}

/* Give CPUs to ACTIVE permits: first what they have to have, then evenly.  False: one has less than
 * it asks for. */
static bool divide(uint32_t cpus, bool others)
{
    uint32_t active = 0, given = 0;
    bool all = true;
    for (struct tcm_permit *p = tcm.permits; p; p = p->next) active += p->state == TCM_PERMIT_STATE_ACTIVE;
    for (struct tcm_permit *p = tcm.permits; p; p = p->next) {
        if (p->state != TCM_PERMIT_STATE_ACTIVE) continue;
        int32_t caller = caller_of(p);
        if (caller > 0 && active == 1 && !others) caller = 0;       /* no other process wants the CPU of that thread */
        p->cost = with(p->fixed ? p->grant : p->min, caller);
        p->most = with(p->fixed ? p->grant : p->max, caller);
        given += p->cost;
    }
    for (; given < cpus; given++) {
        struct tcm_permit *best = NULL;
        for (struct tcm_permit *p = tcm.permits; p; p = p->next)
            if (p->state == TCM_PERMIT_STATE_ACTIVE && p->cost < p->most && (!best || p->cost < best->cost)) best = p;
        if (!best) break;
        best->cost++;
    }
    for (struct tcm_permit *p = tcm.permits; p; p = p->next)
        if (p->state == TCM_PERMIT_STATE_ACTIVE && p->cost < p->most) all = false;
    return all;
}

static uint32_t idle_grants(void)
{
    uint32_t sum = 0;
    for (struct tcm_permit *p = tcm.permits; p; p = p->next)
        if (p->state == TCM_PERMIT_STATE_IDLE) sum += p->grant;
    return sum;
}

static bool take_idle(void)
{
    for (struct tcm_permit *p = tcm.permits; p; p = p->next) {
        if (p->state != TCM_PERMIT_STATE_IDLE) continue;
        p->state = TCM_PERMIT_STATE_INACTIVE;
        return true;
    }
    return false;
}

/* cost and most count the caller as divide() does. */
static void settle(struct tcm_permit *p)
{
    if (p->state == TCM_PERMIT_STATE_ACTIVE && !p->fixed) {
        p->grant = p->max - (p->most - p->cost);
        usf_dassert(p->grant >= p->min && p->grant <= p->max);
        p->fixed = p->rigid;
    } else if (p->state == TCM_PERMIT_STATE_INACTIVE || p->state == TCM_PERMIT_STATE_PENDING) {
        p->grant = 0;
        p->fixed = false;
    }
}

void tcm_arbitrate(const struct tcm_permit *by)
{
    uint32_t word = 0, cpus = tcm.ncpus;
    for (;;) {
        bool admitted = admit();
        if (tcm.row) {
            publish();
            word = atomic_load(tcm_row_word(tcm.row));
            cpus = word & TCM_SHARE;
        }
        uint32_t idle = idle_grants();
        bool all = divide(cpus > idle ? cpus - idle : 0, word & TCM_OTHERS);
        tcm.short_of = !admitted;
        if ((all && admitted && active_needs() + idle <= cpus) || !take_idle()) break;
    }
    for (struct tcm_permit *p = tcm.permits; p; p = p->next) {
        settle(p);
        uint8_t news = (uint8_t)((p->told_grant != p->grant ? TCM_NEW_CONCURRENCY : 0) | (p->told_state != p->state ? TCM_NEW_STATE : 0));
        p->told_grant = p->grant;
        p->told_state = p->state;
        if (p->state == TCM_PERMIT_STATE_ACTIVE && p->grant < p->max) tcm.short_of = true;
        if (p != by) tcm_note(p, news);
    }
    if (tcm.row && tcm.short_of && !tcm.watching) tcm_poke();
}
