/* src/context/view.h - what a context's libraries see of the machine, and the texts that say so.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_VIEW_H
#define USF_CONTEXT_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "os/os.h"

struct view {
    struct os_cpuset cpus;
    uint32_t nr_cpus;       /* 0: the CPUs are the program's */
    uint64_t memory;        /* bytes; 0: the machine's */
};

/* A text that grows.  It is the caller's to free `at`. */
struct text { char *at; size_t n, room; };
bool text_add(struct text *t, const char *from, size_t n);     /* false: out of memory */
bool text_add_number(struct text *t, uint64_t n);
bool text_read(const char *path, struct text *t);              /* a file; ends with 0, which does not count in `n` */
size_t text_line(const char *text);                            /* bytes of its first line, with the newline */

/* Writers: what the file `path` has in the context.  real: what it has for the program, or null
 * where that is not needed. False: the context has no text of its own. */
typedef bool text_writer(const struct view *, const char *path, const char *real, struct text *out);

/* views.c: CPUs */
text_writer view_cpu_list, view_list_part, view_map_part, view_node_list, view_node_map, view_cpuinfo, view_stat, view_status;
/* quota.c: limits of control groups on CPUs */
text_writer quota_max, quota_cfs;
/* memory.c */
text_writer memory_meminfo, memory_node, memory_limit, memory_use;

/* Special paths: in the two trees of the machine's files.  Most others cost a look at two
 * letters. */
static inline bool is_special(const char *path)
{
    if (!path || path[0] != '/') return false;
    return path[1] == 'p' ? strncmp(path, "/proc/", 6) == 0 : path[1] == 's' && strncmp(path, "/sys/", 5) == 0;
}

#endif
