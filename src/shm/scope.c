/* src/shm/scope.c - instances that users share.  SPDX-License-Identifier: Apache-2.0
 *
 * Whoever takes part can do to all others what a part of their own programs could (SECURITY.md).  So these are made and
 * joined by those alone who asked for it, and not by anybody who could do more to the machine than an ordinary user. */
#include "internal.h"
#include <errno.h>

#define NOGROUP 65534u          /* and what groups are called that a user namespace has no number for */

bool shm_is_member(const char *name)
{
    struct shm_scope s;
    if (!shm_scope_of(name, &s)) return false;
    return s.level != SHM_GROUP || (s.gid != NOGROUP && os_in_group(s.gid));
}

int shm_not_member(const char *name, char *why, size_t cap)
{
    struct shm_scope s;
    shm_scope_of(name, &s);
    usf_format(why, cap, "instance '%s' is for the members of group %u, and user %u is none; choose another --share or --instance, or "
               "get into the group", name, s.gid, os_geteuid());
    return -EPERM;
}

int shm_may_share(const char *name, char *why, size_t cap)
{
    if (!shm_is_shared(name)) return 0;
    if (os_is_privileged()) {
        usf_format(why, cap, "%s takes no part in an instance that other users share ('%s'): they could act through it; choose "
                   "--share user", os_has_user(0) ? "root" : "a program with capabilities", name);
        return -EPERM;
    }
    if (!shm_is_member(name)) return shm_not_member(name, why, cap);
    if (os_sees_others()) return 0;
    usf_format(why, cap, "/proc does not show other users' processes (hidepid): who of instance '%s' has died could not be told; choose "
               "--share user", name);
    return -ENOTSUP;
}

unsigned shm_mode_of(const char *name)
{
    struct shm_scope s;
    if (!shm_scope_of(name, &s)) return 0600;
    return s.level == SHM_GROUP ? 0660 : s.level == SHM_PUBLIC ? 0666 : 0600;
}
