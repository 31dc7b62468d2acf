/* nosv.h - tasks on usf's scheduler.  SPDX-License-Identifier: Apache-2.0
 *
 * ==== nosv - tasks on usf's scheduler ====
 *
 * A task is a call of a function, with its metadata, that the scheduler executes on a core. Tasks,
 * threads that are attached, and unmodified programs below `usf run` share the cores of an
 * instance. The API is that of nOS-V 4.1 (nOS-V paper, section 3.2): a program that was written for
 * nOS-V compiles against these headers, and one that was linked with it runs with this library.
 *
 *     static void hello(nosv_task_t task) { printf("%s\n", *(char **)nosv_get_task_metadata(task)); }
 *     static void done(nosv_task_t task) { nosv_destroy(task, NOSV_DESTROY_NONE); }
 *
 *     nosv_task_type_t type;
 *     nosv_task_t task;
 *     nosv_init();
 *     nosv_type_init(&type, hello, NULL, done, "hello", NULL, NULL, NOSV_TYPE_INIT_NONE);
 *     nosv_create(&task, type, sizeof(char *), NOSV_CREATE_NONE);
 *     *(char **)nosv_get_task_metadata(task) = "hello";
 *     nosv_submit(task, NOSV_SUBMIT_NONE);
 *     nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE);
 *     nosv_shutdown();                                     // returns after the task has ended
 *
 * Link with -lnosv; the pkg-config module is nos-v.
 *
 * Life of a task. A new task is created. nosv_submit makes it ready. A worker, a thread of the
 * process that created the task, executes it: the run callback, then the end callback of its type.
 * The execution may pause: then the task keeps its thread, and is ready again after another
 * nosv_submit. The task completes when its callbacks have returned and its event counter is 0. Then
 * the completed callback is called, and after that the task can be submitted again or destroyed.
 *
 *     created --nosv_submit--> ready --> running --callbacks return, no events--> completed
 *                                ^          |                                         |
 *                                |     nosv_pause                                     |
 *                                +- nosv_submit - paused             nosv_submit, nosv_destroy
 *
 * Order. Of the ready tasks of a process, a core takes the immediate successor of the task that has
 * left it, then tasks whose nosv_waitfor deadline has passed, then those with affinity to its CPU,
 * to its NUMA node and to its complex set, each time strict ones before preferred ones, then those
 * without affinity. Within each of these groups the higher priority comes first, and of equal
 * priorities the task that became ready first (FIFO). Tasks without affinity are ordered
 * process-wide if their priority is not 0; those of priority 0 are in order per CPU. A core that
 * finds nothing takes tasks from others, but none whose strict affinity excludes it. One dispatch
 * in 61 first looks at the tasks that threads outside of tasks have submitted, so that they do not
 * starve. A core changes to another process after the process quantum at the latest, if that has
 * work (nOS-V paper, section 3.4).
 *
 * Contexts. A thread is in a task, or in "task context", while it executes a callback of a task, or
 * while it is attached (nosv_attach). Each function below names its context:
 *     any thread    threads in a task and others, while the process is initialised
 *     task          the calling thread must be in a task; other callers get NOSV_ERR_OUTSIDE_TASK
 * A completed callback that runs because a thread outside of tasks has decreased the event counter
 * is not in a task. Other completed callbacks may block by all functions but nosv_pause.
 *
 * A scheduling point is a call that may give the core to another task. A task that reaches none for
 * long is not interrupted for other tasks of its process.
 *
 * All functions are thread-safe. They are not async-signal-safe, unless their text says so. A flag
 * that a function does not define gives NOSV_ERR_INVALID_PARAMETER. A function that can fail for
 * several reasons returns NOSV_ERR_NOT_INITIALIZED first; the order of the other errors is not
 * specified. A handle that was destroyed must not be used.
 *
 * Callbacks are called with signals as the process has them and with the default floating-point
 * environment: results are IEEE. The configuration key `turbo.enabled` sets flush-to-zero and
 * denormals-are-zero on the threads that execute tasks; it is off by default. A callback that
 * changes the signal mask or the floating-point environment has to set it back. A callback must
 * return: pthread_exit, longjmp out of it and C++ exceptions that leave it are errors. After
 * pthread_exit the task never completes; its core executes other tasks.
 *
 * After fork the child is not initialised and has no tasks; handles of its parent mean nothing
 * there, but for lasting types. It may call nosv_init. execve needs no nosv_shutdown before it.
 *
 * Configuration. The first nosv_init reads one TOML file: the one that NOSV_CONFIG names, else
 * ./nosv.toml, if it exists. Then NOSV_PRESET=isolated|shared-mpi sets several values, and after
 * that NOSV_CONFIG_OVERRIDE="table.key=value,..." sets single keys. Without any of these the
 * defaults hold. A value that is wrong is told on stderr and passed over; for keys of nOS-V that
 * have no meaning here there is one message. */
