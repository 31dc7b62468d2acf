/* src/shm/shm.h - the segment of an instance: create, open, check, retire.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SHM_H
#define USF_SHM_H

#include "shm/layout.h"
#include "os/os.h"

/* How an instance is to be made.  Fields that are 0 / empty take the defaults of the option table. */
struct shm_config {
    const char *name;            /* instance name */
    const char *dir;             /* null: /dev/shm */
    struct os_cpuset cpus;       /* CPUs wanted; empty: the caller's affinity */
    const char *policy, *policy_path;
    uint64_t quantum_ns, poll_max_ns, progress_ns, lend_ns;
    uint32_t lock_kind;
    const char *build_id;
};
struct shm {
    struct usf_header *h;
    size_t size;
    bool created;
    char why[256];               /* after an error: one line for people, says what to do */
};

/* Open the instance, or create it if there is none (create = true).  The file is created under a
 * temporary name and linked, so that nobody ever sees a half-made one.  A retired instance is replaced.
 * No fd stays open.  0, or -errno with m->why:
 *   -ENOENT none (create false); -EPROTO another version or layout; -EPERM another owner or mode;
 *   -EBADMSG damaged; -ENOSPC /dev/shm full; others as the kernel's. */
int  shm_open_instance(const struct shm_config *c, bool create, struct shm *m);
void shm_close(struct shm *m);
/* Is this a sound header of the right size?  Reads only; never trusts an offset before checking it. */
bool shm_header_is_valid(const struct usf_header *h, size_t file_size, char *why, size_t cap);
/* Make the pages of tasks [0, n) real.  0 or -ENOSPC, -ENOMEM. */
int  shm_reserve_tasks(struct usf_header *h, const char *dir, uint32_t n);
/* Unlink and mark retired, if nobody takes part.  True: done. */
bool shm_retire_if_empty(struct shm *m, const char *dir);
/* Path of the instance's file. */
int  shm_path(const char *dir, const char *name, uint32_t uid, char *buf, size_t cap);
bool shm_name_is_valid(const char *name);
/* All instances of the caller: calls fn with each name; returns their number or -errno. */
int  shm_list(const char *dir, void (*fn)(const char *name, void *arg), void *arg);
#endif
