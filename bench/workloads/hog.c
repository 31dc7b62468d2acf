/* bench/workloads/hog.c - foreign load: computes until its parent goes, or --seconds.  SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--seconds");
    double end = now_s() + opt_num(argc, argv, "--seconds", 3600);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1) return 1;
    for (uint64_t x = 1; now_s() < end;) x = work_chain(x, 1000000);
    return 0;
}
