/* nosv/base.hpp - errors, the runtime, task types, and the calling task, in C++.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_BASE_HPP
#define NOSV_BASE_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "nosv.hpp needs C++17"
#endif

#include "../nosv.h"
#include "affinity.h"
#include "error.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

/* Visible in libraries that hide their names, so that all parts of a program share one category. */
namespace nosv __attribute__((visibility("default"))) {

/* ---- errors ---------------------------------------------------------------------------------- */

namespace detail {

class category final : public std::error_category {
public:
    const char *name() const noexcept override { return "nosv"; }
    std::string message(int code) const override { return nosv_get_error_string(code); }
    std::error_condition default_error_condition(int code) const noexcept override
    {
        switch (code) {
        case NOSV_ERR_INVALID_CALLBACK:
        case NOSV_ERR_INVALID_METADATA_SIZE:
        case NOSV_ERR_INVALID_PARAMETER: return std::errc::invalid_argument;
        case NOSV_ERR_INVALID_OPERATION:
        case NOSV_ERR_OUTSIDE_TASK: return std::errc::operation_not_permitted;
        case NOSV_ERR_OUT_OF_MEMORY: return std::errc::not_enough_memory;
        case NOSV_ERR_BUSY: return std::errc::device_or_resource_busy;
        case NOSV_ERR_TIMEOUT: return std::errc::timed_out;
        default: return std::error_condition(code, *this);
        }
    }
};

} // namespace detail

/* The category of the error codes of nosv: messages are those of nosv_get_error_string.
 *
 * Context: any thread, initialised or not. */
inline const std::error_category &error_category() noexcept
{
    static const detail::category category;
    return category;
}

/* Turn a result of a function of <nosv.h> into an exception: throw std::system_error if it is
 * negative, else return it.
 *
 * Context: any thread, initialised or not. */
inline int check(int result)
{
    if (__builtin_expect(result < 0, 0)) throw std::system_error(result, error_category());
    return result;
}

/* ---- the runtime ----------------------------------------------------------------------------- */

/* One nosv_init, as long as the object lives. There may be several. The destructor of the last one
 * executes the tasks that are ready, as nosv_shutdown does; it blocks until they have ended. The
 * thread that has made the object must destroy it, outside of tasks or attached.
 *
 * The constructor throws what nosv_init returns.
 * Context: any thread, initialised or not. */
class runtime {
public:
    runtime() { check(nosv_init()); }
    ~runtime() { nosv_shutdown(); }
    runtime(const runtime &) = delete;
    runtime &operator=(const runtime &) = delete;
};

/* Places where a task runs; see <nosv/affinity.h>. A strict one is the only place; a preferred one
 * may be left if it has no free core.
 *
 * Context: any thread, initialised or not. */
enum class binding { preferred = NOSV_AFFINITY_TYPE_PREFERRED, strict = NOSV_AFFINITY_TYPE_STRICT };

inline nosv_affinity_t on_cpu(unsigned system_id, binding b = binding::strict)
{ return nosv_affinity_get(system_id, NOSV_AFFINITY_LEVEL_CPU, static_cast<nosv_affinity_type_t>(b)); }

inline nosv_affinity_t on_numa(unsigned system_id, binding b = binding::strict)
{ return nosv_affinity_get(system_id, NOSV_AFFINITY_LEVEL_NUMA, static_cast<nosv_affinity_type_t>(b)); }

inline nosv_affinity_t on_complex(unsigned index, binding b = binding::strict)
{ return nosv_affinity_get(index, NOSV_AFFINITY_LEVEL_USER_COMPLEX, static_cast<nosv_affinity_type_t>(b)); }

/* The calling thread is attached as long as the object lives: it is a task, and may do what tasks
 * may do. The thread that has made the object must destroy it, within the life of the runtime.
 *
 * The constructors throw what nosv_attach returns.
 * Context: a thread outside of tasks, or attached. Scheduling points. */
class attached {
public:
    explicit attached(const char *label = nullptr) { check(nosv_attach(&task_, nullptr, label, NOSV_ATTACH_NONE)); }
    attached(nosv_affinity_t place, const char *label = nullptr)
    { check(nosv_attach(&task_, &place, label, NOSV_ATTACH_NONE)); }
    ~attached() { nosv_detach(NOSV_DETACH_NONE); }
    attached(const attached &) = delete;
    attached &operator=(const attached &) = delete;
    nosv_task_t native() const noexcept { return task_; }

private:
    nosv_task_t task_ = nullptr;
};

/* ---- types of tasks -------------------------------------------------------------------------- */

namespace detail {

/* What the metadata of a task begins with: the callbacks of its callable. */
struct header;
struct operations {
    void (*run)(header *);
    void (*completed)(header *, nosv_task_t); /* frees the task, or leaves that to its handle */
};
struct header { const operations *op; };

inline header *header_of(nosv_task_t task) noexcept { return static_cast<header *>(nosv_get_task_metadata(task)); }

inline void run(nosv_task_t task) noexcept
{
    header *h = header_of(task);
    h->op->run(h);
}

inline void completed(nosv_task_t task) noexcept
{
    header *h = header_of(task);
    h->op->completed(h, task);
}

inline nosv_task_type_t make_type(const char *label)
{
    nosv_task_type_t type = nullptr;
    check(nosv_type_init(&type, run, nullptr, completed, label, nullptr, nullptr, NOSV_TYPE_INIT_LASTING));
    return type;
}

/* Never destroyed: it outlives the runtime, and is used again by the next one. */
inline std::atomic<nosv_task_type_t> default_type{nullptr};

inline nosv_task_type_t get_default_type()
{
    nosv_task_type_t type = default_type.load(std::memory_order_acquire);
    if (__builtin_expect(type != nullptr, 1)) return type;
    nosv_task_type_t fresh = make_type("c++");
    if (default_type.compare_exchange_strong(type, fresh, std::memory_order_acq_rel)) return fresh;
    nosv_type_destroy(fresh, NOSV_TYPE_DESTROY_NONE);
    return type;
}

} // namespace detail

/* A type of C++ tasks: the label that traces and tools show. Tasks without one are of the type
 * "c++". The object may be destroyed before its tasks.
 *
 * The constructor throws what nosv_type_init returns.
 * Context: any thread. */
class task_type {
public:
    explicit task_type(const char *label) : type_(detail::make_type(label)) {}
    ~task_type() { if (type_) nosv_type_destroy(type_, NOSV_TYPE_DESTROY_NONE); }
    task_type(task_type &&other) noexcept : type_(std::exchange(other.type_, nullptr)) {}
    task_type &operator=(task_type &&other) noexcept
    {
        std::swap(type_, other.type_);
        return *this;
    }
    nosv_task_type_t native() const noexcept { return type_; }

private:
    nosv_task_type_t type_;
};

/* How a task is made: an object that its own members change and return, so that
 *     nosv::spawn(nosv::options().priority(5).affinity(nosv::on_cpu(1)), f)
 * is possible. It does not own the type.
 *     type        the type; without it "c++"
 *     priority    higher comes first; 0 without it
 *     affinity    where it runs; without it the default of the process. A place that has no CPU of
 *                 the process is ignored
 *     immediate   the task is next on this CPU (NOSV_SUBMIT_IMMEDIATE)
 *
 * Context: any thread, initialised or not. Nothing is thrown. */
class options {
public:
    options &type(const task_type &t) noexcept { type_ = t.native(); return *this; }
    options &priority(int p) noexcept { priority_ = p; return *this; }
    options &affinity(nosv_affinity_t place) noexcept { place_ = place; placed_ = true; return *this; }
    options &immediate(bool yes = true) noexcept
    {
        flags_ = yes ? NOSV_SUBMIT_IMMEDIATE : NOSV_SUBMIT_NONE;
        return *this;
    }