#ifndef NOSV_H
#define NOSV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nosv/error.h"

/* Defined for programs that ask which API a compilation unit has seen. */
#define __NOSV__

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Flags are bits of a nosv_flags_t. */
#ifndef __ZEROBITS
#define __ZEROBITS UINT64_C(0)
#endif
#ifndef __BIT
#define __BIT(n) (UINT64_C(1) << (n))
#endif
typedef uint64_t nosv_flags_t;

/* Handles. Both are pointers to records whose insides are the library's. NULL is no task. */
typedef struct nosv_task *nosv_task_t;
typedef struct nosv_task_type *nosv_task_type_t;

/* A place where a task runs; see <nosv/affinity.h>. */
typedef struct nosv_affinity nosv_affinity_t;

/* Callbacks of a type; see nosv_type_init. */
typedef void (*nosv_task_run_callback_t)(nosv_task_t task);
typedef void (*nosv_task_end_callback_t)(nosv_task_t task);
typedef void (*nosv_task_completed_callback_t)(nosv_task_t task);
typedef uint64_t (*nosv_cost_function_t)(nosv_task_t task);

/* ==== nosv_init - begin and end the use of the runtime ==== */

/* Initialise the runtime for this process, and count one init for the process and for the calling
 * thread. The first init of a process makes or joins its instance and starts what is needed for it;
 * below `usf run` the process is in its instance already. Further inits only count. The calling
 * thread is not attached by it. A process that was shut down may be initialised again.
 *
 * An instance is the process's own, unless the configuration asks for another isolation level
 * (shared_memory.isolation_level: process, user, group, public). The configuration is read by the
 * first init. A process that cannot join the instance says why on stderr and runs on its own; one
 * reason is that it has other threads already.
 *
 * A process may exit without nosv_shutdown; this harms no other process.
 *
 * Returns 0, or
 *     NOSV_ERR_OUT_OF_MEMORY   memory or threads are exhausted
 *     NOSV_ERR_INVALID_PARAMETER   the configuration names CPUs or places that the process may not
 *                                  use
 *
 * Context: any thread, initialised or not. Not a scheduling point.
 * (nOS-V paper, section 3.3) */
int nosv_init(void);

/* Give one init of the calling thread back. The last one of the process ends the runtime: first
 * each ready task runs to its end, and so does what these tasks submit; a task in nosv_waitfor is
 * waited for as a ready one. Tasks that are paused, suspended without a time, or have pending
 * events stay as they are. They never resume, and their threads stay blocked until the process
 * ends. The call returns after that. Then all handles are invalid, destroyed or not, but for
 * those of lasting types.
 *
 * While threads are attached, the calling one included, the runtime cannot end. The last
 * nosv_shutdown then returns at once and leaves all as it is; the next nosv_init goes on with it.
 *
 * Returns 0, or
 *     NOSV_ERR_NOT_INITIALIZED     no init of the process is in force
 *     NOSV_ERR_UNKNOWN             the calling thread owns no init; those of other threads stay
 *     NOSV_ERR_INVALID_OPERATION   it is the last one, and a worker calls it in a task, or a thread
 *                                  in a completed callback; it would wait for its own end. The
 *                                  init stays in force
 *
 * Context: any thread. Blocks the calling thread. */
