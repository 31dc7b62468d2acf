/* src/os/proc.c - processes and threads, from /proc.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"
#include "os/text.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#define STAT_MAX 768            /* enough for the first 32 fields, whatever the numbers; the rest may be cut */

int32_t os_getpid(void) { return (int32_t)usf_syscall(__NR_getpid); }
int32_t os_gettid(void) { return (int32_t)usf_syscall(__NR_gettid); }

/* Behind "PID (comm) ".  comm is chosen by the program and may hold anything, ") R 1" as well: only
 * the last parenthesis ends it. */
static const char *behind_comm(const char *stat, long len)
{
    while (len > 0 && stat[len - 1] != ')') len--;
    return len > 0 && stat[len] == ' ' ? stat + len + 1 : NULL;
}

const char *os_stat_field(const char *stat, long len, int wanted)
{
    const char *s = behind_comm(stat, len);
    for (int field = 3; s && field < wanted; field++) {
        while (*s && *s != ' ') s++;
        if (*s++ != ' ') return NULL;
    }
    return s;
}

uint64_t os_stat_number(const char *stat, long len, int wanted)
{
    const char *s = os_stat_field(stat, len, wanted);
    uint64_t v;
    return s && text_number(&s, &v) && (*s == ' ' || *s == '\n') ? v : 0;
}

uint64_t os_start_time_in(const char *stat, long len) { return os_stat_number(stat, len, 22); }

bool os_proc_is_ours(void)
{
    char link[16] = "";
    const char *s = link;
    uint64_t pid;
    long n = usf_syscall(__NR_readlinkat, AT_FDCWD, "/proc/self", link, sizeof link - 1);
    if (n < 0) return n != -ENOENT;         /* (of a namespace that we are not in at all) */
    return text_number(&s, &pid) && !*s && pid == (uint64_t)os_getpid();
}

static long read_head(const char *path, char *buf, long cap)
{
    if (!os_proc_is_ours()) return -ENOENT;
    long n = os_read_file(path, buf, (size_t)cap);
    return n == -EFBIG ? cap - 1 : n;
}

uint64_t os_start_time(int32_t pid)
{
    char path[64], stat[STAT_MAX];
    usf_format(path, sizeof path, "/proc/%d/stat", pid);
    long n = read_head(path, stat, sizeof stat);
    return n > 0 ? os_start_time_in(stat, n) : 0;
}

uint64_t os_own_threads(void)
{
    char stat[STAT_MAX];
    long n = read_head("/proc/self/stat", stat, sizeof stat);
    return n > 0 ? os_stat_number(stat, n, 20) : 0;
}

static struct os_look look_in(const char *stat, long n)
{
    const char *s = n > 0 ? behind_comm(stat, n) : NULL;
    return s ? (struct os_look){.state = *s, .blocked = os_stat_number(stat, n, 32)} : (struct os_look){0};
}

/* Below /proc/TID and not /proc/PID/task/TID.  Linux keeps each name that was looked up.  A thread
 * that ends removes its own names after its process can be waited for.  The parent then removes all
 * names below /proc/PID, and loops in the kernel while one of them is being removed
 * (shrink_dcache_parent).  A parent and a child that were bound to one CPU were seen like that for
 * up to 100 s: Linux gave the CPU to the parent's session all the time (autogroup;
 * src/monitor/revive.c), and a thread that ends is no longer in that session. */
void os_thread_file(char path[OS_THREAD_FILE_MAX], int32_t tid, const char *name)
{
    usf_format(path, OS_THREAD_FILE_MAX, "/proc/%d/task/%d/%s", tid, tid, name);
}

/* Asked when a file of the thread could be read: a program in a sandbox, which the call might end,
 * gets no further than that. */
static bool is_thread_of(int32_t pid, int32_t tid) { return tid == pid || usf_syscall(__NR_tgkill, pid, tid, 0) != -ESRCH; }

static struct os_look look_at(int32_t pid, int32_t tid)
{
    char path[OS_THREAD_FILE_MAX], stat[STAT_MAX];
    os_thread_file(path, tid, "stat");
    long n = read_head(path, stat, sizeof stat);
    return n > 0 && is_thread_of(pid, tid) ? look_in(stat, n) : (struct os_look){0};
}

