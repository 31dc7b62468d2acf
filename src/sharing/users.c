/* src/sharing/users.c - instances that users share.  SPDX-License-Identifier: Apache-2.0
 *
 * A member can do to all others what a part of their own programs could (SECURITY.md).  So a
 * process takes part only if it asked for such an instance, and has no more rights than an
 * ordinary user. */
#include "sharing/sharing.h"
#include "base/base.h"
#include <errno.h>

#define NOGROUP 65534u          /* also stands for groups that a user namespace has no number for */

bool sharing_is_member(const char *name)
{
    struct shm_scope s;
    if (!shm_scope_of(name, &s)) return false;
    return s.level != SHM_GROUP || (s.gid != NOGROUP && os_in_group(s.gid));
}

int sharing_refuse(const char *name, char *why, size_t cap)
{
    struct shm_scope s;
    shm_scope_of(name, &s);
    usf_format(why, cap, "instance '%s' is for the members of group %u, and user %u is none; choose another --share or --instance, or "
               "get into the group", name, s.gid, os_geteuid());
    return -EPERM;
}

int sharing_may_join(const char *name, char *why, size_t cap)
{
    if (!shm_is_shared(name)) return 0;
    if (os_is_privileged()) {
        usf_format(why, cap, "%s takes no part in an instance that other users share ('%s'): they could act through it; choose "
                   "--share user", os_has_user(0) ? "root" : "a program with capabilities", name);
        return -EPERM;
    }
    if (!sharing_is_member(name)) return sharing_refuse(name, why, cap);
    if (os_sees_others()) return 0;
    usf_format(why, cap, "/proc does not show other users' processes (hidepid): who of instance '%s' has died could not be told; choose "
               "--share user", name);
    return -ENOTSUP;
}

unsigned sharing_mode_of(const char *name)
{
    struct shm_scope s;
    if (!shm_scope_of(name, &s)) return 0600;
    return s.level == SHM_GROUP ? 0660 : s.level == SHM_PUBLIC ? 0666 : 0600;
}
