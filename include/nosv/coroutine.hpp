/* nosv/coroutine.hpp - coroutines that run as tasks; C++20.  SPDX-License-Identifier: Apache-2.0
 *
 *     nosv::task<int> twice(int x)
 *     {
 *         co_await nosv::sleep_for(std::chrono::milliseconds(1));
 *         co_return 2 * co_await nosv::spawn([x] { return x; });
 *     }
 *     int four = nosv::spawn(twice(2)).get();
 *
 * A coroutine begins when it is given to nosv::spawn, nosv::post or group::run, or when another one
 * awaits it; then both are one task of <nosv.h>. Where it waits, its task suspends itself and gives
 * its thread back (nosv_suspend); what it waits for submits the task, and any worker goes on with
 * it. So thread-local storage may differ before and after a co_await. A coroutine that waits needs
 * no thread and no stack. Its priority and affinity are those of its task.
 *
 * The header is empty before C++20. */
#ifndef NOSV_COROUTINE_HPP
#define NOSV_COROUTINE_HPP

#include "task.hpp"

#if defined(__cpp_impl_coroutine) && __cpp_impl_coroutine >= 201902L

#include <concepts>
#include <coroutine>
#include <optional>
#include <tuple>
#include <variant>

namespace nosv __attribute__((visibility("default"))) {

template <class T = void> class task;

namespace detail {

/* ---- suspension ------------------------------------------------------------------------------ */

/* A task that executes coroutines: the one that has begun, and those that it awaits. One that
 * begins or ends another one returns to a loop that resumes the next: no call nests. */
struct stack {
    nosv_task_t task = nullptr;
    std::coroutine_handle<> leaf; /* goes on when the task does */
    bool at_once = false;         /* ... which it does when the present one returns */
    void next(std::coroutine_handle<> h) noexcept
    {
        leaf = h;
        at_once = true;
    }
};

struct promise_base;
template <class P> concept own_promise = std::derived_from<P, promise_base>;

/* The task that goes on with a coroutine when it is submitted. That of another library gets a new
 * one; `prepare` and `commit` are before and after the submission becomes possible. */
class resumption : public node {
public:
    resumption() noexcept : node{on_wake} {}

