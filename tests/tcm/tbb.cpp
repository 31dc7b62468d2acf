// tests/tcm/tbb.cpp - how many threads one parallel loop after the other has.  SPDX-License-Identifier: Apache-2.0
//
// Writes the number for each loop, and ends with its standard input.
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <atomic>
#include <cstdio>
#include <poll.h>

static std::atomic<int> inside, most;

static void piece(int)
{
    int now = ++inside, seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {}
    for (volatile int i = 0; i < 20000; i = i + 1) {}
    --inside;
}

int main()
{
    struct pollfd in = {0, POLLIN, 0};
    do {
        most = 0;
        tbb::parallel_for(0, 1000, piece, tbb::simple_partitioner());
        std::printf("%d\n", most.load());
        std::fflush(stdout);
    } while (poll(&in, 1, 0) == 0);
}
