/* src/context/folders.c - see folders.h.  SPDX-License-Identifier: Apache-2.0
 *
 * A stream that libc has opened on such a folder is noted in a list.  While the list is empty,
 * readdir costs one load more. */
#include "context/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "context/shim.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"     /* readdir_r */

/* ---- which entries --------------------------------------------------------------------------------- */

/* What follows the name of a folder with such entries, at the beginning of the path; null: it does
 * not begin so. */
static const char *after_folder(const char *path)
{
    static const char *const folders[] = {"/sys/devices/system/cpu", "/sys/bus/cpu/devices", "/sys/devices/system/node/node"};
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) != 0) continue;
        path += n;
        size_t digits = i == 2 ? strspn(path, "0123456789") : 0;
        return (i == 2 && !digits) || (path[digits] && path[digits] != '/') ? 0 : path + digits;
    }
    return 0;
}

static bool is_listing(const char *path)
{
    const char *rest = is_special(path) ? after_folder(path) : 0;
    return rest && !rest[strspn(rest, "/")];
}

/* `name` is an entry of such a folder, or begins with one. */
static bool is_foreign(const struct usf_context *c, const char *name)
{
    if (strncmp(name, "cpu", 3) != 0) return false;
    size_t digits = strspn(name + 3, "0123456789");
    if (!digits || (name[3 + digits] && name[3 + digits] != '/')) return false;
    return c->nr_cpus && !os_cpu_isset(&c->cpus, (unsigned)strtoul(name + 3, 0, 10));
}

bool folders_hides(struct usf_context *c, const char *path)
{
    const char *rest = c->nr_cpus && is_special(path) ? after_folder(path) : 0;
    return rest && is_foreign(c, rest + strspn(rest, "/"));
}

/* ---- streams --------------------------------------------------------------------------------------- */

static struct stream { struct stream *next; DIR *dir; } *streams;     /* under the lock */
static _Atomic uint32_t nr_streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void folders_before_fork(void) { pthread_mutex_lock(&lock); }
void folders_after_fork(void) { pthread_mutex_unlock(&lock); }

static struct stream **find(DIR *dir)
{
    struct stream **at = &streams;
    while (*at && (*at)->dir != dir) at = &(*at)->next;
    return at;
}

static bool is_noted(DIR *dir)
{
    if (USF_LIKELY(!atomic_load_explicit(&nr_streams, memory_order_relaxed))) return false;
    pthread_mutex_lock(&lock);
    bool found = *find(dir);
    pthread_mutex_unlock(&lock);
    return found;
}

/* Before it is closed, and when it was opened: one that was closed elsewhere may have had the same
 * address. */
static void forget(DIR *dir)
{
    if (USF_LIKELY(!atomic_load_explicit(&nr_streams, memory_order_relaxed))) return;
    pthread_mutex_lock(&lock);
    struct stream **at = find(dir), *s = *at;
    if (s) {
        *at = s->next;
        atomic_fetch_sub(&nr_streams, 1);
    }
    pthread_mutex_unlock(&lock);
    free(s);
}

/* Without memory the listing is not the context's: opendir fails, as libc's does then. */
static DIR *note(DIR *dir, bool listing)
{
    if (!dir) return 0;
    forget(dir);
    if (!listing) return dir;
    struct stream *s = malloc(sizeof *s);
    if (!s) {
        closedir(dir);
        errno = ENOMEM;
        return 0;
    }
    pthread_mutex_lock(&lock);
    *s = (struct stream){streams, dir};
    streams = s;
    atomic_fetch_add(&nr_streams, 1);
    pthread_mutex_unlock(&lock);
    return dir;
}

DIR *folders_opendir(struct usf_context *c, const char *path) { return note(opendir(path), c->nr_cpus && is_listing(path)); }

DIR *folders_fdopendir(struct usf_context *c, int fd)
{
    char link[32], path[PATH_MAX];
    struct statfs fs;
    ssize_t n = -1;
    int before = errno;
    if (c->nr_cpus && fstatfs(fd, &fs) == 0 && fs.f_type == SYSFS_MAGIC) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof path - 1);
    }
    path[n > 0 ? n : 0] = 0;
    errno = before;
    return note(fdopendir(fd), is_listing(path));
}

