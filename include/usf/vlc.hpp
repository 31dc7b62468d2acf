/* usf/vlc.hpp - programs that were written for VLC++.  SPDX-License-Identifier: Apache-2.0
 *
 * The interface of "Virtual Library Contexts" (Yan et al., SoCC '25; Table 1 and Figure 7) on <usf/context.hpp>.  New programs use that.
 *
 *     VLC::Runtime monitor;
 *     monitor.initialize();
 *     std::async([&]() {
 *         VLC::Context a(1, gettid());            // this thread is in it, until `a` ends
 *         a.set_allowed_cpus("0-11");
 *         VLC::Loader loader(&a, "lib.so", true);
 *         computation();                          // a's copy, by a stub of `usf shim`
 *     });
 *
 * There is no monitor process.  CPUs that the process may not use are an error.  Contexts with one number are one context; it is destroyed with
 * the last of its objects, unless threads of its libraries live.  Errors are thrown as usf::ContextError. */
#ifndef USF_VLC_HPP
#define USF_VLC_HPP

#include "context.hpp"

#include <memory>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>
#include <unordered_map>

namespace VLC __attribute__((visibility("default"))) {

class Context;

namespace detail {

/* Contexts by their numbers, as long as an object has them, and the symbols that load_func knows by other names. */
struct registry {
    std::mutex lock;
    std::unordered_map<int, std::weak_ptr<usf::Context>> contexts;
    std::unordered_map<std::string, std::string> names;
};
inline registry &all()
{
    static registry *r = new registry;      /* never destroyed: threads may outlive main */
    return *r;
}

inline std::shared_ptr<usf::Context> context_of(int id, bool make)
{
    registry &r = all();
    std::lock_guard<std::mutex> guard(r.lock);
    std::shared_ptr<usf::Context> c = r.contexts[id].lock();
    if (c) return c;
    if (!make) throw usf::ContextError(ENOENT, "there is no VLC::Context with the number " + std::to_string(id));
    c = std::make_shared<usf::Context>(usf::ContextOptions().name("VLC " + std::to_string(id)));
    r.contexts[id] = c;
    return c;
}

inline std::string symbol_of(const std::string &name)
{
    registry &r = all();
    std::lock_guard<std::mutex> guard(r.lock);
    auto found = r.names.find(name);
    return found == r.names.end() ? name : found->second;
}

} // namespace detail

/* What load_func is to look for instead of these names: a function's name, and that of its symbol. */
inline void register_func_names(const std::unordered_map<std::string, std::string> &names)
{
    std::lock_guard<std::mutex> guard(detail::all().lock);
    for (const auto &n : names) detail::all().names[n.first] = n.second;
}

/* From a library that dlopen or dlmopen has loaded. */
template <class F> usf::detail::pointer_to<F> load_func(void *library, const std::string &name)
{ return usf::Library(library).function<F>(detail::symbol_of(name).c_str()); }

class Monitor {
public:
    /* Throws where contexts cannot be made. */
    void initialize() { usf::Context(); }
};
using Runtime = Monitor;

/* The calling thread is in context number `id` until the object is destroyed. */
class Context {
public:
    /* thread: gettid() of the calling thread: no thread can send another one into a context. */
    Context(int id, pid_t thread) : context_(detail::context_of(id, true)), id_(id), thread_(static_cast<pid_t>(syscall(SYS_gettid)))
    {
        if (thread && thread != thread_) throw usf::ContextError(EINVAL, "a thread makes its VLC::Context itself: give gettid()");
        usf::detail::check(usf_context_enter(context_->native()));
    }
    ~Context()
    {
        if (thread_ == static_cast<pid_t>(syscall(SYS_gettid))) usf_context_leave();
    }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    void set_allowed_cpus(const std::string &list) { context_->set_cpus(list); }
    void avaliable_cpu(const std::string &list) { set_allowed_cpus(list); }
    void setenv(const char *name, const char *value, int overwrite = 1) { context_->setenv(name, value, overwrite != 0); }
    void unsetenv(const char *name) { context_->unsetenv(name); }
    void setenv(const std::string &name, const std::string &value) { setenv(name.c_str(), value.c_str()); }
    void unsetenv(const std::string &name) { unsetenv(name.c_str()); }
    int id() const noexcept { return id_; }
    usf::Context &context() const noexcept { return *context_; }

private:
    std::shared_ptr<usf::Context> context_;
    int id_;
    pid_t thread_;
};

/* The constructor of Context has done it. */
inline void register_vlc(Context *context)
{
    if (!context) throw usf::ContextError(EINVAL, "register_vlc: no context");
}

/* A library in a context, with all that it needs.  transparent: the program calls it by its own names; a stub of `usf shim` must be loaded. */
class Loader {
public:
    Loader(Context *context, const std::string &library, bool transparent = false) : Loader(context->context(), library, transparent) {}
    Loader(const std::string &library, int id, bool transparent = false) : Loader(*detail::context_of(id, false), library, transparent) {}

    template <class F> usf::detail::pointer_to<F> load_func(const std::string &name) const
    { return library_.function<F>(detail::symbol_of(name).c_str()); }
    static void register_func_names(const std::unordered_map<std::string, std::string> &names) { VLC::register_func_names(names); }
    usf::Library library() const noexcept { return library_; }

private:
    Loader(const usf::Context &context, const std::string &library, bool transparent) : library_(context.open(library))
    {
        if (transparent && !usf_context_has_stub(context.native(), library_.native()))
            throw usf::ContextError(ENOENT, library + ": transparent mode needs its stub, and the program has loaded none: make it by 'usf shim', and link the "
                                                      "program with it, or put its folder into LD_LIBRARY_PATH");
    }

    usf::Library library_;
};

} // namespace VLC

#endif
