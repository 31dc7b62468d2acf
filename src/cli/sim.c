/* src/cli/sim.c - usf sim: the simulator, a program of its own beside this one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cmd_sim(const struct cli_command *self, int argc, char **argv)
{
    char path[4096];
    static const char name[] = "/usf-sim";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    if (n <= 0) {
        usf_warn("where usf-sim lies is not known: /proc/self/exe cannot be read (%s): mount /proc, or execute usf-sim itself", strerror(errno));
        return CLI_FAILED;
    }
    path[n] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash : path, name);
    argv[0] = path;
    execv(path, argv);
    usf_warn("%s cannot be executed: %s (it is built and installed together with usf)", path, strerror(errno));
    return errno == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}
