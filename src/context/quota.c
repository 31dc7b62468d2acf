/* src/context/quota.c - limits of control groups on CPUs, as a context has them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A quota is time that all CPUs together may work in each period.  A context's is what its CPUs can
 * do, if the machine's is not less. */
#include <stdio.h>
#include <stdlib.h>

#include "context/view.h"

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Version 2: "QUOTA PERIOD" in us; a quota of "max" is none. */
bool quota_max(const struct view *v, const char *path, const char *real, struct text *out)
{
    unsigned long long quota = UINT64_MAX, period;
    (void)path;
    bool none = strncmp(real, "max ", 4) == 0;
    if (none ? sscanf(real, "max %llu", &period) != 1 : sscanf(real, "%llu %llu", &quota, &period) != 2) return false;
    return text_add_number(out, least(quota, v->nr_cpus * period)) && text_add(out, " ", 1) && text_add_number(out, period) && text_add(out, "\n", 1);
}

/* Version 1: the quota in us, -1 is none; the period is in a file beside it. */
bool quota_cfs(const struct view *v, const char *path, const char *real, struct text *out)
{
    struct text text = {0};
    char beside[512];
    const char *slash = strrchr(path, '/');
    long long quota = strtoll(real, 0, 10), period;
    int n = snprintf(beside, sizeof beside, "%.*s/cpu.cfs_period_us", (int)(slash - path), path);
    bool good = (size_t)n < sizeof beside && text_read(beside, &text) && (period = strtoll(text.at, 0, 10)) > 0;
    free(text.at);
    return good && text_add_number(out, least(quota < 0 ? UINT64_MAX : (uint64_t)quota, v->nr_cpus * (uint64_t)period)) && text_add(out, "\n", 1);
}
