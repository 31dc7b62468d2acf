/* nosv/task.hpp - tasks from callables, their handles, and groups of them.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_TASK_HPP
#define NOSV_TASK_HPP

#include "base.hpp"
#include "compat.h"

#include <cerrno>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <vector>

namespace nosv __attribute__((visibility("default"))) {

namespace detail {

/* ---- waiting --------------------------------------------------------------------------------- */

/* What is called when a task or a group ends. It lies with the thread that waits. */
struct node { void (*wake)(node *); };

/* The point in time that lies `ns` from now; null for UINT64_MAX, which is for ever. */
class deadline {
public:
    explicit deadline(std::uint64_t ns) noexcept : ends_(ns != UINT64_MAX)
    {
        clock_gettime(CLOCK_MONOTONIC, &at_);
        if (!ends_) return;
        at_.tv_sec += static_cast<std::time_t>(ns / 1000000000u);
        at_.tv_nsec += static_cast<long>(ns % 1000000000u);
        if (at_.tv_nsec < 1000000000) return;
        at_.tv_nsec -= 1000000000;
        at_.tv_sec++;
    }
    const timespec *get() const noexcept { return ends_ ? &at_ : nullptr; }

private:
    timespec at_;
    bool ends_;
};

/* One thread sleeps here until another one wakes it: as a task if it is in one. */
class sleeper : public node {
public:
    sleeper() noexcept : node{on_wake}, in_task_(nosv_self() != nullptr)
    {
        if (in_task_) {
            nosv_cond_init(&task_, nullptr);
            return;
        }
        pthread_condattr_t attr;
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&thread_, &attr);
        pthread_condattr_destroy(&attr);
    }
    ~sleeper()
    {
        if (!in_task_) pthread_cond_destroy(&thread_);
        pthread_mutex_destroy(&mutex_);
    }
    sleeper(const sleeper &) = delete;
    sleeper &operator=(const sleeper &) = delete;

    /* Returns 0 when woken, ETIMEDOUT, or EINVAL for a task that cannot block. A thread that is
     * cancelled meanwhile ends later: another one has the address of this object. */
    int sleep(const timespec *until) noexcept
    {
        int r = 0, cancel;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        pthread_mutex_lock(&mutex_);
        while (!woken_ && !r)
            r = in_task_ ? until ? nosv_cond_timedwait_pthread(&task_, &mutex_, until) : nosv_cond_wait_pthread(&task_, &mutex_)
                : until  ? pthread_cond_timedwait(&thread_, &mutex_, until)
                         : pthread_cond_wait(&thread_, &mutex_);
        if (woken_) r = 0;
        pthread_mutex_unlock(&mutex_);
        pthread_setcancelstate(cancel, nullptr);
        return r;
    }

    /* The thread that wakes is on its way: wait until it has left this object. */
    void await_waker() noexcept
    {
        for (bool woken = false; !woken;) {
            sched_yield();
            pthread_mutex_lock(&mutex_);
            woken = woken_;
            pthread_mutex_unlock(&mutex_);
        }
    }

private:
    static void on_wake(node *n) noexcept
    {
        /* Signals under the mutex: after its unlock the object may be gone. */
        auto *s = static_cast<sleeper *>(n);
        pthread_mutex_lock(&s->mutex_);
        s->woken_ = true;
        if (s->in_task_) nosv_cond_signal(&s->task_);
        else pthread_cond_signal(&s->thread_);
        pthread_mutex_unlock(&s->mutex_);
    }

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    bool woken_ = false, in_task_;
    union {
        nosv_cond_t task_;
        pthread_cond_t thread_;
    };
};

[[noreturn]] inline void fail(nosv_err e) { throw std::system_error(e, error_category()); }

/* The word of a task that its handle and the thread that completes it share: 0, a node that waits,
 * DONE, or DETACHED: the handle is gone. After DONE the record is the handle's. */
class completion {
public:
    bool is_done() const noexcept { return word_.load(std::memory_order_acquire) == DONE; }

