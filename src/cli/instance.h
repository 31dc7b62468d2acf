/* src/cli/instance.h - open or make the instance of a run.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_INSTANCE_H
#define USF_CLI_INSTANCE_H

#include "config/config.h"
#include "shm/shm.h"

struct instance {
    struct shm shm;
    struct os_cpuset cpus;      /* of the instance */
};
/* CPUs that this process may use.  Asked through libc on purpose: inside another `usf run` the
 * kernel would tell the one core that the scheduler has bound us to, and the gate tells the
 * truth. */
int  allowed_cpus(struct os_cpuset *out);
/* share.c: the instance's whole name, by --share.  -1, or the exit code of a mistake, said. */
int  share_choose(struct config *c);
/* Open or make it (build_id: of the library that takes part), and see that its monitor runs.  0, or
 * -errno with why: one line for people. */
int  instance_open(const struct config *c, const struct os_cpuset *cpus, const char *build_id, struct instance *in, char *why,
                   size_t cap);
/* Options that were fixed when the instance was made, and were given otherwise now: said. */
void instance_tell_differences(const struct config *c, const struct instance *in);
bool cpus_meet(const struct os_cpuset *a, const struct os_cpuset *b);

#endif
