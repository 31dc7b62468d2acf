/* src/monitor/revive.c - start the monitor from within any program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs in the user's program: no libc, and nothing that the program could notice.
 *   - No SIGCHLD and no child for its wait(): the first process has exit signal 0, is waited for
 *     here with __WCLONE, and the monitor is its child, so that it goes to init (or a subreaper)
 *     when it ends.
 *   - No copy of the program's memory: both share it (CLONE_VM) and run on stacks of their own.
 *     They make system calls only.  Dispositions and descriptors are copies.
 *   - No standstill: only the first process is waited for, which makes the second and ends.  An
 *     exec takes as long as the file system and the kernel's queues please, seconds sometimes, and
 *     who is here may have a core of the instance.  The kernel tells when the second no longer uses
 *     our memory; another is not started before.
 *   - No handler of the program runs in them: all signals are blocked before.
 *   - No descriptor of the program lives on in the monitor, nor its environment (LD_PRELOAD).
 *   - Not bound to the CPU of the thread that happens to be here: others may have that one for
 *     long.
 *   - A process group of its own, for the keys of a terminal, but no session: with one Linux would
 *     schedule it by itself (autogroup), and a group of its own has been seen to get no CPU for 20
 *     s while the program's had it (Linux 6.18).
 */
#include "base/base.h"
#include "monitor/monitor.h"
#include "os/os.h"
#include "os/syscall.h"
#include "shm/layout.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>

#define STACK_SIZE  8192
#define RETRY_NS    100000000u
#define WAIT_CLONE  0x80000000u  /* __WCLONE */
#define NR_SIGNALS  64
#define PATH_SIZE   4096

static struct attempt {
    _Atomic int32_t at_it;      /* pid of who prepares one; any other than ours was at it when it forked us */
    _Atomic int32_t maker;      /* pid of who has made `second`: if it is not ours, that one uses a copy of all this */
    _Atomic uint32_t second;    /* it shares our memory: the kernel clears it when it does no more */
    int error;                  /* of the exec, or of the second clone */
    char exe[PATH_SIZE], instance[USF_NAME_MAX];
    _Alignas(16) char stacks[2][STACK_SIZE];
} attempt;

/* clone(flags, *pid) onto `stack`, where the child calls fn and never returns. */
static long clone_onto(unsigned long flags, char *stack, void (*fn)(struct attempt *), struct attempt *a)
{
    return arch_clone(flags, stack + STACK_SIZE, &a->second, (void (*)(void *))fn, a);
}

static _Noreturn void exit_now(int code)
{
    for (;;) usf_syscall(__NR_exit, code);
}

static void leave_files(void)
{
    if (usf_syscall(__NR_close_range, 0, ~0u, 0) < 0)       /* before Linux 5.9 */
        for (int fd = 0; fd < 65536; fd++) usf_syscall(__NR_close, fd);
    for (int i = 0; i < 3; i++) os_open("/dev/null", O_RDWR, 0);
}

/* The kernel's struct sigaction: handler, flags, restorer, mask. */
static void leave_signals(void)
{
    const unsigned long plain[4] = {0}, none = 0;
    for (int sig = 1; sig <= NR_SIGNALS; sig++) usf_syscall(__NR_rt_sigaction, sig, plain, NULL, 8);
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
}

/* An exec looks for a CPU anew. */
static void leave_cpu(void)
{
    struct os_cpuset all;
    __builtin_memset(&all, 0xff, sizeof all);
    os_setaffinity(0, &all);
}

static void second_process(struct attempt *a)
{
    const char *argv[] = {"usf", "monitor", a->instance, NULL}, *envp[] = {NULL};
    leave_cpu();
    leave_files();
    usf_syscall(__NR_chdir, "/");
    usf_syscall(__NR_setpgid, 0, 0);
    leave_signals();
    a->error = (int)usf_syscall(__NR_execve, a->exe, argv, envp);
    exit_now(125);
}

static void first_process(struct attempt *a)
{
    long r = clone_onto(CLONE_VM | CLONE_UNTRACED | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, a->stacks[1], second_process, a);
    if (r < 0) a->error = (int)r;
    exit_now(0);
}

