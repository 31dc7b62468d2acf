/* usf/context.hpp - library contexts in C++.  SPDX-License-Identifier: Apache-2.0
 *
 * The C++ face of <usf/context.h>: a header alone, for C++17.  Link with -lusf-context (pkg-config usf-context).
 *
 *     #include <usf/context.hpp>
 *
 *     usf::Context a(usf::ContextOptions().cpus("0-3").set("OMP_NUM_THREADS", "4"));
 *     usf::Library solver = a.open("libsolver.so.1");
 *     auto solve = solver.function<int(double)>("solve");    // a's copy
 *     {
 *         auto inside = a.enter();                           // stubs of `usf shim` call a's copies
 *         solve(1.5);
 *     }
 *
 * Errors: functions that fail throw usf::ContextError, with the text of usf_context_error and an errno value as code().
 * Threads: functions are thread-safe, as those of <usf/context.h> are.  An object is not moved or destroyed while another thread uses it. */
#ifndef USF_CONTEXT_HPP
#define USF_CONTEXT_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "usf/context.hpp needs C++17"
#endif

#include "context.h"

#include <cerrno>
#include <cstdint>
#include <dlfcn.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/* Visible in libraries that hide their names, so that an exception of one part of a program is caught in another. */
namespace usf __attribute__((visibility("default"))) {

class ContextError : public std::runtime_error {
public:
    ContextError(int code, const std::string &text) : std::runtime_error(text), code_(code) {}
    int code() const noexcept { return code_; }

private:
    int code_;
};

namespace detail {

[[noreturn]] inline void fail(int code) { throw ContextError(code, usf_context_error()); }
inline void check(int result)
{
    if (__builtin_expect(result != 0, 0)) fail(result);
}
template <class T> T *found(T *pointer)
{
    if (__builtin_expect(!pointer, 0)) fail(errno);
    return pointer;
}

/* F or F*: a function's type, or that of a pointer to it. */
template <class F> using pointer_to = std::conditional_t<std::is_pointer_v<F>, F, F *>;
template <class F> pointer_to<F> as_function(void *address)
{
    static_assert(std::is_function_v<std::remove_pointer_t<F>>, "the type of a function, such as int(double)");
    return reinterpret_cast<pointer_to<F>>(address);
}

} // namespace detail

/* How a context is made.  Members change the object and return it. */
class ContextOptions {
public:
    ContextOptions &name(std::string text) { name_ = std::move(text); return *this; }
    ContextOptions &cpus(std::string list) { cpus_ = std::move(list); return *this; }
    ContextOptions &set(std::string_view variable, std::string_view value)
    {
        env_.push_back(std::string(variable) + "=" + std::string(value));
        return *this;
    }
    ContextOptions &unset(std::string_view variable) { env_.emplace_back(variable); return *this; }
    ContextOptions &strict(bool yes = true) noexcept
    {
        flags_ = yes ? USF_CONTEXT_STRICT : 0;
        return *this;
    }
    /* Bytes that libraries see as the machine's memory, 1 MiB or more; they may take more. */
    ContextOptions &memory(std::uint64_t bytes) noexcept { memory_ = bytes; return *this; }

    /* Under `usf run`: 1 to 10,000, 100 is normal; -1,000 to 1,000. */
    ContextOptions &weight(unsigned share) noexcept { weight_ = share; return *this; }
    ContextOptions &priority(int rank) noexcept { priority_ = rank; return *this; }

    usf_context_t *make() const
    {
        std::vector<const char *> env;
        for (const std::string &e : env_) env.push_back(e.c_str());
        env.push_back(nullptr);
        usf_context_options o = {};
        o.name = name_ ? name_->c_str() : nullptr;
        o.cpus = cpus_ ? cpus_->c_str() : nullptr;
        o.env = env_.empty() ? nullptr : env.data();
        o.flags = flags_;
        o.weight = weight_;
        o.priority = priority_;
        o.memory = memory_;
        return detail::found(usf_context_create(&o));
    }

private:
    std::optional<std::string> name_, cpus_;
    std::vector<std::string> env_;
    unsigned flags_ = 0, weight_ = 0;
    int priority_ = 0;
    std::uint64_t memory_ = 0;
};

/* A context's copy of a library.  Valid until the context is destroyed, like everything that it returns. */
class Library {
public:
    explicit Library(void *handle) noexcept : handle_(handle) {}

