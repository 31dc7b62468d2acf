// tests/float/unwind.cc CASE - exceptions in threads that change their kernel thread.  SPDX-License-Identifier: Apache-2.0
//
// Between a throw and its catch, in handlers, and in destructors during unwinding the threads wait, so that another's kernel thread
// executes them afterwards.  The C++ runtime keeps the exceptions of a thread in its thread-local storage.  The same cases pass bare.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cxxabi.h>
#include <pthread.h>
#include <semaphore.h>

#include "raw.h"

enum { MIXERS = 4, SUBJECTS = 3, ROUNDS = 40, DEPTH = 8 };

static std::atomic<bool> over;
static std::mutex token_lock;
static std::condition_variable token_moved;
static unsigned token;

static void mix()
{
    for (int i = 0; i < 5; i++)
        std::this_thread::yield();
    {
        std::unique_lock<std::mutex> hold(token_lock);
        token++;
        token_moved.notify_all();
        if (token % 3)
            token_moved.wait_for(hold, std::chrono::microseconds(20));
    }
    std::this_thread::yield();
}

// Each of the threads repeats `body` until it has been executed by different kernel threads at the body's beginning and end, if
// threads float here.
static void with_subjects(bool (*body)(int me))
{
    std::vector<std::thread> all;
    for (int me = 0; me < SUBJECTS; me++)
        all.emplace_back([=] {
            int moves = 0;
            for (int i = 0; i < ROUNDS || (floats() && moves < ROUNDS / 10); i++)
                moves += body(me);
        });
    for (auto &t : all)
        t.join();
}

static std::atomic<long> live;
struct thrown {
    int me;
    explicit thrown(int who) : me(who) { live++; }
    thrown(const thrown &other) : me(other.me) { live++; }
    thrown &operator=(const thrown &) = default;
    ~thrown() { live--; }
};

// It waits at its end, which unwinding comes to.
struct frame {
    int unwinding, &ended;
    frame(int exceptions, int &count) : unwinding(exceptions), ended(count) {}
    frame(const frame &) = delete;
    frame &operator=(const frame &) = delete;
    ~frame()
    {
        CHECK(std::uncaught_exceptions() == unwinding);
        mix();
        CHECK(std::uncaught_exceptions() == unwinding);
        ended++;
    }
};

// ---- through many frames --------------------------------------------------------------------------------
__attribute__((noinline)) static void throw_below(int depth, int me, int &ended)
{
    frame f(1, ended);
    if (!depth)
        throw thrown(me);
    throw_below(depth - 1, me, ended);
    CHECK(false);
}

static bool frames_body(int me)
{
    int ended = 0;
    pid_t first = carrier_tid();
    bool moved = false;
    try {
        throw_below(DEPTH, me, ended);
    } catch (const thrown &t) {
        moved = carrier_tid() != first;
        CHECK(t.me == me && ended == DEPTH + 1 && !std::uncaught_exceptions());
        mix();
        CHECK(t.me == me);
    }
    CHECK(!std::current_exception());
    return moved;
}

// ---- exceptions in handlers --------------------------------------------------------------------------------
static bool nested_body(int me)
{
    const std::string text = "exception of thread " + std::to_string(me);
    int ended = 0;
    bool moved = false;
    try {
        frame f(1, ended);
        throw thrown(me);
    } catch (const thrown &outer) {
        const std::exception_ptr first = std::current_exception();
        pid_t from = carrier_tid();
        mix();
        try {
            frame f(1, ended);
            mix();
            std::throw_with_nested(std::out_of_range(text));
        } catch (const std::out_of_range &inner) {
            mix();
            CHECK(text == inner.what() && std::current_exception() != first);
            try {
                mix();
                throw;
            } catch (const std::exception &again) {
                mix();
                CHECK(&again == &inner);
            }
            try {
                std::rethrow_if_nested(inner);
                CHECK(false);
            } catch (const thrown &same) {
                mix();
                CHECK(&same == &outer && same.me == me);
            }
            CHECK(text == inner.what());
        }
        mix();
        moved = carrier_tid() != from;
        CHECK(std::current_exception() == first && outer.me == me && ended == 2);
    }
    CHECK(!std::current_exception() && !std::uncaught_exceptions());
    return moved;
}

// ---- a destructor that catches what it throws, during unwinding -----------------------------------------------
struct careful {
    int me;
    bool &moved;
    careful(int who, bool &m) : me(who), moved(m) {}
    careful(const careful &) = delete;
    careful &operator=(const careful &) = delete;
    ~careful()
    {
        int ended = 0;
        pid_t from = carrier_tid();
        mix();
        try {
            throw_two_at_once(ended);
        } catch (const thrown &t) {
            CHECK(t.me == me + 100 && std::uncaught_exceptions() == 1);
            mix();
            CHECK(t.me == me + 100 && std::uncaught_exceptions() == 1);
        }
        mix();
        CHECK(ended == 1 && std::uncaught_exceptions() == 1);
        moved = carrier_tid() != from;
    }
    void throw_two_at_once(int &ended)
    {
        frame f(2, ended);
        mix();
        throw thrown(me + 100);
    }
};

