/* src/cli/run.h - run a program in an instance.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_RUN_H
#define USF_CLI_RUN_H

#include "cli/cli.h"
#include "shm/shm.h"

/* What is done around a program that is scheduled. */
struct run_watch {
    bool (*begin)(void *arg, struct shm *instance, char **argv);      /* false: it has said why not, and the program runs all the same */
    void (*end)(void *arg);
    const char *what;           /* is not done if the program runs unscheduled: "it is not recorded" */
    void *arg;
};
/* argv: the program's, ends with a null.  Returns an exit code, or becomes the program, or ends as
 * it.  watch may be null. */
int run_program(const struct cli_command *self, struct config *config, char **argv, const struct run_watch *watch);

#endif