    /* For the headers of this library: a task with these options, which is not submitted yet. */
    nosv_task_t make(std::size_t metadata_size) const
    {
        nosv_task_t task = nullptr;
        check(nosv_create(&task, type_ ? type_ : detail::get_default_type(), metadata_size, NOSV_CREATE_NONE));
        if (priority_) nosv_set_task_priority(task, priority_);
        if (placed_) {
            nosv_affinity_t place = place_;
            nosv_set_task_affinity(task, &place);
        }
        return task;
    }
    nosv_flags_t flags() const noexcept { return flags_; }

private:
    nosv_task_type_t type_ = nullptr;
    nosv_flags_t flags_ = NOSV_SUBMIT_NONE;
    nosv_affinity_t place_ = {};
    int priority_ = 0;
    bool placed_ = false;
};

/* ---- time ------------------------------------------------------------------------------------ */

namespace detail {

/* Nanoseconds, rounded up; 0 for a time that has passed, UINT64_MAX for more than there can be. */
template <class Rep, class Period>
std::uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &d)
{
    using wide = std::chrono::duration<long double, std::nano>;
    long double ns = std::chrono::duration_cast<wide>(d).count();
    if (!(ns > 0)) return 0;
    if (ns >= 9.2e18L) return UINT64_MAX;
    auto whole = static_cast<std::uint64_t>(ns);
    return whole + (static_cast<long double>(whole) < ns);
}

} // namespace detail

