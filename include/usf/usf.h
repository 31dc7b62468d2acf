/* usf/usf.h - what a program can tell usf about its threads.  SPDX-License-Identifier: Apache-2.0
 *
 * Programs need nothing of this: usf schedules them as they are.  A program that knows more than
 * its calls tell (which of its threads the others wait for, by when a piece of work has to be done,
 * where its data lie) can say so here, each thread for itself:
 *
 *     usf_task_set_priority(10);                             // before the process's other threads
 *     usf_task_set_deadline(now_ns + 5000000);               // of one priority, the earliest deadline first
 *     usf_task_set_affinity(USF_PLACE_NODE, 3, 0);           // where possible on the NUMA node that CPU 3 belongs to
 *     usf_task_set_affinity(USF_PLACE_CORE, 3, USF_STRICT);  // on CPU 3 alone
 *
 * There is no library to link with: the functions ask by prctl(2), which usf answers inside the
 * process.  Without usf the kernel refuses that call and they return ENOSYS; the program is none
 * the worse for it.
 *
 * What it comes to is the policy's affair (usf policy info NAME, docs/policies.md): `coop`, the
 * default, follows all of it.  Strict places hold under every policy but `linux`.  These are ranks
 * and places within usf, for threads that take turns on its cores: nothing the kernel knows of.
 *
 * Values hold until they are set again, or by the call that means the same: setpriority(2) (by how
 * much the nice value is below the program's first one is the priority) and sched_setaffinity(2) (a
 * mask of one core, one cache's or one node's cores is a preferred place).  A new thread begins
 * without any; the child of a fork has its parent's; exec ends them.  A thread that is left to the
 * kernel for now (real-time threads are) keeps them for later.
 *
 * All are thread-safe and async-signal-safe, preserve errno, and return 0 or an error number:
 *     ENOSYS   this thread is not scheduled by usf: not run under it, policy `linux`, given up by it
 *     EINVAL   out of range
 *     ENODEV   (places) the CPU is none of the instance's; strict: the process may use no core of that place
 * They take effect when the thread next waits for a core, strict places at once: the function then
 * returns on a core that is allowed.  Should the process lose all cores of a strict place later (a
 * smaller cpuset, a quota), the place is a preferred one from then on.
 *
 * The last part is for runtimes whose threads execute tasks of their own (libnosv.so is one): what
 * `usf ps`, `usf run --stats` and `usf trace` tell of these.
 *
 * (USF paper, sections 4.1 and 4.3.2; nOS-V's task attributes are the model.) */
#ifndef USF_USF_H
#define USF_USF_H

#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USF_PRIORITY_MAX 1000

/* A place is named by a Linux CPU number that belongs to it. */
enum usf_place {
    USF_PLACE_ANY,      /* wherever the process may run; the CPU means nothing */
    USF_PLACE_CORE,     /* that CPU */
    USF_PLACE_CACHE,    /* the CPUs that share its last-level cache */
    USF_PLACE_NODE,     /* ... its NUMA node */
};

#define USF_STRICT 1u   /* nowhere else; without: there if a core is free, else elsewhere */

/* The call: prctl(USF_PRCTL, one of these, a, b, c).  Its result is one of the error numbers above,
 * or 0; -1 with EINVAL is the kernel's own answer.  Numbers and meaning stay as they are, so other
 * languages may make it themselves. */
#define USF_PRCTL 0x75736601
enum usf_prctl {
    USF_PRCTL_ASK,              /* is this thread scheduled by usf? */
    USF_PRCTL_PRIORITY,         /* a: the priority */
    USF_PRCTL_DEADLINE,         /* a: ns */
    USF_PRCTL_AFFINITY,         /* a: enum usf_place, b: CPU, c: flags */
    USF_PRCTL_COUNT_WORK,       /* a: address of a struct usf_work_counts */
    USF_PRCTL_RECORDED,         /* is a recording (usf trace) on? */
    USF_PRCTL_BEGIN_WORK,       /* a: address of a text that ends with 0, or 0; b: the task, or 0 */
    USF_PRCTL_END_WORK,
    USF_PRCTL_QUEUED_WORK,      /* a: address of a struct usf_work */
    USF_PRCTL_READY_WORK,       /* a: the task */
    USF_PRCTL_PAUSE_WORK,
    USF_PRCTL_RESUME_WORK,      /* a: the task */
    USF_PRCTL_TEXT_REPLACED,    /* a: address */
    USF_PRCTL_GROUP_MAKE,       /* a: address of a struct usf_group_options */
    USF_PRCTL_GROUP_END,        /* a: the group */
    USF_PRCTL_GROUP_ENTER,      /* a: the group, or USF_GROUP_FIRST */
    USF_PRCTL_GROUP_ADJUST,     /* a: address of a struct usf_group_options */
};

