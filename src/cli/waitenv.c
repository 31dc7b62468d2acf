/* src/cli/waitenv.c - tell parallel runtimes to block rather than to spin.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that blocks gives its core on at once; one that spins first keeps it for nothing.  These
 * are the variables that users of such programs set by hand.  A variable is left alone if the user
 * has set it, or one of its rivals: another variable that decides the same thing, where both
 * together would override the user's choice or make the runtime warn.
 *
 * Not in the list, on purpose:
 *   KMP_AFFINITY   "none" is the default, and with it libomp warns that OMP_PROC_BIND is ignored;
 *                  "disabled" makes libomp count all CPUs of the machine instead of those allowed.
 *   MKL            waits in libgomp, libomp or TBB, which are covered; it has no wait policy of its
 *                  own.
 *   oneTBB         has no such variable; it yields in its loops, which the scheduler sees.
 *   MPICH          Debian's spins without yielding whatever the variable; its loop is recognised
 *                  instead.
 *   BLIS           has none; its loop is recognised instead.
 */
#include "cli/cli.h"
#include "cli/preload.h"
#include <stdlib.h>

#define MAX_RIVALS 3

static const struct wait_policy {
    const char *name, *value, *rivals[MAX_RIVALS + 1];
} policies[] = {
    {"OMP_WAIT_POLICY", "passive", {"KMP_LIBRARY"}},
    {"GOMP_SPINCOUNT", "0", {"OMP_WAIT_POLICY"}},
    /* ms.  libomp yields while it spins, and a yield of a core that no task wants costs less than
     * its way of blocking; 0 would block at once, the default of 200 would keep idle cores awake
     * for long. */
    {"KMP_BLOCKTIME", "1", {"OMP_WAIT_POLICY", "KMP_LIBRARY"}},
    /* A thread bound by its runtime would wait for one core while others are idle. */
    {"OMP_PROC_BIND", "false", {"KMP_AFFINITY", "GOMP_CPU_AFFINITY", "OMP_PLACES"}},
    /* log2 of the cycles for which an idle worker of OpenBLAS's own threads yields before it
     * blocks; 26 by default. */
    {"OPENBLAS_THREAD_TIMEOUT", "20", {"GOTO_THREAD_TIMEOUT"}},
    /* Where sizes of teams may vary libomp counts the machine's running threads, those of the
     * instance too; the policy knows better. */
    {"KMP_DYNAMIC_MODE", "thread_limit", {0}},
    {"OMPI_MCA_mpi_yield_when_idle", "1", {0}},
};
#define NR_POLICIES (sizeof policies / sizeof *policies)

static bool set_by_user(const struct wait_policy *w)
{
    if (getenv(w->name)) return true;
    for (unsigned i = 0; w->rivals[i]; i++)
        if (getenv(w->rivals[i])) return true;
    return false;
}

void export_wait_policies(void)
{
    bool leave[NR_POLICIES];
    /* First look at all: what is set here must not count as the user's. */
    for (unsigned i = 0; i < NR_POLICIES; i++) leave[i] = set_by_user(&policies[i]);
    for (unsigned i = 0; i < NR_POLICIES; i++) {
        if (leave[i]) {
            usf_say("%s is not changed: it, or a variable that competes with it, is already set", policies[i].name);
            continue;
        }
        setenv(policies[i].name, policies[i].value, 1);
        usf_say("%s=%s", policies[i].name, policies[i].value);
    }
}
