/* tests/spawn/case.h - what the programs of this folder share.  SPDX-License-Identifier: Apache-2.0
 *
 * A program is a list of cases.  `prog` alone prints their names, `prog NAME` runs one.  A case prints what must be the same bare
 * and under usf, and states with EXPECT what must hold in both. */
#ifndef CASE_H
#define CASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

#define CASE(name) \
    static void case_##name(void); \
    __attribute__((constructor)) static void add_##name(void) { spawn_add(#name, case_##name); } \
    static void case_##name(void)

void spawn_add(const char *name, void (*fn)(void));
extern char **spawn_argv;           /* what follows the case's name */
extern const char *spawn_self;      /* this program's file */

/* Whether threads, locks, memory and stdio are of use in this process. */
bool works(void);
/* How a child (-1: any) has ended, for people: "exit 3", "signal 9". */
const char *end_of(pid_t pid);
/* In a forked child: end with what works() says, past the exit handlers. */
_Noreturn void end_working(void);
/* A forked child works, too. */
bool child_works(void);
/* ... and so does exec: a shell. */
bool shell_works(void);
void nap_ms(int ms);

/* Threads that compute, yield, wait, sleep in the kernel, start and end others, until crowd_end. */
void crowd_start(int n);
void crowd_end(void);

#endif
