/* src/shm/name.c - names and paths of instances.  SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>
#include <string.h>

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

bool shm_name_is_valid(const char *name)
{
    size_t n = 0;
    if (!name) return false;
    for (; name[n]; n++)
        if (n + 1 >= USF_NAME_MAX || !is_name_char(name[n])) return false;
    return n > 0;
}

int shm_path(const char *dir, const char *name, uint32_t uid, char *buf, size_t cap)
{
    int n = usf_format(buf, cap, "%s/usf-%u-%s", shm_dir_or_default(dir), uid, name);
    return (size_t)n < cap ? n : -ENAMETOOLONG;
}

struct listing {
    char prefix[32];
    size_t prefix_len;
    void (*fn)(const char *name, void *arg);
    void *arg;
    int found;
};

static bool list_one(const char *file, void *arg)
{
    struct listing *l = arg;
    if (strncmp(file, l->prefix, l->prefix_len) || !shm_name_is_valid(file + l->prefix_len)) return true;
    l->found++;
    l->fn(file + l->prefix_len, l->arg);
    return true;
}

int shm_list(const char *dir, void (*fn)(const char *name, void *arg), void *arg)
{
    struct listing l = {.fn = fn, .arg = arg};
    l.prefix_len = (size_t)usf_format(l.prefix, sizeof l.prefix, "usf-%u-", os_geteuid());
    int r = os_list_dir(shm_dir_or_default(dir), list_one, &l);
    return r < 0 ? r : l.found;
}