    template <class P> void prepare(std::coroutine_handle<P> h, nosv_suspend_mode_t mode, std::uint64_t args)
    {
        if constexpr (own_promise<P>) {
            check(nosv_set_suspend_mode(mode, args));
            h.promise().s->leaf = h;
            task_ = h.promise().s->task;
        } else {
            auto resume = [h] { h.resume(); };
            make_record<post_record<body<decltype(resume)>>>(options(), &task_, resume);
        }
    }
    template <class P> void prepare(std::coroutine_handle<P> h) { prepare(h, NOSV_SUSPEND_MODE_NONE, 0); }
    /* Of another library's: it may have resumed, and this object may be gone. */
    template <class P> static void commit(std::coroutine_handle<P>) noexcept
    {
        if constexpr (own_promise<P>) nosv_suspend();
    }
    template <class P> void cancel(std::coroutine_handle<P>) noexcept
    {
        if constexpr (!own_promise<P>) nosv_destroy(task_, NOSV_DESTROY_NONE);
    }
    nosv_task_t native() const noexcept { return task_; }

private:
    static void on_wake(node *n) noexcept { nosv_submit(static_cast<resumption *>(n)->task_, NOSV_SUBMIT_NONE); }
    nosv_task_t task_ = nullptr;
};

/* What may be awaited here without a bridge. */
struct awaiter {
    bool await_ready() const noexcept { return false; }
    void await_resume() const noexcept {}
};
template <class A> concept own_awaiter = std::derived_from<std::remove_cvref_t<A>, awaiter>;

/* The suspend modes of <nosv.h>. */
struct [[nodiscard]] mode_awaiter : awaiter {
    nosv_suspend_mode_t mode;
    std::uint64_t args;
    mode_awaiter(nosv_suspend_mode_t m, std::uint64_t a) noexcept : mode(m), args(a) {}
    template <own_promise P> void await_suspend(std::coroutine_handle<P> h) const
    {
        resumption r;
        r.prepare(h, mode, args);
        r.commit(h);
    }
};

template <class R> struct end_awaiter : awaiter, resumption {
    const handle<R> &task;
    explicit end_awaiter(const handle<R> &h) noexcept : task(h) {}
    bool await_ready() const { return task.ready(); }
    template <class P> bool await_suspend(std::coroutine_handle<P> h)
    {
        prepare(h);
        bool waits = false;
        try {
            waits = task.done().enter(this);
        } catch (...) {
            cancel(h);
            throw;
        }
        if (waits) commit(h);
        else cancel(h);
        return waits;
    }
};

template <class R> struct handle_awaiter : end_awaiter<R> {
    handle<R> &own;
    explicit handle_awaiter(handle<R> &h) noexcept : end_awaiter<R>(h), own(h) {}
    R await_resume() { return own.get(); }
};

struct [[nodiscard]] group_awaiter : awaiter, resumption {
    group &g;
    bool waits = false;
    explicit group_awaiter(group &of) noexcept : g(of) {}
    bool await_ready() const noexcept { return g.ready(); }
    template <class P> bool await_suspend(std::coroutine_handle<P> h)
    {
        prepare(h);
        waits = true;
        if (g.enter(this)) {
            commit(h);
            return true;
        }
        waits = false;
        cancel(h);
        return false;
    }
    void await_resume()
    {
        if (waits) g.leave();
        g.rethrow();
    }
};

template <class It> struct [[nodiscard]] any_awaiter : awaiter, resumption {
    It first, last;
    std::unique_ptr<race> r;
    std::exception_ptr error;
    bool left = false;
    any_awaiter(It f, It l) : first(f), last(l) {}
    bool await_ready() const
    {
        It i = first;
        while (i != last && !i->ready()) ++i;
        return i != last || first == last;
    }
    template <own_promise P> bool await_suspend(std::coroutine_handle<P> h)
    {
        std::size_t n = 0;
        for (It i = first; i != last; ++i) n++;
        r = std::make_unique<race>(n, this);
        prepare(h);
        bool done = false;
        try {
            for (It i = first; i != last && !done; ++i) done = !r->enter(i->done());
        } catch (...) {
            error = std::current_exception();
            done = true;
        }
        /* A node that is called submits the task: then it has to suspend itself. */
        left = done;
        if (done && r->leave_all()) return false;
        commit(h);
        return true;
    }
    std::size_t await_resume()
    {
        if (r) {
            if (!left) r->leave_all();
            r->settle();
        }
        if (error) std::rethrow_exception(error);
        return first_ready(first, last);
    }
};

/* ---- what other libraries have to await ------------------------------------------------------ */

template <class A> decltype(auto) awaiter_of(A &&a)
{
    if constexpr (requires { std::forward<A>(a).operator co_await(); }) return std::forward<A>(a).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<A>(a)); }) return operator co_await(std::forward<A>(a));
    else return std::forward<A>(a);
}

/* What it resumes in place of the coroutine: it submits the coroutine's task, so that the coroutine
 * goes on there. */
