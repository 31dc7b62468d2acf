/* src/sharing/sharing.h - instances that containers or users share.  SPDX-License-Identifier: Apache-2.0
 *
 * Most instances belong to one user and one pid namespace.  This room has what the others need:
 *
 *   users.c       which users may take part in an instance, and who may open its file
 *   namespaces.c  the table of pid namespaces, and the liveness locks
 *   ended.c       removes the records of a pid namespace that has ended as a whole
 *   helper.c      the per-user helper: signals threads that the monitor may not signal
 *
 * The first two belong to src/shm: they run inside programs, and know nothing above src/os.  The
 * last two belong to the monitor's process.  docs/design-sharing.md has the rules; SECURITY.md
 * what users must trust each other with.
 */
#ifndef USF_SHARING_H
#define USF_SHARING_H

#include "shm/shm.h"

/* ---- users (users.c) ----------------------------------------------------------------------------- */

#define SHARING_NO_OBJECTS "an instance that other users share takes built-in policies only"

/* May this process take part in the instance of this name?  0; -EPERM: it is no member of the
 * group, or has too many rights; -ENOTSUP: it cannot see which of the others are alive.  Always
 * 0 for an instance of the user's own. */
int sharing_may_join(const char *name, char *why, size_t cap);
/* Does this process (still) belong to those that the instance is for? */
bool sharing_is_member(const char *name);
/* -EPERM, and why it is no member. */
int sharing_refuse(const char *name, char *why, size_t cap);
/* The mode of the instance's file. */
unsigned sharing_mode_of(const char *name);

/* ---- pid namespaces (namespaces.c) --------------------------------------------------------------- */

/* The bytes of the segment's file are names of locks:
 *   1 + uid                        the user's helper
 *   SHARING_NAMESPACE_BYTE + i     the liveness lock of pid namespace i
 *   ... + USF_MAX_NAMESPACES       the table of pid namespaces
 *   SHARING_ASK_BYTE               requests to the monitor (sched/ask.c) */
#define SHARING_NAMESPACE_BYTE (1ll << 40)
#define SHARING_ASK_BYTE       (1ll << 41)
/* Lock such a byte for writing, for as long as the file (shm.fd) is open.  0; -EAGAIN: another
 * process has it; another -errno. */
int sharing_lock_byte(const struct shm *m, uint64_t at);

/* Is this the index of the pid and time namespaces ns (os_pidns; 0: unknown)? */
bool sharing_is_namespace(const struct usf_header *h, uint32_t namespace, uint64_t ns);
/* The index of these namespaces, or USF_NONE. */
uint32_t sharing_find_namespace(const struct usf_header *h, uint64_t ns);

/* Choose m->namespace, and take its liveness lock by the open file that m is mapped by.  0;
 * -EXDEV: not for this pid namespace; -ETIMEDOUT: not now (m->why says both); -ESTALE: the file
 * has just been replaced, look again; -EOWNERDEAD (if `replace`): no namespace of the instance
 * is ours, and no process of any of them is alive, nor joins before fd is closed and m unmapped. */
int sharing_enter(int fd, const struct shm_config *c, const char *path, bool replace, struct shm *m);
/* The same for an instance that this process makes. */
int sharing_enter_first(int fd, struct shm *m);
/* Take the liveness locks of all pid namespaces.  0: no process of any of them is alive, nor
 * joins before fd is closed; -EAGAIN, -EACCES: one is alive. */
int sharing_lock_namespaces(int fd);
/* Take the liveness lock of another pid namespace.  True: none of its processes is alive, nor
 * joins before the lock is released. */
bool sharing_seize_namespace(const struct shm *m, uint32_t namespace);
void sharing_release_namespace(const struct shm *m, uint32_t namespace);
/* No process of the namespace is alive: free the rows of statistics that its runs have had. */
void sharing_end_runs(struct usf_header *h, uint32_t namespace);

/* ---- in the monitor's process (ended.c, helper.c) ------------------------------------------------ */

struct monitor;

/* What a monitor knows of other pid namespaces.  Bit i: pid namespace i. */
struct sharing_watch {
    uint32_t elsewhere;         /* these have processes in the instance; not ours */
    _Atomic uint32_t gone;      /* these have ended, and we have their liveness locks */
    uint64_t gone_since;        /* ns: of the first of them */
    bool removes;               /* their records are being removed */
};

/* Under the monitor's lock: has this pid namespace, not ours, ended as a whole?  If so its
 * liveness lock is held until sharing_look_for_ended has removed its records, */
bool sharing_has_ended(struct monitor *m, uint32_t namespace);
/* ... or until the scheduler lock has not been had for HOLD_NS, since newcomers of the namespace
 * wait. */
void sharing_let_in(struct monitor *m);
void sharing_look_for_ended(struct monitor *m);

/* Does the monitor of this namespace run as another user, and so may not signal our threads? */
bool sharing_helper_is_wanted(const struct usf_namespace *sp, const char *name);
/* Be this user's helper until the user's programs have ended, or the monitor has. */
enum { HELPER_ENDS, HELPER_SUCCEEDS };
int sharing_helper_run(struct monitor *m);
/* The monitor wakes the helpers: processes have come or left; tasks wait. */
void sharing_tell_helpers_of_processes(struct monitor *m);
void sharing_tell_helpers_of_cores(struct monitor *m);

#endif
