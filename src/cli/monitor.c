/* src/cli/monitor.c - usf monitor NAME: the watchman of an instance, started by `usf run`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "monitor/monitor.h"
#include <stdlib.h>

int cmd_monitor(const struct cli_command *self, int argc, char **argv)
{
    if (argc != 2 && argc != 3) return cli_usage("usf monitor %s", self->synopsis);
    return usf_monitor_main(argv[1], argc == 3 ? atoi(argv[2]) : 0);
}