static bool destructors_body(int me)
{
    bool moved = false;
    try {
        careful c(me, moved);
        mix();
        throw thrown(me);
    } catch (const thrown &t) {
        CHECK(t.me == me && !std::uncaught_exceptions());
    }
    return moved;
}

// ---- exceptions that threads pass on ----------------------------------------------------------------------------
static struct queue {
    std::mutex lock;
    std::condition_variable filled;
    std::deque<std::exception_ptr> all;
} queues[SUBJECTS];

static bool passed_body(int me)
{
    pid_t from = carrier_tid();
    std::exception_ptr e;
    try {
        mix();
        throw thrown(me);
    } catch (...) {
        mix();
        e = std::current_exception();
    }
    {
        queue &next = queues[(me + 1) % SUBJECTS];
        std::lock_guard<std::mutex> hold(next.lock);
        next.all.push_back(e);
        next.filled.notify_one();
    }
    e = nullptr;
    {
        queue &own = queues[me];
        std::unique_lock<std::mutex> hold(own.lock);
        if (own.filled.wait_for(hold, std::chrono::milliseconds(1), [&] { return !own.all.empty(); })) {
            e = own.all.front();
            own.all.pop_front();
        }
    }
    if (e) {
        try {
            mix();
            std::rethrow_exception(e);
        } catch (const thrown &t) {
            e = nullptr;
            mix();
            CHECK(t.me == (me + SUBJECTS - 1) % SUBJECTS);
        }
    }
    return carrier_tid() != from;
}

static void passed()
{
    with_subjects(passed_body);
    for (auto &q : queues)
        q.all.clear();
}

// One exception that several threads catch at the same time.
static bool future_body(int me)
{
    pid_t from = carrier_tid();
    std::promise<int> promise;
    std::shared_future<int> future = promise.get_future().share();
    std::atomic<int> caught{0};
    std::vector<std::thread> all;
    for (int i = 0; i < 3; i++)
        all.emplace_back([&] {
            try {
                future.get();
                CHECK(false);
            } catch (const thrown &t) {
                mix();
                CHECK(t.me == me);
                caught++;
            }
        });
    mix();
    promise.set_exception(std::make_exception_ptr(thrown(me)));
    for (auto &t : all)
        t.join();
    CHECK(caught == 3);
    return carrier_tid() != from;
}

// ---- threads that end in the middle --------------------------------------------------------------------------------
static std::atomic<long> ends_seen;
struct lasting {
    bool used = false;
    ~lasting()
    {
        mix();
        ends_seen++;
    }
};
static thread_local lasting last;

struct how { bool cancelled; int ended; bool caught; sem_t never; };

__attribute__((noinline)) static void end_below(int depth, how *h)
{
    struct waits {
        int &ended;
        ~waits()
        {
            mix();
            ended++;
        }
    } w{h->ended};
    if (depth > 0)
        return end_below(depth - 1, h);
    mix();
    if (!h->cancelled)
        pthread_exit(h);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);      // what waits in mix() must not throw
    while (h->cancelled)
        sem_wait(&h->never);
}

static void *ends_thread(void *arg)
{
    how *h = static_cast<how *>(arg);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    last.used = true;
    try {
        thrown object(1);
        end_below(DEPTH, h);
    } catch (abi::__forced_unwind &) {
        mix();
        h->caught = true;
        throw;
    }
    return nullptr;
}

static bool ends_body(int)
{
    pid_t from = carrier_tid();
    how h = {};
    pthread_t t;
    void *result;
    static std::atomic<int> nr;
    h.cancelled = nr++ % 2;
    CHECK(!sem_init(&h.never, 0, 0));
    CHECK(!pthread_create(&t, nullptr, ends_thread, &h));
    mix();
    if (h.cancelled)
        CHECK(!pthread_cancel(t));
    CHECK(!pthread_join(t, &result));
    CHECK(result == (h.cancelled ? PTHREAD_CANCELED : &h));
    CHECK(h.ended == DEPTH + 1 && h.caught);
    CHECK(!sem_destroy(&h.never));
    return carrier_tid() != from;
}

static void ends()
{
    with_subjects(ends_body);
    CHECK(ends_seen >= SUBJECTS * ROUNDS);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(); } cases[] = {
        {"frames", [] { with_subjects(frames_body); }},
        {"nested", [] { with_subjects(nested_body); }},
        {"destructors", [] { with_subjects(destructors_body); }},
        {"passed", passed},
        {"future", [] { with_subjects(future_body); }},
        {"ends", ends},
    };
    alarm(100);
    for (auto &c : cases)
        if (argc == 2 && !strcmp(argv[1], c.name)) {
            std::vector<std::thread> mixers;
            for (int i = 0; i < MIXERS; i++)
                mixers.emplace_back([] { while (!over) mix(); });
            c.run();
            over = true;
            for (auto &t : mixers)
                t.join();
            CHECK(live == 0);
            return 0;
        }
    fprintf(stderr, "usage: unwind CASE\n");
    return 2;
}
