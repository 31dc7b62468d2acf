/* src/teams/teams.h - OpenMP's parallel regions follow the process's share of the cores.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of an OpenMP runtime that begin regions are hooked where they are (gate/hook.c), so
 * whatever way a program calls them by, and however many runtimes it has, the runtime that is asked
 * is the one that is called.  No symbol appears for the program.
 *
 * Rules of this room: as of src/runtime.  It calls functions of the OpenMP runtime whose function
 * was called, in that call. */
#ifndef USF_TEAMS_TEAMS_H
#define USF_TEAMS_TEAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "gate/gate.h"

/* Values of the option --malleable. */
enum teams_mode {
    TEAMS_AUTO,         /* where OpenMP lets a team have any size: the thread's dyn-var is true */
    TEAMS_ON,           /* every region of the default size */
    TEAMS_OFF,
};

/* What the runtime knows of the process's share. */
struct teams_share {
    bool (*is_told)(void);              /* has the policy ever said anything?  Some loads */
    uint32_t (*size)(void);             /* the team that the share is good for, at most `bound` */
    uint32_t (*bound)(void);            /* what the process may use: no team of the default size is ever larger */
    void (*begins)(uint32_t width, bool follows);       /* an outer region of so many threads does */
};

/* Once, before any object.  envp: the process's first environment. */
void teams_init(enum teams_mode mode, char **envp);
/* From then on regions are counted and sized. */
void teams_begin(const struct teams_share *share);
/* The object is loaded and has not run yet: if it is an OpenMP runtime, its functions are
 * hooked. */
void teams_object_loaded(const struct gate_object *o);
/* Is pc in a runtime whose functions are hooked, and may sizes follow the share? */
bool teams_has(uintptr_t pc);
/* The calling thread becomes another one (threads/fresh.c): nothing has been set for that. */
void teams_fresh_thread(void);

/* Offline: is the ELF file an OpenMP runtime?  How many functions of it would be hooked; 0: it is
 * none; -1: it is one that cannot be hooked, and why.  *hidden: it has one linked into it whose
 * functions are no dynamic symbols. */
int teams_scan_image(const void *image, size_t size, const char **why, bool *hidden);
#endif