int nosv_shutdown(void);

/* The task that the calling thread executes: in a callback the argument of the callback, within an
 * inline task that task, on an attached thread the task of the attach; NULL outside of tasks.
 *
 * Context: any thread, initialised or not. Signal-safe. Not a scheduling point. */
nosv_task_t nosv_self(void);

/* ==== nosv_type_init - types of tasks ==== */

#define NOSV_TYPE_INIT_NONE __ZEROBITS
#define NOSV_TYPE_INIT_EXTERNAL __BIT(0) /* for work outside of the library: without callbacks */
#define NOSV_TYPE_INIT_LASTING __BIT(32) /* it outlives the last nosv_shutdown; not in nOS-V */
#define NOSV_TYPE_DESTROY_NONE __ZEROBITS

/* Make a type: what tasks of one kind have in common.
 *     type                 receives the type
 *     run_callback         the body of the task; it is called once for each execution
 *     end_callback         called after the body has returned, by the same worker and in the same
 *                          task context, unless the task suspends itself; or NULL
 *     completed_callback   called once when all executions of the task are over and its event
 *                          counter is 0; or NULL. The thread that decreases the counter to 0
 *                          calls it, for tasks without events the worker. It may submit the task
 *                          again, and may destroy it unless the task is joinable
 *     label                a name for traces and tools, copied; or NULL. Names may repeat
 *     metadata             a pointer for the caller's use, stored as it is; or NULL
 *     cost_function        an estimate of how long a task takes, in a unit of the caller's; or
 *                          NULL. It is stored; no policy of usf asks for it today
 *     flags                NOSV_TYPE_INIT_NONE, or NOSV_TYPE_INIT_EXTERNAL and NOSV_TYPE_INIT_LASTING
 *                          in any combination. A lasting type outlives the last nosv_shutdown, and
 *                          may be used after the next nosv_init and in the child of a fork. It
 *                          stays until it is destroyed
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   type is NULL
 *     NOSV_ERR_INVALID_CALLBACK    run_callback is NULL without NOSV_TYPE_INIT_EXTERNAL; with it,
 *                                  one of the three callbacks is not NULL
 *     NOSV_ERR_OUT_OF_MEMORY       memory is exhausted
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point.
 * (nOS-V paper, section 3.2) */
int nosv_type_init(nosv_task_type_t *type, nosv_task_run_callback_t run_callback,
    nosv_task_end_callback_t end_callback, nosv_task_completed_callback_t completed_callback,
    const char *label, void *metadata, nosv_cost_function_t cost_function, nosv_flags_t flags);

/* Destroy a type. No new task may be created with it afterwards. Its memory is given back together
 * with its last task, so tasks that still exist are not harmed.
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   type is NULL
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point. */
int nosv_type_destroy(nosv_task_type_t type, nosv_flags_t flags);

/* What nosv_type_init was given; NULL where it was NULL, and for a type that is NULL. The label is
 * the type's copy, which lives as long as the type.
 *
 * Context: any thread. Signal-safe. Not scheduling points. */
nosv_task_run_callback_t nosv_get_task_type_run_callback(nosv_task_type_t type);
nosv_task_end_callback_t nosv_get_task_type_end_callback(nosv_task_type_t type);
nosv_task_completed_callback_t nosv_get_task_type_completed_callback(nosv_task_type_t type);
const char *nosv_get_task_type_label(nosv_task_type_t type);
void *nosv_get_task_type_metadata(nosv_task_type_t type);

/* ==== nosv_create - create and destroy tasks; their attributes ==== */

#define NOSV_CREATE_NONE __ZEROBITS
#define NOSV_CREATE_PARALLEL __BIT(0) /* the body may be executed several times at once: degree */
#define NOSV_CREATE_JOINABLE __BIT(1) /* another task waits for its end: nosv_wait, nosv_join */
#define NOSV_DESTROY_NONE __ZEROBITS