char os_thread_state(int32_t pid, int32_t tid) { return look_at(pid, tid).state; }
bool os_thread_blocks(int32_t pid, int32_t tid, int sig) { return look_at(pid, tid).blocked >> (sig - 1) & 1; }

/* .state == 0: the thread has ended. */
static struct os_look look_again(int fd)
{
    char stat[STAT_MAX];
    long n;
    do n = usf_syscall(__NR_pread64, fd, stat, sizeof stat - 1, 0); while (n == -EINTR);
    stat[n > 0 ? n : 0] = 0;
    return look_in(stat, n);
}

/* The file of a thread that has ended stays that thread's: it answers ESRCH, also when the number
 * is another's. */
struct os_look os_look_at_thread(struct os_looks *looks, int32_t pid, int32_t tid)
{
    struct os_look look;
    struct os_kept_look *k = &looks->at[(uint32_t)tid % OS_KEPT_LOOKS];
    if (k->tid && k->pid == pid && k->tid == tid) {
        look = look_again(k->fd);
        if (look.state && look.state != 'X') return look;
    }
    if (k->tid) os_close(k->fd);
    k->tid = 0;
    char path[OS_THREAD_FILE_MAX];
    os_thread_file(path, tid, "stat");
    if (!os_proc_is_ours()) return (struct os_look){0};
    int fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    if (fd == -EMFILE || fd == -ENFILE) {       /* others need them more */
        os_forget_looks(looks);
        fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    }
    if (fd < 0) return (struct os_look){0};
    look = is_thread_of(pid, tid) ? look_again(fd) : (struct os_look){0};
    if (look.state) *k = (struct os_kept_look){pid, tid, fd};
    else os_close(fd);
    return look;
}

void os_forget_looks(struct os_looks *looks)
{
    for (unsigned i = 0; i < OS_KEPT_LOOKS; i++)
        if (looks->at[i].tid) os_close(looks->at[i].fd);
    *looks = (struct os_looks){0};
}

/* "TIME-ON-CPU TIME-WAITED SLICES": the number `which` of them, or 0. */
static uint64_t schedstat(int32_t pid, int32_t tid, int which)
{
    char path[OS_THREAD_FILE_MAX], text[80];
    uint64_t v[3];
    os_thread_file(path, tid, "schedstat");
    const char *s = text;
    if (!os_proc_is_ours() || os_read_file(path, text, sizeof text) <= 0 || !is_thread_of(pid, tid)) return 0;
    for (int i = 0; i < 3; i++, s++)
        if (!text_number(&s, &v[i]) || (*s != ' ' && *s != '\n')) return 0;
    return v[which];
}

uint64_t os_thread_slices(int32_t pid, int32_t tid) { return schedstat(pid, tid, 2); }
uint64_t os_thread_cpu_ns(int32_t pid, int32_t tid) { return schedstat(pid, tid, 0); }

void os_own_waits(uint64_t *waits, uint64_t *cpu_ns)
{
    struct rusage u = {0};
    usf_syscall(__NR_getrusage, 1 /* RUSAGE_THREAD */, &u);
    *waits = (uint64_t)u.ru_nvcsw;
    *cpu_ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u
              + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
}

bool os_thread_ended(int32_t pid, int32_t tid)
{
    char st = os_thread_state(pid, tid);
    return st == 'Z' || st == 'X' || (!st && usf_syscall(__NR_tgkill, pid, tid, 0) == -ESRCH);
}

uint64_t os_own_pending(void)
{
    static const char key[] = "SigPnd:\t";
    const size_t len = sizeof key - 1;
    struct text_lines t;
    char line[64];
    uint64_t pending = 0;
    if (!text_open(&t, "/proc/thread-self/status")) return 0;
    while (text_next(&t, line, sizeof line)) {
        const char *s = line + len;
        if (!memcmp(line, key, len) && text_hex(&s, &pending)) break;
    }
    text_close(&t);
    return pending;
}

