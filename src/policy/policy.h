/* src/policy/policy.h - find, complete and check policies.  SPDX-License-Identifier: Apache-2.0
 *
 * A policy's own file includes usf/policy.h, and headers of this room that need nothing else
 * (common.h, queues.h, partition.h).  This one is for those who use policies: the scheduler, the
 * tools, the simulator.  Nothing here takes a lock, reads a clock or allocates; loader.c alone
 * talks to the dynamic linker and is called at start only. */
#ifndef USF_POLICY_INTERNAL_H
#define USF_POLICY_INTERNAL_H

#include <usf/policy.h>
#include <stdatomic.h>

#define POLICY_NAME_MAX 31u

extern const struct usf_policy_ops usf_policy_coop, usf_policy_fifo, usf_policy_fair, usf_policy_equi, usf_policy_speedup, usf_policy_gang,
    usf_policy_batch, usf_policy_fl, usf_policy_linux;
extern const struct usf_policy_ops *const usf_builtin_policies[];      /* ends with null; [0] is the default */

/* ---- registry (registry.c) -------------------------------------------------------------------- */
const struct usf_policy_ops *policy_find(const char *name);            /* or null */
/* The word of the null-terminated list that is spelled most like `word`; null if none is near. */
const char *policy_nearest_word(const char *word, const char *const *list);
const char *policy_nearest(const char *name);                          /* among the built-in policies */
bool policy_name_is_valid(const char *name);

/* Is this table one we can run?  False: `why` gets one line. */
bool policy_ops_is_valid(const struct usf_policy_ops *in, char *why, unsigned why_len);
/* Copy `in` to `out` with defaults for what is null.  `in` is valid.  Afterwards no operation is
 * null. */
void policy_resolve(const struct usf_policy_ops *in, struct usf_policy_ops *out);

/* ---- defaults (defaults.c): the operations that usf/policy.h promises -------------------------- */
extern const struct usf_policy_ops usf_policy_defaults;

/* ---- a user's shared object (loader.c) --------------------------------------------------------- */
/* Load the policy at `path`, check and complete it.  Null: `why` gets one line that says what to
 * do. The object stays loaded.  Calls dlopen: from a constructor or a tool, never in the gate. */
const struct usf_policy_ops *policy_load(const char *path, char *why, unsigned why_len);
/* The same for an instance: its programs and monitors must all have the same object, and in another
 * container, or since it was built anew, another may lie at that path.  *hash is the instance's:
 * the first to load it sets it, others compare. */
const struct usf_policy_ops *policy_load_same(const char *path, _Atomic uint64_t *hash, char *why, unsigned why_len);

/* ---- checked calls (checked.c): what the scheduler uses; holds the scheduler lock -------------- */
/* The policy's answers are not trusted.  pick and select give USF_NONE and set *why (static string,
 * null if all is well) for an illegal answer; the scheduler then replaces the policy by `coop`. */
void policy_enqueue(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t task, enum usf_why why);
uint32_t policy_pick(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t core, const char **why);
void policy_dequeue(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t task);
uint32_t policy_select(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t task,
                       const uint64_t idle[USF_CORE_WORDS], const char **why);
/* Zero every data area and mark of a policy, before another takes over or the queues are rebuilt;
 * then the caller inits, adds groups and tasks, and enqueues what is ready.  Records from nr_groups
 * and nr_tasks on were never used: they stay untouched, for the sake of a sparse file. */
void policy_wipe(struct usf_pol *p, uint32_t nr_groups, uint32_t nr_tasks);

#endif
