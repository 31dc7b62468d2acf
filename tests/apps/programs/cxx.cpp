// C++20 threads, futures, atomics' waits, exceptions across them.  SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

static thread_local int mine;
struct Guard { ~Guard() { mine = 0; } };

int main()
{
    std::atomic<int> value{0}, seen{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] { for (int v = 0; v < 50; v++) { value.wait(v); seen++; } });
    for (int v = 1; v <= 50; v++) {
        value = v;
        value.notify_all();
        while (seen < 8 * v) std::this_thread::yield();
    }
    threads.clear();
    std::printf("atomic wait: %d\n", seen.load());

    std::latch latch(8);
    std::barrier barrier(8, []() noexcept {});
    std::counting_semaphore<4> semaphore(4);
    std::shared_mutex shared;
    int total = 0;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&, i] {
            Guard g;
            mine = i;
            for (int r = 0; r < 50; r++) {
                semaphore.acquire();
                { std::unique_lock l(shared); total++; }
                { std::shared_lock l(shared); (void)total; }
                semaphore.release();
                barrier.arrive_and_wait();
            }
            latch.count_down();
        });
    latch.wait();
    threads.clear();
    std::printf("barrier, semaphore, shared mutex: %d\n", total);

    std::vector<std::future<long>> futures;
    for (long i = 0; i < 16; i++)
        futures.push_back(std::async(std::launch::async, [i]() -> long {
            if (i == 13) throw std::runtime_error("thirteen");
            std::vector<long> v(1000);
            std::iota(v.begin(), v.end(), i);
            return std::accumulate(v.begin(), v.end(), 0l);
        }));
    long sum = 0;
    for (auto &f : futures)
        try { sum += f.get(); } catch (const std::exception &e) { std::printf("caught %s\n", e.what()); }
    std::printf("async: %ld\n", sum);

    std::mutex m;
    std::condition_variable_any cv;
    std::jthread waiter([&](std::stop_token s) {
        std::unique_lock l(m);
        std::printf("stopped: %d\n", cv.wait(l, s, [] { return false; }));
    });
    waiter.request_stop();
    waiter.join();
    std::unique_lock l(m);
    std::printf("timed out: %d\n", cv.wait_for(l, std::chrono::milliseconds(20)) == std::cv_status::timeout);
}
