/* src/teams/regions.c - how many threads a parallel region gets.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A region may get what the share is good for if it does not say its size, is in no other, and
 * neither the user (OMP_NUM_THREADS) nor the program (omp_set_num_threads, by the same thread) has
 * said one.  Then it depends on dyn-var, OpenMP's own word on whether teams may be of other sizes
 * than asked for: docs/design-teams.md says why.
 *
 * All of this runs when the program calls one of the runtime's functions, before the function
 * does. */
#include "base/base.h"
#include "teams/internal.h"

#include <stdatomic.h>

static __thread struct {
    uint32_t said[TEAMS_RUNTIMES];      /* flags below; from FLAGS on the runtime's serial */
    uint32_t pushed;                    /* the size of its next region of libomp, 0: the default */
} self;
enum { SIZED = 1, RIGID = 2, FLAGS = 4 };       /* it has called omp_set_num_threads; omp_set_dynamic(false), and not (true) since */

static uint32_t *said_to(const struct teams_runtime *r)
{
    uint32_t *v = &self.said[r - teams_runtimes];
    if (*v / FLAGS != r->serial) *v = r->serial * FLAGS;
    return v;
}

USF_EARLY static const struct teams_share *_Atomic share;

void teams_begin(const struct teams_share *s) { atomic_store_explicit(&share, s, memory_order_release); }

void teams_fresh_thread(void)
{
    for (unsigned i = 0; i < TEAMS_RUNTIMES; i++) self.said[i] = 0;
    self.pushed = 0;
}

/* In another region, of one thread perhaps, or in a league of several teams. */
static bool is_inner(const struct teams_runtime *r) { return r->level() > 0 || (r->teams && r->teams() > 1); }

/* A runtime may read its environment as late as at its first use, and the program may have changed
 * it. */
static bool is_said(struct teams_runtime *r)
{
    if (__atomic_load_n(&r->look, __ATOMIC_RELAXED)) {
        teams_read_environment(r);
        __atomic_store_n(&r->look, 0, __ATOMIC_RELEASE);
    }
    return r->said || *said_to(r) & SIZED;
}

static bool follows(struct teams_runtime *r)
{
    if (teams_mode == TEAMS_OFF || is_said(r) || r->rigid) return false;
    return teams_mode == TEAMS_ON ? !(*said_to(r) & RIGID) : r->dynamic() != 0;
}

static uint32_t at_most(uint32_t n, int limit) { return limit > 0 && n > (uint32_t)limit ? (uint32_t)limit : n; }

static uint32_t capped(const struct teams_runtime *r, uint32_t n)
{
    uint32_t cap = __atomic_load_n(&r->cap, __ATOMIC_RELAXED);
    if (cap && n > cap) n = cap;
    return r->limit ? at_most(n, r->limit()) : n;
}

/* What a team is to have, or 0: what it has without us.  asked: what the region itself says, or
 * 0. */
static uint32_t team(struct teams_runtime *r, uint32_t asked)
{
    const struct teams_share *s = atomic_load_explicit(&share, memory_order_acquire);
    if (!s || !s->is_told() || asked == 1 || is_inner(r)) return 0;
    if (asked || !follows(r)) {
        uint32_t n = asked ? asked : (uint32_t)r->max();
        if (n > 1) s->begins(n, false);
        return 0;
    }
    uint32_t n = capped(r, s->size());
    if (teams_mode != TEAMS_ON) n = at_most(n, r->max());
    s->begins(n, true);
    return n;
}

/* Programs make arrays by omp_get_max_threads: with teams that may grow, it answers with the most
 * that there can ever be. */
static uint32_t bound(struct teams_runtime *r)
{
    const struct teams_share *s = atomic_load_explicit(&share, memory_order_acquire);
    uint32_t own = (uint32_t)r->max();
    if (!follows(r) || is_inner(r)) return own;
    if (s && s->is_told()) return capped(r, s->bound());
    for (uint32_t cap = __atomic_load_n(&r->cap, __ATOMIC_RELAXED); !cap || own < cap;)
        if (__atomic_compare_exchange_n(&r->cap, &cap, own, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
    return own;
}

static void set_dynamic(const struct teams_runtime *r, bool is)
{
    if (is_inner(r)) return;        /* it goes for what is in this region alone */
    if (is) *said_to(r) &= ~(uint32_t)RIGID;
    else *said_to(r) |= RIGID;
}

static void begin_pushed(struct teams_runtime *r, void *loc)
{
    uint32_t n = team(r, self.pushed);
    self.pushed = 0;
    if (n && r->push && r->gtid) r->push(loc, r->gtid(loc), (int)n);
}

bool teams_has(uintptr_t pc)
{
    for (const struct teams_runtime *r = teams_runtimes; teams_mode != TEAMS_OFF && r < teams_runtimes + TEAMS_RUNTIMES; r++)
        if (r->max && pc >= r->text && pc < r->text_end) return true;
    return false;
}

uintptr_t teams_enter(const struct gate_hook_site *site, uint64_t *regs)
{
    struct teams_runtime *r = &teams_runtimes[site->data >> TEAMS_ROLE_BITS];
    const int32_t *arg = (const void *)regs[TEAMS_FIRST];
    uint32_t n;
    if (!r->max) return site->resume;           /* not all of its hooks could be written */
    switch ((enum teams_role)(site->data & ((1u << TEAMS_ROLE_BITS) - 1))) {
    case TEAMS_REGION:
        if ((n = team(r, (uint32_t)regs[TEAMS_THIRD]))) regs[TEAMS_THIRD] = n;
        break;
    case TEAMS_FORK: begin_pushed(r, (void *)regs[TEAMS_FIRST]); break;
    case TEAMS_PUSH: self.pushed = (uint32_t)regs[TEAMS_THIRD]; break;
    case TEAMS_PUSH_LIST: self.pushed = (uint32_t)regs[TEAMS_THIRD] ? *(const uint32_t *)regs[TEAMS_FOURTH] : 0; break;
    case TEAMS_SERIAL: self.pushed = 0; break;
    case TEAMS_SET_SIZE:
        if (!is_inner(r)) *said_to(r) |= SIZED;
        break;
    case TEAMS_SET_DYNAMIC: set_dynamic(r, (int32_t)regs[TEAMS_FIRST] != 0); break;
    case TEAMS_SET_DYNAMIC_4: set_dynamic(r, *arg != 0); break;
    case TEAMS_SET_DYNAMIC_8: set_dynamic(r, *(const int64_t *)(const void *)arg != 0); break;
    case TEAMS_SET_ANY: __atomic_store_n(&r->said, true, __ATOMIC_RELAXED); break;
    case TEAMS_MAX:
        regs[TEAMS_RESULT] = bound(r);
        return (uintptr_t)teams_return;
    }
    return site->resume;
}
