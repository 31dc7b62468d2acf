/* src/context/user.h - CPUs that the user gives contexts from outside.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_USER_H
#define USF_CONTEXT_USER_H

#include "config/contexts.h"

/* holds contexts.lock.  The list for the context of that name, in USF_CONTEXTS, or in the profile
 * USF_PROFILE where the program was not started by `usf run`, which has read it.  *from says where
 * it stands, null: nowhere.  0, or an errno value, said. */
int user_cpus(const char *name, char list[USF_CONTEXTS_MAX], const char **from);

/* With USF_VERBOSE: tells of a context that is made.  `usf tune --share` looks for these lines
 * (python/usf/tune/contexts.py). from: as above; null: the program chose the CPUs. */
void user_say(const char *name, const char *cpus, const char *from);

#endif
