/* src/teams/internal.h - shared by the files of the room.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TEAMS_INTERNAL_H
#define USF_TEAMS_INTERNAL_H

#include "gate/image.h"
#include "teams/teams.h"

/* What a hooked function is. */
enum teams_role {
    TEAMS_REGION,               /* begins a region; its third argument is the team's size, 0: the default one */
    TEAMS_FORK,                 /* ... of the size that was pushed before */
    TEAMS_PUSH,                 /* third argument: the size of the next region */
    TEAMS_PUSH_LIST,            /* third: how many sizes, fourth: the sizes, of the next region and of those in it */
    TEAMS_SERIAL,               /* the next region is one of a single thread after all */
    TEAMS_SET_SIZE,             /* omp_set_num_threads */
    TEAMS_SET_DYNAMIC,          /* omp_set_dynamic: by value, by reference to 4 and to 8 bytes */
    TEAMS_SET_DYNAMIC_4, TEAMS_SET_DYNAMIC_8,
    TEAMS_SET_ANY,              /* sets anything, for all threads */
    TEAMS_MAX,                  /* omp_get_max_threads */
};

/* Functions that are called, not hooked.  Those from TEAMS_OPTIONAL on need not be there. */
enum teams_call { TEAMS_GET_LEVEL, TEAMS_GET_DYNAMIC, TEAMS_OPTIONAL, TEAMS_GET_TEAMS = TEAMS_OPTIONAL, TEAMS_GET_LIMIT, TEAMS_GTID,
                  TEAMS_CALLS };

#define TEAMS_MAX_HOOKS 48
struct teams_found {
    unsigned nr;
    struct { uint64_t at; enum teams_role role; } hook[TEAMS_MAX_HOOKS];    /* each address once */
    uint64_t max, push, call[TEAMS_CALLS];                                  /* 0: it has none */
};
/* Link-time addresses.  false: the object is no OpenMP runtime, or a part of one. */
bool teams_find(const struct gate_image *im, uintptr_t base, struct teams_found *f);

/* An OpenMP runtime.  Written before its code runs. */
#define TEAMS_RUNTIMES 16
struct teams_runtime {
    uintptr_t text, text_end;   /* of its object; text 0: none */
    uint32_t serial;            /* no other has had it: what threads remember of one that was unloaded goes for it alone */
    uint32_t look;              /* the environment is to be looked at, when it is used first */
    uint32_t cap;               /* the least that omp_get_max_threads has said while the policy said nothing, 0: not asked */
    bool said, rigid;           /* the user has said how many threads; that their number must not vary */
    int (*max)(void);           /* without the hook */
    void (*push)(void *loc, int gtid, int n);
    int (*level)(void), (*dynamic)(void), (*teams)(void), (*limit)(void), (*gtid)(void *loc);
};
extern struct teams_runtime teams_runtimes[TEAMS_RUNTIMES];
extern enum teams_mode teams_mode;

#define TEAMS_ROLE_BITS 8       /* hook data: index of the runtime above the role */

/* What the environment says to a runtime that reads it now. */
void teams_read_environment(struct teams_runtime *r);

/* Of the architecture (src/arch), and what that calls: where to go on. */
void teams_entry(void);
void teams_return(void);       /* ... the function is not to be executed at all: what it returns is in the registers */
uintptr_t teams_enter(const struct gate_hook_site *site, uint64_t *regs);
/* Indices in regs: what the function returns, and its arguments. */
enum { TEAMS_RESULT = 2, TEAMS_FOURTH = 5, TEAMS_THIRD = 6, TEAMS_FIRST = 8 };
#endif
