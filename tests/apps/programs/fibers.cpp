// Boost's contexts, coroutines and fibers on small stacks, in several threads.  SPDX-License-Identifier: Apache-2.0
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <boost/coroutine2/all.hpp>
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

namespace ctx = boost::context;
using coroutine = boost::coroutines2::coroutine<long>;

static long mix(long x, int times)
{
    for (int i = 0; i < times; i++) x = (x * 6364136223846793005 + 1442695040888963407) ^ (x >> 13);
    return x;
}

static long contexts(long seed)
{
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        ctx::fiber f{std::allocator_arg, ctx::fixedsize_stack(8192), [&](ctx::fiber &&back) {
            for (int k = 0; k < 10; k++) {
                sum += mix(seed + k, 2000);
                back = std::move(back).resume();
            }
            return std::move(back);
        }};
        while (f) f = std::move(f).resume();
    }
    return sum;
}

static long coroutines(long seed)
{
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        coroutine::pull_type source(boost::coroutines2::fixedsize_stack(16384), [&](coroutine::push_type &sink) {
            for (int k = 0; k < 20; k++) sink(mix(seed + k, 1000));
        });
        for (long x : source) sum += x;
    }
    return sum;
}

static long fibers(long seed)
{
    boost::fibers::buffered_channel<long> channel(16);
    std::vector<boost::fibers::fiber> all;
    boost::fibers::mutex mutex;
    long sum = 0, got = 0;
    for (int i = 0; i < 8; i++)
        all.emplace_back(std::allocator_arg, boost::fibers::fixedsize_stack(32768), [&, i] {
            for (int k = 0; k < 50; k++) {
                channel.push(mix(seed + i * 50 + k, 1000));
                std::unique_lock<boost::fibers::mutex> lock(mutex);
                sum++;
                boost::this_fiber::yield();
            }
        });
    for (int i = 0; i < 8 * 50; i++) got += channel.value_pop();
    for (auto &f : all) f.join();
    return got + sum;
}

// A function that throws on a stack of its own.
static long thrown(long seed)
{
    long sum = 0;
    ctx::fiber f{std::allocator_arg, ctx::protected_fixedsize_stack(65536), [&](ctx::fiber &&back) {
        for (int k = 0; k < 50; k++) {
            try { throw seed + k; } catch (long x) { sum += x; }
            back = std::move(back).resume();
        }
        return std::move(back);
    }};
    while (f) f = std::move(f).resume();
    return sum;
}

int main()
{
    std::vector<long> result(8);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
        threads.emplace_back([&, t] { for (int r = 0; r < 10; r++) result[t] += contexts(t) + coroutines(t) + fibers(t) + thrown(t); });
    for (auto &t : threads) t.join();
    std::printf("%ld\n", std::accumulate(result.begin(), result.end(), 0L));
}