class bridge {
public:
    struct promise_type {
        bridge get_return_object() noexcept { return bridge(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void unhandled_exception() noexcept { std::terminate(); }
        void return_void() noexcept {}
    };
    explicit bridge(std::coroutine_handle<> h) noexcept : handle_(h) {}
    bridge(bridge &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    bridge &operator=(bridge &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~bridge() { if (handle_) handle_.destroy(); }
    std::coroutine_handle<> get() const noexcept { return handle_; }

private:
    std::coroutine_handle<> handle_;
};

/* It submits only when it is suspended itself, so that the coroutine may destroy it. */
struct submit_awaiter {
    nosv_task_t task;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept
    {
        nosv_task_t t = task;
        nosv_submit(t, NOSV_SUBMIT_NONE);
    }
    void await_resume() const noexcept {}
};
inline bridge make_bridge(nosv_task_t task) { co_await submit_awaiter{task}; }

template <class A> struct bridged : awaiter, resumption {
    A inner;
    bridge b{nullptr};
    template <class B> explicit bridged(B &&a) : inner(awaiter_of(std::forward<B>(a))) {}
    bool await_ready() { return inner.await_ready(); }
    template <own_promise P> bool await_suspend(std::coroutine_handle<P> h)
    {
        prepare(h);
        b = make_bridge(native());
        using result = decltype(inner.await_suspend(b.get()));
        if constexpr (std::is_same_v<result, bool>) {
            if (!inner.await_suspend(b.get())) return false;
        } else if constexpr (std::is_void_v<result>) {
            inner.await_suspend(b.get());
        } else {
            inner.await_suspend(b.get()).resume();
        }
        commit(h);
        return true;
    }
    decltype(auto) await_resume() { return inner.await_resume(); }
};

/* ---- promises -------------------------------------------------------------------------------- */

struct promise_base {
    std::coroutine_handle<> after; /* goes on when this one has ended */
    stack *s = nullptr;
    std::exception_ptr error;

    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        template <class P> void await_suspend(std::coroutine_handle<P> h) const noexcept
        {
            promise_base &p = h.promise();
            if (p.after) p.s->next(p.after);
        }
        void await_resume() const noexcept {}
    };
    std::suspend_always initial_suspend() const noexcept { return {}; }
    final_awaiter final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { error = std::current_exception(); }

    template <class A> decltype(auto) await_transform(A &&a)
    {
        using inner = decltype(awaiter_of(std::forward<A>(a)));
        if constexpr (own_awaiter<inner>) return std::forward<A>(a);
        else return bridged<inner>(std::forward<A>(a));
    }
};

template <class T> struct promise : promise_base {
    std::optional<T> value;
    task<T> get_return_object() noexcept;
    template <class U = T> void return_value(U &&v) { value.emplace(std::forward<U>(v)); }
    T take()
    {
        if (error) std::rethrow_exception(error);
        return *std::move(value);
    }
};
template <class T> struct promise<T &> : promise_base {
    T *value = nullptr;
    task<T &> get_return_object() noexcept;
    void return_value(T &v) noexcept { value = std::addressof(v); }
    T &take()
    {
        if (error) std::rethrow_exception(error);
        return *value;
    }
};
template <> struct promise<void> : promise_base {
    task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void take()
    {
        if (error) std::rethrow_exception(error);
    }
};

/* Of a coroutine that another one awaits: both are one task. It owns the coroutine, which has ended
 * after that. */
template <class T> struct child_awaiter : awaiter {
    task<T> child;
    explicit child_awaiter(task<T> &&c) : child(std::move(c)) { if (!child.valid()) fail(NOSV_ERR_INVALID_PARAMETER); }
    template <own_promise P> void await_suspend(std::coroutine_handle<P> h) const noexcept
    {
        promise<T> &p = child.native().promise();
        p.after = h;
        p.s = h.promise().s;
        p.s->next(child.native());
    }
    T await_resume() const { return child.native().promise().take(); }
};

} // namespace detail

/* ---- task<T> --------------------------------------------------------------------------------- */

/* A coroutine that gives a T, or throws. It can be moved, not copied. It has not begun: co_await it
 * in another task<>, or give it to nosv::spawn, nosv::post, group::run. Both take it as an rvalue,
 * and destroy its frame when it has ended. One that never begins is destroyed with its object. An
 * empty one, which has been moved from or awaited, is NOSV_ERR_INVALID_PARAMETER.
 *
 * In the body any awaitable may be awaited. That of another library resumes the coroutine as a task
 * too, whatever thread it calls resume() on, which must be while the runtime lives. Do not submit
 * the task of a coroutine by nosv_submit.
 *
 * Context: any thread. */
template <class T> class [[nodiscard]] task {
public:
    using promise_type = detail::promise<T>;
    using value_type = T;

    task() noexcept = default;
    task(task &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    task &operator=(task &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~task() { if (handle_) handle_.destroy(); }
    bool valid() const noexcept { return static_cast<bool>(handle_); }

    detail::child_awaiter<T> operator co_await() && { return detail::child_awaiter<T>(std::move(*this)); }

    /* For the headers of this library. */
    explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
    std::coroutine_handle<promise_type> native() const noexcept { return handle_; }

private:
    std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T> task<T> promise<T>::get_return_object() noexcept
{ return task<T>(std::coroutine_handle<promise>::from_promise(*this)); }
template <class T> task<T &> promise<T &>::get_return_object() noexcept
{ return task<T &>(std::coroutine_handle<promise>::from_promise(*this)); }
inline task<void> promise<void>::get_return_object() noexcept
{ return task<void>(std::coroutine_handle<promise>::from_promise(*this)); }

/* True: it has ended. */
template <class T> bool go_on(stack &s, const task<T> &t) noexcept
{
    if (!s.task) {
        s.task = nosv_self();
        s.leaf = t.native();
        t.native().promise().s = &s;
    }
    do {
        s.at_once = false;
        s.leaf.resume();
    } while (s.at_once);
    return t.native().done();
}

template <class T> struct body<task<T>> {
    using result = T;
    task<T> t;
    stack s;
    explicit body(task<T> &&from) : t(std::move(from)) { if (!t.valid()) fail(NOSV_ERR_INVALID_PARAMETER); }
    bool step() noexcept { return go_on(s, t); }
    T finish() { return t.native().promise().take(); }
};

template <class F> struct is_task : std::false_type {};
template <class T> struct is_task<task<T>> : std::true_type {};

/* A callable that returns a coroutine lives as long as that, which may use what it has captured. */
template <class F> struct body<F, std::enable_if_t<is_task<std::invoke_result_t<F &>>::value>> {
    using coroutine = std::invoke_result_t<F &>;
    using result = typename coroutine::value_type;
    F f;
    coroutine t;
    stack s;
    std::exception_ptr error;
    template <class G> explicit body(G &&g) : f(std::forward<G>(g)) {}
    bool step() noexcept
    {
        if (!t.valid()) {
            try {
                t = std::invoke(f);
                if (!t.valid()) fail(NOSV_ERR_INVALID_PARAMETER);
            } catch (...) {
                error = std::current_exception();
                return true;
            }
        }
        return go_on(s, t);
    }
    result finish()
    {
        if (error) std::rethrow_exception(error);
        return t.native().promise().take();
    }
};

} // namespace detail

/* ---- what a coroutine awaits ----------------------------------------------------------------- */

/* co_await handle: wait until the task has completed, and give its result as handle::get does. Also
 * in the coroutines of other libraries, which go on in a task of their own; if that cannot be
 * created the co_await throws. One thread or coroutine at a time waits for a task: another one gets
 * NOSV_ERR_BUSY. */
template <class R> detail::handle_awaiter<R> operator co_await(handle<R> &h) noexcept { return detail::handle_awaiter<R>(h); }
template <class R> detail::handle_awaiter<R> operator co_await(handle<R> &&h) noexcept { return detail::handle_awaiter<R>(h); }

/* co_await group: wait as group::wait does. Also in the coroutines of other libraries. */
inline detail::group_awaiter operator co_await(group &g) noexcept { return detail::group_awaiter(g); }

/* co_await sleep_for(d), sleep_until(time): go on after that time of CLOCK_MONOTONIC, as soon as a
 * core is free. 0 and less is a yield. No function ends it early. */
template <class Rep, class Period> detail::mode_awaiter sleep_for(const std::chrono::duration<Rep, Period> &d) noexcept
{
    std::uint64_t ns = detail::nanoseconds(d);
    if (!ns) return {NOSV_SUSPEND_MODE_SUBMIT, 1};
    return {NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, ns < INT64_MAX ? ns : INT64_MAX};
}
template <class Clock, class Duration> detail::mode_awaiter sleep_until(const std::chrono::time_point<Clock, Duration> &time)
{ return sleep_for(time - Clock::now()); }

/* co_await events(): go on when the event counter of the coroutine's task is 0; at once if it is.
 * this_task::increase_events increases it, nosv::decrease_events(task) decreases it. */
inline detail::mode_awaiter events() noexcept { return {NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0}; }

/* co_await yield(): let others run first, as nosv_yield does. */
inline detail::mode_awaiter yield() noexcept { return {NOSV_SUSPEND_MODE_SUBMIT, 1}; }

namespace detail {
struct [[nodiscard]] schedule_awaiter : awaiter {
    template <class P> void await_suspend(std::coroutine_handle<P> h) const
    {
        if constexpr (own_promise<P>) mode_awaiter(NOSV_SUSPEND_MODE_SUBMIT, 0).await_suspend(h);
        else post([h] { h.resume(); });
    }
};
} // namespace detail

/* co_await schedule(): go on as a ready task. The coroutine of another library changes by that from
 * its thread into a task; if the task cannot be created the co_await throws. */
inline detail::schedule_awaiter schedule() noexcept { return {}; }

/* co_await when_any(first, last): wait_any for coroutines. The position of the first handle in the
 * range whose task has completed; the number of handles if there are none. */
template <class It> detail::any_awaiter<It> when_any(It first, It last) { return {first, last}; }

namespace detail {
template <class T> using no_void = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
template <class R> no_void<R> get_no_void(handle<R> &h)
{
    if constexpr (std::is_void_v<R>) {
        h.get();
        return {};
    } else {
        return h.get();
    }
}
} // namespace detail

/* co_await when_all(handles...): wait until all tasks have completed, and give a tuple of their
 * results; std::monostate for void. Throws the exception of the first handle that has one. */
template <class... R> task<std::tuple<detail::no_void<R>...>> when_all(handle<R>... handles)
{
    (co_await detail::end_awaiter<R>(handles), ...);
    co_return std::tuple<detail::no_void<R>...>{detail::get_no_void(handles)...};
}

} // namespace nosv

#endif
#endif