/* Largest metadata of a task, in bytes. */
#define NOSV_MAX_METADATA_SIZE 4096

/* Create a task of a type. It is not ready before it is submitted. Its priority is 0, its degree 1,
 * its affinity the default one of the process.
 *     task            receives the task
 *     metadata_size   0 to NOSV_MAX_METADATA_SIZE: bytes that the task has for the caller's use,
 *                     aligned to 16 bytes. They are not initialised
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER       task or type is NULL
 *     NOSV_ERR_INVALID_METADATA_SIZE   metadata_size is above NOSV_MAX_METADATA_SIZE
 *     NOSV_ERR_INVALID_OPERATION       the type is NOSV_TYPE_INIT_EXTERNAL: it has no body
 *     NOSV_ERR_OUT_OF_MEMORY           memory is exhausted
 *     NOSV_ERR_NOT_INITIALIZED         no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point.
 * (nOS-V paper, section 3.2) */
int nosv_create(nosv_task_t *task, nosv_task_type_t type, size_t metadata_size, nosv_flags_t flags);

/* Destroy a task. The handle is invalid afterwards. The task's type stays. A task that was not
 * submitted, has completed, or is suspended with NOSV_SUSPEND_MODE_NONE goes at once. Another one
 * goes when it completes, after its completed callback, or when it is suspended with that mode;
 * until then its handle stays valid for what ends it: nosv_submit after a pause, and
 * nosv_decrease_event_counter. So a task may be destroyed as soon as its body has said that its
 * work is done, although its worker has not left the body yet.
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   task is NULL
 *     NOSV_ERR_INVALID_OPERATION   the task is that of an attached thread, which nosv_detach
 *                                  destroys; or it is joinable and destroys itself, or a task
 *                                  waits for it
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: any thread, also the completed callback of the task. Not a scheduling point. */
int nosv_destroy(nosv_task_t task, nosv_flags_t flags);

/* The metadata of a task: the bytes that nosv_create was asked for. NULL for 0 bytes, for the task
 * of an attached thread, and for NULL. The pointer holds until the task is destroyed.
 *
 * Context: any thread. Signal-safe. Not a scheduling point. */
void *nosv_get_task_metadata(nosv_task_t task);

/* The type of a task. The task of an attached thread has a type without callbacks, whose label is
 * that of the attach. NULL for NULL.
 *
 * Context: any thread. Signal-safe. Not a scheduling point. */
nosv_task_type_t nosv_get_task_type(nosv_task_t task);

/* The priority of a task. Higher comes first among the ready tasks of the process; any int is
 * allowed; 0 is normal. nosv_set_task_priority takes effect when the task next becomes ready: set
 * it before nosv_submit. Calls with NULL have no effect; the priority of NULL is 0.
 *
 * Context: any thread. Signal-safe. Not scheduling points.
 * (nOS-V paper, section 3.4) */
int nosv_get_task_priority(nosv_task_t task);
void nosv_set_task_priority(nosv_task_t task, int priority);

/* The degree of a parallel task: how many executions one submission has, 1 or more. Each calls the
 * run callback and the end callback, on different workers at once where cores are free. The
 * completed callback is called once, after the last of them. nosv_set_task_degree takes effect at
 * the next nosv_submit; a degree below 1 or above 2^27 - 1, a task without NOSV_CREATE_PARALLEL and
 * NULL are ignored. The degree of a task that is not parallel is 1, that of NULL 0.
 *
 * Context: any thread. Signal-safe. Not scheduling points. */
int32_t nosv_get_task_degree(nosv_task_t task);
void nosv_set_task_degree(nosv_task_t task, int32_t degree);

/* Which execution of a parallel task this is: 0 to degree - 1, each once. 0 in tasks that are not
 * parallel. (uint32_t)NOSV_ERR_OUTSIDE_TASK outside of tasks.
 *
 * Context: task. Signal-safe. Not a scheduling point. */
uint32_t nosv_get_execution_id(void);

