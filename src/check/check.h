/* src/check/check.h - what `usf policy check` proves of a policy.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A policy is driven through random histories on machines without a kernel (machine.h).  It runs in
 * child processes with limits of time and memory, so that one that crashes or never returns is a
 * finding like any other.
 */
#ifndef USF_CHECK_H
#define USF_CHECK_H

#include "policy/policy.h"

/* What is looked at.  check_properties[] has the words. */
enum check_property {
    CHECK_LOADS,        /* the object is a policy of this API */
    CHECK_IMPORTS,      /* it calls no other object's functions */
    CHECK_VECTORS,      /* it has no vector or x87 instruction */
    CHECK_VARIABLES,    /* it changes no variable of its own */
    CHECK_RETURNS,      /* no crash, no endless loop */
    CHECK_SYSCALLS,     /* no system call */
    CHECK_LEGAL,        /* only ready tasks, each once, only where they may run; only idle cores */
    CHECK_CONSERVING,   /* no core idle while a task waits that may run there */
    CHECK_LOST,         /* every task comes out again */
    CHECK_FOREIGN,      /* it writes no field that is not its own */
    CHECK_ADDRESSES,    /* it keeps no address */
    CHECK_WIPE,         /* it goes on after all its state was wiped, in any state */
    CHECK_STARVATION,   /* who is ready runs within a bound */
    CHECK_YIELDERS,     /* ... who has yielded, too */
    CHECK_ORDER,        /* the order that a built-in policy promises (tests alone) */
    CHECK_NR,
};
struct check_words { const char *name, *title; };
extern const struct check_words check_properties[CHECK_NR];

/* The operations, as struct usf_policy_ops has them. */
enum check_op {
    OP_NONE, OP_init, OP_group_add, OP_group_remove, OP_task_add, OP_task_remove, OP_select_core, OP_enqueue, OP_pick, OP_dequeue,
    OP_yield, OP_started, OP_stopped, OP_tick, OP_group_changed, OP_NR,
};
extern const char *const check_ops[OP_NR];      /* names; [0] is "no operation" */

enum check_outcome { CHECK_NOT_CHECKED, CHECK_PASSED, CHECK_FAILED, CHECK_NOT_PROMISED };
struct check_finding {
    enum check_outcome outcome;
    enum check_op op;           /* where it failed */
    uint64_t seed, step;
    char history[24];           /* which of the histories of that seed, "" if none was under way */
    char words[200];            /* why failed, or what was measured, or why not checked */
};
/* Costs, in ns per call: enqueue + pick with few and with many tasks waiting. */
struct check_cost { uint32_t cores, waiting; uint64_t ns; };
enum { CHECK_COSTS = 4 };

struct check_result {
    char name[POLICY_NAME_MAX + 1], description[160];
    bool kernel;                /* the policy leaves all to the kernel: there is nothing to check */
    struct check_finding finding[CHECK_NR];
    struct check_cost cost[CHECK_COSTS];
    unsigned nr_costs;
    uint64_t calls;             /* of operations, in all histories */
    uint64_t longest_wait, longest_yield;   /* ns of simulated time, among tasks of equal priority */
    char trouble[120];          /* why it could not be checked to the end, which is no fault of the policy's; or "" */
};

/* Check the policy: a path with '/' in it is an object, else it is a built-in one's name (or
 * `defaults`).  The histories of the seeds seed .. seed+seeds-1.  False: something has failed, or
 * there was trouble.  Forks. */
bool check_policy(const char *word, uint64_t seed, unsigned seeds, struct check_result *r);

/* The same word, loaded here.  Null: `why` gets a line. */
const struct usf_policy_ops *check_find(const char *word, char *why, unsigned why_len);

#endif
