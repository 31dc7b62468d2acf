/* src/context/memory.c - see memory.h.  SPDX-License-Identifier: Apache-2.0
 *
 * A view: nothing keeps the context from taking more.  No figure is larger than the limit, or than
 * the machine's own. */
#include "context/memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "context/view.h"

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* A line "NAME:   N kB": N is not more than `most`, and takes as many characters as it did. */
static bool add_size(const char *line, size_t len, uint64_t most, struct text *out)
{
    size_t at = strcspn(line, ":") + 1;
    at += strspn(line + at, " ");
    size_t digits = strspn(line + at, "0123456789");
    uint64_t n = strtoull(line + at, 0, 10);
    if (at + digits >= len || !digits || n <= most) return text_add(out, line, len);
    char number[24] = "                       ";
    char *p = number + sizeof number;
    for (n = most; p == number + sizeof number || n; n /= 10) *--p = (char)('0' + n % 10);
    size_t width = (size_t)(number + sizeof number - p);
    if (width < digits) width = digits;
    return text_add(out, line, at) && text_add(out, number + sizeof number - width, width) && text_add(out, line + at + digits, len - at - digits);
}

/* Lines of these names, which begin after `skip` bytes. */
static bool clip_lines(const char *real, size_t skip, uint64_t most, struct text *out)
{
    for (size_t len; *real; real += len) {
        len = text_line(real);
        const char *name = real + (skip < len ? skip : 0);
        bool is_size = starts(name, "MemTotal:") || starts(name, "MemFree:") || starts(name, "MemAvailable:");
        if (!(is_size ? add_size(real, len, most, out) : text_add(out, real, len))) return false;
    }
    return true;
}

bool memory_meminfo(const struct view *v, const char *path, const char *real, struct text *out)
{
    (void)path;
    return clip_lines(real, 0, v->memory / 1024, out);
}

/* "Node N MemTotal: ...": each node has its part of the limit, so that the nodes together have it
 * all. */
bool memory_node(const struct view *v, const char *path, const char *real, struct text *out)
{
    struct sysinfo info;
    const char *total = strstr(real, "MemTotal:");
    (void)path;
    if (!total || total == real || memchr(real, '\n', (size_t)(total - real)) || sysinfo(&info)) return false;
    uint64_t machine = (uint64_t)info.totalram * info.mem_unit / 1024, node = strtoull(total + 9, 0, 10), limit = v->memory / 1024;
    return clip_lines(real, (size_t)(total - real), limit >= machine ? node : (uint64_t)((double)limit / (double)machine * (double)node), out);
}

/* Of a control group: a limit, "max" or in bytes; -1 and 2^63 less a page are none in version 1. */
bool memory_limit(const struct view *v, const char *path, const char *real, struct text *out)
{
    (void)path;
    if (*real != 'm' && *real != '-' && (*real < '0' || *real > '9')) return false;
    uint64_t n = *real == 'm' || *real == '-' ? UINT64_MAX : strtoull(real, 0, 10);
    return text_add_number(out, least(n, v->memory)) && text_add(out, "\n", 1);
}

/* What is used of it is not more, as libraries take the difference. */
bool memory_use(const struct view *v, const char *path, const char *real, struct text *out)
{
    return *real != 'm' && *real != '-' && memory_limit(v, path, real, out);
}

int memory_sysinfo(uint64_t limit, struct sysinfo *info)
{
    if (sysinfo(info)) return -1;
    uint64_t most = limit / info->mem_unit;
    if (!limit) return 0;
    info->totalram = least(info->totalram, most);
    info->freeram = least(info->freeram, most);
    return 0;
}

long memory_pages(uint64_t limit, int name)
{
    long n = sysconf(name), most = (long)(limit / (uint64_t)sysconf(_SC_PAGESIZE));
    return limit && n > most ? most : n;
}
