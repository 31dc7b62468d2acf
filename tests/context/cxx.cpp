/* tests/context/cxx.cpp - usf/context.hpp.  SPDX-License-Identifier: Apache-2.0 */
#include <usf/context.hpp>

#include <cstring>
#include <thread>
#include <unistd.h>

#include "../check.h"
#include "counter.h"

template <class F> static void throws(int code, const char *text, F f)
{
    try {
        f();
    } catch (const usf::ContextError &e) {
        if (e.code() != code || !std::strstr(e.what(), text)) std::fprintf(stderr, "%d: %s\n", e.code(), e.what());
        CHECK(e.code() == code && std::strstr(e.what(), text));
        return;
    }
    CHECK(!"nothing was thrown");
}

static void enter_and_leave()
{
    usf::Context a, b(usf::ContextOptions().name("second").cpus("0").set("COUNTER", "b"));
    CHECK(b.name() == "second" && b.cpus() == "0" && b.getenv("COUNTER") == "b" && !a.getenv("COUNTER"));
    CHECK_EQ(counter_next(), 1);
    {
        auto in_a = a.enter();
        CHECK_EQ(counter_next(), 1);
        usf::Inside in_b = b.enter();
        CHECK_EQ(counter_next(), 1);
        CHECK_EQ(counter_cpus(), 1);
        CHECK(std::strcmp(counter_env("COUNTER"), "b") == 0);
        in_b.leave();
        CHECK_EQ(counter_next(), 2);
    }
    CHECK_EQ(counter_next(), 2);
    CHECK_EQ(a.call(counter_next), 3);
    CHECK(!usf_context_current());
    b.setenv("COUNTER", "other");
    b.setenv("COUNTER", "not this", false);
    CHECK(b.call([] { return std::string(counter_env("COUNTER")); }) == "other");
    b.unsetenv("COUNTER");
    CHECK(!b.getenv("COUNTER"));
}

static void libraries()
{
    usf::Context a;
    usf::Library lib = a.open("libcounter.so.1");
    auto next = lib.function<int()>("counter_next");
    auto doubles = lib.function<double (*)(double, double, double, double, double, double, double, double)>("counter_doubles");
    static_assert(std::is_same_v<decltype(next), int (*)()>);
    CHECK_EQ(next(), 1);
    CHECK(doubles(1, 2, 3, 4, 5, 6, 7, 8) == 204);
    CHECK_EQ(lib.variable<int>("counter_variable"), 17);
    CHECK_EQ(a.function<int()>("counter_next")(), 2);
    CHECK_EQ(a.call(counter_next), 3);
    CHECK(!lib.find("no_such_function"));
    throws(ENOENT, "no_such_function", [&] { lib.function<void()>("no_such_function"); });
    throws(ENOENT, "no_such_function", [&] { a.function<void()>("no_such_function"); });
    throws(ENOENT, "libnone.so", [&] { a.open("libnone.so"); });
    throws(EINVAL, "CPUs", [&] { a.set_cpus("x"); });
    throws(EINVAL, "CPUs", [&] { usf::Context(usf::ContextOptions().cpus("4000")); });
    throws(EINVAL, "weight", [&] { usf::Context(usf::ContextOptions().weight(10001)); });
    throws(EINVAL, "priority", [&] { usf::Context(usf::ContextOptions().priority(-1001)); });
    CHECK(usf::Context(usf::ContextOptions().weight(10000).priority(-1000).strict()).id() != 0);
    throws(EINVAL, "memory of 77 bytes", [&] { usf::Context(usf::ContextOptions().memory(77)); });
    CHECK(usf::Context(usf::ContextOptions().memory(1ull << 30)));
}

static void ownership()
{
    usf::Context a, none(nullptr);
    usf_context_t *native = a.native();
    usf::Context b = std::move(a);
    CHECK(!a && b.native() == native && b.id() == usf_context_id(native));
    a = std::move(b);
    CHECK(a && !b);
    {
        auto inside = a.enter();
        throws(EBUSY, "leave it first", [&] { a.destroy(); });
        CHECK(a);
    }
    std::thread([&] { CHECK_EQ(a.call(counter_next), 1); }).join();
    a.destroy();
    CHECK(!a);
    throws(EINVAL, "no context", [&] { (void)a.enter(); });
    usf::Context c;
    CHECK_EQ(usf_context_destroy(c.release()), 0);
}

int main()
{
    alarm(60);
    enter_and_leave();
    libraries();
    ownership();
    std::puts("ok");
}
