/* tests/sim/random.h - random machines and workloads that cannot deadlock.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SIM_RANDOM_H
#define TEST_SIM_RANDOM_H
#include "sim/sim.h"

/* exact: costs and speeds that leave work as it is (no cold caches, no hardware threads, no bounds of bandwidth). */
void random_machine(uint64_t seed, bool exact, struct sim_machine *m);
/* The same with so many CPUs, a multiple of 20 or of 16. */
void random_machine_of(uint64_t seed, bool exact, uint32_t cpus, struct sim_machine *m);
/* blocking: nobody waits busily or yields. */
void random_workload(uint64_t seed, const struct sim_machine *m, bool blocking, struct sim_workload *w);
#endif
