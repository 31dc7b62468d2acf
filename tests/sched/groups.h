/* tests/sched/groups.h - an instance with cores that do not exist and tasks that no thread executes.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TEST_GROUPS_H
#define USF_TEST_GROUPS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "policy/policy.h"
#include "sched/core.h"
#include "shm/shm.h"

enum { NO_THREAD = 0x3ffffff };     /* a tid that the kernel gives to nobody */

extern struct shm shm;
extern char dir[];
extern uint64_t now;                /* what os_now says, ns */

/* With so many cores, in `dir`. */
void make_instance(const char *policy, uint32_t cores);
void end_instance(void);
/* One more participant.  The index of its process. */
uint32_t join(struct sched *s);
void bind_view(struct sched *s);
/* A task of the process, in its first group; it is placed as a thread that attaches. */
uint32_t add_task(struct sched *s);
void end_task(struct sched *s, uint32_t task);
/* Hold the lock. */
void enter(struct sched *s);
void leave(struct sched *s);
/* Under the lock: what runs on the core leaves it, and the core asks for work. */
uint32_t switch_from(struct sched *s, uint32_t core, unsigned to, enum usf_why why);
static inline unsigned state_of(struct sched *s, uint32_t task) { return atomic_load(&s->tasks[task].state); }
static inline struct usf_pol_group *group(struct sched *s, uint32_t g) { return &s->groups[g].pol; }
static inline uint32_t first_of(struct sched *s) { return (uint32_t)(sched_first_group(s) - s->groups); }
uint32_t count_groups(struct sched *s, uint32_t proc);

#endif
