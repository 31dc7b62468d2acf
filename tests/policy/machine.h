/* tests/policy/machine.h - a machine without a kernel for policies.  SPDX-License-Identifier: Apache-2.0
 *
 * Records in plain arrays, a clock that the test moves, and beside them a model: what each task is
 * doing, when it was queued and why, written down by the test and never by the policy. */
#ifndef USF_TEST_MACHINE_H
#define USF_TEST_MACHINE_H

#include <stdio.h>
#include <stdlib.h>
#include "policy/policy.h"

enum { MAX_CORES = 256, MAX_PROCS = 1024, MAX_TASKS = 2048 };
enum doing { NOTHING, BLOCKED, READY, RUNNING };

struct model_task { enum doing doing; uint32_t core, home; uint64_t seq, since; bool yielded; };
struct model_core { uint32_t task, proc, round; uint64_t since; };     /* round: the process that it last chose */

struct machine {
    struct usf_pol pol;
    struct usf_policy_ops ops;
    struct usf_pol_task *tasks;
    struct usf_pol_core *cores;
    struct usf_pol_proc *procs;
    uint8_t *data;
    struct model_task task[MAX_TASKS];
    struct model_core core[MAX_CORES];
    bool proc[MAX_PROCS];
    uint64_t seq, rng, seed;
};

uint64_t machine_random(struct machine *m);
static inline uint32_t machine_below(struct machine *m, uint32_t n) { return (uint32_t)(machine_random(m) % n); }

/* nodes × llcs per node divide the cores evenly (as far as they go). */
void machine_init(struct machine *m, const struct usf_policy_ops *ops, uint64_t seed, uint32_t cores, uint32_t nodes,
                  uint32_t llcs);
void machine_free(struct machine *m);
void machine_add_proc(struct machine *m, uint32_t proc, const uint64_t cores[4]);
void machine_remove_proc(struct machine *m, uint32_t proc);     /* with all its tasks, as after kill -9 */
void machine_add_task(struct machine *m, uint32_t task, uint32_t proc);     /* becomes BLOCKED */
void machine_wake(struct machine *m, uint32_t task, enum usf_why why);      /* select, else enqueue */
void machine_queue(struct machine *m, uint32_t task, enum usf_why why);     /* enqueue whatever is idle */
/* The task on this core leaves it (BLOCKED, or READY by yield or preemption); the core asks for work.
 * Returns what runs then. */
uint32_t machine_switch(struct machine *m, uint32_t core, enum doing to, enum usf_why why);
uint32_t machine_pick(struct machine *m, uint32_t core);
bool machine_allowed(const struct machine *m, uint32_t task, uint32_t core);
void machine_fail(struct machine *m, const char *what) __attribute__((noreturn));
#define CHECK(m, c) do { if (!(c)) machine_fail(m, #c); } while (0)

#endif
