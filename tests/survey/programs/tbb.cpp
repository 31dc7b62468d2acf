// tests/survey/programs/tbb.cpp - many short parallel reductions.  SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <functional>
#include <tbb/tbb.h>

int main() {
    tbb::global_control c(tbb::global_control::max_allowed_parallelism, 8);
    long s = 0;
    for (int k = 0; k < 300; k++)
        s += tbb::parallel_reduce(tbb::blocked_range<long>(0, 200000), 0L, [&](auto r, long t) {
            for (long i = r.begin(); i < r.end(); i++)
                t += (i ^ k) % 7;
            return t;
        }, std::plus<long>());
    std::printf("%ld\n", s);
    return 0;
}
