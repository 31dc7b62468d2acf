/* tests/nosv/stress.h - what the modes of stress.c share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_STRESS_H
#define NOSV_STRESS_H

#include "nosv_test.h"

extern uint64_t seed;
extern int cpus;

struct dice { uint64_t x; };
static inline struct dice dice_of(uint64_t what) { return (struct dice){(seed + what * 1000003) * 0x9e3779b97f4a7c15u}; }

static inline unsigned roll(struct dice *d, unsigned sides)
{
    uint64_t x = d->x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((x ^ x >> 31) % sides);
}

static inline void place_at_random(nosv_task_t t, struct dice *d)
{
    static const nosv_affinity_type_t types[] = {NOSV_AFFINITY_TYPE_STRICT, NOSV_AFFINITY_TYPE_PREFERRED};
    nosv_affinity_type_t type = types[roll(d, 2)];
    if (roll(d, 3) == 0) nosv_set_task_priority(t, (int)roll(d, 5) - 2);
    if (roll(d, 3)) return;
    int *all = nosv_get_available_cpus(), *nodes = nosv_get_available_numa_nodes();
    nosv_affinity_t a = nosv_affinity_get((uint32_t)all[roll(d, (unsigned)cpus)], NOSV_AFFINITY_LEVEL_CPU, type);
    switch (roll(d, 4)) {
    case 0: a = nosv_affinity_get((uint32_t)nodes[0], NOSV_AFFINITY_LEVEL_NUMA, type); break;
    case 1: a = nosv_affinity_get(0, NOSV_AFFINITY_LEVEL_USER_COMPLEX, type); break;
    default: break;
    }
    nosv_set_task_affinity(t, &a);
    free(all);
    free(nodes);
}

static inline void spin(unsigned n)
{
    for (volatile unsigned i = 0; i < n; i++) continue;
}

static inline void start_thread(pthread_t *t, void *(*what)(void *), void *arg) { CHECK_EQ(pthread_create(t, NULL, what, arg), 0); }
static inline void end_thread(pthread_t t) { CHECK_EQ(pthread_join(t, NULL), 0); }

static inline void destroy(nosv_task_t t) { OK(nosv_destroy(t, NOSV_DESTROY_NONE)); }

/* The modes: each returns when all that it has begun has ended. */
void joins(uint64_t round), suspends(uint64_t round), parallels(uint64_t round), nests(uint64_t round), locks(uint64_t round);

#endif