static inline int usf_prctl_(unsigned long what, unsigned long a, unsigned long b, unsigned long c)
{
    int before = errno, r = prctl(USF_PRCTL, what, a, b, c);
    errno = before;
    return r < 0 ? ENOSYS : r;
}

/* 0: the calling thread is scheduled by usf, and the other functions mean something; ENOSYS: it is
 * not. */
static inline int usf_task_is_scheduled(void) { return usf_prctl_(USF_PRCTL_ASK, 0, 0, 0); }

/* -USF_PRIORITY_MAX to USF_PRIORITY_MAX; higher first, among the threads of the process; 0 is
 * normal. */
static inline int usf_task_set_priority(int priority) { return usf_prctl_(USF_PRCTL_PRIORITY, (unsigned long)priority, 0, 0); }

/* ns on CLOCK_MONOTONIC; 0: none, which is later than any.  It ranks, it is no promise; one that
 * has passed still ranks first. */
static inline int usf_task_set_deadline(uint64_t ns) { return usf_prctl_(USF_PRCTL_DEADLINE, ns, 0, 0); }

static inline int usf_task_set_affinity(enum usf_place place, unsigned cpu, unsigned flags)
{ return usf_prctl_(USF_PRCTL_AFFINITY, place, cpu, flags); }

/* ---- for runtimes that execute tasks ----------------------------------------------------------------- */

/* What happened to tasks since the last call. */
struct usf_work_counts {
    uint64_t executions;    /* of tasks, by the calling thread */
    uint64_t pauses;        /* of tasks: their thread executed something else meanwhile, or slept */
    uint64_t steals;        /* executions of tasks that were taken from another CPU's queue */
    uint64_t wait_ns;       /* times from ready to running, summed up; an estimate from some of the tasks will do */
};

/* Add to the calling thread's counters.  Call it now and then (every some hundred tasks, and when
 * there is nothing to do).  The only error is ENOSYS. */
static inline int usf_count_work(const struct usf_work_counts *n) { return usf_prctl_(USF_PRCTL_COUNT_WORK, (unsigned long)n, 0, 0); }

/* 0: a recording of the instance is on, so the following calls mean something; ENODATA: none is.  A
 * hint: ask it with the call above. */
static inline int usf_is_recorded(void) { return usf_prctl_(USF_PRCTL_RECORDED, 0, 0, 0); }

/* The calling thread begins to execute a task, whose kind has this label (its first 16 bytes are
 * recorded; null: none), and ends it.  Tasks may be nested.  `task` is any number that no other
 * task of the process has meanwhile, such as the address of its record; 0: not known. 0, or
 * ENODATA: no recording is on. */
static inline int usf_begin_work(const char *label, uint64_t task) { return usf_prctl_(USF_PRCTL_BEGIN_WORK, (unsigned long)label, task, 0); }
static inline int usf_end_work(void) { return usf_prctl_(USF_PRCTL_END_WORK, 0, 0, 0); }

/* What waits in the queues of the process's runtime. */
struct usf_work {
    uint64_t ready;         /* tasks that could run and do not */
    uint64_t deadline;      /* ns on CLOCK_MONOTONIC, the earliest of theirs; 0: none has one */
    int32_t  priority;      /* the highest of theirs; 0 if none is ready */
    uint32_t reserved;      /* 0 */
    uint64_t strict[16];    /* bit c: one of them may run on Linux CPU c alone */
};

