/* src/cli/doctor.h - the checks of `usf doctor`.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_DOCTOR_H
#define USF_CLI_DOCTOR_H

#include "config/config.h"
#include "text/json.h"

/* GOOD: as it should be.  NOTE: for information.  WARN: works, with a loss that is named.  BAD: usf
 * does not work. */
enum finding { FINDING_GOOD, FINDING_NOTE, FINDING_WARN, FINDING_BAD };

/* Every finding is one line for people and one object for machines. */
void doctor_section(const char *title);
void doctor_find(enum finding f, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void doctor_machine(const struct config *c);
void doctor_instances(void);
void doctor_program(const char *name);
/* It would run, but unscheduled: `usf doctor` ends with 2 if nothing is wrong. */
void doctor_unscheduled(void);

/* doctor_missing.c: why a program that program_find refuses cannot be executed, and what helps. */
void doctor_missing(const char *name, int code, const char *why);
/* ... and what helps where it can, but unscheduled; or null. */
struct program;
const char *doctor_advice(const struct program *p);
/* doctor_float.c: do threads float here; which calls of this object keep a thread from floating? */
void doctor_float_machine(void);
void doctor_float_file(const char *path, const void *file, size_t size);
/* doctor_libraries.c: the loader's list; calls look for each object but our own library.  False:
 * the program does not start. */
bool doctor_libraries(const struct program *p, void (*look)(const char *path, void *arg), void *arg);

#endif
