/* src/cli/preload.h - the preloaded library and the environment of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_PRELOAD_H
#define USF_CLI_PRELOAD_H

#include "config/config.h"
#include <limits.h>

struct preload {
    char path[PATH_MAX];
    char build_id[64];          /* hex; "": it has none */
};
/* The libusf.so that belongs to this tool: beside it, or where it is installed.  0, or -1 with
 * why. */
int preload_find(struct preload *lib, char *why, size_t why_len);
/* Put it first into LD_PRELOAD; any other libusf.so in there goes (an inner `usf run` wins). */
void preload_set(const char *path);
/* Take what is ours out of LD_PRELOAD. */
void preload_unset(void);
/* USF_* for the program. */
void export_options(const struct config *c);
/* Who we are: the library takes part as this user only, and starts this tool as the monitor. */
void export_identity(void);
/* The wait policies of parallel runtimes, each unless the user has set it or a rival of it. */
void export_wait_policies(void);

#endif
