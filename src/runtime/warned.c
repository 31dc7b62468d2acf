/* src/runtime/warned.c - a warning is told once in a whole `usf run`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A build starts a thousand processes, and each of them may have the same warning.  Each `usf run`
 * gives its programs a number (USF_TREE).  A file of this user has a table of keys, each made of a
 * warning and a number, so that nothing in it ever has to be cleared.  The file lies beside the
 * instances, not in one: that an instance cannot be opened is itself such a warning.  If anything
 * is wrong with the file, the warning is told.
 *
 * The table has sets of eight keys.  A new key takes a free place of its set, else the place of
 * another key, whose warning may then be told again. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "config/env.h"
#include "runtime/runtime.h"

#define SETS    64u
#define WAYS    8u
#define WAIT_NS 1000000000u     /* for others who look, on a busy machine; one of them may have been stopped */

USF_EARLY static uint64_t tree;           /* 0: not started by `usf run` */
USF_EARLY static int32_t first;           /* its first process, whose number the tree's begins with */

static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ v >> 27) * 0x94d049bb133111ebull;
    return v ^ v >> 31;
}

static int open_table(void)
{
    char path[64];
    struct os_stat st;
    usf_format(path, sizeof path, SHM_DIR "/.usf-%u-said", os_geteuid());
    int fd = os_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0) return fd;
    if (os_fstat(fd, &st) == 0 && S_ISREG(st.mode) && st.uid == os_geteuid() && !(st.mode & 022)) return fd;
    os_close(fd);
    return -EPERM;
}

/* holds the file's lock */
static bool find_or_add(int fd, uint64_t key)
{
    uint64_t set[WAYS] = {0}, at = key % SETS * sizeof set;
    unsigned way = key / SETS % WAYS;
    if (os_pread(fd, set, sizeof set, at) < 0) return false;
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i] == key) return true;
        if (!set[i] && set[way]) way = i;
    }
    usf_syscall(__NR_pwrite64, fd, &key, sizeof key, at + way * sizeof key);
    return false;
}

static bool warned_in_tree(uint64_t what)
{
    uint64_t key = mix(what ^ mix(tree));
    bool warned = false;
    int fd = tree && os_file_may_be(SETS * WAYS * sizeof key) ? open_table() : -1;     /* else SIGXFSZ would end the program */
    if (fd < 0) return false;
    if (os_flock(fd, LOCK_EX, os_now() + WAIT_NS) == 0) {
        warned = find_or_add(fd, key ? key : 1);
        os_flock(fd, LOCK_UN, 0);
    }
    os_close(fd);
    return warned;
}

void rt_warned_init(char **envp)
{
    for (; envp && *envp; envp++) {
        const char *number = rt_after(*envp, USF_ENV_TREE "=");
        if (!number) continue;
        for (const char *s = number; *s; s++) tree = tree * 31 + (unsigned char)*s;
        for (first = 0; *number >= '0' && *number <= '9' && first < INT32_MAX / 10; number++) first = first * 10 + (*number - '0');
    }
    usf_warned = warned_in_tree;
}

int32_t rt_first_process(void) { return first; }