/* ==== nosv_submit - make tasks ready ====
 *
 * A task has a blocking count, which is 1 at first. A submission decreases it and makes the task
 * ready if it is 0 then; nosv_pause increases it and blocks while it is above 0. So a submission
 * that comes before its pause is not lost, and n submissions let n pauses pass. */

#define NOSV_SUBMIT_NONE __ZEROBITS
#define NOSV_SUBMIT_UNLOCKED __BIT(0)      /* a hint, without effect on the result; for nOS-V */
#define NOSV_SUBMIT_BLOCKING __BIT(1)      /* the caller pauses until the task has completed */
#define NOSV_SUBMIT_IMMEDIATE __BIT(2)     /* next on this CPU, when the caller leaves it */
#define NOSV_SUBMIT_INLINE __BIT(3)        /* now, by this thread, on its stack */
#define NOSV_SUBMIT_DEADLINE_WAKE __BIT(4) /* end the task's nosv_waitfor early */

/* Submit a task: make it ready for its first execution or after a pause, or again after it has
 * completed. A submission from a task may be held back; see nosv_set_submit_window_size.
 * BLOCKING, IMMEDIATE, INLINE and DEADLINE_WAKE exclude each other; UNLOCKED may be added to any.
 *
 *     NOSV_SUBMIT_BLOCKING    Returns after the task has completed and its completed callback has
 *                             returned. Flushes the submit window. Several tasks may wait for one:
 *                             one that has begun it, and others that have resumed it.
 *     NOSV_SUBMIT_IMMEDIATE   Each worker has one place for a task that follows at once, before
 *                             all other ready tasks, when the caller ends, blocks, yields or
 *                             passes a scheduling point that yields, or detaches. A second task
 *                             makes the first one an ordinary ready task. A task whose strict
 *                             affinity excludes this CPU, a caller outside of tasks, or a
 *                             configuration with scheduler.immediate_successor=false makes it
 *                             an ordinary submission. A completed callback may submit its own
 *                             task with it.
 *     NOSV_SUBMIT_INLINE      Executes the task before it returns: run, end, and without events
 *                             completed callback. The caller's task goes on after it. If the task
 *                             blocks, the caller is blocked with it. The task is not queued: its
 *                             affinity and priority mean nothing until it waits. Then it goes on
 *                             where its own affinity allows, and the caller, after it, where the
 *                             caller's does.
 *     NOSV_SUBMIT_DEADLINE_WAKE   Makes the nosv_waitfor of the task return now. It does not change
 *                             the blocking count. If the task is not in nosv_waitfor, also before
 *                             its first execution, it is remembered, and the next nosv_waitfor
 *                             returns at once; several count as one. It does not end a
 *                             nosv_waitfor in the task's completed callback.
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   task is NULL
 *     NOSV_ERR_INVALID_OPERATION   two flags that exclude each other; BLOCKING or INLINE for the
 *                                  calling task itself, or by a parallel task, which cannot block;
 *                                  INLINE of a parallel task, or of a task that has begun already;
 *                                  a parallel task that was submitted and has not completed
 *     NOSV_ERR_OUTSIDE_TASK        BLOCKING or INLINE outside of tasks
 *     NOSV_ERR_OUT_OF_MEMORY       memory for the executions of a parallel task is exhausted; it is
 *                                  not submitted
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: any thread. Scheduling point: BLOCKING and INLINE only.
 * (nOS-V paper, section 3.2) */
int nosv_submit(nosv_task_t task, nosv_flags_t flags);

/* Set how many submissions of the calling task are gathered before they take effect, 1 or more; 1,
 * the default, holds nothing back. The window is the task's, not the thread's. It is flushed by the
 * submission that fills it, by nosv_flush_submit_window, by each call that may block or yield
 * except nosv_yield with NOSV_YIELD_NOFLUSH, when the task ends, and by nosv_detach. A larger
 * size takes effect at once. A smaller one does not flush by itself: the next submission does.
 * Submissions that are BLOCKING, IMMEDIATE, INLINE or DEADLINE_WAKE are not held back.
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   submit_window_size is 0
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int nosv_set_submit_window_size(size_t submit_window_size);

/* Let the submissions in the window of the calling task take effect now.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     NOSV_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int nosv_flush_submit_window(void);

/* ==== nosv_pause - pause, wait, yield, cancel ==== */