    /* False: it is done already, and the node is not called. */
    bool enter(node *n)
    {
        std::uintptr_t was = 0;
        if (word_.compare_exchange_strong(was, reinterpret_cast<std::uintptr_t>(n), std::memory_order_acq_rel)) return true;
        if (was != DONE) fail(NOSV_ERR_BUSY);
        return false;
    }
    /* False: the node has been called, or is about to be. */
    bool leave(node *n) noexcept
    {
        auto mine = reinterpret_cast<std::uintptr_t>(n);
        return word_.compare_exchange_strong(mine, 0, std::memory_order_acq_rel);
    }
    /* False: it is done already. */
    bool detach() noexcept
    {
        std::uintptr_t was = 0;
        return word_.compare_exchange_strong(was, DETACHED, std::memory_order_acq_rel);
    }
    /* False: it has no handle. */
    bool finish() noexcept
    {
        std::uintptr_t was = word_.exchange(DONE, std::memory_order_acq_rel);
        if (was == DETACHED) return false;
        if (was) reinterpret_cast<node *>(was)->wake(reinterpret_cast<node *>(was));
        return true;
    }

private:
    static constexpr std::uintptr_t DONE = 1, DETACHED = 2;
    std::atomic<std::uintptr_t> word_{0};
};

/* ---- records --------------------------------------------------------------------------------- */

/* Room for an object, beside the rest of a record or, if it is too large for that, on the heap. */
template <class T, std::size_t Most, bool Fits = (sizeof(T) <= Most && alignof(T) <= 16)> class box {
public:
    template <class... A> void make(A &&...a) { ::new (static_cast<void *>(bytes_)) T(std::forward<A>(a)...); }
    T &get() noexcept { return *std::launder(reinterpret_cast<T *>(bytes_)); }
    void destroy() noexcept { get().~T(); }

private:
    alignas(T) unsigned char bytes_[sizeof(T)];
};
template <class T, std::size_t Most> class box<T, Most, false> {
public:
    template <class... A> void make(A &&...a) { object_ = new T(std::forward<A>(a)...); }
    T &get() noexcept { return *object_; }
    void destroy() noexcept { delete object_; }

private:
    T *object_;
};

/* What a task executes. step() is called for each execution, and says whether it was the last one;
 * then finish() gives the result or throws. A callable has one; coroutines may have several. */
template <class F, class = void> struct body {
    using result = std::invoke_result_t<F>;
    F f;
    template <class G> explicit body(G &&g) : f(std::forward<G>(g)) {}
    bool step() noexcept { return true; }
    result finish() { return std::invoke(std::move(f)); }
};
template <class F> using result_of = typename body<std::decay_t<F>>::result;

/* A result: a reference is kept as a pointer, void as nothing. */
template <class R> struct stored {
    box<R, 1024> value;
    template <class B> void make(B &b) { value.make(b.finish()); }
    R take() { return std::move(value.get()); }
    void destroy() noexcept { value.destroy(); }
};
template <class R> struct stored<R &> {
    R *value;
    template <class B> void make(B &b) { value = std::addressof(b.finish()); }
    R &take() noexcept { return *value; }
    void destroy() noexcept {}
};
template <> struct stored<void> {
    template <class B> void make(B &b) { b.finish(); }
    void take() noexcept {}
    void destroy() noexcept {}
};

/* Create a task with a record and submit it. The record belongs to the task from then on. */
template <class Record, class... A> Record *make_record(const options &o, nosv_task_t *task, A &&...a)
{
    static_assert(sizeof(Record) <= NOSV_MAX_METADATA_SIZE && alignof(Record) <= 16, "room for the record");
    *task = o.make(sizeof(Record));
    void *room = nosv_get_task_metadata(*task);
    try {
        return ::new (room) Record(std::forward<A>(a)...);
    } catch (...) {
        nosv_destroy(*task, NOSV_DESTROY_NONE);
        throw;
    }
}

template <class Record> void submit_record(const options &o, nosv_task_t task, Record *record)
{
    int r = nosv_submit(task, o.flags());
    if (__builtin_expect(r == NOSV_SUCCESS, 1)) return;
    record->abandon();
    nosv_destroy(task, NOSV_DESTROY_NONE);
    check(r);
}

/* Of nosv::post. */
template <class B> struct post_record : header {
    box<B, 2048> b;
    template <class F> explicit post_record(F &&f) : header{&table} { b.make(std::forward<F>(f)); }
    void abandon() noexcept { b.destroy(); }

    static void run(header *h) noexcept
    {
        B &b = static_cast<post_record *>(h)->b.get();
        if (b.step()) static_cast<void>(b.finish());
    }
    static void completed(header *h, nosv_task_t task) noexcept
    {
        static_cast<post_record *>(h)->b.destroy();
        nosv_destroy(task, NOSV_DESTROY_NONE);
    }
    static constexpr operations table{run, completed};
};

