/* tests/nosv/hpp.cpp - nosv.hpp: tasks, handles, groups.  SPDX-License-Identifier: Apache-2.0 */
#include "hpp_test.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>

namespace {

/* ---- errors ---- */

void errors()
{
    std::error_code code = NOSV_ERR_TIMEOUT;
    CHECK(code == NOSV_ERR_TIMEOUT && code == std::errc::timed_out && code != NOSV_ERR_BUSY);
    CHECK(!std::strcmp(code.category().name(), "nosv") && code.message() == nosv_get_error_string(NOSV_ERR_TIMEOUT));
    CHECK(make_error_code(NOSV_ERR_OUT_OF_MEMORY) == std::errc::not_enough_memory);
    CHECK(make_error_code(NOSV_ERR_INVALID_PARAMETER) == std::errc::invalid_argument);
    CHECK(make_error_code(NOSV_ERR_BUSY) == std::errc::device_or_resource_busy);
    CHECK(make_error_code(NOSV_ERR_OUTSIDE_TASK) == std::errc::operation_not_permitted);
    CHECK(!make_error_code(NOSV_SUCCESS));
    CHECK_EQ(nosv::check(3), 3);
    THROWS(NOSV_ERR_UNKNOWN, nosv::check(NOSV_ERR_UNKNOWN));
}

void not_initialised()
{
    live l;
    nosv::group g;
    THROWS(NOSV_ERR_NOT_INITIALIZED, nosv::spawn([l] {}).detach());
    THROWS(NOSV_ERR_NOT_INITIALIZED, nosv::post([l] {}));
    THROWS(NOSV_ERR_NOT_INITIALIZED, g.run([l] {}));
    THROWS(NOSV_ERR_NOT_INITIALIZED, nosv::task_type("none"));
    THROWS(NOSV_ERR_NOT_INITIALIZED, nosv::attached());
    CHECK_EQ(live::n, 1);
    g.wait();
}

/* ---- spawn ---- */

int global;

void results()
{
    CHECK_EQ(nosv::spawn([] { return 42; }).get(), 42);
    int &r = nosv::spawn([]() -> int & { return global; }).get();
    CHECK(&r == &global);
    nosv::spawn([] { global = 7; }).get();
    CHECK_EQ(global, 7);

    auto pointer = std::make_unique<live>(3);
    std::unique_ptr<live> back = nosv::spawn([p = std::move(pointer)]() mutable { return std::move(p); }).get();
    CHECK_EQ(back->value, 3);
    CHECK(nosv::spawn([text = std::string(100, 'x')] { return text + "y"; }).get().size() == 101);

    auto lvalue = [l = live(5)] { return l.value; };
    auto h = nosv::spawn(lvalue);
    CHECK(h.valid());
    CHECK_EQ(h.get(), 5);
    CHECK(!h.valid() && !h.native());
    CHECK_EQ(nosv::spawn(&thread_id).get() != 0, true);
}

struct alignas(64) wide { char c[64]; };

/* What does not fit into the metadata. */
void sizes()
{
    std::array<char, 100000> big;
    big.fill('b');
    auto same = nosv::spawn([big] { return big; }).get();
    CHECK(same == big);
    wide w;
    memset(w.c, 'w', sizeof w.c);
    wide v = nosv::spawn([w] {
        CHECK_EQ(reinterpret_cast<uintptr_t>(&w) % 64, 0);
        return w;
    }).get();
    CHECK(!memcmp(&v, &w, sizeof v));
}

void exceptions()
{
    auto h = nosv::spawn([l = live()]() -> live { throw std::string("thrown"); });
    h.wait();
    CHECK(h.ready());
    bool caught = false;
    try {
        h.get();
    } catch (const std::string &s) {
        caught = s == "thrown";
    }
    CHECK(caught && !h.valid());
    nosv::spawn([]() -> live { throw 1; }).detach();
}

/* The callable cannot be copied: there is no task. */
struct no_copy {
    live l;
    no_copy() = default;
    no_copy(const no_copy &o) : l(o.l) { throw 5; }
    void operator()() const {}
};
void construction_fails()
{
    no_copy f;
    nosv::group g;
    for (int i = 0; i < 3; i++) {
        int caught = 0;
        try {
            if (i == 0) nosv::post(f);
            if (i == 1) nosv::spawn(f).get();
            if (i == 2) g.run(f);
        } catch (int e) {
            caught = e;
        }
        CHECK_EQ(caught, 5);
    }
    g.wait();
}

void handles()
{
    nosv::handle<int> none;
    CHECK(!none.valid() && !none.native());
    THROWS(NOSV_ERR_INVALID_PARAMETER, none.get());
    THROWS(NOSV_ERR_INVALID_PARAMETER, none.wait());
    THROWS(NOSV_ERR_INVALID_PARAMETER, static_cast<void>(none.ready()));
    THROWS(NOSV_ERR_INVALID_PARAMETER, none.decrease_events());
    none.detach();

    gate open;
    std::atomic<int> ran{0};
    auto a = nosv::spawn([&] { open.wait(); ran++; return live(1); });
    auto b = nosv::spawn([&] { open.wait(); ran++; return live(2); });
    nosv_task_t native = a.native();
    auto c = std::move(a);
    CHECK(!a.valid() && c.native() == native && !c.ready());
    CHECK(!c.wait_for(0ms) && !c.wait_for(1us) && !c.wait_for(-1h) && !c.wait_until(std::chrono::steady_clock::now() + 1ms) &&
        !c.wait_until(std::chrono::system_clock::now()));
    c = std::move(b);                   /* leaves the first one to itself */
    open.open();
    CHECK(c.wait_for(std::chrono::hours::max()) && c.wait_for(0s) && c.ready());
    CHECK_EQ(c.get().value, 2);
    auto d = nosv::spawn([&] { ran++; return live(3); });
    d.wait();
    { auto gone = std::move(d); }
    UNTIL(ran == 3);
}

/* Each of them waits for a task that has not begun. */
void nested()
{
    auto inner = [](int i) { return nosv::spawn([i] { return i; }).get(); };
    std::vector<nosv::handle<int>> all;
    for (int i = 0; i < 20; i++) all.push_back(nosv::spawn([i, inner] { return inner(i) + inner(1); }));
    for (int i = 0; i < 20; i++) CHECK_EQ(all[i].get(), i + 1);
}

/* Another one may look for a moment. */
void wait_alone(nosv::handle<void> &h)
{
    while (error_of([&] { h.wait(); }) == NOSV_ERR_BUSY) rest();
}

void two_waiters()
{
    gate open;
    std::atomic<bool> waits{false};
    auto h = nosv::spawn([&] { open.wait(); });
    auto first = nosv::spawn([&] { waits = true; wait_alone(h); });
    UNTIL(waits);
    while (error_of([&] { h.wait_for(1us); }) != NOSV_ERR_BUSY) rest();
    open.open();
    first.get();
    h.get();
}

/* ---- events ---- */

void events()
{
    std::atomic<bool> left{false};
    auto h = nosv::spawn([&, l = live(1)] {
        nosv::this_task::increase_events(2);
        CHECK(nosv::this_task::has_events());
        left = true;
        return 9;
    });
    UNTIL(left);
    CHECK(!h.wait_for(1ms));
    h.decrease_events();
    CHECK(!h.ready());
    CHECK_EQ(live::n, 1);               /* the callable lives until the events have happened */
    nosv::decrease_events(h.native());
    CHECK_EQ(h.get(), 9);
}

/* ---- groups ---- */

int fib(int n)
{
    if (n < 2) return n;
    int a = 0, b = 0;
    nosv::group g;
    g.run([&] { a = fib(n - 1); });
    g.run([&, l = live()] { b = fib(n - 2); });
    g.wait();
    return a + b;
}

void spread(nosv::group &g, std::atomic<int> &n, int depth)
{
    n++;
    for (int i = 0; i < 3 && depth; i++) g.run([&, depth] { spread(g, n, depth - 1); });
}

void groups()
{
    CHECK_EQ(fib(9), 34);
    nosv::group g;
    g.wait();
    CHECK(g.ready() && g.wait_for(0s));
    std::atomic<int> n{0};
    for (int round = 1; round <= 3; round++) {
        g.run([&] { spread(g, n, 4); });
        g.wait();
        CHECK_EQ(n, 121 * round);
    }
    gate open;
    g.run([&] { open.wait(); n = 5; });
    CHECK(!g.ready() && !g.wait_for(0s) && !g.wait_for(1us) && !g.wait_until(std::chrono::steady_clock::now() + 1ms));
    open.open();
    CHECK(g.wait_for(std::chrono::seconds::max()) && g.ready());
    CHECK_EQ(n, 5);
    {
        nosv::group inner;
        inner.run([&] { n = 6; throw 1; });
    }
    CHECK_EQ(n, 6);
}

void group_exceptions()
{
    nosv::group g;
    std::atomic<int> ran{0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10; i++) g.run([&, l = live()] { ran++; throw l; });
        bool caught = false;
        try {
            g.wait();
        } catch (const live &) {
            caught = true;
        }
        CHECK(caught);
        g.wait();
    }
    CHECK_EQ(ran, 20);
}

