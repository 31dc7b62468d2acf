/* src/cli/program.h - find a program and say whether it can be scheduled.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_PROGRAM_H
#define USF_CLI_PROGRAM_H

#include "inspect/elf.h"
#include <limits.h>
#include <stddef.h>

/* Why a program that runs cannot be scheduled. */
enum obstacle {
    OBSTACLE_NONE = 0, OBSTACLE_SETUID, OBSTACLE_SETGID, OBSTACLE_CAPABILITIES, OBSTACLE_32_BIT, OBSTACLE_MACHINE, OBSTACLE_STATIC,
    OBSTACLE_GO, OBSTACLE_LIBC,
};

struct program {
    char path[PATH_MAX];    /* what is executed */
    char binary[PATH_MAX];  /* the machine code that runs: path, or the interpreter of a script */
    bool inspected;         /* facts are known */
    struct elf_facts elf;   /* of binary */
    enum obstacle obstacle;
    char why[512];          /* why it cannot be scheduled, as a sentence's end ("is statically linked"), or "" */
};
/* Search as the shell does.  0, or the exit code 126/127 with p->why. */
int program_find(const char *name, struct program *p);
/* Follow the interpreters of scripts, inspect the binary, fill why. */
void program_inspect(struct program *p);
/* Execute.  Returns only on failure: the exit code 126/127, with p->why. */
int program_exec(struct program *p, char **argv);
/* 0, or the errno that executing it would give. */
int program_executable(const char *path);
/* One sentence for people: "prog is statically linked", "a.sh is a script for /x, which is ...". */
void program_explain(const struct program *p, const char *name, char *buf, size_t cap);

#endif