/* Tell the instance's policy and `usf ps` what waits.  It stays so until the next call, so tell 0
 * as well.  To be called each some milliseconds, not for each task.  Only ENOSYS can be
 * returned. */
static inline int usf_tell_queued_work(const struct usf_work *w) { return usf_prctl_(USF_PRCTL_QUEUED_WORK, (unsigned long)w, 0, 0); }

/* The task can be executed from now on, or go on after a pause: the calling thread is about to
 * queue it.  From here to its begin, or to where it resumes, it waits for a thread. */
static inline int usf_ready_work(uint64_t task) { return usf_prctl_(USF_PRCTL_READY_WORK, task, 0, 0); }

/* The task that the calling thread executes waits for something else, and its CPU is for other
 * tasks; it goes on. */
static inline int usf_pause_work(void) { return usf_prctl_(USF_PRCTL_PAUSE_WORK, 0, 0, 0); }
static inline int usf_resume_work(uint64_t task) { return usf_prctl_(USF_PRCTL_RESUME_WORK, task, 0, 0); }

/* ---- groups of threads ---------------------------------------------------------------------------------- */

/* What policies account for is a group of threads. A process has one at first. */
struct usf_group_options {
    const char *name;       /* for `usf ps`; its first 15 bytes */
    uint32_t weight;        /* 1 to 10,000; 100 is normal */
    int32_t  priority;      /* as usf_task_set_priority, among groups */
    uint64_t cpus[16];      /* bit c: Linux CPU c; none of the process's: all of these */
    uint32_t group;         /* usf_group_make, out: its number; usf_group_adjust: which group */
    uint32_t kind;          /* enum usf_group_cpus */
};
/* What `cpus` are. */
enum usf_group_cpus {
    USF_CPUS_LIMIT = 0,     /* where its threads may run; threads of other groups run there, too */
    USF_CPUS_OWN,           /* its own.  Its threads run there if they can, and else on CPUs of the process that are idle.  Other groups of the
                               process use its idle CPUs, and give one back when a thread of the group needs it */
    USF_CPUS_EXCLUSIVE,     /* its own.  Its threads run there alone, and those of other groups of the process do not, unless they have no others */
};
#define USF_GROUP_FIRST UINT32_MAX

/* A further group of the process.  0; EINVAL: weight, priority or kind; EAGAIN: the instance has no
 * room for more groups; ENOSYS. */
static inline int usf_group_make(struct usf_group_options *o) { return usf_prctl_(USF_PRCTL_GROUP_MAKE, (unsigned long)o, 0, 0); }
/* Weight, priority, CPUs and kind of a further group are these from now on; the name stays.
 * Threads that run leave CPUs that are not the group's any more at their next scheduling point, or
 * when others need these; the calling thread at once.  0, EINVAL, ESRCH, ENOSYS. */
static inline int usf_group_adjust(const struct usf_group_options *o) { return usf_prctl_(USF_PRCTL_GROUP_ADJUST, (unsigned long)o, 0, 0); }
/* Its threads go back to the first group.  0; ESRCH: it is no further group of this process;
 * ENOSYS. */
static inline int usf_group_end(uint32_t group) { return usf_prctl_(USF_PRCTL_GROUP_END, group, 0, 0); }
/* The calling thread is in this group from now on; threads that it creates begin in the first one.
 * 0, ESRCH, ENOSYS. */
static inline int usf_group_enter(uint32_t group) { return usf_prctl_(USF_PRCTL_GROUP_ENTER, group, 0, 0); }

/* ---- for who loads code by other means than dlopen ---------------------------------------------------- */

/* The code of a loaded library, whose base address (link_map.l_addr) this is, was mapped anew: usf
 * looks at it again, for system calls and for loops that wait.  To be called while the dynamic
 * linker loads (in a constructor).  ENOENT: there is no such library. */
static inline int usf_text_replaced(void *base) { return usf_prctl_(USF_PRCTL_TEXT_REPLACED, (unsigned long)base, 0, 0); }

#ifdef __cplusplus
}
#endif
#endif