/* ---- several handles ---- */

void all_and_any()
{
    std::vector<nosv::handle<int>> tasks;
    CHECK_EQ(nosv::wait_any(tasks.begin(), tasks.end()), 0);
    gate open[4];
    for (int i = 0; i < 4; i++) tasks.push_back(nosv::spawn([&, i] { open[i].wait(); return i; }));
    nosv::post([&] { open[2].open(); });
    CHECK_EQ(nosv::wait_any(tasks.begin(), tasks.end()), 2);
    CHECK_EQ(nosv::wait_any(tasks.begin(), tasks.end()), 2);
    nosv::post([&] { open[1].open(); });
    CHECK_EQ(nosv::wait_any(tasks.begin(), tasks.begin() + 2), 1);
    open[0].open();
    open[3].open();
    nosv::handle<void> other = nosv::spawn([] { throw 1; });
    nosv::wait_all(tasks[0], tasks[1], tasks[2], tasks[3], other);
    for (int i = 0; i < 4; i++) CHECK_EQ(tasks[static_cast<size_t>(i)].get(), i);
    THROWS(NOSV_ERR_INVALID_PARAMETER, nosv::wait_any(tasks.begin(), tasks.end()));
}

/* One has a waiter already: the others are as they were. */
void any_busy()
{
    gate open;
    std::vector<nosv::handle<void>> tasks;
    for (int i = 0; i < 3; i++) tasks.push_back(nosv::spawn([&] { open.wait(); }));
    auto waiter = nosv::spawn([&] { wait_alone(tasks[2]); });
    while (error_of([&] { tasks[2].wait_for(1us); }) != NOSV_ERR_BUSY) rest();
    THROWS(NOSV_ERR_BUSY, nosv::wait_any(tasks.begin(), tasks.end()));
    CHECK(!tasks[0].wait_for(1us) && !tasks[1].wait_for(1us));
    open.open();
    waiter.get();
    for (auto &t : tasks) t.get();
}