static uint64_t namespace(const char *path)
{
    char link[64];
    uint64_t inode;
    long n = usf_syscall(__NR_readlinkat, AT_FDCWD, path, link, sizeof link - 1);
    if (n <= 0) return 0;
    link[n] = 0;
    const char *s = link;       /* "pid:[4026531836]" */
    while (*s && *s != '[') s++;
    return *s && (s++, text_number(&s, &inode)) ? (uint32_t)inode : 0;
}

uint64_t os_pidns(void)
{
    uint64_t pid = namespace("/proc/self/ns/pid");
    return pid ? pid | namespace("/proc/self/ns/time") << 32 : 0;
}

bool os_knows_childrens_pids(void)
{
    uint64_t own = namespace("/proc/self/ns/pid");
    return own && namespace("/proc/self/ns/pid_for_children") == own;
}

/* A pidfd is readable once the last thread is gone; /proc cannot tell that of a process whose first
 * thread has ended before the others. */
bool os_process_ended(int32_t pid)
{
    long fd = usf_syscall(__NR_pidfd_open, pid, 0);
    if (fd == -ESRCH) return true;
    if (fd < 0) return usf_syscall(__NR_kill, pid, 0) == -ESRCH;
    struct pollfd p = {.fd = (int)fd, .events = POLLIN};
    long n = usf_syscall(__NR_poll, &p, 1, 0);
    os_close((int)fd);
    return n == 1;
}

struct file_user {
    uint64_t dev, ino;
    int32_t pid;
};

/* "FROM-TO PERMS OFFSET MAJOR:MINOR INODE  PATH" */
static bool line_names_file(const char *s, const struct file_user *f)
{
    uint64_t major, minor, ino;
    for (int i = 0; i < 3; i++) {
        while (*s && *s != ' ') s++;
        if (*s) s++;
    }
    if (!text_hex(&s, &major) || *s++ != ':' || !text_hex(&s, &minor) || *s++ != ' ') return false;
    return text_number(&s, &ino) && ino == f->ino && makedev(major, minor) == f->dev;
}

enum { MAPS = 1, MAPS_NOT = 0, MAPS_UNKNOWN = -1 };
static int maps_file(int32_t pid, const struct file_user *f)
{
    struct text_lines t;
    char path[64], line[128];
    int found = MAPS_NOT;
    usf_format(path, sizeof path, "/proc/%d/maps", pid);
    if (!text_open(&t, path)) return MAPS_UNKNOWN;
    while (!found && text_next(&t, line, sizeof line)) found = line_names_file(line, f);
    text_close(&t);
    return found;
}

static bool look_into(const char *name, void *arg)
{
    struct file_user *f = arg;
    const char *s = name;
    uint64_t pid;
    if (!text_number(&s, &pid) || *s) return true;
    if (maps_file((int32_t)pid, f) == MAPS) f->pid = (int32_t)pid;
    return !f->pid;
}

bool os_process_maps(int32_t pid, uint64_t dev, uint64_t ino)
{
    struct file_user f = {dev, ino, 0};
    return !os_proc_is_ours() || maps_file(pid, &f) != MAPS_NOT;
}

bool os_process_surely_maps(int32_t pid, uint64_t dev, uint64_t ino)
{
    struct file_user f = {dev, ino, 0};
    return os_proc_is_ours() && maps_file(pid, &f) == MAPS;
}

/* "START-END rw-s ...": writable, shared. */
static bool line_is_shared(const char *line, uintptr_t base, size_t size)
{
    const char *s = line;
    uint64_t start, end;
    if (!text_hex(&s, &start) || *s++ != '-' || !text_hex(&s, &end) || *s++ != ' ') return false;
    return s[0] && s[1] == 'w' && s[2] && s[3] == 's' && (start < base || end > base + size);
}

bool os_shares_memory(const void *except, size_t size)
{
    struct text_lines t;
    char line[64];
    bool shares = false;
    if (!text_open(&t, "/proc/self/maps")) return true;
    while (!shares && text_next(&t, line, sizeof line)) shares = line_is_shared(line, (uintptr_t)except, size);
    text_close(&t);
    return shares;
}

int32_t os_file_user(uint64_t dev, uint64_t ino)
{
    struct file_user f = {dev, ino, 0};
    os_list_dir("/proc", look_into, &f);
    return f.pid;
}