#define NOSV_PAUSE_NONE __ZEROBITS
#define NOSV_CANCEL_NONE __ZEROBITS
#define NOSV_YIELD_NONE __ZEROBITS
#define NOSV_YIELD_NOFLUSH __BIT(0) /* leave the submit window as it is */
#define NOSV_SCHEDPOINT_NONE __ZEROBITS

/* Pause the calling task until it is submitted. Returns at once if a submission came first. The
 * task keeps its thread, with its stack and its thread-local storage, and may resume on another
 * CPU unless its affinity is strict.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the task is parallel, or has completed: this is its completed
 *                                  callback, and a submission would begin another execution
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Scheduling point. Flushes the submit window.
 * (nOS-V paper, sections 3.2 and 3.3) */
int nosv_pause(nosv_flags_t flags);

/* Pause the calling task for target_ns nanoseconds, measured by CLOCK_MONOTONIC. It goes on as soon
 * after that as a core is free or a running task reaches a scheduling point, before all other ready
 * tasks, in the order of the deadlines; but now and then another ready task comes first, so that
 * tasks that wait for short times again and again do not starve it. It goes on earlier if it is
 * submitted with NOSV_SUBMIT_DEADLINE_WAKE. Other submissions do not end the wait. 0 makes it a
 * scheduling point that lets ready tasks run; UINT64_MAX waits until it is woken, and the last
 * nosv_shutdown does not wait for it. actual_ns, unless it is NULL, receives how long the task has
 * waited, in nanoseconds.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the task is parallel
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Scheduling point. Flushes the submit window. */
int nosv_waitfor(uint64_t target_ns, uint64_t *actual_ns);

/* Let others run first: the task resumes when the tasks of its process that were ready before the
 * call have been served, whatever their priority, or when nothing else can run. Returns at once if
 * nothing else is ready.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the task is parallel
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Scheduling point. Flushes the submit window without NOSV_YIELD_NOFLUSH. */
int nosv_yield(nosv_flags_t flags);

/* Yield as nosv_yield does if the calling thread has had its core for longer than the quantum
 * (scheduler.quantum_ns, 20 ms by default), or if a task whose nosv_waitfor deadline has passed may
 * run on this core. Otherwise it returns at once and costs a few nanoseconds. A worker's quantum
 * begins when it gets its core, and covers all tasks that it executes until it yields.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the task is parallel
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Scheduling point. Flushes the submit window.
 * (nOS-V paper, section 3.4) */
int nosv_schedpoint(nosv_flags_t flags);

/* Drop the executions of the calling parallel task that have not begun. Those that run go on to
 * their end, and then the task completes as usual.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the task is not parallel, or this submission of it was
 *                                  cancelled before
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int nosv_cancel(nosv_flags_t flags);

/* ==== nosv_increase_event_counter - delay completion until events have happened ====
 *
 * A task whose body has returned completes only when its event counter is 0. The body increases the
 * counter for each operation that it starts and does not wait for; who sees the operation end
 * decreases it. The counter is 0 when an execution is submitted. */

/* Increase the event counter of the calling task, in the run or the end callback. In a parallel
 * task the counter is that of all its executions.
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   increment is 0, or the counter would exceed 2^32 - 1
 *     NOSV_ERR_INVALID_OPERATION   the task has completed: this is its completed callback
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int nosv_increase_event_counter(uint64_t increment);

/* Decrease the event counter of a task. If the callbacks of the task have returned and the counter
 * becomes 0, the task completes: the calling thread calls the completed callback before this
 * function returns. If the task is suspended with NOSV_SUSPEND_MODE_EVENT_SUBMIT, it becomes ready.
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   task is NULL; decrement is 0 or above the counter, which then
 *                                  stays as it is
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point. */
int nosv_decrease_event_counter(nosv_task_t task, uint64_t decrement);

