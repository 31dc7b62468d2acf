/* src/inspect/view.h - names for what lies in a segment.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_INSPECT_VIEW_H
#define USF_INSPECT_VIEW_H

#include "shm/shm.h"

const char *view_task_state(uint32_t state);
const char *view_core_state(unsigned state);
/* "futex 0x7f...", "read", "system call 999", or "". */
void view_wait(const struct usf_task *t, char *buf, size_t cap);
/* Names of all instances, sorted; the caller frees the array and each name.  Their number or
 * -errno. */
int  view_instances(char ***names);
void view_free(char **names, int n);
/* The user that made a shared instance; the caller's user if it is not shared, or does not
 * exist. */
uint32_t view_owner_of(const char *name);

/* ---- a copy of an instance ------------------------------------------------------------------- */
struct view {
    const struct usf_header *h;
    const struct usf_core *cores;
    const struct usf_proc *procs;
    const struct usf_group *groups;
    const struct usf_thread *threads;
    const struct usf_task *tasks;
    uint32_t nr_procs, nr_groups, nr_tasks;
    uint32_t namespace;         /* ours: of its processes /proc can be asked; USF_NONE: of none */
    uint64_t now;           /* ns: when the copy was made */
};
void view_bind(struct view *v, const struct shm *m);
bool view_task_lives(const struct usf_task *t);
/* The kernel thread that executes the task, or is kept for it; the id of the task's own thread
 * (gettid), which may be another's. */
const struct usf_thread *view_thread(const struct view *v, const struct usf_task *t);
int32_t view_tid(const struct view *v, const struct usf_task *t);
bool view_proc_lives(const struct usf_proc *p);
/* Is it of our pid namespace? */
bool view_knows(const struct view *v, const struct usf_proc *p);
/* What a runtime above tells of its tasks: those that the process's threads have executed, and how
 * long they waited for that in all. */
struct view_work { uint64_t executed, wait_ns; };
struct view_work view_work_of(const struct view *v, uint32_t proc);
uint32_t view_count_tasks(const struct view *v, uint32_t proc, bool ready_only);   /* proc USF_NONE: of all */
uint32_t view_count_procs(const struct view *v);
/* The groups of a process: its first, then the others.  Begin with null; null: that was the
 * last. */
const struct usf_group *view_next_group(const struct view *v, uint32_t proc, const struct usf_group *last);
bool view_is_in(const struct view *v, const struct usf_task *t, const struct usf_group *g);
uint32_t view_count_group(const struct view *v, const struct usf_group *g, bool ready_only);
/* The queues belong to the policy; what every policy has is the core that a ready task ran on
 * last. */
uint32_t view_ready_of_core(const struct view *v, uint32_t core);
unsigned view_state_of_core(const struct view *v, uint32_t core);     /* enum usf_core_state, PROVISIONAL among them */
const struct usf_task *view_task_of_core(const struct view *v, uint32_t core);     /* or null */
/* In a system call, whether or not its core was taken.  The state stays RUNNING until then: the
 * core's word tells. */
bool view_in_call(const struct view *v, const struct usf_task *t);
const char *view_state_of(const struct view *v, const struct usf_task *t);
int32_t view_pid_of(const struct view *v, const struct usf_task *t);       /* 0: unknown */
int32_t view_pid_here(const struct view *v, const struct usf_task *t);     /* 0: unknown, or of another pid namespace */
/* The pid of our monitor, if it lives; else 0. */
int32_t view_monitor(const struct view *v);
/* Why a thread does not leave its kernel thread: "priority inheritance", ...; null: it does.
 * view_stays: the reasons of such a set of bits, ", "-separated. */
const char *view_stays_of(const struct view *v, const struct usf_task *t);
const char *view_stays(uint64_t reasons, char *buf, size_t cap);
/* The thread's name as it is now, if /proc tells; the record has that which it had when it was
 * taken on. */
#define VIEW_TASK_NAME 32
const char *view_task_name(const struct view *v, const struct usf_task *t, char buf[static VIEW_TASK_NAME]);
/* The CPUs of these cores, as a list.  False: there are none. */
bool view_cpus_of(const struct view *v, const uint64_t cores[USF_CORE_WORDS], char *buf, size_t cap);
/* Those of a group's own CPUs that other groups borrow at this moment; false: none. */
bool view_borrowed_of(const struct view *v, const struct usf_group *g, char *buf, size_t cap);
/* The CPUs that the policy tells the group to reckon with, as a list.  False: it says nothing. */
bool view_share_of(const struct view *v, const struct usf_pol_group *g, char *buf, size_t cap);
/* A text field of a record, which may lack its end, safe to print. */
const char *view_bounded(const char *field, size_t size, char *buf, size_t cap);

#endif
