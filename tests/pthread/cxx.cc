// tests/pthread/cxx.cc - the C++20 library's threads and waits.  SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "../check.h"

using namespace std::chrono_literals;

static int threads = 8;
static long rounds = 4000;
static long share() { return rounds / threads + 1; }

template <class F> static void run(F body)
{
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back([&body, i] { body(i); });
}

// Hand a number round a ring by atomic wait and notify.
static void atomic_wait()
{
    std::atomic<long> turn{0};
    run([&](int me) {
        for (long i = 0; i < share(); i++) {
            long want = i * threads + me, now;
            while ((now = turn.load()) != want)
                turn.wait(now);
            turn.store(want + 1);
            turn.notify_all();
        }
    });
    CHECK(turn == share() * threads);
    std::atomic_flag gate = ATOMIC_FLAG_INIT;
    std::atomic<int> through{0};
    std::jthread opener([&] {
        std::this_thread::sleep_for(2ms);
        gate.test_and_set();
        gate.notify_all();
    });
    run([&](int) {
        gate.wait(false);
        through++;
    });
    CHECK(through == threads);
}

static void latches()
{
    for (int i = 0; i < 50; i++) {
        std::latch start{1}, done{threads};
        std::atomic<int> count{0};
        std::jthread opener([&] { start.count_down(); });
        run([&](int) {
            start.wait();
            count++;
            done.arrive_and_wait();
            CHECK(count == threads);
        });
    }
}

static void barriers()
{
    long phases = 0;
    std::vector<long> slot(threads);
    auto on_completion = [&]() noexcept {
        phases++;
        for (long s : slot)
            CHECK(s == phases);
    };
    std::barrier meeting(threads, on_completion);
    run([&](int me) {
        for (long i = 0; i < share(); i++) {
            slot[me]++;
            meeting.arrive_and_wait();
        }
    });
    CHECK(phases == share());
}

static void semaphores()
{
    std::counting_semaphore<5> pool{5};
    std::binary_semaphore one{1};
    std::atomic<int> inside{0};
    long count = 0;
    run([&](int) {
        for (long i = 0; i < share(); i++) {
            if (i % 2)
                pool.acquire();
            else
                while (!pool.try_acquire_for(200us))
                    ;
            int n = ++inside;
            CHECK(n >= 1 && n <= 5);
            inside--;
            pool.release();
            one.acquire();
            count++;
            one.release();
        }
    });
    CHECK(count == threads * share());
}

static void locks()
{
    std::mutex plain;
    std::timed_mutex timed;
    std::recursive_mutex recursive;
    std::shared_mutex shared;
    std::shared_timed_mutex shared_timed;
    long a = 0, b = 0, c = 0, d = 0, e = 0;
    run([&](int) {
        for (long i = 0; i < share(); i++) {
            {
                std::scoped_lock both(plain, recursive);
                std::lock_guard again(recursive);
                a++;
                b++;
            }
            {
                std::unique_lock lock(timed, std::defer_lock);
                while (!lock.try_lock_for(300us))
                    ;
                c++;
            }
            if (i % 4 == 0) {
                std::unique_lock lock(shared);
                d++;
            } else {
                std::shared_lock lock(shared);
                CHECK(d >= 0);
            }
            std::unique_lock lock(shared_timed, std::defer_lock);
            while (!lock.try_lock_for(300us))
                ;
            e++;
        }
    });
    long all = threads * share();
    CHECK(a == all && b == all && c == all && e == all && d == threads * ((share() + 3) / 4));
}

static void conditions()
{
    std::mutex lock;
    std::condition_variable cv;
    std::condition_variable_any any;
    int ready = 0;
    bool go = false;
    std::jthread leader([&] {
        std::unique_lock hold(lock);
        cv.wait(hold, [&] { return ready == threads; });
        go = true;
        any.notify_all();
    });
    run([&](int me) {
        std::unique_lock hold(lock);
        ready++;
        cv.notify_one();
        if (me % 2)
            any.wait(hold, [&] { return go; });
        else
            while (!any.wait_for(hold, 1ms, [&] { return go; }))
                ;
        CHECK(go);
    });
    // A stop request ends a wait.
    std::condition_variable_any never;
    std::atomic<bool> asked{false};
    std::jthread stopped([&](std::stop_token token) {
        std::unique_lock hold(lock);
        CHECK(!never.wait(hold, token, [&] {
            asked = true;
            return false;
        }));
    });
    while (!asked)
        std::this_thread::yield();
    lock.lock();                                     // it has given it back: it waits
    lock.unlock();
    stopped.request_stop();
}

static long sum(const std::vector<long> &v, size_t from, size_t to, int depth)
{
    if (depth == 0 || to - from < 2)
        return std::accumulate(v.begin() + from, v.begin() + to, 0L);
    size_t middle = (from + to) / 2;
    auto left = std::async(std::launch::async, sum, std::cref(v), from, middle, depth - 1);
    long right = sum(v, middle, to, depth - 1);
    return left.get() + right;
}

static void asyncs()
{
    std::vector<long> v(10000);
    std::iota(v.begin(), v.end(), 0);
    for (int i = 0; i < 10; i++)
        CHECK(sum(v, 0, v.size(), 5) == 10000L * 9999 / 2);
    std::vector<std::promise<int>> promises(threads);
    std::vector<std::shared_future<int>> futures;
    for (auto &p : promises)
        futures.push_back(p.get_future().share());
    // Each waits for its neighbour's value; the first is given from outside.
    std::jthread giver([&] { promises[0].set_value(100); });
    run([&](int me) {
        int got = futures[me].get();
        CHECK(got == 100 + me);
        if (me + 1 < threads)
            promises[me + 1].set_value(got + 1);
    });
    std::packaged_task<int()> task([]() -> int { throw std::string("thrown"); });
    auto result = task.get_future();
    std::thread(std::move(task)).join();
    try {
        result.get();
        CHECK(false);
    } catch (const std::string &s) {
        CHECK(s == "thrown");
    }
}

static std::atomic<int> alive;
struct Local {
    long value = 17;
    Local() { alive++; }
    ~Local() { alive--; }
};
static thread_local Local local;

static void thread_locals()
{
    for (int i = 0; i < 20; i++) {
        run([&](int me) {
            CHECK(local.value == 17);
            local.value = me;
            std::this_thread::yield();
            CHECK(local.value == me);
        });
        CHECK(alive == 0);
    }
    std::once_flag once;
    int count = 0, attempts = 0;
    run([&](int) {
        try {
            std::call_once(once, [&] {
                if (++attempts < 3 && threads >= 3)
                    throw 1;                         // does not count: another one tries
                count++;
            });
        } catch (int) {
        }
    });
    CHECK(count == 1);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        threads = std::atoi(argv[1]);
    if (argc > 2)
        rounds = std::atol(argv[2]);
    if (threads < 1 || threads > 64 || rounds < 1) {
        std::fprintf(stderr, "usage: %s [THREADS (1-64) [ROUNDS]]\n", argv[0]);
        return 2;
    }
    std::printf("%d threads, %ld rounds\n", threads, rounds);
    alarm(100);
    atomic_wait();
    latches();
    barriers();
    semaphores();
    locks();
    conditions();
    asyncs();
    thread_locals();
    return 0;
}
