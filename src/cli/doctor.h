/* src/cli/doctor.h - the checks of `usf doctor`.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_DOCTOR_H
#define USF_CLI_DOCTOR_H

#include "cli/json.h"
#include "config/config.h"

/* GOOD: as it should be.  NOTE: for information.  WARN: works, with a loss that is named.  BAD: usf does not work. */
enum finding { FINDING_GOOD, FINDING_NOTE, FINDING_WARN, FINDING_BAD };

/* Every finding is one line for people and one object for machines. */
void doctor_section(const char *title);
void doctor_find(enum finding f, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void doctor_machine(const struct config *c);
void doctor_instances(void);
void doctor_program(const char *name);

#endif
