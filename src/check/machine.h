/* src/check/machine.h - a machine without a kernel for policies.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The policy's records, a clock that the history moves, and beside them a model: what each task is
 * doing, when it was queued and why, written down here and never by the policy.  Every call of the
 * policy goes through calls.c, which can move the records to another address before each call, look
 * for fields that were not the policy's to write, and say afterwards where it was.
 *
 * Invariant between two events: no core is idle while a task is READY that may run there
 * (machine_settle sees to it). */
#ifndef USF_CHECK_MACHINE_H
#define USF_CHECK_MACHINE_H

#include <stdio.h>
#include <stdlib.h>
#include "check/check.h"

enum { MAX_CORES = USF_CORES_MAX, MAX_GROUPS = USF_GROUPS_MAX, MAX_TASKS = USF_CORES_MAX > 1024 ? 2 * USF_CORES_MAX : 2048 };
enum doing { NOTHING, BLOCKED, READY, RUNNING };

struct model_task { enum doing doing; uint32_t core, home; uint64_t seq, since; enum usf_why why; bool yielded; };
struct model_core { uint32_t task, group, round; uint64_t since; bool overdue, keeps_turn; };     /* round: the group that it last chose */

/* The records, seen at one address.  Each area has a page in front of it and behind it that no code
 * may touch. */
struct view { struct usf_pol_task *tasks; struct usf_pol_core *cores; struct usf_pol_group *groups; uint8_t *data; };

struct machine {
    struct usf_pol pol;             /* over the model's own view */
    struct usf_policy_ops ops;      /* each a call through calls.c */
    struct usf_policy_ops real;     /* the policy's, completed */
    struct usf_pol_task *tasks;     /* of view[0] */
    struct usf_pol_core *cores;
    struct usf_pol_group *groups;
    uint8_t *data;
    struct view view[3];            /* 0: the model's, always there; the others: the policy's, by turns if `moves` */
    unsigned seen;                  /* the view that the policy saw last */
    bool moves;
    uint32_t watch_tasks, watch_groups;  /* so many records of each are compared before and after each call; 0: none */
    struct model_task task[MAX_TASKS];
    uint64_t held[MAX_TASKS / 64];  /* bit t: the policy has task t, which is READY */
    struct model_core core[MAX_CORES];
    bool group[MAX_GROUPS];
    uint64_t seq, step, rng, seed;
    /* Called with each choice of pick, before the task is started: to check an order.  Or null. */
    void (*on_choice)(struct machine *m, uint32_t core, uint32_t task);
};

uint64_t machine_random(struct machine *m);
static inline uint32_t machine_below(struct machine *m, uint32_t n) { return (uint32_t)(machine_random(m) % n); }

/* nodes × llcs per node divide the cores evenly (as far as they go). */
void machine_init(struct machine *m, const struct usf_policy_ops *ops, uint64_t seed, uint32_t cores, uint32_t nodes,
                  uint32_t llcs);
void machine_free(struct machine *m);
/* Groups 2n and 2n + 1 are of one process. */
void machine_add_group(struct machine *m, uint32_t group, const uint64_t cores[USF_CORE_WORDS]);
void machine_remove_group(struct machine *m, uint32_t group);     /* with all its tasks, as after kill -9 */
void machine_change_group(struct machine *m, uint32_t task, uint32_t group);    /* whatever the task is doing */
void machine_add_task(struct machine *m, uint32_t task, uint32_t group);     /* becomes BLOCKED */
void machine_remove_task(struct machine *m, uint32_t task);                 /* whatever it is doing */
void machine_wake(struct machine *m, uint32_t task, enum usf_why why);      /* select, else enqueue */
void machine_queue(struct machine *m, uint32_t task, enum usf_why why);     /* enqueue whatever is idle */
/* As core_pick: a task that pick has named is passed over, since its busy-wait is not over, or
 * (near) it is left to another core. */
void machine_put_back(struct machine *m, uint32_t task, uint32_t core, bool near);
/* The core's task yields to a queued one, whose busy-wait is over (probe_pick): the policy is not
 * asked which. */
void machine_overtake(struct machine *m, uint32_t task, uint32_t core);
void machine_unqueue(struct machine *m, uint32_t task);                     /* dequeue; it is BLOCKED then */
/* The task on this core leaves it (BLOCKED, or READY by yield or preemption); the core asks for
 * work.  Returns what runs then. */
uint32_t machine_switch(struct machine *m, uint32_t core, enum doing to, enum usf_why why);
/* As the scheduler does it (YIELD, PREEMPT): the next one is picked first, then the old one is
 * queued.  It goes on if there is no other. */
uint32_t machine_give_way(struct machine *m, uint32_t core, enum usf_why why);
/* The task on this core yields: does it give way?  The policy is not asked if it has said so before
 * (usf_keep), or, as after a pause, is, and says the same. */
bool machine_yields(struct machine *m, uint32_t core);
uint32_t machine_take(struct machine *m, uint32_t core);        /* by the progress guarantee: PREEMPT */
uint32_t machine_pick(struct machine *m, uint32_t core);
void machine_settle(struct machine *m);     /* each idle core asks for work */
void machine_tick(struct machine *m);       /* the monitor's: tick, and cores whose give_way_at is due give way */
/* Where a group may run has changed. */
void machine_confine(struct machine *m, uint32_t group, const uint64_t cores[USF_CORE_WORDS]);
/* A task's priority, deadline and affinity become those of `like`. */
void machine_change_task(struct machine *m, uint32_t task, const struct usf_pol_task *like);
/* All state of the policy is wiped, and it begins anew with what is there. */
void machine_restart(struct machine *m);
extern bool machine_restarts;              /* false: machine_restart does nothing */
bool machine_allowed(const struct machine *m, uint32_t task, uint32_t core);
bool machine_is_waited_for(const struct machine *m, uint32_t core);     /* is a task READY that may run there? */

/* calls.c */
void machine_map(struct machine *m);
void machine_unmap(struct machine *m);
void machine_wrap(struct machine *m, const struct usf_policy_ops *ops);
enum check_op machine_op(void);             /* under way, or the last one */

/* What is called with a failure, and must not return.  By default it is printed and the program
 * ends. */
extern void (*machine_on_failure)(struct machine *m, enum check_property property, const char *what);
void machine_fail(struct machine *m, enum check_property property, const char *what) __attribute__((noreturn));
#define REQUIRE(m, property, c, what) do { if (!(c)) machine_fail(m, property, what); } while (0)
#define CHECK(m, c) REQUIRE(m, CHECK_ORDER, c, #c)

#endif
