/* src/cli/stats.h - `usf run --stats`: a row of the run table, and what it says at the end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_STATS_H
#define USF_CLI_STATS_H

#include "cli/instance.h"

struct stats {
    struct instance *in;
    unsigned run;               /* index + 1 in the run table; 0: no row was free */
    uint64_t start_ns;
};
/* Claim a row and export USF_RUN.  false: said, no statistics. */
bool stats_begin(struct stats *st, struct instance *in);
/* Wait briefly for the sums of processes that have just died, print, free the row. */
void stats_end(struct stats *st, const char *program, const char *where);

#endif
