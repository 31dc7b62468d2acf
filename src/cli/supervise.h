/* src/cli/supervise.h - run a program as a child, transparently.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The child stays in our process group, so that the terminal's signals and job control reach it as
 * they would without us.  What is sent to us alone is handed on.  We stop when it stops, and end as
 * it ended. */
#ifndef USF_CLI_SUPERVISE_H
#define USF_CLI_SUPERVISE_H

/* Fork; the child calls exec(arg), which returns only on failure, with an exit code.  Returns the
 * wait status, or -errno. */
int supervise(int (*exec)(void *arg), void *arg);
/* End exactly as the status says: same exit code, or same signal. */
_Noreturn void end_as(int status);

#endif
