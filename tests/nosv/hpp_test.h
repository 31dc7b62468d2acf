/* tests/nosv/hpp_test.h - what the tests of nosv.hpp share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef HPP_TEST_H
#define HPP_TEST_H

#include <nosv.hpp>

#include "nosv_test.h"

using namespace std::chrono_literals;

/* Counts its objects: at the end of a test there are none. */
struct live {
    static inline std::atomic<int> n{0};
    int value;
    live(int v = 0) : value(v) { n++; }
    live(const live &o) : value(o.value) { n++; }
    live(live &&o) noexcept : value(o.value) { n++; }
    live &operator=(const live &) = default;
    ~live() { n--; }
};

/* The code of the std::system_error that a call throws; 0 if it throws nothing. */
template <class F> int error_of(F f)
{
    try {
        f();
    } catch (const std::system_error &e) {
        CHECK(e.code().category() == nosv::error_category());
        return e.code().value();
    }
    return 0;
}
#define THROWS(code, ...) CHECK_EQ(error_of([&] { __VA_ARGS__; }), code)

/* On an ordinary thread, on one that is attached, and in a task. */
inline void everywhere(void (*what)())
{
    what();
    {
        nosv::attached here("everywhere");
        what();
    }
    in_task(what, NOSV_CREATE_NONE);
    UNTIL(live::n == 0);
}

/* Keeps tasks from their end until it is opened. */
struct gate {
    std::atomic<bool> is_open{false};
    void wait() { UNTIL(is_open); }
    void open() { is_open = true; }
};

#endif
