/* src/check/internal.h - what the files of this room share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CHECK_INTERNAL_H
#define USF_CHECK_INTERNAL_H

#include "check/machine.h"

/* The call that is under way, for signal handlers. */
struct check_call {
    struct machine *machine;
    enum check_op op;
    volatile uint64_t number;
    volatile unsigned char under_way;
    volatile unsigned char blocks;          /* the kernel looks at it: nonzero = a system call raises SIGSYS */
    unsigned char dispatches;               /* the kernel can do that */
};
extern struct check_call check_call;

/* From here on a system call inside an operation raises SIGSYS.  False: not with this kernel. */
bool check_forbid_syscalls(void);
/* Is it in the mapping that the policy was shown in the call before? */
bool check_is_other_view(const struct machine *m, const void *address);

/* ---- history.c ------------------------------------------------------------------------------- */
/* full: all tasks are there from the beginning. */
struct check_history { const char *name; uint32_t cores, nodes, llcs, groups, tasks, steps; bool moves, watched, extreme, full; };
extern const struct check_history check_histories[];        /* ends with a null name */
/* on_choice: as in struct machine.  With it only such things happen as leave an order that can be
 * told: no priorities, deadlines and affinities, no turns that are taken back. */
void check_history(const struct check_history *h, const struct usf_policy_ops *ops, uint64_t seed,
                   void (*on_choice)(struct machine *m, uint32_t core, uint32_t task));

/* ---- starvation.c ---------------------------------------------------------------------------- */
/* The longest that a thread has waited, in ns of the machine's time. */
struct check_waits { uint64_t ready, yielded; };
void check_starvation(const struct usf_policy_ops *ops, uint64_t seed, struct check_waits *longest);

/* ---- cost.c ---------------------------------------------------------------------------------- */
unsigned check_costs(const struct usf_policy_ops *ops, struct check_cost cost[CHECK_COSTS]);

/* ---- object.c: what can be seen without running it ------------------------------------------- */
/* False: `words` says what is wrong (or, with *checked false, why it could not be told). */
bool check_imports(const char *path, char *words, size_t cap);
bool check_vectors(const char *path, char *words, size_t cap);
/* The writable data of the loaded object: remembered, and compared later. */
void check_variables_before(const char *path);
bool check_variables_after(char *words, size_t cap);

/* Of the architecture (src/arch): offset of the first instruction that uses a vector or
 * floating-point register; `size`: there is none.  What is no instruction is stepped over byte by
 * byte. */
size_t check_first_vector(const uint8_t *code, size_t size);

#endif
