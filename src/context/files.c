/* src/context/files.c - files of /proc and /sys, as a context has them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "context/shim.h"

#define CPU "/sys/devices/system/cpu/"
#define NODE "/sys/devices/system/node/node#/"

enum of { CPUS, MEMORY };       /* which of the context's limits the file tells */

/* Of paths: '#' is a number, '*' anything. */
static const struct file {
    const char *path;
    text_writer *write;
    enum of of;
    bool needs_real;
} files[] = {
    {CPU "online", view_cpu_list, CPUS, false},
    {CPU "possible", view_cpu_list, CPUS, false},
    {CPU "present", view_cpu_list, CPUS, false},
    {CPU "cpu#/topology/*_list", view_list_part, CPUS, true},
    {CPU "cpu#/topology/*_cpus", view_map_part, CPUS, true},
    {CPU "cpu#/topology/*_siblings", view_map_part, CPUS, true},
    {CPU "cpu#/cache/index#/shared_cpu_list", view_list_part, CPUS, true},
    {CPU "cpu#/cache/index#/shared_cpu_map", view_map_part, CPUS, true},
    {NODE "cpulist", view_node_list, CPUS, true},
    {NODE "cpumap", view_node_map, CPUS, true},
    {NODE "meminfo", memory_node, MEMORY, true},
    {"/proc/cpuinfo", view_cpuinfo, CPUS, true},
    {"/proc/stat", view_stat, CPUS, true},
    {"/proc/self/status", view_status, CPUS, true},
    {"/proc/thread-self/status", view_status, CPUS, true},
    {"/proc/meminfo", memory_meminfo, MEMORY, true},
    {"/sys/fs/cgroup/*cpu.max", quota_max, CPUS, true},
    {"/sys/fs/cgroup/*cpu.cfs_quota_us", quota_cfs, CPUS, true},
    {"/sys/fs/cgroup/*cpuset.cpus", view_list_part, CPUS, true},
    {"/sys/fs/cgroup/*cpuset.cpus.effective", view_list_part, CPUS, true},
    {"/sys/fs/cgroup/*cpuset.effective_cpus", view_list_part, CPUS, true},
    {"/sys/fs/cgroup/*memory.max", memory_limit, MEMORY, true},
    {"/sys/fs/cgroup/*memory.current", memory_use, MEMORY, true},
    {"/sys/fs/cgroup/*memory.limit_in_bytes", memory_limit, MEMORY, true},
    {"/sys/fs/cgroup/*memory.usage_in_bytes", memory_use, MEMORY, true},
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* '*' is followed by the end of the path, and comes once. */
static bool matches(const char *pattern, const char *path)
{
    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            size_t rest = strlen(pattern + 1), n = strlen(path);
            return n >= rest && strcmp(path + n - rest, pattern + 1) == 0;
        }
        if (*pattern == '#' ? !is_digit(*path) : *pattern != *path) return false;
        path++;
        while (*pattern == '#' && is_digit(*path)) path++;
    }
    return !*path;
}

static const struct file *find(const struct view *v, const char *path)
{
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        if ((files[i].of == CPUS ? v->nr_cpus != 0 : v->memory != 0) && matches(files[i].path, path)) return &files[i];
    return 0;
}

bool files_text(const struct view *v, const char *path, const char *real, struct text *out)
{
    const struct file *f = find(v, path);
    return f && f->write(v, path, real, out);
}

static int as_descriptor(const struct text *t, bool cloexec)
{
    int fd = memfd_create("usf-context", cloexec ? MFD_CLOEXEC : 0);
    if (fd >= 0 && (write(fd, t->at, t->n) != (ssize_t)t->n || lseek(fd, 0, SEEK_SET))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool make_text(const struct view *v, const struct file *f, const char *path, struct text *text)
{
    struct text real = {0};
    bool good = (!f->needs_real || text_read(path, &real)) && f->write(v, path, real.at, text);
    free(real.at);
    return good;
}

/* What the kernel writes into this file takes it 10 us per CPU, and changes in its clock rates
 * alone: the first text is kept. */
static bool keep_text(struct usf_context *c, const struct view *v, const struct file *f, const char *path, struct text *text)
{
    struct text *kept = atomic_load(&c->cpuinfo), *none = 0;
    if (!kept) {
        if (!(kept = calloc(1, sizeof *kept))) return false;
        if (!make_text(v, f, path, kept)) {
            files_drop(kept);
            return false;
        }
        if (!atomic_compare_exchange_strong(&c->cpuinfo, &none, kept)) {
            files_drop(kept);
            kept = none;
        }
    }
    *text = *kept;
    return true;
}

void files_drop(struct text *t)
{
    if (t) free(t->at);
    free(t);
}

int files_open(struct usf_context *c, const char *path, int flags)
{
    struct view v = {.nr_cpus = c->nr_cpus, .memory = c->memory};
    const struct file *f = (flags & (O_ACCMODE | O_DIRECTORY | O_PATH)) == O_RDONLY ? find(&v, path) : 0;
    struct text text = {0};
    int fd = -1, before = errno;
    if (!f) return -1;
    v.cpus = c->cpus;
    bool keeps = f->write == view_cpuinfo;
    if (keeps ? keep_text(c, &v, f, path, &text) : make_text(&v, f, path, &text)) fd = as_descriptor(&text, flags & O_CLOEXEC);
    if (!keeps) free(text.at);
    errno = before;
    return fd;
}

/* For the package usf: as files_open; flags as for open. */
CONTEXT_API int usf_context_python_open(struct usf_context *c, const char *path, int flags);
CONTEXT_API int usf_context_python_open(struct usf_context *c, const char *path, int flags) { return is_special(path) ? files_open(c, path, flags) : -1; }
