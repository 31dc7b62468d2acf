/* nosv/task.hpp - tasks from callables, their handles, and groups of them.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_TASK_HPP
#define NOSV_TASK_HPP

#include "detail.hpp"

namespace nosv __attribute__((visibility("default"))) {

/* ---- post: a task without a handle ------------------------------------------------------ */

/* Execute a callable in a task of its own. The callable is copied or moved, and destroyed when the
 * task has completed. Its result is dropped; an exception that leaves it ends the program by
 * std::terminate. With options, these hold for the task. In C++20 the argument may also be a
 * nosv::task<T>.
 *
 * Throws what nosv_create and nosv_submit return, and what the callable's constructor throws; then
 * there is no task.
 * Context: any thread. Not a scheduling point. */
template <class F> void post(const options &o, F &&f)
{
    using record = detail::post_record<detail::body<std::decay_t<F>>>;
    nosv_task_t task;
    record *r = detail::make_record<record>(o, &task, std::forward<F>(f));
    detail::submit_record(o, task, r);
}
template <class F> void post(F &&f) { post(options(), std::forward<F>(f)); }

/* ---- spawn, handle: a task with a result ----------------------------------------------------- */

/* The task of a callable that returns R, from nosv::spawn. A handle can be moved, not copied, and
 * is empty after get() and detach(). Members that need a task throw NOSV_ERR_INVALID_PARAMETER in
 * an empty one. Destroying it does not wait: the task goes on, and its result or exception is
 * dropped.
 *
 * One thread at a time waits for a task: another one gets NOSV_ERR_BUSY. A parallel task cannot
 * wait: NOSV_ERR_INVALID_OPERATION. Neither changes anything. In a coroutine, co_await handle is
 * get() that gives the thread back; see <nosv/coroutine.hpp>. */
template <class R> class [[nodiscard]] handle {
public:
    using value_type = R;

    handle() noexcept = default;
    handle(handle &&other) noexcept : task_(std::exchange(other.task_, nullptr)), record_(std::exchange(other.record_, nullptr)) {}
    handle &operator=(handle &&other) noexcept
    {
        if (this == &other) return *this;
        detach();
        task_ = std::exchange(other.task_, nullptr);
        record_ = std::exchange(other.record_, nullptr);
        return *this;
    }
    ~handle() { detach(); }

    /* Has it a task? */
    bool valid() const noexcept { return record_ != nullptr; }

    /* Has the task completed? Context: any thread. Not a scheduling point. */
    bool ready() const { return record().done.is_done(); }

    /* Wait until the task has completed. An exception of the callable stays for get().
     * Context: any thread. Scheduling point in a task. */
    void wait() const { wait_until_ns(UINT64_MAX); }

    /* The same for a time at most, by CLOCK_MONOTONIC. False: the task has not completed, and may
     * be waited for again. Context: any thread. Scheduling point in a task. */
    template <class Rep, class Period> bool wait_for(const std::chrono::duration<Rep, Period> &d) const
    { return wait_until_ns(detail::nanoseconds(d)); }
    template <class Clock, class Duration> bool wait_until(const std::chrono::time_point<Clock, Duration> &time) const
    { return wait_for(time - Clock::now()); }

    /* Wait, give the result, and free the task: the handle is empty then. Throws the exception that
     * has left the callable. Context: any thread. Scheduling point in a task. */
    R get()
    {
        wait();
        handle own(std::move(*this));
        if (own.record_->error) std::rethrow_exception(own.record_->error);
        return own.record_->value.take();
    }

    /* Leave the task to itself. Context: any thread. Not a scheduling point. */
    void detach() noexcept
    {
        nosv_task_t task = std::exchange(task_, nullptr);
        auto *r = std::exchange(record_, nullptr);
        if (!r || r->done.detach()) return;
        r->~result_record();
        nosv_destroy(task, NOSV_DESTROY_NONE);
    }

    /* The task, for functions of <nosv.h>: nosv_decrease_event_counter, for example. It belongs to
     * the handle: do not destroy it. Null if the handle is empty. */
    nosv_task_t native() const noexcept { return task_; }

    /* nosv_decrease_event_counter of the task. Context: any thread. */
    void decrease_events(std::uint64_t n = 1) const
    {
        static_cast<void>(record());
        nosv::decrease_events(task_, n);
    }

    /* For the headers of this library. */
    handle(nosv_task_t task, detail::result_record<R> *record) noexcept : task_(task), record_(record) {}
    detail::completion &done() const { return record().done; }

private:
    detail::result_record<R> &record() const
    {
        if (!record_) detail::fail(NOSV_ERR_INVALID_PARAMETER);
        return *record_;
    }

    bool wait_until_ns(std::uint64_t ns) const
    {
        detail::completion &done = record().done;
        if (done.is_done()) return true;
        if (!ns) return false;
        detail::deadline until(ns);
        detail::sleeper s;
        if (!done.enter(&s)) return true;
        int r = s.sleep(until.get());
        if (r && !done.leave(&s)) {
            s.await_waker();
            r = 0;
        }
        if (r && r != ETIMEDOUT) detail::fail(NOSV_ERR_INVALID_OPERATION);
        return !r;
    }

    nosv_task_t task_ = nullptr;
    detail::result_record<R> *record_ = nullptr;
};

