// tests/cache/cxx.cc - thread_local destructors, std::thread, std::async, exceptions.  SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

static std::atomic<int> made, gone, chained;

struct Counted {
    std::string text;
    Counted() : text("a string too long for the small-string buffer") { made++; }
    ~Counted()
    {
        CHECK(text.size() == 45);
        gone++;
    }
};

struct Chain {
    int *seen;
    explicit Chain(int *s) : seen(s) {}
    ~Chain();
};

static thread_local Counted counted;
static thread_local int in_destructor = 1;

// A destructor that brings another thread_local to life.
Chain::~Chain()
{
    static thread_local Counted late;
    CHECK(late.text.size() == 45);
    chained += in_destructor;
    in_destructor = 2;
}

static void body(int depth)
{
    static thread_local Chain chain(nullptr);
    (void)chain;
    CHECK(in_destructor == 1);
    CHECK(counted.text.size() == 45);
    counted.text[0] = 'A';
    try {
        if (depth % 2)
            throw std::runtime_error("odd");
        CHECK(std::uncaught_exceptions() == 0);
    } catch (const std::exception &e) {
        CHECK(std::string(e.what()) == "odd");
        CHECK(std::uncaught_exceptions() == 0);
    }
}

static int task(int n)
{
    if (n == 13)
        throw std::out_of_range("thirteen");
    return n * n;
}

// Destructors must have run when join returns, and not before the thread's last line.
static void destructors()
{
    for (int i = 0; i < 300; i++) {
        int before = gone;
        std::thread t([i] {
            body(i);
            CHECK(gone == made - 1);
        });
        t.join();
        CHECK_EQ(gone, before + 2);                  // `counted` and `late`
        CHECK_EQ(made, gone);
        CHECK_EQ(chained, i + 1);
    }
}

static void futures()
{
    for (int round = 0; round < 20; round++) {
        std::vector<std::future<int>> results;
        for (int i = 0; i < 20; i++)
            results.push_back(std::async(std::launch::async, task, i));
        for (int i = 0; i < 20; i++) {
            try {
                CHECK_EQ(results[i].get(), i * i);
                CHECK(i != 13);
            } catch (const std::out_of_range &) {
                CHECK_EQ(i, 13);
            }
        }
    }
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread([&promise] { promise.set_value_at_thread_exit(7); }).detach();
    CHECK_EQ(future.get(), 7);
}

static void *unwound(void *)
{
    Counted on_stack;
    counted.text[1] = 'B';
    pthread_exit(reinterpret_cast<void *>(3));
}

static void unwinding()
{
    for (int i = 0; i < 20; i++) {
        int before = gone;
        CHECK_EQ(run_thread(unwound, nullptr), 3);
        CHECK_EQ(gone, before + 2);
    }
}

// An exception that nobody catches ends the process, through std::terminate.
static void uncaught()
{
    pid_t pid = fork();
    if (pid == 0) {
        std::set_terminate([] { _exit(42); });
        std::thread([] {}).join();
        std::thread([] { throw 1; }).join();
        _exit(1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

int main()
{
    test_start(60);
    destructors();
    futures();
    unwinding();
    uncaught();
    if (cached())
        CHECK(reused() >= 500);
    return 0;
}
