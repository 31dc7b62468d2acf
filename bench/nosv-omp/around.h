/* bench/nosv-omp/around.h - the runtime above the tasks: OpenMP, or a team made by hand.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_OMP_AROUND_H
#define NOSV_OMP_AROUND_H

#include <stdbool.h>

extern const char around_name[];

/* Call round(me) by each of `threads` threads, `rounds` times, with a barrier after each. `attached`: the
 * threads are tasks during each call. */
void around_run(int threads, long rounds, bool attached, void (*round)(int me));

#endif
