/* src/context/shim.c - the answers that the shim gives.  SPDX-License-Identifier: Apache-2.0 */
#include "context/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "context/env.h"
#include "context/exec.h"
#include "context/folders.h"
#include "context/memory.h"
#include "context/python.h"
#include "context/share.h"
#include "context/shim/table.h"

#define RESULT(r) ({ long r_ = (r); if (r_ < 0) errno = (int)-r_; r_ < 0 ? -1 : r_; })

/* ---- the environment ------------------------------------------------------------------------------- */

static char *shim_getenv(struct usf_context *c, const char *name) { return (char *)(uintptr_t)env_get(c, name); }
static int shim_setenv(struct usf_context *c, const char *name, const char *value, int overwrite)
{ return (int)RESULT(name && value ? -env_set(c, name, value, overwrite) : -EINVAL); }
static int shim_unsetenv(struct usf_context *c, const char *name) { return (int)RESULT(name ? -env_set(c, name, 0, true) : -EINVAL); }
static int shim_clearenv(struct usf_context *c) { return (int)RESULT(-env_clear(c)); }

/* In libc the text itself becomes a part of the environment, and its owner may change it later.
 * Here a copy does. */
static int shim_putenv(struct usf_context *c, char *text)
{
    char *value = strchr(text, '='), *name = strndup(text, value ? (size_t)(value - text) : strlen(text));
    int r = name ? env_set(c, name, value ? value + 1 : 0, true) : ENOMEM;
    free(name);
    return (int)RESULT(-r);
}

/* ---- CPUs ------------------------------------------------------------------------------------------- */

static int shim_sched_getaffinity(struct usf_context *c, pid_t pid, size_t size, void *mask)
{
    int n = affinity_get(c, pid, size, mask);
    if (n < 0) return (int)RESULT(n);
    memset((char *)mask + n, 0, size - (size_t)n);
    return 0;
}

static int shim_sched_setaffinity(struct usf_context *c, pid_t pid, size_t size, const void *mask) { return (int)RESULT(affinity_set(c, pid, size, mask)); }

/* The kernel id of another thread is not to be had: libc is asked for that thread's mask, and the
 * answer is cut. */
static int shim_pthread_getaffinity(struct usf_context *c, pthread_t thread, size_t size, void *mask)
{
    if (pthread_equal(thread, pthread_self())) return shim_sched_getaffinity(c, 0, size, mask) ? errno : 0;
    int r = pthread_getaffinity_np(thread, size, mask);
    for (unsigned cpu = 0; !r && c->nr_cpus && cpu < 8 * size; cpu++)
        if (CPU_ISSET_S(cpu, size, (cpu_set_t *)mask) && !os_cpu_isset(&c->cpus, cpu)) CPU_CLR_S(cpu, size, (cpu_set_t *)mask);
    return r;
}

static int shim_pthread_setaffinity(struct usf_context *c, pthread_t thread, size_t size, const void *mask)
{
    struct os_cpuset cpus;
    if (pthread_equal(thread, pthread_self())) return -affinity_set(c, 0, size, mask);
    return affinity_clip(c, size, mask, &cpus) ? pthread_setaffinity_np(thread, sizeof cpus, (cpu_set_t *)(void *)&cpus) : EINVAL;
}

static int shim_attr_setaffinity(struct usf_context *c, pthread_attr_t *attr, size_t size, const void *mask)
{
    struct os_cpuset cpus;
    if (!size || !mask) return pthread_attr_setaffinity_np(attr, size, mask);
    return affinity_clip(c, size, mask, &cpus) ? pthread_attr_setaffinity_np(attr, sizeof cpus, (cpu_set_t *)(void *)&cpus) : EINVAL;
}

static int shim_nprocs(struct usf_context *c) { return c->nr_cpus ? (int)c->nr_cpus : get_nprocs(); }

/* One more than the highest number: arrays have an element for each CPU number. */
static int shim_nprocs_conf(struct usf_context *c)
{
    unsigned n = 8 * sizeof c->cpus;
    if (!c->nr_cpus) return get_nprocs_conf();
    while (!os_cpu_isset(&c->cpus, n - 1)) n--;
    return (int)n;
}

