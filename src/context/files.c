/* src/context/files.c - files of /proc and /sys that tell of CPUs, as a context has them.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "context/shim.h"

struct text { char *at; size_t n, room; };

static bool add(struct text *t, const char *from, size_t n)
{
    if (t->n + n > t->room) {
        size_t room = 2 * (t->n + n) + 4096;
        char *more = realloc(t->at, room);
        if (!more) return false;
        t->at = more;
        t->room = room;
    }
    memcpy(t->at + t->n, from, n);
    t->n += n;
    return true;
}

static bool read_all(const char *path, struct text *t)
{
    char piece[4096];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while ((n = read(fd, piece, sizeof piece)) > 0 && add(t, piece, (size_t)n)) continue;
    close(fd);
    return n == 0 && add(t, "", 1) && t->n--;
}

/* Each writes what the file has in the context; `real` is what it has for the program.  False: it has nothing of its own. */

static bool cpu_list(const struct os_cpuset *cpus, const char *real, struct text *out)
{
    char list[1024];
    (void)real;
    int n = os_cpulist_format(cpus, list, sizeof list);
    return n >= 0 && (size_t)n < sizeof list && add(out, list, (size_t)n) && add(out, "\n", 1);
}

/* Of a NUMA node: those of its CPUs that the context has. */
static bool node_list(const struct os_cpuset *cpus, const char *real, struct text *out)
{
    struct os_cpuset node;
    char list[1024];
    size_t bad, len = strcspn(real, "\n");
    if (len >= sizeof list) return false;
    memcpy(list, real, len);
    list[len] = 0;
    if (!len || os_cpulist_parse(list, &node, &bad)) return false;
    os_cpu_and(&node, cpus);
    return cpu_list(&node, 0, out);
}

/* Paragraphs "processor : N". */
static bool cpuinfo(const struct os_cpuset *cpus, const char *real, struct text *out)
{
    while (*real) {
        const char *end = strstr(real, "\n\n"), *colon = strchr(real, ':');
        size_t len = end ? (size_t)(end + 2 - real) : strlen(real);
        bool is_cpu = strncmp(real, "processor", 9) == 0 && colon;
        if ((!is_cpu || os_cpu_isset(cpus, (unsigned)strtoul(colon + 1, 0, 10))) && !add(out, real, len)) return false;
        real += len;
    }
    return true;
}

static size_t line_length(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? (size_t)(end + 1 - text) : strlen(text);
}

/* Lines "cpuN ...". */
static bool stat_file(const struct os_cpuset *cpus, const char *real, struct text *out)
{
    for (size_t len; *real; real += len) {
        len = line_length(real);
        bool is_cpu = strncmp(real, "cpu", 3) == 0 && real[3] >= '0' && real[3] <= '9';
        if ((!is_cpu || os_cpu_isset(cpus, (unsigned)strtoul(real + 3, 0, 10))) && !add(out, real, len)) return false;
    }
    return true;
}

/* 32 bits in each word, the highest first. */
static bool add_mask(const struct os_cpuset *cpus, struct text *out)
{
    int words = OS_CPUSET_WORDS * 2;
    const uint32_t *w = (const uint32_t *)(const void *)cpus;
    while (words > 1 && !w[words - 1]) words--;
    for (int i = words; i-- > 0;) {
        char word[16];
        int n = snprintf(word, sizeof word, i == words - 1 ? "%x" : "%08x", w[i]);
        if (!add(out, word, (size_t)n) || !add(out, i ? "," : "\n", 1)) return false;
    }
    return true;
}

/* Of the calling thread; another's is the kernel's. */
static bool status(const struct os_cpuset *cpus, const char *real, struct text *out)
{
    for (size_t len; *real; real += len) {
        len = line_length(real);
        bool good = strncmp(real, "Cpus_allowed:\t", 14) == 0        ? add(out, real, 14) && add_mask(cpus, out)
                    : strncmp(real, "Cpus_allowed_list:\t", 19) == 0 ? add(out, real, 19) && cpu_list(cpus, 0, out)
                                                                      : add(out, real, len);
        if (!good) return false;
    }
    return true;
}

static const struct file {
    const char *head, *tail;    /* the path; between the two, a number */
    bool (*write)(const struct os_cpuset *, const char *, struct text *);
    bool needs_real;
} files[] = {
    {"/sys/devices/system/cpu/online", 0, cpu_list, false},
    {"/sys/devices/system/cpu/possible", 0, cpu_list, false},
    {"/sys/devices/system/cpu/present", 0, cpu_list, false},
    {"/sys/devices/system/node/node", "/cpulist", node_list, true},
    {"/proc/cpuinfo", 0, cpuinfo, true},
    {"/proc/stat", 0, stat_file, true},
    {"/proc/self/status", 0, status, true},
    {"/proc/thread-self/status", 0, status, true},
};

static const struct file *find(const char *path)
{
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n = strlen(files[i].head);
        if (strncmp(path, files[i].head, n) != 0) continue;
        if (!files[i].tail ? !path[n] : strcmp(path + n + strspn(path + n, "0123456789"), files[i].tail) == 0) return &files[i];
    }
    return 0;
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

static bool make_text(const struct usf_context *c, const struct file *f, const char *path, struct text *text)
{
    struct text real = {0};
    bool good = (!f->needs_real || read_all(path, &real)) && f->write(&c->cpus, real.at, text);
    free(real.at);
    return good;
}

/* What the kernel writes into this file takes it 10 us per CPU, and changes in its clock rates alone: the first text is kept. */
static bool keep_text(struct usf_context *c, const struct file *f, const char *path, struct text *text)
{
    struct text *kept = atomic_load(&c->cpuinfo), *none = 0;
    if (!kept) {
        if (!(kept = calloc(1, sizeof *kept))) return false;
        if (!make_text(c, f, path, kept)) {
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
    const struct file *f = c->nr_cpus && (flags & O_ACCMODE) == O_RDONLY ? find(path) : 0;
    struct text text = {0};
    int fd = -1, before = errno;
    bool keeps = f && f->write == cpuinfo;
    if (f && (keeps ? keep_text(c, f, path, &text) : make_text(c, f, path, &text))) fd = as_descriptor(&text, flags & O_CLOEXEC);
    if (!keeps) free(text.at);
    errno = before;
    return fd;
}
