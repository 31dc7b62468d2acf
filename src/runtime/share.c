/* src/runtime/share.c - the program learns how many cores it is to reckon with.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A policy may tell a process a share of the cores (usf_pol_group.share).  CPU counts and affinity
 * queries answer with it (affinity.c), and so do OpenMP's default team sizes (src/teams).  It is no
 * limit: threads run wherever the policy has them run. */
#include "runtime/runtime.h"
#include "teams/teams.h"
#include "threads/threads.h"

/* The process's first group, or null. */
static struct usf_pol_group *own(void)
{
    if (USF_UNLIKELY(rt.late)) rt_late_join();
    struct usf_group *first = rt.on && !usf_gate_vforked ? sched_first_group(&rt.sched) : 0;
    return first ? &first->pol : 0;
}

static uint32_t generation(const struct usf_pol_group *p) { return __atomic_load_n(&p->share_gen, __ATOMIC_ACQUIRE); }

#define TRIES 100u
/* The cores, as of one generation; false: the policy says nothing. */
static bool cores_of(const struct usf_pol_group *p, uint64_t cores[USF_CORE_WORDS])
{
    for (uint32_t tries = 0; tries < TRIES; tries++) {
        uint32_t gen = generation(p);
        uint64_t any = 0;
        for (int w = 0; w < (int)USF_CORE_WORDS; w++)
            any |= cores[w] = __atomic_load_n(&p->share[w], __ATOMIC_RELAXED) & __atomic_load_n(&p->cores[w], __ATOMIC_RELAXED);
        if (!gen || !any) return false;
        if (gen == generation(p)) return true;
    }
    return true;        /* it changes all the time: some of it */
}

bool rt_share(struct os_cpuset *out)
{
    uint64_t cores[USF_CORE_WORDS];
    const struct usf_pol_group *p = own();
    if (!p || !generation(p) || !cores_of(p, cores)) return false;
    __builtin_memset(out, 0, sizeof *out);
    for (uint32_t c = 0; c < rt.sched.h->nr_cores; c++)
        if (cores[c / 64] >> (c % 64) & 1) os_cpu_set(out, rt.sched.cores[c].pol.cpu);
    return os_cpu_count(out) != 0;
}

/* ---- regions ------------------------------------------------------------------------------------ */

static uint32_t count(const uint64_t cores[USF_CORE_WORDS])
{
    uint32_t n = 0;
    for (int w = 0; w < (int)USF_CORE_WORDS; w++)
        for (uint64_t m = cores[w]; m; m &= m - 1) n++;
    return n;
}

static bool is_told(void)
{
    const struct usf_pol_group *p = own();
    return p && generation(p) != 0;
}

/* What the program may use at its first question: arrays made by that number stay large enough. */
static uint32_t bound(void)
{
    static _Atomic uint32_t most;
    uint32_t is = atomic_load_explicit(&most, memory_order_relaxed), none = 0;
    const struct usf_pol_group *p = own();
    if (is || !p) return is ? is : 1;
    is = count(p->cores);
    if (!is) is = 1;
    return atomic_compare_exchange_strong(&most, &none, is) ? is : none;
}

static void become_malleable(struct usf_pol_group *p)
{
    if (__atomic_load_n(&p->flags, __ATOMIC_RELAXED) & USF_GROUP_MALLEABLE) return;
    struct rt_thread *t = rt_enter();
    if (t) sched_set_malleable(&rt.sched, &t->self);
}

static uint32_t size(void)
{
    uint64_t cores[USF_CORE_WORDS];
    const struct usf_pol_group *p = own();
    uint32_t most = bound(), n = !p ? 1 : cores_of(p, cores) ? count(cores) : count(p->cores);
    return n > most ? most : n ? n : 1;
}

static void begins(uint32_t width, bool follows)
{
    struct usf_pol_group *p = own();
    if (!p) return;
    if (follows) become_malleable(p);
    __atomic_fetch_add(&p->progress, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->width, width, __ATOMIC_RELAXED);
}

static uint32_t cpus(void)
{
    uint64_t cores[USF_CORE_WORDS];
    const struct usf_pol_group *p = own();
    return p && cores_of(p, cores) ? count(cores) : 0;
}

void rt_install_share(void)
{
    static const struct threads_share counts = {.is_told = is_told, .cpus = cpus, .sizes_teams = teams_has};
    static const struct teams_share regions = {.is_told = is_told, .size = size, .bound = bound, .begins = begins};
    atomic_store(&usf_threads_share, &counts);
    teams_begin(&regions);
}