void in_all_places()
{
    everywhere(results);
    everywhere(sizes);
    everywhere(exceptions);
    everywhere(construction_fails);
    everywhere(handles);
    everywhere(nested);
    everywhere(two_waiters);
    everywhere(events);
    everywhere(groups);
    everywhere(group_exceptions);
    everywhere(all_and_any);
    everywhere(any_busy);
}

/* ---- options ---- */

void orders()
{
    nosv::attached here(one_cpu(), "orders");
    CHECK(here.native() == nosv::this_task::self());
    nosv::task_type named("named");
    record r{};
    nosv::group g;
    auto place = nosv::options().affinity(one_cpu());
    for (int i : {1, 3, 2}) g.run(nosv::options(place).priority(i), [&, i] { note(&r, i); });
    g.run(nosv::options(place).immediate(), [&] { note(&r, 4); });
    g.wait();
    for (int i = 0; i < 4; i++) CHECK_EQ(r.what[i], 4 - i);
    nosv::spawn(nosv::options(place).type(named).priority(-3), [] {
        nosv_task_t self = nosv::this_task::self();
        CHECK(!strcmp(nosv_get_task_type_label(nosv_get_task_type(self)), "named"));
        CHECK_EQ(nosv_get_task_priority(self), -3);
        CHECK_EQ(nosv_get_current_system_cpu(), first_cpu());
    }).get();
    nosv::task_type moved(std::move(named));
    CHECK(moved.native() && !named.native());
    nosv_affinity_t a = nosv::on_numa(2, nosv::binding::preferred), b = nosv::on_complex(1), c = nosv::on_cpu(7);
    CHECK(a.level == NOSV_AFFINITY_LEVEL_NUMA && a.type == NOSV_AFFINITY_TYPE_PREFERRED && a.index == 2);
    CHECK(b.level == NOSV_AFFINITY_LEVEL_USER_COMPLEX && b.type == NOSV_AFFINITY_TYPE_STRICT && b.index == 1);
    CHECK(c.level == NOSV_AFFINITY_LEVEL_CPU && c.index == 7);
}