/* Has the calling task pending events? Returns 1 or 0, or an error, which is negative. Another
 * thread may decrease the counter at any time, so that only 0 is certain to last.
 *     NOSV_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     NOSV_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int nosv_has_events(void);

/* Was the event counter of this task increased since its last first submission? Returns 1 or 0, or
 * an error, which is negative. Before a completed callback has ended and before the task is
 * submitted again, the answer is about the executions that have completed.
 *     NOSV_ERR_INVALID_PARAMETER   task is NULL
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point. */
int nosv_task_had_events(nosv_task_t task);

/* ==== nosv_suspend - end an execution, and begin the body anew later ====
 *
 * A task that suspends itself gives its thread back, unlike one that pauses: the run callback
 * returns, and is called again from its start when the task is resumed. The body keeps its state in
 * the metadata. */

/* What makes a suspended task ready again. The second argument of nosv_set_suspend_mode follows
 * in parentheses. */
typedef enum nosv_suspend_mode {
    NOSV_SUSPEND_MODE_NONE = 0,           /* nosv_submit alone (0) */
    NOSV_SUSPEND_MODE_SUBMIT = 1,         /* at once (0: as a submission; 1: as after nosv_yield) */
    NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT = 2, /* time (nanoseconds from the end of the body; UINT64_MAX:
                                             as NOSV_SUSPEND_MODE_NONE) */
    NOSV_SUSPEND_MODE_EVENT_SUBMIT = 3    /* an event counter of 0; at once if it is (0) */
} nosv_suspend_mode_t;

/* Set what resumes the calling task when it suspends itself. Holds for the task until it is set
 * again. The mode of a new task is NOSV_SUSPEND_MODE_NONE.
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   mode is no value of the enum; args is neither 0 nor 1 with
 *                                  NOSV_SUSPEND_MODE_SUBMIT
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the task is parallel, inline, or that of an attached thread, or it
 *                                  has completed
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int nosv_set_suspend_mode(nosv_suspend_mode_t mode, uint64_t args);

/* Suspend the calling task: when its run callback returns, which must follow, the task does not
 * end. Its end and completed callbacks are not called. It is resumed as its suspend mode says; then
 * the run callback is called anew, by any worker. A submission that comes while the body still runs
 * is remembered: the task is resumed at once. A suspended task whose mode is NOSV_SUSPEND_MODE_NONE
 * may be destroyed.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the task is parallel, inline, or that of an attached thread, or its
 *                                  run callback has returned
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: run callback. Not a scheduling point: the return of the run callback is. */
int nosv_suspend(void);

/* ==== nosv_wait - wait for the end of tasks ====
 *
 * A task that was created with NOSV_CREATE_JOINABLE can be waited for. It has ended when it has
 * completed and its completed callback has returned. A task that is not submitted yet has not
 * ended; one that was submitted again has not ended until that execution has. At most one task
 * waits for a task at a time.
 *
 * Timeouts are nanoseconds from the call, by CLOCK_MONOTONIC. 0 asks without waiting, (uint64_t)-1
 * waits for ever. The waiting task blocks as in nosv_pause, and other tasks have its core. */

/* Wait until a task has ended. It stays: it may be submitted again, and must be destroyed.
 *
 * Returns 0, or
 *     NOSV_ERR_TIMEOUT             the task had not ended in time; it may be waited for again
 *     NOSV_ERR_INVALID_PARAMETER   task is NULL, is not joinable, is the calling task, or another
 *                                  task waits for it
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the calling task is parallel
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: task. Scheduling point unless timeout_ns is 0. Flushes the submit window. */
int nosv_wait(nosv_task_t task, uint64_t timeout_ns);

/* Wait until all of the tasks have ended. An error leaves no task marked as waited for. count may
 * be 0. Returns as nosv_wait does; NOSV_ERR_INVALID_PARAMETER also if tasks is NULL and count is
 * not 0, or if a task is twice in the array. */