/* Execute a callable in a task, and give a handle for its result. The callable is copied or moved;
 * it lies in the metadata of the task if it is small (2048 bytes), else on the heap, and is
 * destroyed when the task has completed. With options, these hold for the task. In C++20 the
 * argument may also be a nosv::task<T>, or a callable that returns one.
 *
 * Throws what nosv_create and nosv_submit return, and what the callable's constructor throws; then
 * there is no task.
 * Context: any thread. Not a scheduling point. */
template <class F> handle<detail::result_of<F>> spawn(const options &o, F &&f)
{
    using result = detail::result_of<F>;
    using record = detail::spawn_record<result, detail::body<std::decay_t<F>>>;
    nosv_task_t task;
    record *r = detail::make_record<record>(o, &task, std::forward<F>(f));
    detail::submit_record(o, task, r);
    return handle<result>(task, r);
}
template <class F> handle<detail::result_of<F>> spawn(F &&f) { return spawn(options(), std::forward<F>(f)); }

/* ---- group: fork and join -------------------------------------------------------------------- */

/* Tasks that are waited for together. The thread that has made the group and the tasks of the group
 * may call run() at any time, others only while neither wait() nor the destructor is called. After
 * wait() the group may be used again. The destructor waits, and drops an exception. */
class group {
public:
    group() noexcept = default;
    ~group()
    {
        if (sleep_until_ns(UINT64_MAX)) std::terminate(); /* a parallel task cannot wait */
    }
    group(const group &) = delete;
    group &operator=(const group &) = delete;

    /* Execute a callable in a task of the group. Its result is dropped, and so are all exceptions
     * but the first. Throws as nosv::spawn does. Context: any thread. Not a scheduling point. */
    template <class F> void run(const options &o, F &&f)
    {
        using record = record_of<detail::body<std::decay_t<F>>>;
        nosv_task_t task;
        record *r = detail::make_record<record>(o, &task, this, std::forward<F>(f));
        left_.fetch_add(1, std::memory_order_relaxed);
        try {
            detail::submit_record(o, task, r);
        } catch (...) {
            left_.fetch_sub(1, std::memory_order_relaxed);
            throw;
        }
    }
    template <class F> void run(F &&f) { run(options(), std::forward<F>(f)); }

    /* Wait until all tasks of the group have completed and are freed; those that its tasks have
     * added, too. Throws the first exception that has left a callable. A parallel task cannot wait:
     * NOSV_ERR_INVALID_OPERATION. Context: any thread. Scheduling point in a task. */
    void wait()
    {
        if (sleep_until_ns(UINT64_MAX)) detail::fail(NOSV_ERR_INVALID_OPERATION);
        rethrow();
    }

    /* The same for a time at most, by CLOCK_MONOTONIC. False: tasks are left.
     * Context: any thread. Scheduling point in a task. */
    template <class Rep, class Period> bool wait_for(const std::chrono::duration<Rep, Period> &d)
    {
        int r = sleep_until_ns(detail::nanoseconds(d));
        if (r == ETIMEDOUT) return false;
        if (r) detail::fail(NOSV_ERR_INVALID_OPERATION);
        rethrow();
        return true;
    }
    template <class Clock, class Duration> bool wait_until(const std::chrono::time_point<Clock, Duration> &time)
    { return wait_for(time - Clock::now()); }