/* What a handle knows of its task. */
template <class R> struct result_record : header {
    completion done;
    bool has_value = false;
    std::exception_ptr error;
    stored<R> value;

    explicit result_record(const operations *table) noexcept : header{table} {}
    ~result_record() { if (has_value) value.destroy(); }
};

/* Of nosv::spawn. */
template <class R, class B> struct spawn_record : result_record<R> {
    box<B, 2048> b;
    template <class F> explicit spawn_record(F &&f) : result_record<R>(&table) { b.make(std::forward<F>(f)); }
    void abandon() noexcept
    {
        b.destroy();
        this->~spawn_record();
    }

    static void run(header *h) noexcept
    {
        auto *r = static_cast<spawn_record *>(h);
        if (!r->b.get().step()) return;
        try {
            r->value.make(r->b.get());
            r->has_value = true;
        } catch (...) {
            r->error = std::current_exception();
        }
    }
    static void completed(header *h, nosv_task_t task) noexcept
    {
        auto *r = static_cast<spawn_record *>(h);
        r->b.destroy();
        if (r->done.finish()) return;
        r->~spawn_record();
        nosv_destroy(task, NOSV_DESTROY_NONE);
    }
    static constexpr operations table{run, completed};
};

class race;

} // namespace detail

/* ---- post: a task that nobody waits for ------------------------------------------------------ */

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

/* The task of a callable that returns R, from nosv::spawn. A handle can be moved, not copied, and is
 * empty after get() and detach(). Members that need a task throw NOSV_ERR_INVALID_PARAMETER in an
 * empty one. Destroying it does not wait: the task goes on, and its result or exception is dropped.
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

    /* The same for a time at most, by CLOCK_MONOTONIC. False: the task has not completed, and may be
     * waited for again. Context: any thread. Scheduling point in a task. */
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
 * it lies in the metadata of the task if it is small (2048 bytes), else on the heap, and is destroyed
 * when the task has completed. With options, these hold for the task. In C++20 the argument may also
 * be a nosv::task<T>, or a callable that returns one.
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

    /* Execute a callable in a task of the group. Its result is dropped, and so are all exceptions but
     * the first. Throws as nosv::spawn does. Context: any thread. Not a scheduling point. */
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

    /* Wait until all tasks of the group have completed and are freed; those that its tasks have added,
     * too. Throws the first exception that has left a callable. A parallel task cannot wait:
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

    /* For the headers of this library. The owner gives up its place, and takes it back when the node
     * has been called; false: there is nothing to wait for. */
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

/* Waits at several tasks at once. The first one that completes wakes the waiter. A task may call its
 * node until leave() has returned. */
class race {
public:
    race(std::size_t n, node *waiter) : entries_(n), waiter_(waiter) {}

    /* At the next task. False: it has completed already; no further ones are needed. */
    bool enter(completion &c)
    {
        entry &e = entries_[entered_];
        e = entry{{on_end}, this, &c};
        if (!c.enter(&e)) return false;
        entered_++;
        return true;
    }
    /* Take the nodes back. False: some are called: the waiter is woken, if it was not yet. */
    bool leave_all() noexcept
    {
        std::size_t out = 0;
        for (std::size_t i = 0; i < entered_; i++) out += entries_[i].where->leave(&entries_[i]);
        called_ = entered_ - out;
        return !called_;
    }
    /* Those that are called are with us no more when this returns. */
    void settle() noexcept { while (ended_.load(std::memory_order_acquire) != called_) sched_yield(); }

private:
    struct entry : node {
        race *owner;
        completion *where;
    };
    static void on_end(node *n) noexcept
    {
        race *r = static_cast<entry *>(n)->owner;
        if (!r->fired_.exchange(true, std::memory_order_acq_rel)) r->waiter_->wake(r->waiter_);
        r->ended_.fetch_add(1, std::memory_order_release);
    }

    std::vector<entry> entries_;
    node *waiter_;
    std::size_t entered_ = 0, called_ = 0;
    std::atomic<bool> fired_{false};
    std::atomic<std::size_t> ended_{0};
};

template <class It> std::size_t first_ready(It first, It last)
{
    std::size_t i = 0;
    while (first != last && !first->ready()) ++first, ++i;
    return i;
}

} // namespace detail

/* Wait until one of the tasks has completed: the position of the first handle in the range whose task
 * has; the number of handles if there are none. Its exception stays for get().
 *
 * Throws as handle::wait does, and std::bad_alloc. Context: any thread. Scheduling point in a task. */
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
