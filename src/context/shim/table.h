/* src/context/shim/table.h - what the shim calls.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SHIM_TABLE_H
#define USF_CONTEXT_SHIM_TABLE_H

#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <sys/types.h>

struct usf_context;

/* A file that the context has a text of its own for: a descriptor, or -1, and its path. */
struct file_path { int fd; char path[32]; };

/* Functions of libusf-context.  Each has the context of the calling library first; the rest,
 * results and errno are as in libc. */
struct shim_calls {
    char *(*getenv)(struct usf_context *, const char *);
    int (*setenv)(struct usf_context *, const char *, const char *, int);
    int (*unsetenv)(struct usf_context *, const char *);
    int (*putenv)(struct usf_context *, char *);
    int (*clearenv)(struct usf_context *);
    int (*sched_getaffinity)(struct usf_context *, pid_t, size_t, void *);
    int (*sched_setaffinity)(struct usf_context *, pid_t, size_t, const void *);
    int (*pthread_getaffinity_np)(struct usf_context *, pthread_t, size_t, void *);
    int (*pthread_setaffinity_np)(struct usf_context *, pthread_t, size_t, const void *);
    int (*pthread_attr_setaffinity_np)(struct usf_context *, pthread_attr_t *, size_t, const void *);
    long (*sysconf)(struct usf_context *, int);
    int (*nprocs)(struct usf_context *);
    int (*nprocs_conf)(struct usf_context *);
    long (*syscall)(struct usf_context *, long, long, long, long, long, long, long);
    int (*openat)(struct usf_context *, int, const char *, int, mode_t);
    FILE *(*fopen)(struct usf_context *, const char *, const char *);
    int (*pthread_create)(struct usf_context *, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*thrd_create)(struct usf_context *, void *, int (*)(void *), void *);
    void (*thread_failed)(int);
    void *(*dlopen)(struct usf_context *, const char *, int, const void *caller);
    int (*shm_open)(struct usf_context *, const char *, int, mode_t);
    int (*shm_unlink)(struct usf_context *, const char *);
    /* memory */
    int (*sysinfo)(struct usf_context *, struct sysinfo *);
    /* folders.h */
    DIR *(*opendir)(struct usf_context *, const char *);
    DIR *(*fdopendir)(struct usf_context *, int);
    struct dirent *(*readdir)(struct usf_context *, DIR *);
    int (*readdir_r)(struct usf_context *, DIR *, struct dirent *, struct dirent **);
    int (*closedir)(struct usf_context *, DIR *);
    int (*scandirat)(struct usf_context *, int, const char *, struct dirent ***, int (*)(const struct dirent *), int (*)(const struct dirent **, const struct dirent **));
    int (*glob)(struct usf_context *, const char *, int, int (*)(const char *, int), glob_t *);
    int (*nftw)(struct usf_context *, const char *, __nftw_func_t, int, int);
    int (*ftw)(struct usf_context *, const char *, __ftw_func_t, int);
    FTSENT *(*fts_read)(struct usf_context *, FTS *);
    bool (*hides)(struct usf_context *, const char *);
    /* exec.h */
    int (*execve)(struct usf_context *, const char *, char *const[], char *const[]);
    int (*execvpe)(struct usf_context *, const char *, char *const[], char *const[]);
    int (*fexecve)(struct usf_context *, int, char *const[], char *const[]);
    int (*spawn)(struct usf_context *, pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
    int (*spawnp)(struct usf_context *, pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
    int (*system)(struct usf_context *, const char *, char *const[]);
    FILE *(*popen)(struct usf_context *, const char *, const char *, char *const[]);
    int (*pclose)(struct usf_context *, FILE *);
    /* for the C++ runtime, which opens files itself: the path to open in place of another; a
     * function of libstdc++, which the caller has loaded */
    const char *(*file_path)(struct usf_context *, const char *, struct file_path *);
    void (*file_path_end)(const struct file_path *);
    void *(*runtime)(const char *symbol);
    /* libc's own */
    int (*libc_openat)(int, const char *, int, ...);
    FILE *(*libc_fopen)(const char *, const char *);
};

#endif
