/* src/monitor/revive.c - start the monitor from within any program.  SPDX-License-Identifier: Apache-2.0
 *
 * Runs in the user's program: no libc, and nothing that the program could notice.
 *   - No SIGCHLD and no child for its wait(): the first process has exit signal 0, is waited for here
 *     with __WCLONE, and the monitor is its child, so that it goes to init (or a subreaper) when it ends.
 *   - No copy of the program's memory: both share it and run on a stack of their own while we stand still
 *     (CLONE_VM | CLONE_VFORK).  They make system calls only.  Dispositions and descriptors are copies.
 *   - No handler of the program runs in them: all signals are blocked before.
 *   - No descriptor of the program lives on in the monitor, nor its environment (LD_PRELOAD).
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
#include <sys/mman.h>

#define STACK_SIZE  16384
#define RETRY_NS    100000000u
#define WAIT_CLONE  0x80000000u  /* __WCLONE */
#define NR_SIGNALS  64

struct order {
    const char *exe, *instance;
    char *stack;                /* of the second process: its end */
    int error;                  /* of the exec; the memory is shared */
};

/* clone(flags) onto `stack`, where the child calls fn(arg) and never returns. */
static long clone_onto(unsigned long flags, void *stack, void (*fn)(struct order *), struct order *arg)
{
    long ret;
    void **top = (void **)((uintptr_t)stack & ~15ul) - 2;
    top[0] = (void *)fn;
    top[1] = arg;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "pop %%rax\n\t"
                     "pop %%rdi\n\t"
                     "call *%%rax\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(ret)
                     : "a"(__NR_clone), "D"(flags), "S"(top), "d"(0), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return ret;
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

static void second_process(struct order *o)
{
    const char *argv[] = {"usf", "monitor", o->instance, NULL}, *envp[] = {NULL};
    leave_files();
    usf_syscall(__NR_chdir, "/");
    leave_signals();
    o->error = (int)usf_syscall(__NR_execve, o->exe, argv, envp);
    exit_now(125);
}

static void first_process(struct order *o)
{
    usf_syscall(__NR_setsid);
    long r = clone_onto(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, o->stack, second_process, o);
    if (r < 0) o->error = (int)r;
    exit_now(0);
}

int monitor_revive(const char *exe, const char *instance)
{
    unsigned long all = ~0ul, before;
    struct order o = {.exe = exe, .instance = instance};
    char *stacks = os_map(2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_is_error(stacks)) return (int)(intptr_t)stacks;
    o.stack = stacks + STACK_SIZE;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    long pid = clone_onto(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, stacks + 2 * STACK_SIZE, first_process, &o);
    if (pid > 0)
        while (usf_syscall(__NR_wait4, pid, NULL, WAIT_CLONE, NULL) == -EINTR) {}
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    os_unmap(stacks, 2 * STACK_SIZE);
    return pid < 0 ? (int)pid : o.error;
}

bool monitor_is_alive(const struct usf_header *h)
{
    uint64_t word = atomic_load(&h->monitor);
    int32_t pid = (int32_t)word;
    if (pid <= 0 || os_process_ended(pid)) return false;
    uint64_t start = os_start_time(pid);
    return !start || (uint32_t)start == (uint32_t)(word >> 32);
}

static struct monitor_own own;      /* name null: the segment is as good */

void monitor_use_own(struct monitor_own o) { own = o; }

static bool is_there(const char *exe) { return usf_syscall(__NR_access, exe, X_OK) == 0; }

int monitor_keep(struct usf_header *h)
{
    uint64_t tried = atomic_load(&h->monitor_tried), now = os_now();
    const char *exe = own.name ? own.exe : h->usf_exe, *name = own.name ? own.name : h->name;
    if (!exe[0]) return 0;
    /* It is not ended where no other can be started (chroot). */
    if (monitor_is_alive(h) && (!is_there(exe) || !monitor_end_hung(h, own.name ? &own : NULL))) return 0;
    if (tried && now - tried < RETRY_NS) return 1;
    if (!atomic_compare_exchange_strong(&h->monitor_tried, &tried, now)) return 1;
    int r = monitor_revive(exe, name);
    return r < 0 ? r : 1;
}