/* Outside of tasks there is no task to follow: an immediate submission is an ordinary one. What needs a task throws. */
void not_outside()
{
    auto next = nosv::options().immediate();
    live l;
    nosv::group g;
    int n = 0;
    nosv::post(next, [l, &n] { add(&n, 1); });
    nosv::spawn(next, [l, &n] { add(&n, 1); }).detach();
    g.run(next, [l, &n] { add(&n, 1); });
    UNTIL(get(&n) == 3 && live::n == 1);
    THROWS(NOSV_ERR_OUTSIDE_TASK, nosv::this_task::yield());
    THROWS(NOSV_ERR_OUTSIDE_TASK, nosv::this_task::sleep_for(1ms));
    CHECK_EQ(live::n, 1);
    CHECK(!nosv::this_task::self());
}

/* ---- the calling task ---- */

void itself()
{
    nosv_task_t self = nosv::this_task::self();
    auto resumes = nosv::spawn([self] { nosv::resume(self); nosv::wake(self); });
    nosv::this_task::pause();
    nosv::this_task::sleep_for(std::chrono::hours::max());
    resumes.get();
    CHECK(nosv::this_task::sleep_for(1us) >= 1us);
    nosv::this_task::sleep_for(-1us);
    auto until = std::chrono::steady_clock::now() + 1ms;
    nosv::this_task::sleep_until(until);
    CHECK(std::chrono::steady_clock::now() >= until);
    nosv::this_task::yield();
    nosv::this_task::schedpoint();
    nosv::this_task::submit_window(10);
    std::atomic<int> n{0};
    nosv::post([&] { n++; });
    nosv::this_task::flush();
    UNTIL(n == 1);
    auto held = nosv::spawn([&] { n++; });
    held.get();                         /* flushes */
    CHECK_EQ(n, 2);
    CHECK(!nosv::this_task::has_events());
}

/* A wait does not use up what the program pauses for. */
void pauses_stay()
{
    nosv::this_task::pause();           /* two resumes have come before */
    gate open;
    auto h = nosv::spawn([&] { open.wait(); });
    nosv_task_t self = nosv::this_task::self();
    auto resumes = nosv::spawn([self, &open] { nosv::resume(self); nosv::wake(self); open.open(); });
    h.get();
    resumes.get();
    nosv::this_task::pause();
    nosv::this_task::pause();
    nosv::this_task::sleep_for(std::chrono::hours::max());
}

