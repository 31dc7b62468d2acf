/* tests/nosv/hpp_coroutine.cpp - nosv.hpp: coroutines.  SPDX-License-Identifier: Apache-2.0 */
#include "hpp_test.h"

#include <dirent.h>
#include <memory>
#include <string>

namespace {

using nosv::task;

/* ---- results ---- */

int global;

task<int> value(int v, live = live()) { co_return v; }
task<int &> reference() { co_return global; }
task<std::unique_ptr<live>> move_only(int v) { co_return std::make_unique<live>(v); }
task<> thrower(live l) { throw l; co_return; }

task<int> caught()
{
    int n = 0;
    try {
        co_await thrower(live(3));
    } catch (const live &l) {
        n = l.value;
    }
    auto p = co_await move_only(4);
    int &r = co_await reference();
    CHECK(&r == &global);
    co_return n + p->value + co_await value(5);
}

/* However many there are, and however deep: no stack grows. */
task<long> loop(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) sum += co_await value(i);
    co_return sum;
}
task<int> deep(int n)
{
    if (!n) co_return 0;
    co_return 1 + co_await deep(n - 1);
}

/* An empty coroutine: made so, or awaited before. */
task<int> awaits_empty(bool awaited)
{
    task<int> t;
    int code = 0;
    if (awaited) {
        t = value(1);
        CHECK_EQ(co_await std::move(t), 1);
        CHECK(!t.valid());
    }
    try {
        code = co_await std::move(t);
    } catch (const std::system_error &e) {
        code = e.code().value();
    }
    co_return code;
}
int code_of_empty()
{
    try {
        return nosv::spawn([] { return task<int>(); }).get();
    } catch (const std::system_error &e) {
        return e.code().value();
    }
}

