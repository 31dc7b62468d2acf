/* src/shm/name.c - names and paths of instances.  SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <errno.h>
#include <string.h>

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

static bool is_plain(const char *name)
{
    size_t n = 0;
    for (; name[n]; n++)
        if (n + 1 >= USF_NAME_MAX || !is_name_char(name[n])) return false;
    return n > 0;
}

/* A decimal number as we write them: one way only.  Null: none. */
static const char *number(const char *s, uint32_t *out)
{
    uint64_t v = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && v <= UINT32_MAX; p++) v = v * 10 + (uint64_t)(*p - '0');
    if (p == s || v >= UINT32_MAX || (*s == '0' && p > s + 1)) return NULL;
    *out = (uint32_t)v;
    return p;
}

/* What comes before the name, up to `end`: gGID or public.  Null: neither. */
static const char *level_of(const char *s, char end, struct shm_scope *out)
{
    if (*s == 'g') {
        out->level = SHM_GROUP;
        s = number(s + 1, &out->gid);
        return s && *s == end ? s + 1 : NULL;
    }
    out->level = SHM_PUBLIC;
    return strncmp(s, "public", 6) || s[6] != end ? NULL : s + 7;
}

bool shm_scope_of(const char *full, struct shm_scope *out)
{
    *out = (struct shm_scope){.level = SHM_USER};
    const char *plain = full, *p = full;
    while (p && *p && *p != ':') p++;
    if (!p || strlen(full) >= USF_NAME_MAX) return false;
    if (*p) plain = level_of(full, ':', out);
    out->plain = plain;
    return plain && is_plain(plain);
}

bool shm_name_is_valid(const char *name)
{
    struct shm_scope s;
    return shm_scope_of(name, &s);
}

bool shm_is_shared(const char *name)
{
    struct shm_scope s;
    return shm_scope_of(name, &s) && s.level != SHM_USER;
}

int shm_path(const char *dir, const char *name, uint32_t uid, char *buf, size_t cap)
{
    char own[USF_NAME_MAX];         /* it may be the segment's, where others can change it meanwhile */
    struct shm_scope s;
    int n;
    usf_format(own, sizeof own, "%s", name);
    if (!shm_scope_of(own, &s)) return -EINVAL;
    dir = shm_dir_or_default(dir);
    if (s.level == SHM_GROUP) n = usf_format(buf, cap, "%s/usf-g%u-%s", dir, s.gid, s.plain);
    else if (s.level == SHM_PUBLIC) n = usf_format(buf, cap, "%s/usf-public-%s", dir, s.plain);
    else n = usf_format(buf, cap, "%s/usf-%u-%s", dir, uid, s.plain);
    return (size_t)n < cap ? n : -ENAMETOOLONG;
}

bool shm_name_of_file(const char *file, uint32_t *uid, char name[static USF_NAME_MAX])
{
    struct shm_scope s = {.level = SHM_USER};
    const char *rest = strncmp(file, "usf-", 4) ? NULL : file + 4;
    if (!rest) return false;
    const char *plain = number(rest, uid);
    if (plain) plain = *plain == '-' ? plain + 1 : NULL;
    else plain = level_of(rest, '-', &s);
    if (!plain || !is_plain(plain)) return false;
    size_t n = strlen(plain) + (s.level == SHM_USER ? 0 : (size_t)(plain - rest));
    if (n >= USF_NAME_MAX) return false;
    memcpy(name, s.level == SHM_USER ? plain : rest, n + 1);
    if (s.level != SHM_USER) name[plain - rest - 1] = ':';
    return true;
}

struct listing {
    void (*fn)(const char *name, void *arg);
    void *arg;
    int found;
};

static bool list_one(const char *file, void *arg)
{
    struct listing *l = arg;
    struct shm_scope s;
    char name[USF_NAME_MAX];
    uint32_t uid = 0;
    if (!shm_name_of_file(file, &uid, name) || !shm_scope_of(name, &s)) return true;
    if (s.level == SHM_USER && uid != os_geteuid()) return true;
    if (s.level == SHM_GROUP && !os_in_group(s.gid) && os_geteuid()) return true;
    l->found++;
    l->fn(name, l->arg);
    return true;
}

int shm_list(const char *dir, void (*fn)(const char *name, void *arg), void *arg)
{
    struct listing l = {.fn = fn, .arg = arg};
    int r = os_list_dir(shm_dir_or_default(dir), list_one, &l);
    return r < 0 ? r : l.found;
}
