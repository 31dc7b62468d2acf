/* src/cli/policy.h - the verbs of `usf policy`, one file each.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_POLICY_H
#define USF_CLI_POLICY_H

#include "cli/cli.h"
#include "policy/policy.h"

/* argv[0] is the verb's name; the rest is as given, options included.  `machine`: --json stood before the verb. */
struct policy_verb { const char *name; int (*main)(int argc, char **argv, bool machine); };

int policy_list(int argc, char **argv, bool machine);       /* policy_list.c */
int policy_info(int argc, char **argv, bool machine);       /* policy_info.c */
int policy_new(int argc, char **argv, bool machine);        /* policy_new.c */
int policy_check(int argc, char **argv, bool machine);      /* policy_check.c */

/* A policy by name or by path.  Null: said, with the exit code in *code. */
const struct usf_policy_ops *policy_by_word(const char *word, int *code);

#endif
