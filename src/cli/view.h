/* src/cli/view.h - names for what lies in a segment.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_VIEW_H
#define USF_CLI_VIEW_H

#include "shm/shm.h"

const char *view_task_state(uint32_t state);
const char *view_core_state(unsigned state);
/* "futex 0x7f...", "read", "system call 999", or "". */
void view_wait(const struct usf_task *t, char *buf, size_t cap);
/* Names of all instances, sorted; the caller frees the array and each name.  Their number or -errno. */
int  view_instances(char ***names);
void view_free(char **names, int n);
/* Are pids of the instance ours, so that /proc can be asked? */
bool view_same_pidns(const struct usf_header *h);

#endif