    /* Throws if the library, and those that it needs, do not define it. */
    template <class F> detail::pointer_to<F> function(const char *name) const { return detail::as_function<F>(symbol(name)); }
    template <class T> T &variable(const char *name) const { return *static_cast<T *>(symbol(name)); }
    /* Null: it is not defined. */
    void *find(const char *name) const noexcept { return dlsym(handle_, name); }
    void *native() const noexcept { return handle_; }

private:
    void *symbol(const char *name) const
    {
        void *address = find(name);
        if (address) return address;
        const char *why = dlerror();
        throw ContextError(ENOENT, why ? why : std::string(name) + " has the address 0");
    }

    void *handle_;
};

/* The thread that has made it is in a context, until it is destroyed.  Objects of one thread are destroyed in reverse order. */
class [[nodiscard]] Inside {
public:
    explicit Inside(usf_context_t *context) : left_(false) { detail::check(usf_context_enter(context)); }
    ~Inside() { leave(); }
    Inside(Inside &&other) noexcept : left_(std::exchange(other.left_, true)) {}
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;
    Inside &operator=(Inside &&) = delete;
    void leave() noexcept
    {
        if (!std::exchange(left_, true)) usf_context_leave();
    }

private:
    bool left_;
};

/* A context, and the right to destroy it. */
class Context {
public:
    Context() : Context(ContextOptions()) {}
    explicit Context(const ContextOptions &options) : context_(options.make()) {}
    /* A context of the C interface. */
    explicit Context(usf_context_t *context) noexcept : context_(context) {}
    /* Where threads of its libraries live, the context lives on. */
    ~Context() { if (context_) usf_context_destroy(context_); }
    Context(Context &&other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
    Context &operator=(Context &&other) noexcept
    {
        std::swap(context_, other.context_);
        return *this;
    }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    /* The calling thread is in the context as long as the result lives. */
    Inside enter() const { return Inside(context_); }
    /* What the callable returns that is called in the context. */
    template <class F> decltype(auto) call(F &&f) const
    {
        Inside inside(context_);
        return std::forward<F>(f)();
    }
    Library open(const char *library) const { return Library(detail::found(usf_context_open(context_, library))); }
    Library open(const std::string &library) const { return open(library.c_str()); }
    /* Of the first of its libraries that defines it. */
    template <class F> detail::pointer_to<F> function(const char *name) const
    { return detail::as_function<F>(detail::found(usf_context_symbol(context_, name))); }

    std::string cpus() const
    {
        int n = usf_context_get_cpus(context_, nullptr, 0);
        if (n < 0) detail::fail(-n);
        std::string list(static_cast<std::size_t>(n) + 1, 0);
        usf_context_get_cpus(context_, list.data(), list.size());
        list.pop_back();
        return list;
    }
    void set_cpus(const std::string &list) { detail::check(usf_context_set_cpus(context_, list.c_str())); }
    std::optional<std::string> getenv(const char *variable) const
    {
        const char *value = usf_context_getenv(context_, variable);
        return value ? std::optional<std::string>(value) : std::nullopt;
    }
    void setenv(const char *variable, const char *value, bool overwrite = true)
    { detail::check(usf_context_setenv(context_, variable, value, overwrite)); }
    void unsetenv(const char *variable) { detail::check(usf_context_unsetenv(context_, variable)); }

    unsigned id() const noexcept { return usf_context_id(context_); }
    std::string name() const { return usf_context_name(context_); }
    usf_context_t *native() const noexcept { return context_; }
    explicit operator bool() const noexcept { return context_; }
    /* The object has none any more.  Throws, and still has it, where threads of its libraries live, or a thread is in it. */
    void destroy()
    {
        detail::check(usf_context_destroy(context_));
        context_ = nullptr;
    }
    usf_context_t *release() noexcept { return std::exchange(context_, nullptr); }

private:
    usf_context_t *context_;
};

} // namespace usf

#endif
