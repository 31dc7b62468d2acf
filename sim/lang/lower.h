/* sim/lang/lower.h - from the language's tree to what the engine executes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything that is known beforehand is decided here: params, arguments, arrivals, how many
 * threads, what their loops depend on, which task waits for which.  A loop becomes a loop of the
 * engine where its rounds are alike, and is written out where they are not. exp and uniform, as the
 * time of compute, io and sleep, are drawn by the engine each time; all else that is random is
 * drawn here, by seed. */
#ifndef USF_SIM_LANG_LOWER_H
#define USF_SIM_LANG_LOWER_H

#include "sim/lang/lang.h"
#include "sim/machine.h"
#include "sim/program.h"

#ifndef LOWER_OPS_MAX                       /* the fuzzer has smaller ones */
#define LOWER_OPS_MAX      (4u << 20)   /* operations of all programs: 48 bytes each */
#define LOWER_STEPS_MAX    (64u << 20)  /* statements looked at: ends loops without end */
#define LOWER_PROGRAMS_MAX 100000u
#define LOWER_TASKS_MAX    (1u << 20)   /* of one graph */
#define LOWER_EDGES_MAX    (8u << 20)
#define LOWER_OBJECTS_MAX  (1u << 20)   /* of a program */
#endif

struct lang_lowered {
    struct sim_workload w;
    uint32_t *of;               /* [w.nr_programs]: the tree's program that it is an instance of */
    uint64_t **cpus;            /* [w.nr_programs]: what program.cpus points at, or null */
};
/* Null: *err says why. */
struct lang_lowered *lang_lower(const struct lang_workload *w, const struct sim_machine *m, uint64_t seed, struct lang_error *err);
void lang_lowered_free(struct lang_lowered *l);

#endif
