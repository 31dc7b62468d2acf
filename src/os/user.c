/* src/os/user.c - who this process is, and what it may.  SPDX-License-Identifier: Apache-2.0 */
#include "os/os.h"
#include "os/syscall.h"
#include "os/text.h"
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>

uint32_t os_geteuid(void) { return (uint32_t)usf_syscall(__NR_geteuid); }
uint32_t os_getegid(void) { return (uint32_t)usf_syscall(__NR_getegid); }

static bool lists(const uint32_t *groups, long n, uint32_t gid)
{
    for (long i = 0; i < n; i++)
        if (groups[i] == gid) return true;
    return false;
}

bool os_in_group(uint32_t gid)
{
    if (os_getegid() == gid) return true;
    long n = usf_syscall(__NR_getgroups, 0, NULL);
    if (n <= 0) return false;
    size_t len = (size_t)n * sizeof gid;        /* 256 KiB at most: not for a stack that may be a user's */
    void *groups = os_map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_is_error(groups)) return false;
    n = usf_syscall(__NR_getgroups, n, groups);
    bool member = lists(groups, n, gid);
    os_unmap(groups, len);
    return member;
}

bool os_has_user(uint32_t uid)
{
    uint32_t id[3] = {0};
    usf_syscall(__NR_getresuid, &id[0], &id[1], &id[2]);
    return lists(id, 3, uid);
}

/* Desktops give all their users these, which say nothing about others. */
#define HARMLESS (1ull << CAP_WAKE_ALARM | 1ull << CAP_BLOCK_SUSPEND)

bool os_is_privileged(void)
{
    struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (os_has_user(0)) return true;
    if (usf_syscall(__NR_capget, &h, d)) return true;       /* cannot be told */
    return ((d[0].permitted | (uint64_t)d[1].permitted << 32) & ~HARMLESS) != 0;
}

/* "ID PARENT DEV ROOT POINT OPTIONS... - TYPE SOURCE SUPER": of a line for /proc, does SUPER
 * hide? */
static bool line_hides(const char *s, bool *proc)
{
    for (int i = 0; i < 4; i++) {
        while (*s && *s != ' ') s++;
        if (*s) s++;
    }
    *proc = !strncmp(s, "/proc ", 6);
    while (*s && strncmp(s, "hidepid=", 8)) s++;
    return *s && s[8] != '0' && strncmp(s + 8, "off", 3);
}

/* Who sees the first process although it is another's is let off (gid=). */
static bool sees_first(void)
{
    struct os_stat st;
    return os_lstat("/proc/1", &st) == 0 && st.uid != os_geteuid() && os_thread_state(1, 1);
}

bool os_sees_others(void)
{
    struct text_lines t;
    char line[256];
    bool hidden = false, proc;
    if (!os_start_time(os_getpid()) || !text_open(&t, "/proc/self/mountinfo")) return false;
    while (text_next(&t, line, sizeof line)) {
        bool hides = line_hides(line, &proc);
        if (proc) hidden = hides;       /* the last one mounted there counts */
    }
    text_close(&t);
    return !hidden || sees_first();
}
