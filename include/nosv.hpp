/* nosv.hpp - tasks in C++.  SPDX-License-Identifier: Apache-2.0
 *
 * The C++ face of <nosv.h>: headers alone, for C++17; with C++20 also coroutines.
 *
 *     #include <nosv.hpp>
 *
 *     int main()
 *     {
 *         nosv::runtime runtime;
 *         auto answer = nosv::spawn([] { return 6 * 7; });
 *         nosv::group group;
 *         for (int i = 0; i < 4; i++) group.run([i] { std::printf("task %d\n", i); });
 *         group.wait();
 *         return answer.get() == 42 ? 0 : 1;
 *     }
 *
 *     <nosv/base.hpp>        errors, the runtime, attached threads, task types, options, this_task
 *     <nosv/task.hpp>        post, spawn, handle, group, wait_any
 *     <nosv/coroutine.hpp>   C++20: task<T>, and what a coroutine may await
 *
 * All of it stands on <nosv.h>, and both may be used together: nosv::spawn makes a task of nosv.h,
 * a lambda may call every function that a task may call.
 *
 * Errors. A function that fails throws std::system_error. Its code is a value of enum nosv_err, in
 * the category nosv::error_category(); it also compares equal to the std::errc of that meaning. An
 * exception that leaves the callable of a task is kept for the thread that asks for the result.
 *
 * Contexts, as in <nosv.h>: "any thread" is any thread while the process is initialised; "task" is
 * a thread that executes a task or is attached. A function that waits does so in both: in a task it
 * gives the core to other tasks, elsewhere the thread sleeps in the kernel.
 *
 * Threads. Functions that are not members are thread-safe. Of an object one thread at a time may
 * call a member, unless its text says otherwise; for different objects there is no such limit.
 *
 * Life. Tasks and handles belong to the runtime: destroy handles and groups before the last
 * nosv::runtime (or nosv_shutdown) ends. After fork the child has none of them. */
#ifndef NOSV_HPP
#define NOSV_HPP

#include "nosv/base.hpp"
#include "nosv/task.hpp"
#include "nosv/coroutine.hpp"

#endif
