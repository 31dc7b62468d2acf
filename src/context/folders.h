/* src/context/folders.h - listings of folders that have an entry for each CPU.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entries "cpuN" of CPUs that the context has not are left out of listings of
 * /sys/devices/system/cpu, /sys/devices/system/node/nodeN and /sys/bus/cpu/devices.  Such a folder
 * itself can be opened by its name: libraries look at cpu0 as a sample of all CPUs. */
#ifndef USF_CONTEXT_FOLDERS_H
#define USF_CONTEXT_FOLDERS_H

#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>

struct usf_context;
typedef int folders_filter(const struct dirent *);
typedef int folders_order(const struct dirent **, const struct dirent **);

/* Is the path, or a folder that it lies in, left out of listings?  False for paths that are not
 * special. */
bool folders_hides(struct usf_context *c, const char *path);

/* As in libc. */
DIR *folders_opendir(struct usf_context *c, const char *path);
DIR *folders_fdopendir(struct usf_context *c, int fd);
struct dirent *folders_readdir(struct usf_context *c, DIR *dir);
int folders_readdir_r(struct usf_context *c, DIR *dir, struct dirent *entry, struct dirent **result);
int folders_closedir(struct usf_context *c, DIR *dir);
int folders_scandirat(struct usf_context *c, int at, const char *path, struct dirent ***list, folders_filter *filter, folders_order *order);
int folders_glob(struct usf_context *c, const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found);
int folders_nftw(struct usf_context *c, const char *path, __nftw_func_t f, int fds, int flags);
int folders_ftw(struct usf_context *c, const char *path, __ftw_func_t f, int fds);
FTSENT *folders_fts_read(struct usf_context *c, FTS *fts);

/* Around a fork. */
void folders_before_fork(void);
void folders_after_fork(void);

#endif