/* One at a time, and not while the last one's second process is there. */
static bool take(struct attempt *a)
{
    int32_t self = os_getpid(), was = atomic_load(&a->at_it);
    if (was == self || !atomic_compare_exchange_strong(&a->at_it, &was, self)) return false;
    if (a->maker != self || !atomic_load(&a->second)) return true;
    atomic_store(&a->at_it, 0);
    return false;
}

static bool copy(char *to, size_t size, const char *from)
{
    for (size_t i = 0; i < size; i++)
        if (!(to[i] = from[i])) return true;
    return false;
}

static int start(struct attempt *a)
{
    unsigned long all = ~0ul, before;
    a->maker = os_getpid();
    a->error = 0;
    atomic_store(&a->second, 0);
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    long pid = clone_onto(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, a->stacks[0], first_process, a);
    if (pid > 0)
        while (usf_syscall(__NR_wait4, pid, NULL, WAIT_CLONE, NULL) == -EINTR) {}
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    return pid < 0 ? (int)pid : 0;
}

int monitor_revive(const char *exe, const char *instance)
{
    struct attempt *a = &attempt;
    int r = -ENAMETOOLONG;
    if (!take(a)) return -EALREADY;
    if (copy(a->exe, sizeof a->exe, exe) && copy(a->instance, sizeof a->instance, instance)) r = start(a);
    atomic_store(&a->at_it, 0);
    return r;
}

/* The kernel wakes one, as if the word were shared. */
int monitor_await_revival(uint64_t deadline)
{
    struct attempt *a = &attempt;
    uint32_t second;
    if (a->maker != os_getpid()) return 0;
    while ((second = atomic_load(&a->second)))
        if (os_futex_wait(&a->second, second, deadline) == -ETIMEDOUT) return -ETIMEDOUT;
    os_futex_wake(&a->second, 1);
    return a->error;
}

/* While the word is not cleared no other process can have got its pid: what the descriptor stands
 * for is known by a second look. */
int monitor_drop_revival(void)
{
    struct attempt *a = &attempt;
    uint32_t second = atomic_load(&a->second);
    if (a->maker != os_getpid() || !second) return 0;
    if (!os_knows_childrens_pids()) return -EXDEV;
    long fd = usf_syscall(__NR_pidfd_open, second, 0), r = fd;
    if (fd >= 0) {
        r = atomic_load(&a->second) ? usf_syscall(__NR_pidfd_send_signal, fd, SIGKILL, NULL, 0) : 0;
        os_close((int)fd);
    }
    return r == -ESRCH ? 0 : (int)r;
}

bool monitor_is_alive(const struct usf_namespace *sp)
{
    uint64_t word = atomic_load(&sp->monitor);
    int32_t pid = (int32_t)word;
    if (pid <= 0 || os_process_ended(pid)) return false;
    uint64_t start = os_start_time(pid);
    return !start || (uint32_t)start == (uint32_t)(word >> 32);
}

static struct monitor_own own;      /* name null: the segment is as good */

void monitor_use_own(struct monitor_own o) { own = o; }

static bool is_there(const char *exe) { return usf_syscall(__NR_access, exe, X_OK) == 0; }

int monitor_keep(struct usf_header *h, uint32_t namespace)
{
    struct usf_namespace *sp = &h->namespace[namespace];
    uint64_t tried = atomic_load(&sp->tried), now = os_now();
    const char *exe = own.name ? own.exe : h->usf_exe, *name = own.name ? own.name : h->name;
    if (!exe[0]) return 0;
    if (monitor_is_alive(sp)) {
        /* It is not ended where no other can be started (chroot). */
        int r = is_there(exe) ? monitor_end_hung(h, namespace, own.name ? &own : NULL) : 0;
        if (r <= 0) return r;
    }
    if (tried && now - tried < RETRY_NS) return 1;
    if (!atomic_compare_exchange_strong(&sp->tried, &tried, now)) return 1;
    int r = monitor_revive(exe, name);
    return r < 0 && r != -EALREADY ? r : 1;
}