static long shim_sysconf(struct usf_context *c, int name)
{
    if (name == _SC_NPROCESSORS_ONLN) return shim_nprocs(c);
    if (name == _SC_PHYS_PAGES || name == _SC_AVPHYS_PAGES) return memory_pages(c->memory, name);
    return name == _SC_NPROCESSORS_CONF ? shim_nprocs_conf(c) : sysconf(name);
}

static long shim_syscall(struct usf_context *c, long nr, long a, long b, long d, long e, long f, long g)
{
    switch (nr) {
    case SYS_sched_getaffinity: return RESULT(affinity_get(c, (int32_t)a, (size_t)b, (void *)d));
    case SYS_sched_setaffinity: return RESULT(affinity_set(c, (int32_t)a, (size_t)b, (const void *)d));
    default: return syscall(nr, a, b, d, e, f, g);
    }
}

/* ---- files ------------------------------------------------------------------------------------------ */

static int shim_openat(struct usf_context *c, int at, const char *path, int flags, mode_t mode)
{
    int fd = USF_UNLIKELY(is_special(path)) ? files_open(c, path, flags) : -1;
    return fd >= 0 ? fd : openat(at, path, flags, mode);
}

static const char *shim_file_path(struct usf_context *c, const char *path, struct file_path *own)
{
    own->fd = is_special(path) ? files_open(c, path, O_CLOEXEC) : -1;
    if (own->fd < 0) return path;
    snprintf(own->path, sizeof own->path, "/proc/self/fd/%d", own->fd);
    return own->path;
}
static void shim_file_path_end(const struct file_path *own) { close(own->fd); }

static FILE *shim_fopen(struct usf_context *c, const char *path, const char *mode)
{
    int fd = USF_UNLIKELY(is_special(path)) && mode && *mode == 'r' && !strchr(mode, '+') ? files_open(c, path, strchr(mode, 'e') ? O_CLOEXEC : 0) : -1;
    if (fd < 0) return fopen(path, mode);
    FILE *f = fdopen(fd, "r");
    if (!f) close(fd);
    return f;
}

/* libomp leaves its name in the process's shared memory, and refuses to work if another copy's is
 * there.  That of another context is none of its business. */
static const char *own_name(struct usf_context *c, const char *name, char *buf, size_t size)
{
    if (!name || !strstr(name, "__KMP_REGISTERED_LIB_")) return name;
    snprintf(buf, size, "%s.context-%u", name, c->id);
    return buf;
}

static int shim_shm_open(struct usf_context *c, const char *name, int flags, mode_t mode)
{
    char own[NAME_MAX + 1];
    return shm_open(own_name(c, name, own, sizeof own), flags, mode);
}

static int shim_shm_unlink(struct usf_context *c, const char *name)
{
    char own[NAME_MAX + 1];
    return shm_unlink(own_name(c, name, own, sizeof own));
}

static int shim_sysinfo(struct usf_context *c, struct sysinfo *info) { return memory_sysinfo(c->memory, info); }

/* ---- threads and libraries -------------------------------------------------------------------------- */

struct c11 { int (*routine)(void *); void *arg; };

static void *run_c11(void *p)
{
    struct c11 s = *(struct c11 *)p;
    free(p);
    return (void *)(intptr_t)s.routine(s.arg);
}

static int shim_thrd_create(struct usf_context *c, void *thread, int (*routine)(void *), void *arg)
{
    struct c11 *s = malloc(sizeof *s);
    if (!s) return thrd_nomem;
    *s = (struct c11){routine, arg};
    int r = threads_create(c, thread, 0, run_c11, s);
    if (r) free(s);
    return r == 0 ? thrd_success : r == ENOMEM ? thrd_nomem : thrd_error;
}

/* A library with std::thread has loaded libstdc++. */
static void shim_thread_failed(int error)
{
    void (*fail)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "_ZSt20__throw_system_errori");
    if (fail) fail(error);
    abort();
}

/* Shared libraries' symbols are global in the process (plan.c).  A library that calls this one
 * cannot do without it. */
