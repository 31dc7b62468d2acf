/* src/shm/internal.h - between the files of this room.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SHM_INTERNAL_H
#define USF_SHM_INTERNAL_H

#include "base/base.h"
#include "sharing/sharing.h"
#include "shm/shm.h"

#define SHM_LOCK_WAIT_NS 2000000000u    /* longest wait for another process's retiring or replacing */
#define SHM_PREFIX_SIZE  (offsetof(struct usf_header, build_id) + sizeof(((struct usf_header *)0)->build_id))

static inline const char *shm_dir_or_default(const char *dir) { return dir && *dir ? dir : SHM_DIR; }

/* Where the tables of a segment lie: with so many records, or with those that a whole table has. */
struct shm_layout {
    uint64_t off_cores, off_runs, off_procs, off_groups, off_threads, off_tasks, total;
};
struct shm_sizes {              /* (as many threads as tasks) */
    uint32_t cores, runs, procs, groups, tasks;
};
#define SHM_FULL_SIZES (&(const struct shm_sizes){USF_MAX_CORES, USF_MAX_RUNS, USF_MAX_PROCS, USF_MAX_GROUPS, USF_MAX_TASKS})
void shm_layout_of(const struct shm_sizes *n, struct shm_layout *l);
/* In the header: this layout, which is that of tables of full size, and those sizes. */
void shm_note_layout(struct usf_header *h, const struct shm_layout *l);

/* Say what is wrong with a segment of which only the first SHM_PREFIX_SIZE bytes are known to be
 * there.  0, -EPROTO or -EBADMSG. */
int shm_check_prefix(const struct usf_header *h, const char *path, const char *our_build, char *why, size_t cap);
/* Owner or group, mode, kind and size of an open file.  0, -EPERM or -EBADMSG. */
int shm_check_file(int fd, const char *path, const char *name, struct os_stat *st, char *why, size_t cap);
/* The whole header, and whose it says it is.  0 or -EBADMSG. */
int shm_check_header(const struct usf_header *h, size_t file_size, const char *name, const char *path, char *why,
                     size_t cap);
/* The command that removes the damaged instance of this path. */
const char *shm_clean_command(const char *path, char *buf, size_t cap);
/* Map the file where wild writes do not reach (map.c).  Or (void *)-errno. */
void *shm_map(int fd, size_t size);
void shm_unmap(void *map, size_t size);
/* One line for a failed system call. */
int shm_explain(int error, const char *doing, const char *path, char *why, size_t cap);

/* Make the instance's file, mapped in m.  0, -EEXIST: another process was faster. */
int shm_create(const struct shm_config *c, const char *dir, const char *path, struct shm *m);
/* The CPUs of a new instance and their places (1024 entries).  0 or -errno with why. */
int shm_choose_cpus(const struct os_cpuset *wanted, struct os_cpuset *out, struct os_cpu_place *place,
                    char *why, size_t cap);
/* Keep n of the CPUs: near each other, then the lowest numbers. */
void shm_bound_cpus(struct os_cpuset *cpus, const struct os_cpu_place *place, unsigned n);

/* As shm_reserve_tasks, for process records; n in whole chunks.  -EAGAIN: n > max_procs. */
int shm_reserve_procs(struct usf_header *h, const char *dir, uint32_t n);

/* Is it this file that the path names? */
bool shm_path_names(const char *path, uint64_t dev, uint64_t ino);
/* Take away the path of an instance in which no process is.  -ESTALE: gone, look again; others as
 * the kernel's. */
int shm_discard(int fd, const char *path, struct usf_header *h);

/* A file found RETIRED: wait for the process that retires it, then replace or revive it.  0: it is
 * READY; -ESTALE: gone, look again; others as the kernel's.  reuse: revive it also if it cannot be
 * replaced. */
int shm_settle_retired(int fd, const char *path, bool reuse, struct shm *m);

#endif