    /* Have all tasks completed? Context: any thread. Not a scheduling point. */
    bool ready() const noexcept { return left_.load(std::memory_order_acquire) == 1; }

    /* For the headers of this library. The owner gives up its place, and takes it back when the
     * node has been called; false: there is nothing to wait for. */
    bool enter(detail::node *n) noexcept
    {
        waiter_ = n;
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return true;
        left_.store(1, std::memory_order_relaxed);
        return false;
    }
    void leave() noexcept { left_.store(1, std::memory_order_relaxed); }
    void rethrow()
    {
        if (!failed_.load(std::memory_order_relaxed)) return;
        failed_.store(false, std::memory_order_relaxed);
        std::rethrow_exception(std::exchange(error_, nullptr));
    }

private:
    template <class B> struct record_of : detail::header {
        group *g;
        detail::box<B, 2048> b;
        template <class F> record_of(group *to, F &&f) : header{&table}, g(to) { b.make(std::forward<F>(f)); }
        void abandon() noexcept { b.destroy(); }

        static void run(header *h) noexcept
        {
            auto *r = static_cast<record_of *>(h);
            if (!r->b.get().step()) return;
            try {
                static_cast<void>(r->b.get().finish());
            } catch (...) {
                r->g->keep(std::current_exception());
            }
        }
        static void completed(header *h, nosv_task_t task) noexcept
        {
            auto *r = static_cast<record_of *>(h);
            group *g = r->g;
            r->b.destroy();
            nosv_destroy(task, NOSV_DESTROY_NONE);
            g->end_one();
        }
        static constexpr detail::operations table{run, completed};
    };

    void keep(std::exception_ptr e) noexcept
    {
        if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::move(e);
    }

    /* The last one finds the waiter, which has given up its place before. */
    void end_one() noexcept
    {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiter_->wake(waiter_);
    }

    int sleep_until_ns(std::uint64_t ns) noexcept
    {
        if (ready()) return 0;
        if (!ns) return ETIMEDOUT;
        detail::deadline until(ns);
        detail::sleeper s;
        if (!enter(&s)) return 0;
        int r = s.sleep(until.get());
        if (r) {
            std::size_t left = left_.load(std::memory_order_relaxed);
            while (left && !left_.compare_exchange_weak(left, left + 1, std::memory_order_acq_rel)) continue;
            if (left) return r;
            s.await_waker();
        }
        leave();
        return 0;
    }

    std::atomic<std::size_t> left_{1}; /* tasks that have not completed, and the place of the owner */
    std::atomic<bool> failed_{false};
    detail::node *waiter_ = nullptr;
    std::exception_ptr error_; /* written by the task that has set failed_ */
};

/* ---- several handles ------------------------------------------------------------------------- */

/* Wait until all of the tasks have completed. Handles of any kinds. Exceptions stay for get().
 *
 * Throws as handle::wait does. Context: any thread. Scheduling point in a task. */
template <class... R> void wait_all(const handle<R> &...handles) { (handles.wait(), ...); }

namespace detail {

template <class It> std::size_t first_ready(It first, It last)
{
    std::size_t i = 0;
    while (first != last && !first->ready()) ++first, ++i;
    return i;
}

} // namespace detail

/* Wait until one of the tasks has completed: the position of the first handle in the range whose
 * task has; the number of handles if there are none. Its exception stays for get().
 *
 * Throws as handle::wait does, and std::bad_alloc.
 * Context: any thread. Scheduling point in a task. */
template <class It> std::size_t wait_any(It first, It last)
{
    std::size_t n = 0;
    for (It i = first; i != last; ++i) {
        if (i->ready()) return n;
        n++;
    }
    if (!n) return 0;
    detail::sleeper s;
    detail::race race(n, &s);
    bool done = false;
    int r = 0;
    try {
        for (It i = first; i != last && !done; ++i) done = !race.enter(i->done());
    } catch (...) {
        if (!race.leave_all()) s.await_waker();
        race.settle();
        throw;
    }
    if (!done) r = s.sleep(nullptr);
    bool woken = !race.leave_all();
    if (woken && (done || r)) s.await_waker();
    race.settle();
    if (r && !woken) detail::fail(NOSV_ERR_INVALID_OPERATION);
    return detail::first_ready(first, last);
}

} // namespace nosv

#endif
