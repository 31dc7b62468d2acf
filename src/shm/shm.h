/* src/shm/shm.h - the segment of an instance: create, open, check, retire.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Life of a segment:
 *
 *   nothing --create--> READY
 *   READY --shm_retire_if_empty--> RETIRED, and unlinked unless another user has made it
 *   READY, of containers that have all ended --shm_discard--> RETIRED and unlinked, or READY again
 *   READY, its records damaged --shm_condemn, shm_discard--> RETIRED and unlinked; members leave it
 *
 * It is made whole under no name, or a temporary one, and then linked: no process ever sees a
 * half-made one.
 * The rules:
 *   - joining needs no lock: claim a process record, then look at the state (shm_join_begin);
 *   - retiring: RETIRED first, then look at the process records; if one is taken: READY again.
 *     With both orders sequentially consistent at least one side sees the other, so that no process
 *     is ever left in an instance that newcomers do not find;
 *   - discarding: only with the liveness locks of all pid namespaces (sharing/namespaces.c).  No
 *     member is alive then, and no other process looks at the records;
 *   - unlinking the path needs a flock on the file that it names, and only retiring, discarding and
 *     replacing a retired file take it.  The kernel drops it with its holder, and the process that
 *     finds RETIRED with members alive (the retirer died between the two steps) makes it READY
 *     again.
 */
#ifndef USF_SHM_H
#define USF_SHM_H

#include "shm/layout.h"
#include "os/os.h"

#ifndef SHM_DIR              /* tests that are built for it keep their instances elsewhere */
#define SHM_DIR             "/dev/shm"
#endif
#define SHM_DEFAULT_NAME    "default"
#define SHM_DEFAULT_POLICY  "coop"
#define SHM_DEFAULT_QUANTUM_NS  20000000u
#define SHM_DEFAULT_POLL_NS       200000u
#define SHM_DEFAULT_PROGRESS_NS 5000000u
#define SHM_DEFAULT_LEND_NS        50000u
#define SHM_DEFAULT_SLICE_NS    10000000u
#define SHM_DEFAULT_LINGER_NS 1000000000u
#define SHM_NO_POLL         UINT64_MAX
#define SHM_PATH_MAX        256u

/* How an instance is to be made.  Fields that are 0 / empty / null take the defaults above. */
struct shm_config {
    const char *name;            /* instance name */
    const char *dir;             /* null: /dev/shm */
    struct os_cpuset cpus;       /* CPUs wanted; empty: the caller's affinity */
    const char *policy, *policy_path;
    uint64_t quantum_ns, poll_max_ns /* SHM_NO_POLL: idle cores sleep at once */, progress_ns, lend_ns;
    uint64_t slice_ns;
    bool blind;                  /* policies are not to look at nodes and caches */
    const char *build_id;
    const char *tool;            /* its path, or null: no process can start a monitor */
    uint64_t linger_ns;          /* 0: the default, unless there is a tool */
    bool settle;                 /* take part also in an instance of other pid namespaces, */
    uint32_t only_in;            /* ... if this is ours (os_pidns_inode), where `usf run` was called; 0: in any */
    bool keep;                   /* the file stays open (shm.fd) */
};
struct shm {
    struct usf_header *h;
    size_t size;
    bool created;
    bool snapshot;               /* a private copy (shm_snapshot) */
    char name[USF_NAME_MAX];     /* as it was opened: what the segment says may be changed by others */
    uint64_t dev, ino;           /* the file */
    uint64_t pidns;              /* of the process that has opened it (os_pidns) */
    uint32_t namespace;          /* ours: index in usf_header.namespace */
    int fd;                      /* of the file, if it was to be kept open; else 0 */
    char why[400];               /* after an error: one line for people, says what to do */
};

/* Open the instance, or create it if there is none (create = true).  A retired instance is
 * replaced.  No fd stays open unless asked for.  0, or -errno with m->why:
 *   -ENOENT none (create false); -EPROTO another version or layout; -EPERM another owner or mode;
 *   -EBADMSG damaged; -EXDEV not for this pid namespace; -ENOSPC /dev/shm full; -EINVAL a bad name
 *   or no CPU left; others as the kernel's.
 * Between opening and joining the instance may be retired: on -ESTALE of shm_join_begin open
 * again. */
int  shm_open_instance(const struct shm_config *c, bool create, struct shm *m);
/* A private, consistent-enough copy for tools that only look (`usf ps`, `usf doctor`): nothing that
 * others do to the file can crash the reader, and nothing is written.  Also of a retired instance
 * and of one in another pid namespace.  Results as above; shm_close frees it. */
int  shm_snapshot(const char *dir, const char *name, struct shm *m);
/* For `usf dump`: a private copy of whatever lies in [base, base+size) of an open file (or of a
 * process's memory), mended so that the tables can be walked.  raw: the header as it was.  m->why:
 * what is wrong with it, "" if nothing.  0; -EPROTO: of another version, only raw is filled in;
 * -ENOMEM. */
int  shm_salvage(int fd, uint64_t base, uint64_t size, struct usf_header *raw, struct shm *m);
void shm_close(struct shm *m);

/* For messages about instances of other versions: the build-id of the library that belongs to this
 * tool.  Null in the library, which knows its own. */
extern const char *(*shm_library_build)(void);

/* Is this a sound header of the right size?  Reads only; never trusts an offset before checking
 * it. */
