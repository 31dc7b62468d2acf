/* tests/context/vlc.cpp - usf/vlc.hpp: Figure 7 of the paper, and the form that published programs have.  SPDX-License-Identifier: Apache-2.0 */
#include <usf/vlc.hpp>

#include <cstring>
#include <future>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "../check.h"
#include "counter.h"

static std::promise<void> first_is_in, second_is_in;

static int computation()
{
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += counter_next();
    CHECK_EQ(counter_cpus(), 1);
    return sum;
}

/* `std::async` starts a thread only where it is told to, and its result waits for it. */
static void figure_7(const char *last_cpu)
{
    VLC::Runtime monitor;
    monitor.initialize();
    auto one = std::async(std::launch::async, [&]() { /* on thread 1 */
        VLC::Context a(1, gettid());
        a.set_allowed_cpus("0");
        VLC::Loader loader(&a, "libcounter.so.1", true);
        first_is_in.set_value();
        second_is_in.get_future().wait();
        return computation();
    });
    auto two = std::async(std::launch::async, [&]() { /* on thread 2 */
        VLC::Context b(2, gettid());
        b.set_allowed_cpus(last_cpu);
        VLC::Loader loader(&b, "libcounter.so.1", true);
        second_is_in.set_value();
        first_is_in.get_future().wait();
        return computation();
    });
    CHECK_EQ(one.get(), 5050);
    CHECK_EQ(two.get(), 5050);
    CHECK_EQ(counter_next(), 1);
}

typedef int (*next_t)(void);

static void launch(int id)
{
    VLC::Context vlc(id, gettid());
    vlc.avaliable_cpu("0");
    VLC::register_vlc(&vlc);
    vlc.setenv("COUNTER", "vlc", 1);
    VLC::Loader loader("libcounter.so.1", id, false);
    auto next = loader.load_func<next_t>("next");
    CHECK_EQ(next(), 1);
    CHECK_EQ(next(), 2);
    CHECK_EQ(counter_next(), 3);
    CHECK(std::strcmp(counter_env("COUNTER"), "vlc") == 0);
    vlc.unsetenv("COUNTER");
    CHECK(!counter_env("COUNTER"));
    {
        VLC::Context again(id, 0);      /* the same context */
        CHECK_EQ(counter_next(), 4);
        VLC::Context other(id + 100, gettid());
        CHECK_EQ(counter_next(), 1);
    }
    CHECK_EQ(counter_next(), 5);
}

static void published()
{
    VLC::Monitor monitor;
    monitor.initialize();
    std::unordered_map<std::string, std::string> names{{"next", "counter_next"}};
    VLC::Loader::register_func_names(names);
    std::thread a(launch, 11), b(launch, 12);
    a.join();
    b.join();
    launch(11);         /* the number is free again */
    CHECK(!usf_context_current());
}

template <class F> static void throws(const char *text, F f)
{
    try {
        f();
    } catch (const usf::ContextError &e) {
        if (!std::strstr(e.what(), text)) std::fprintf(stderr, "%s\n", e.what());
        CHECK(std::strstr(e.what(), text));
        return;
    }
    CHECK(!"nothing was thrown");
}

static void mistakes(const char *other)
{
    throws("gettid()", [] { VLC::Context c(1, 1); });
    throws("number 77", [] { VLC::Loader l("libcounter.so.1", 77, false); });
    VLC::Context c(5, gettid());
    throws("usf shim", [&] { VLC::Loader l(other, 5, true); });
    throws("libnone.so", [&] { VLC::Loader l(&c, "libnone.so", true); });
    throws("no_such", [&] { VLC::Loader(&c, "libcounter.so.1").load_func<next_t>("no_such"); });
    throws("CPUs", [&] { c.set_allowed_cpus("1000"); });
}

int main(int argc, char **argv)
{
    cpu_set_t set;
    alarm(60);
    CHECK(argc > 1);
    CHECK(!sched_getaffinity(0, sizeof set, &set));
    figure_7(CPU_ISSET(1, &set) ? "1" : "0");
    published();
    mistakes(argv[1]);
    std::puts("ok");
}