/* An execution of a parallel task cannot wait; another thread can wait after it. */
struct waited_for {
    gate open;
    nosv::group g;
    std::vector<nosv::handle<void>> v;
    std::atomic<bool> done{false};
} *waited;

void in_parallel(nosv_task_t)
{
    for (int i = 0; i < 2; i++) waited->v.push_back(nosv::spawn([] { waited->open.wait(); }));
    waited->g.run([] { waited->open.wait(); });
    THROWS(NOSV_ERR_INVALID_OPERATION, waited->v[0].wait());
    THROWS(NOSV_ERR_INVALID_OPERATION, waited->v[0].wait_for(1h));
    THROWS(NOSV_ERR_INVALID_OPERATION, waited->g.wait());
    THROWS(NOSV_ERR_INVALID_OPERATION, nosv::wait_any(waited->v.begin(), waited->v.end()));
}
void parallel()
{
    waited_for here;
    waited = &here;
    nosv_task_type_t type = type_of(in_parallel, nullptr, [](nosv_task_t t) { OK(nosv_destroy(t, NONE)); waited->done = true; });
    nosv_task_t task;
    OK(nosv_create(&task, type, 0, NOSV_CREATE_PARALLEL));
    OK(nosv_submit(task, NONE));
    UNTIL(here.done);
    here.open.open();
    here.g.wait();
    for (auto &h : here.v) h.get();
    OK(nosv_type_destroy(type, NONE));
}

/* ---- the end ---- */

std::atomic<int> drained{0};
void again()
{
    drained++;
    if (drained < 100) nosv::post([l = live()] { again(); });
}

void shutdown_drains()
{
    {
        nosv::runtime outer;
        nosv::runtime inner;
        nosv::post(again);
    }
    CHECK_EQ(drained, 100);
    CHECK_EQ(live::n, 0);
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_NOT_INITIALIZED);
}

/* A thread that is cancelled while it waits waits to the end. */
void cancelled()
{
    gate open;
    struct shared { nosv::handle<void> h; std::atomic<bool> waited{false}; } s;
    s.h = nosv::spawn([&] { open.wait(); });
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, nullptr, [](void *p) -> void * {
        auto *own = static_cast<shared *>(p);
        wait_alone(own->h);
        own->waited = true;
        for (;;) pthread_testcancel();
    }, &s), 0);
    while (error_of([&] { s.h.wait_for(1us); }) != NOSV_ERR_BUSY) usleep(100);
    CHECK_EQ(pthread_cancel(thread), 0);
    open.open();
    CHECK_EQ(pthread_join(thread, nullptr), 0);
    CHECK(s.waited);
    s.h.get();
}

/* A child has the types of its parent, and nothing else. */
[[maybe_unused]] void child()
{
    THROWS(NOSV_ERR_NOT_INITIALIZED, nosv::post([] {}));
    nosv::runtime runtime;
    CHECK_EQ(nosv::spawn([] { return 3; }).get(), 3);
}

} // namespace

int main()
{
    begin();
    errors();
    not_initialised();
    {
        nosv::runtime runtime;
        in_all_places();
        orders();
        not_outside();
        in_task(itself, NOSV_CREATE_NONE);
        auto h = nosv::spawn([] { pauses_stay(); });
        nosv::resume(h.native());
        nosv::resume(h.native());
        h.get();
        parallel();
        cancelled();
#ifndef __SANITIZE_THREAD__     /* it knows nothing of threads that a forked child makes */
        in_child(child);
#endif
        CHECK_EQ(live::n, 0);
    }
    not_initialised();
    shutdown_drains();
    return 0;
}