void results()
{
    CHECK_EQ(nosv::spawn(awaits_empty(false)).get(), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv::spawn(awaits_empty(true)).get(), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(code_of_empty(), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv::spawn(value(1)).get(), 1);
    CHECK(&nosv::spawn(reference()).get() == &global);
    CHECK_EQ(nosv::spawn(move_only(2)).get()->value, 2);
    CHECK_EQ(nosv::spawn(caught()).get(), 12);
    CHECK_EQ(nosv::spawn(loop(100000)).get(), 4999950000);
    CHECK_EQ(nosv::spawn(deep(100000)).get(), 100000);
    bool threw = false;
    try {
        nosv::spawn(thrower(live(1))).get();
    } catch (const live &) {
        threw = true;
    }
    CHECK(threw);
    { auto never = value(1, live(2)); }
    THROWS(NOSV_ERR_INVALID_PARAMETER, nosv::spawn(task<int>()).detach());
    nosv::spawn(value(7)).detach();
    std::atomic<bool> done{false};
    nosv::post([](std::atomic<bool> &d) -> task<> { d = true; co_return; }(done));
    UNTIL(done);
    std::string text(100, 'x');
    auto size = nosv::spawn([text, l = live()]() -> task<size_t> {
        co_await nosv::yield();
        co_return text.size();
    });
    CHECK_EQ(size.get(), 100);
}

/* ---- waiting ---- */

task<> waits(nosv::group &g, std::atomic<int> &n)
{
    auto start = std::chrono::steady_clock::now();
    co_await nosv::sleep_for(1ms);
    CHECK(std::chrono::steady_clock::now() - start >= 1ms);
    co_await nosv::sleep_for(-1ms);
    co_await nosv::sleep_until(std::chrono::steady_clock::now() + 100us);
    co_await nosv::yield();
    co_await nosv::schedule();
    CHECK(nosv::this_task::self());
    for (int i = 0; i < 10; i++) g.run([&n] { n++; });
    co_await g;
    CHECK_EQ(n, 10);
    co_await g;
    g.run([] { throw 3; });
    int caught = 0;
    try {
        co_await g;
    } catch (int e) {
        caught = e;
    }
    CHECK_EQ(caught, 3);
    auto h = nosv::spawn([] { return 8; });
    CHECK_EQ(co_await h, 8);
    CHECK(!h.valid());
    CHECK_EQ(co_await nosv::spawn(value(9)), 9);
    caught = 0;
    try {
        co_await nosv::handle<void>();
    } catch (const std::system_error &e) {
        caught = e.code().value();
    }
    CHECK_EQ(caught, NOSV_ERR_INVALID_PARAMETER);
}

void waiting()
{
    nosv::group g;
    std::atomic<int> n{0};
    nosv::spawn(waits(g, n)).get();
}

task<int> counts_events(std::atomic<nosv_task_t> &self)
{
    co_await nosv::events();            /* there are none */
    nosv::this_task::increase_events(3);
    self = nosv::this_task::self();
    co_await nosv::events();
    CHECK(!nosv::this_task::has_events());
    nosv::this_task::increase_events(); /* delays the end */
    self = nosv::this_task::self();
    co_return 5;
}

void events()
{
    std::atomic<nosv_task_t> self{nullptr};
    auto h = nosv::spawn(counts_events(self));
    UNTIL(self);
    nosv_task_t t = self.exchange(nullptr);
    CHECK(t == h.native());
    nosv::decrease_events(t, 2);
    CHECK(!h.wait_for(1ms) && !self);
    nosv::post([t] { nosv::decrease_events(t); });
    UNTIL(self);
    CHECK(!h.wait_for(1ms));
    h.decrease_events();
    CHECK_EQ(h.get(), 5);
}

task<> all_and_any()
{
    auto [a, b, c] = co_await nosv::when_all(nosv::spawn(value(1)), nosv::spawn([] {}), nosv::spawn([] { return std::string("s"); }));
    static_assert(std::is_same_v<decltype(b), std::monostate>);
    CHECK(a == 1 && c == "s");
    std::atomic<bool> ran{false};
    int caught = 0;
    try {
        co_await nosv::when_all(nosv::spawn([] { throw 6; }), nosv::spawn([&ran]() -> task<> { co_await nosv::sleep_for(1ms); ran = true; }));
    } catch (int e) {
        caught = e;
    }
    CHECK(caught == 6 && ran);

    std::vector<nosv::handle<int>> v;
    CHECK_EQ(co_await nosv::when_any(v.begin(), v.end()), 0);
    gate open[3];
    for (int i = 0; i < 3; i++) v.push_back(nosv::spawn([&open, i] { open[i].wait(); return i; }));
    nosv::post([&open] { open[1].open(); });
    CHECK_EQ(co_await nosv::when_any(v.begin(), v.end()), 1);
    CHECK_EQ(co_await nosv::when_any(v.begin(), v.end()), 1);
    CHECK_EQ(co_await v[1], 1);

    /* One has a waiter: the others are as they were. */
    auto waiter = nosv::spawn([&v] { while (error_of([&] { v[2].wait(); }) == NOSV_ERR_BUSY) rest(); });
    while (error_of([&] { v[2].wait_for(1us); }) != NOSV_ERR_BUSY) rest();
    caught = 0;
    try {
        std::swap(v[1], v[0]);
        co_await nosv::when_any(v.begin() + 1, v.end());
    } catch (const std::system_error &e) {
        caught = e.code().value();
    }
    CHECK_EQ(caught, NOSV_ERR_BUSY);
    CHECK(!v[1].wait_for(1us));
    open[0].open();
    open[2].open();
    co_await waiter;
    CHECK_EQ(co_await v[1] + co_await v[2], 2);
}

void several() { nosv::spawn(all_and_any()).get(); }

/* ---- coroutines that wait have no threads ---- */

int nr_threads()
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    CHECK(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

task<> sleeper(std::atomic<int> &n)
{
    nosv::this_task::increase_events();
    n++;
    co_await nosv::events();
    n--;
}

void no_threads()
{
    int before = nr_threads();
    std::atomic<int> n{0};
    std::vector<nosv::handle<void>> all;
    for (int i = 0; i < 5000; i++) all.push_back(nosv::spawn(sleeper(n)));
    UNTIL(n == 5000);
    CHECK(nr_threads() < before + 100);
    for (auto &h : all) h.decrease_events();
    for (auto &h : all) h.get();
    CHECK_EQ(n, 0);
}

/* ---- with other libraries ---- */

/* A coroutine that begins at once, in the calling thread, and is nobody's. */
struct eager {
    struct promise_type {
        eager get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

eager foreign(std::atomic<int> &step)
{
    live l;
    nosv_task_t before = nosv_self();
    co_await nosv::schedule();
    CHECK(nosv_self() && nosv_self() != before);
    step++;
    CHECK_EQ(co_await nosv::spawn([] { usleep(100); return 4; }), 4);
    CHECK_EQ(co_await nosv::spawn(value(5)), 5);
    nosv::group g;
    for (int i = 0; i < 5; i++) g.run([&step] { step++; });
    co_await g;
    int caught = 0;
    try {
        co_await nosv::handle<int>();
    } catch (const std::system_error &e) {
        caught = e.code().value();
    }
    CHECK_EQ(caught, NOSV_ERR_INVALID_PARAMETER);
    step++;
}

void in_foreign()
{
    std::atomic<int> step{0};
    foreign(step);
    UNTIL(step == 7);
}

/* Resumes on a thread of its own. */
struct on_new_thread {
    int v;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> h)
    {
        pthread_t t;
        CHECK(!pthread_create(&t, nullptr, [](void *p) -> void * { std::coroutine_handle<>::from_address(p).resume(); return nullptr; }, h.address()));
        pthread_detach(t);
    }
    int await_resume() { return v; }
};
struct with_operator {
    on_new_thread operator co_await() const { return {6}; }
};
struct at_once {
    bool suspends;
    bool await_ready() { return false; }
    bool await_suspend(std::coroutine_handle<> h)
    {
        if (suspends) h.resume();
        return suspends;
    }
    void await_resume() {}
};
struct symmetric {
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) { return h; }
    void await_resume() {}
};

task<int> awaits_foreign()
{
    nosv_task_t self = nosv::this_task::self();
    on_new_thread lvalue{1};
    int sum = co_await lvalue;
    CHECK(nosv::this_task::self() == self);
    for (int i = 0; i < 50; i++) sum += co_await on_new_thread{1};
    sum += co_await with_operator();
    CHECK(nosv::this_task::self() == self);
    co_await at_once{true};
    co_await at_once{false};
    co_await symmetric();
    co_await std::suspend_never();
    co_return sum;
}

void bridges() { CHECK_EQ(nosv::spawn(awaits_foreign()).get(), 57); }

/* ---- everything at once ---- */

task<int> tree(int depth, nosv::group &side, std::atomic<int> &n)
{
    live l;
    n++;
    if (!depth) {
        if (n % 3 == 0) co_await nosv::sleep_for(50us);
        co_return 1;
    }
    auto a = nosv::spawn(tree(depth - 1, side, n)), b = nosv::spawn(tree(depth - 1, side, n));
    side.run([&n]() -> task<> { co_await nosv::yield(); n++; });
    if (depth % 2) {
        std::vector<nosv::handle<int>> v;
        v.push_back(std::move(a));
        v.push_back(std::move(b));
        size_t i = co_await nosv::when_any(v.begin(), v.end());
        co_return co_await v[i] + co_await v[1 - i];
    }
    auto [x, y] = co_await nosv::when_all(std::move(a), std::move(b));
    co_return x + y;
}

void together()
{
    for (int i = 0; i < 5; i++) {
        nosv::group side;
        std::atomic<int> n{0};
        CHECK_EQ(nosv::spawn(tree(7, side, n)).get(), 128);
        side.wait();
        CHECK_EQ(n, 255 + 127);
    }
}

} // namespace

int main()
{
    begin();
    {
        nosv::runtime runtime;
        everywhere(results);
        everywhere(waiting);
        everywhere(events);
        everywhere(several);
        everywhere(no_threads);
        everywhere(in_foreign);
        everywhere(bridges);
        everywhere(together);
    }
    CHECK_EQ(live::n, 0);
    return 0;
}