static void *shim_runtime(const char *symbol)
{
    void *f = dlsym(RTLD_DEFAULT, symbol);
    if (f) return f;
    usf_say("a library of a context calls %s, which no library of the process defines", symbol);
    abort();
}

/* libc would look where this library looks: so the name is looked for as its caller's, where the
 * process has not loaded it. */
static void *open_shared(const struct library *asker, const char *name, int flags)
{
    char path[PATH_MAX];
    void *handle = dlopen(name, flags | RTLD_NOLOAD);
    int fd = handle || flags & RTLD_NOLOAD ? -1 : plan_open_for(asker, name, path);
    if (fd >= 0) close(fd);
    return handle || flags & RTLD_NOLOAD ? handle : dlopen(fd < 0 ? name : path, flags);
}

/* The handle is the copy's own: dlsym, dlclose and dlinfo know it. */
static void *shim_dlopen(struct usf_context *c, const char *path, int flags, const void *caller)
{
    if (!path) return dlopen(path, flags);
    pthread_mutex_lock(&contexts.lock);
    struct library *asker = find_address(c, caller);
    pthread_mutex_unlock(&contexts.lock);
    if (share_is(path)) return open_shared(asker, path, flags);
    void *handle = flags & RTLD_NOLOAD ? usf_context_find(c, path) : open_library(c, asker, path, flags & RTLD_GLOBAL);
    struct link_map *m = handle;
    if (!handle && flags & RTLD_NOLOAD) return 0;
    if (!handle) {      /* the caller asks dlerror, and libc has it from a failure of its own */
        char nowhere[PATH_MAX];
        const char *base = strrchr(path, '/');
        snprintf(nowhere, sizeof nowhere, "/proc/self/fd/-1/%s", base ? base + 1 : path);
        return dlopen(nowhere, RTLD_LAZY);
    }
    return dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD);      /* counted: the caller will close it */
}

static const struct shim_calls calls = {
    shim_getenv, shim_setenv, shim_unsetenv, shim_putenv, shim_clearenv,
    shim_sched_getaffinity, shim_sched_setaffinity, shim_pthread_getaffinity, shim_pthread_setaffinity, shim_attr_setaffinity,
    shim_sysconf, shim_nprocs, shim_nprocs_conf, shim_syscall, shim_openat, shim_fopen,
    threads_create, shim_thrd_create, shim_thread_failed, shim_dlopen, shim_shm_open, shim_shm_unlink,
    shim_sysinfo,
    folders_opendir, folders_fdopendir, folders_readdir, folders_readdir_r, folders_closedir, folders_scandirat, folders_glob, folders_nftw, folders_ftw,
    folders_fts_read, folders_hides,
    exec_execve, exec_execvpe, exec_fexecve, exec_spawn, exec_spawnp, exec_system, exec_popen, exec_pclose,
    shim_file_path, shim_file_path_end, shim_runtime,
    openat, fopen,
};

/* ---- the copy --------------------------------------------------------------------------------------- */

/* Beside this library, or in the folder usf there. */
const char *shim_path(void)
{
    static char path[PATH_MAX];
    static const char *const places[] = {"", "usf/"};
    Dl_info info;
    if (*path || !dladdr((const void *)shim_path, &info) || !info.dli_fname) return path;
    const char *slash = strrchr(info.dli_fname, '/');
    int len = slash ? (int)(slash + 1 - info.dli_fname) : 0;
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%.*s%s" SHIM_NAME, len, info.dli_fname, places[i]);
        if (access(path, R_OK) == 0) break;
    }
    return path;
}

int shim_bind(struct usf_context *c, struct library *shim)
{
    struct usf_context **context = dlsym(shim->handle, "usf_shim_context");
    const struct shim_calls **table = dlsym(shim->handle, "usf_shim_calls");
    char ***env = dlsym(shim->handle, "environ");
    const struct shim_python_calls **python = dlsym(shim->handle, "usf_shim_python");
    if (!context || !table || !env || !python) return context_fail(ELIBBAD, "%s is not the one of this release: install usf again", shim->path);
    *context = c;
    *table = &calls;
    *python = &python_calls;
    *env = atomic_load(&c->environment);
    atomic_store(&c->shim_environment, env);
    return 0;
}
