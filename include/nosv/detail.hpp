/* nosv/detail.hpp - what handles, groups and coroutines are made of; for the headers of this library.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_DETAIL_HPP
#define NOSV_DETAIL_HPP

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

/* Waits at several tasks at once. The first one that completes wakes the waiter. A task may call
 * its node until leave() has returned. */
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

} // namespace detail

} // namespace nosv

#endif
