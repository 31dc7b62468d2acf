/* bench/workloads/outer_tbb.cpp - outer level: oneTBB.  SPDX-License-Identifier: Apache-2.0 */
#include "outer.h"

#include <memory>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

extern "C" const char outer_name[] = "tbb";

/* Without the global control TBB keeps to the number of cores, whatever the arena asks for. */
static std::unique_ptr<tbb::global_control> control;
static std::unique_ptr<tbb::task_arena> arena;

void outer_start(int threads)
{
    control = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, threads);
    arena = std::make_unique<tbb::task_arena>(threads);
}

void outer_for(long n, outer_fn fn, void *arg)
{
    arena->execute([=] {
        tbb::parallel_for(
            tbb::blocked_range<long>(0, n, 1),
            [=](const tbb::blocked_range<long> &r) {
                for (long i = r.begin(); i != r.end(); i++) fn(i, arg);
            },
            tbb::simple_partitioner());
    });
}

void outer_stop(void)
{
    arena.reset();
    control.reset();
}