int nosv_wait_all(nosv_task_t *tasks, size_t count, uint64_t timeout_ns);

/* Wait until a task has ended, store its result in *result unless result is NULL, and destroy the
 * task. After an error the task still exists. Returns as nosv_wait does. */
int nosv_join(nosv_task_t task, void **result, uint64_t timeout_ns);

/* Join all of the tasks: wait until all have ended, then store the result of tasks[i] in
 * results[i], unless results is NULL, and destroy them. After an error none is destroyed, and the
 * call may be repeated with the same array. Returns as nosv_wait_all does. */
int nosv_join_all(nosv_task_t *tasks, void **results, size_t count, uint64_t timeout_ns);

/* Set the result of the calling task, which nosv_join gives to the task that waits. The body may go
 * on after it. The last call before the end counts; without one the result is NULL. In tasks
 * that are not joinable it has no effect.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     NOSV_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int nosv_set_result(void *result);

/* ==== nosv_attach - make a thread a task ==== */

#define NOSV_ATTACH_NONE __ZEROBITS
#define NOSV_ATTACH_INSTRUMENT __BIT(0) /* no effect: `usf trace` records all threads */
#define NOSV_ATTACH_UNBOUND __BIT(32)   /* leave the thread's CPU mask as it is; not in nOS-V */
#define NOSV_DETACH_NONE __ZEROBITS
#define NOSV_DETACH_NO_RESTORE_AFFINITY __BIT(0) /* leave the thread's CPU mask as it is */
#define NOSV_DETACH_INSTRUMENT __BIT(1) /* no effect */

/* Turn the calling thread into a task. From now on it is scheduled with the other tasks, and may do
 * all that a task may. The call returns when the thread has a core. The thread needs no nosv_init
 * of its own as long as the process is initialised. A thread that is attached already stays in its
 * task: the call is counted, task receives the same handle, affinity and label have no effect, and
 * nosv_detach is due once more. A thread that ends while it is attached is detached by that.
 * With NOSV_ATTACH_UNBOUND the thread has a slot of a CPU as any task has, and executes on the CPUs
 * of its own mask: attaching and detaching cost no system call for the mask.
 *     task       receives the task, which nosv_detach destroys
 *     affinity   where it runs; NULL for the default affinity
 *     label      the name of its type in traces and tools, copied; or NULL
 *
 * Returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   task is NULL; affinity names a place without a CPU of the
 *                                  process
 *     NOSV_ERR_INVALID_OPERATION   the calling thread executes a task: it is a worker, or in an
 *                                  inline task
 *     NOSV_ERR_OUT_OF_MEMORY       memory is exhausted
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: a thread outside of tasks, or attached. Scheduling point. What the thread sees of its
 * CPU mask (sched_getaffinity) does not change; what it sets takes effect when it has detached. */
int nosv_attach(nosv_task_t *task, nosv_affinity_t *affinity, const char *label, nosv_flags_t flags);

/* End the attach of the calling thread, or the inner one of several. The last one flushes the
 * submit window, gives the core back, and sets the CPU mask of the thread to what it was before
 * nosv_attach, or was set to since, unless NOSV_DETACH_NO_RESTORE_AFFINITY is given. The task is
 * destroyed, with pending events when they have happened.
 *
 * Returns 0, or
 *     NOSV_ERR_OUTSIDE_TASK        the calling thread is in no task
 *     NOSV_ERR_INVALID_OPERATION   the calling thread executes a task: it is a worker, or in an
 *                                  inline task
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *
 * Context: an attached thread. Scheduling point. */
int nosv_detach(nosv_flags_t flags);

/* ==== end ==== */

/* Flags of nOS-V 3 for <nosv/compat.h>, which its sources pass where the attributes are now. */
#define NOSV_MUTEX_NONE 0
#define NOSV_COND_NONE 0
#define NOSV_BARRIER_NONE 0

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