struct dirent *folders_readdir(struct usf_context *c, DIR *dir)
{
    struct dirent *e = readdir(dir);
    if (USF_UNLIKELY(is_noted(dir)))
        while (e && is_foreign(c, e->d_name)) e = readdir(dir);
    return e;
}

int folders_readdir_r(struct usf_context *c, DIR *dir, struct dirent *entry, struct dirent **result)
{
    int r = readdir_r(dir, entry, result);
    if (USF_UNLIKELY(is_noted(dir)))
        while (!r && *result && is_foreign(c, entry->d_name)) r = readdir_r(dir, entry, result);
    return r;
}

int folders_closedir(struct usf_context *c, DIR *dir)
{
    (void)c;
    forget(dir);
    return closedir(dir);
}

/* ---- whole listings ---------------------------------------------------------------------------------- */

/* libc's list without what is hidden: its own filter knows no context. */
int folders_scandirat(struct usf_context *c, int at, const char *path, struct dirent ***list, folders_filter *filter, folders_order *order)
{
    int n = scandirat(at, path, list, filter, order), kept = 0;
    if (n <= 0 || !is_listing(path)) return n;
    for (int i = 0; i < n; i++)
        if (is_foreign(c, (*list)[i]->d_name)) free((*list)[i]);
        else (*list)[kept++] = (*list)[i];
    return kept;
}

int folders_glob(struct usf_context *c, const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
    size_t before = flags & GLOB_APPEND ? found->gl_pathc : 0;
    int r = glob(pattern, flags, failed, found);
    if (r || !is_special(pattern)) return r;
    char **at = found->gl_pathv + (flags & GLOB_DOOFFS ? found->gl_offs : 0);
    size_t n = found->gl_pathc, kept = before;
    if (n == before + 1 && strcmp(at[before], pattern) == 0) return 0;     /* no pattern, but a path */
    for (size_t i = before; i < n; i++)
        if (folders_hides(c, at[i])) free(at[i]);
        else at[kept++] = at[i];
    bool none = kept == before;
    if (none && flags & GLOB_NOCHECK && (at[kept] = strdup(pattern))) kept++;
    at[kept] = 0;
    found->gl_pathc = kept;
    return kept > before ? 0 : none && flags & GLOB_NOCHECK ? GLOB_NOSPACE : GLOB_NOMATCH;
}

/* Trees are walked by libc, with a function of ours that leaves out what is hidden and all below
 * it.  The walk is the thread's own; a function that walks another tree meanwhile has its own
 * walk. */
struct walk { struct usf_context *c; __nftw_func_t nftw; __ftw_func_t ftw; };
static __thread struct walk *walk __attribute__((tls_model("initial-exec")));

static int visit(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{ return folders_hides(walk->c, path) ? 0 : walk->nftw(path, st, kind, ftw); }
static int visit_simply(const char *path, const struct stat *st, int kind) { return folders_hides(walk->c, path) ? 0 : walk->ftw(path, st, kind); }

int folders_nftw(struct usf_context *c, const char *path, __nftw_func_t f, int fds, int flags)
{
    struct walk here = {.c = c, .nftw = f}, *outer = walk;
    if (!is_special(path)) return nftw(path, f, fds, flags);
    walk = &here;
    int r = nftw(path, visit, fds, flags);
    walk = outer;
    return r;
}

int folders_ftw(struct usf_context *c, const char *path, __ftw_func_t f, int fds)
{
    struct walk here = {.c = c, .ftw = f}, *outer = walk;
    if (!is_special(path)) return ftw(path, f, fds);
    walk = &here;
    int r = ftw(path, visit_simply, fds);
    walk = outer;
    return r;
}

FTSENT *folders_fts_read(struct usf_context *c, FTS *fts)
{
    FTSENT *e = fts_read(fts);
    for (; e && USF_UNLIKELY(is_special(e->fts_path)) && folders_hides(c, e->fts_path); e = fts_read(fts)) fts_set(fts, e, FTS_SKIP);
    return e;
}