bool shm_header_is_valid(const struct usf_header *h, size_t file_size, char *why, size_t cap);
/* ... and sound tables behind it: states and indices in range (the header is known to be valid). */
bool shm_tables_are_valid(const struct usf_header *h, char *why, size_t cap);

/* Make the pages of tasks and threads [0, n) real and raise task_hwm to n, rounded up to whole
 * chunks.  0, -ENOSPC (/dev/shm full, or n > max_tasks), -ENOMEM, -ESTALE (old kernel, file
 * unlinked). */
int  shm_reserve_tasks(struct usf_header *h, const char *dir, uint32_t n);
/* The same of groups.  -EAGAIN: n > max_groups. */
int  shm_reserve_groups(struct usf_header *h, const char *dir, uint32_t n);

/* Claim a process record (it becomes JOINING).  The index; -EAGAIN: table full; -ENOSPC: /dev/shm
 * full; -ESTALE: the instance has been retired, open it again.  Only from within that pid namespace
 * (sharing_is_namespace): a child may be in another one (shm.pidns is its parent's then).  A
 * process that dies after this leaves a record that names it; the monitor that reaps it calls
 * shm_leave. */
int  shm_join_begin(struct usf_header *h, const char *dir, uint32_t namespace, int32_t pid, uint64_t start_time);
/* Free a process record.  The caller has taken the process's tasks off. */
void shm_leave(struct usf_header *h, uint32_t proc);
/* A program that has just begun in this process, before it joins: records of its process are those
 * of a program that ended by exec and had threads then, or did not say that it left.  They count as
 * dead from now on.  True: there are some. */
bool shm_replace(struct usf_header *h, uint32_t namespace, int32_t pid, uint64_t start_time);
/* Does the process that the record names exist?  (Only of those of the caller's pid namespace.) */
bool shm_proc_is_alive(const struct usf_proc *p);
/* Number of records of processes that exist, or that are in other pid namespaces than this one:
 * their monitors look after those. */
uint32_t shm_nr_members(const struct usf_header *h, uint32_t namespace);

/* Unlink and mark retired, if no process takes part.  True: done (or it was already). */
bool shm_retire_if_empty(struct shm *m, const char *dir);
/* Records that contradict each other cannot be scheduled by: all members leave, and the next
 * process that comes makes another instance. */
static inline void shm_condemn(struct usf_header *h) { atomic_store(&h->stalled, USF_DAMAGED); }
static inline bool shm_is_condemned(const struct usf_header *h)
{ return atomic_load_explicit(&h->stalled, memory_order_relaxed) == USF_DAMAGED; }
/* Unlink it, so that they need not. */
void shm_discard_condemned(struct shm *m, const char *dir);
/* Remove an instance's file that cannot be opened (damaged, another version), unless a process has
 * it mapped: then -EBUSY.  why says what was done or who uses it. */
int  shm_remove_unusable(const char *dir, const char *name, char *why, size_t cap);

/* usf_run.owner of a process in this pid namespace, which is the caller's. */
uint64_t shm_run_owner(uint32_t namespace, int32_t pid);
static inline uint32_t shm_run_namespace(uint64_t owner) { return (uint16_t)(owner >> 32); }
/* Is the row read by a `usf run` that is alive in this pid namespace, which is the caller's? */
bool shm_run_is_read(const struct usf_run *r, uint32_t namespace);

/* With whom an instance is shared is part of its name: NAME is the user's own, gGID:NAME that of a
 * group's members, public:NAME that of all users.  So it goes wherever the name goes: to children,
 * the monitor, other commands. */
enum shm_level { SHM_USER, SHM_GROUP, SHM_PUBLIC };
struct shm_scope {
    enum shm_level level;
    uint32_t gid;                /* of SHM_GROUP */
    const char *plain;           /* the name without what comes before it */
};
bool shm_scope_of(const char *name, struct shm_scope *out);     /* false: no valid name */
bool shm_is_shared(const char *name);                           /* with other users */

/* Path of the instance's file (uid: whose, if it is a user's): its length, -ENAMETOOLONG, or
 * -EINVAL: no valid name. */
int  shm_path(const char *dir, const char *name, uint32_t uid, char *buf, size_t cap);
/* The name of the instance in a file of this name (no path), and the user if it is a user's.
 * False: no such file. */
bool shm_name_of_file(const char *file, uint32_t *uid, char name[static USF_NAME_MAX]);
bool shm_name_is_valid(const char *name);
/* All instances of the caller, its groups, and the public ones: calls fn with each name; returns
 * their number or -errno. */
int  shm_list(const char *dir, void (*fn)(const char *name, void *arg), void *arg);

/* The tables of a mapped segment. */
static inline struct usf_core *shm_cores(const struct usf_header *h)
{ return (struct usf_core *)((char *)h + h->off_cores); }
static inline struct usf_proc *shm_procs(const struct usf_header *h)
{ return (struct usf_proc *)((char *)h + h->off_procs); }
static inline struct usf_group *shm_groups(const struct usf_header *h)
{ return (struct usf_group *)((char *)h + h->off_groups); }
static inline struct usf_thread *shm_threads(const struct usf_header *h)
{ return (struct usf_thread *)((char *)h + h->off_threads); }
static inline struct usf_task *shm_tasks(const struct usf_header *h)
{ return (struct usf_task *)((char *)h + h->off_tasks); }
static inline struct usf_run *shm_runs(const struct usf_header *h)
{ return (struct usf_run *)((char *)h + h->off_runs); }
#endif
