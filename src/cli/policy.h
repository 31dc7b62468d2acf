/* src/cli/policy.h - the verbs of `usf policy`, one file each. 
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_POLICY_H
#define USF_CLI_POLICY_H

#include "cli/cli.h"
#include "policy/policy.h"

/* argv[0] is the verb's name; the rest is as given, options included.  `machine`: --json stood
 * before the verb. */
struct policy_verb { const char *name; int (*main)(int argc, char **argv, bool machine); };

int policy_list(int argc, char **argv, bool machine);       /* policy_list.c */
int policy_info(int argc, char **argv, bool machine);       /* policy_info.c */
int policy_new(int argc, char **argv, bool machine);        /* policy_new.c */
int policy_show(int argc, char **argv, bool machine);       /* policy_show.c */
int policy_set(int argc, char **argv, bool machine);        /* policy_set.c */
int policy_weight(int argc, char **argv, bool machine);
int policy_priority(int argc, char **argv, bool machine);

/* policy_show.c.  Options (--instance, --json) and operands in any order; a number may be negative.
 * -1: go on, with nr operands in `word`; else the exit code to leave with, said. */
struct policy_words {
    struct cli_args args;
    const char *word[4];
    unsigned nr;
    bool named;         /* --instance was given here */
    bool machine;
};
int policy_words(struct policy_words *w, int argc, char **argv);
int policy_check(int argc, char **argv, bool machine);      /* policy_check.c */

/* A policy by name or by path.  Null: said, with the exit code in *code. */
const struct usf_policy_ops *policy_by_word(const char *word, int *code);

#endif