/* ---- the calling task ------------------------------------------------------------------------ */

/* What the calling task does with itself. Each function throws what the function of <nosv.h> that
 * it names returns, NOSV_ERR_OUTSIDE_TASK in a thread outside of tasks.
 *
 * Context: task. */
namespace this_task {

/* nosv_self: null outside of tasks. Context: any thread. */
inline nosv_task_t self() noexcept { return nosv_self(); }

/* nosv_yield, nosv_schedpoint: others run first; if the quantum is over. Scheduling points. */
inline void yield() { check(nosv_yield(NOSV_YIELD_NONE)); }
inline void schedpoint() { check(nosv_schedpoint(NOSV_SCHEDPOINT_NONE)); }

/* nosv_pause: wait until another thread calls nosv::resume. A call that came before counts.
 * Scheduling point. */
inline void pause() { check(nosv_pause(NOSV_PAUSE_NONE)); }

/* nosv_waitfor: sleep, in nanoseconds of CLOCK_MONOTONIC; 0 and less is a scheduling point that
 * lets ready tasks run. Ends early if another thread calls nosv::wake. Returns the time that it
 * took. Scheduling point. */
template <class Rep, class Period>
std::chrono::nanoseconds sleep_for(const std::chrono::duration<Rep, Period> &d)
{
    std::uint64_t took = 0;
    check(nosv_waitfor(detail::nanoseconds(d), &took));
    return std::chrono::nanoseconds(static_cast<std::int64_t>(took));
}

/* The same until a clock shows a time, or until nosv::wake. */
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration> &time) { sleep_for(time - Clock::now()); }

/* nosv_increase_event_counter: the task completes when as many events have happened, by
 * nosv::decrease_events; what waits for the task waits for them too. nosv_has_events. */
inline void increase_events(std::uint64_t n = 1) { check(nosv_increase_event_counter(n)); }
inline bool has_events() { return check(nosv_has_events()) != 0; }

/* nosv_set_submit_window_size, nosv_flush_submit_window: gather n submissions of this task. */
inline void submit_window(std::size_t n) { check(nosv_set_submit_window_size(n)); }
inline void flush() { check(nosv_flush_submit_window()); }

} // namespace this_task

/* Resume a task that pauses or will pause: nosv_submit. It must be one that pauses by itself.
 *
 * Context: any thread. */
inline void resume(nosv_task_t task) { check(nosv_submit(task, NOSV_SUBMIT_NONE)); }

/* End the this_task::sleep_for of a task early, or its next one: NOSV_SUBMIT_DEADLINE_WAKE.
 *
 * Context: any thread. */
inline void wake(nosv_task_t task) { check(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE)); }

/* Events of a task have happened: nosv_decrease_event_counter. If the task completes by that, the
 * calling thread destroys its callable.
 *
 * Context: any thread. */
inline void decrease_events(nosv_task_t task, std::uint64_t n = 1) { check(nosv_decrease_event_counter(task, n)); }

} // namespace nosv

/* enum nosv_err converts to std::error_code, and compares with one. */
template <> struct std::is_error_code_enum<nosv_err> : std::true_type {};
inline std::error_code make_error_code(nosv_err e) noexcept { return std::error_code(e, nosv::error_category()); }

#endif
