/* tests/odd/deny.c - run a program on a kernel that lacks some calls.  SPDX-License-Identifier: Apache-2.0
 *
 *   odd-deny [=ERROR | =KILL | NAME | NAME:FIRST-ARGUMENT | NAME:*:SECOND]... -- PROGRAM [ARGUMENT]...
 *
 * Installs a filter under which the named calls fail with the last =ERROR before them (ENOSYS at first), or =KILL the thread that
 * makes them, and becomes the program.  A name alone denies all of its calls; with an argument only those that have it (both as 32-bit numbers).
 * `docker` stands for the calls that Docker's default profile refuses to containers without capabilities; `mdwe` lets no
 * memory become executable that was not from the start (PR_SET_MDWE). */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CODE 1024
#define SET_MDWE 65             /* Linux 6.3 */
#define REFUSE_EXEC_GAIN 1

static const struct { const char *name; int nr; } calls[] = {
#define C(n) {#n, SYS_##n}
    C(membarrier), C(pidfd_open), C(clone3), C(rseq), C(statx), C(close_range), C(prctl), C(madvise),
    C(sched_setaffinity), C(sched_getaffinity), C(sched_yield), C(sched_setattr), C(fallocate), C(linkat), C(unlinkat),
    C(ftruncate), C(fchmod), C(flock), C(getdents64), C(readlinkat), C(readlink), C(pwrite64), C(pread64), C(mprotect),
    C(rt_tgsigqueueinfo), C(tgkill), C(kill), C(poll), C(epoll_create1), C(epoll_ctl), C(epoll_wait), C(eventfd2), C(wait4),
    C(waitid), C(faccessat), C(setsid), C(chdir), C(pipe2), C(rt_sigtimedwait), C(prlimit64), C(getrlimit), C(setrlimit),
    C(getpriority), C(setitimer), C(sigaltstack), C(getrandom), C(set_robust_list), C(nanosleep), C(clock_nanosleep),
    C(clock_gettime), C(getresuid), C(process_vm_readv), C(sched_setscheduler), C(personality), C(vfork), C(ptrace),
    C(perf_event_open), C(mlockall), C(mlock), C(ioctl), C(getcpu), C(sysinfo), C(uname), C(gettid), C(geteuid), C(seccomp),
    C(select), C(pselect6), C(ppoll), C(epoll_pwait), C(accept4), C(futex), C(unshare), C(setns), C(mount), C(umount2), C(bpf),
    C(userfaultfd), C(keyctl), C(add_key), C(request_key), C(kexec_load), C(kexec_file_load), C(reboot), C(swapon), C(swapoff),
    C(init_module), C(finit_module), C(delete_module), C(open_by_handle_at), C(name_to_handle_at), C(move_pages), C(mbind),
    C(get_mempolicy), C(set_mempolicy), C(migrate_pages), C(kcmp), C(process_vm_writev), C(lookup_dcookie), C(nfsservctl),
    C(pivot_root), C(quotactl), C(settimeofday), C(clock_settime), C(clock_adjtime), C(adjtimex), C(ustat), C(sysfs), C(uselib),
    C(vmsplice), C(iopl), C(ioperm), C(acct), C(syslog), C(fanotify_init), C(getpid), C(openat), C(mmap), C(munmap), C(clone),
    C(rt_sigaction), C(rt_sigprocmask), C(execve), C(newfstatat), C(fstat), C(getppid), C(open), C(stat), C(lstat), C(access), C(pause),
#undef C
    {"epoll_pwait2", 441}, {"futex_waitv", 449}, {"futex_wake", 454}, {"futex_wait", 455}, {"futex_requeue", 456},
    {"openat2", 437}, {"pidfd_getfd", 438}, {"faccessat2", 439}, {"process_madvise", 440}, {"mount_setattr", 442},
    {"fsopen", 430}, {"fsconfig", 431}, {"fsmount", 432}, {"fspick", 433}, {"open_tree", 428}, {"move_mount", 429},
    {"io_uring_setup", 425}, {"io_uring_enter", 426}, {"io_uring_register", 427}, {"set_mempolicy_home_node", 450},
    {"pidfd_send_signal", 424}, {"memfd_secret", 447},
};
static const struct { const char *name; int number; } errors[] = {
    {"ENOSYS", ENOSYS}, {"EPERM", EPERM}, {"EACCES", EACCES}, {"EINVAL", EINVAL}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN},
};

/* What an unprivileged container may not do (moby's profiles/seccomp/default.json, without any capability).  clone with
 * a flag of a new namespace is refused, and clone3, whose flags a filter cannot see, does not exist. */
static const char *const docker[] = {
    "=ENOSYS", "clone3", "=EPERM", "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init",
    "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "get_mempolicy", "init_module", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie",
    "mbind", "migrate_pages", "mount", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at", "nfsservctl",
    "open_by_handle_at", "open_tree", "perf_event_open", "personality:0xfffffffe", "pivot_root", "quotactl", "reboot",
    "request_key", "set_mempolicy", "set_mempolicy_home_node", "setns", "settimeofday", "swapoff", "swapon", "sysfs", "syslog",
    "umount2", "unshare", "uselib", "userfaultfd", "ustat", "vmsplice", NULL,
};
#define NEW_NAMESPACES 0x7e020000u

static struct sock_filter code[MAX_CODE];
static unsigned nr_code;
static unsigned answer = SECCOMP_RET_ERRNO | ENOSYS;

static void emit(struct sock_filter f)
{
    if (nr_code == MAX_CODE) {
        fprintf(stderr, "odd-deny: too many calls\n");
        exit(125);
    }
    code[nr_code++] = f;
}

static int wrong(const char *what)
{
    fprintf(stderr, "odd-deny: there is no call or error `%s`\n", what);
    exit(125);
}

static int call_number(const char *name, size_t len)
{
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strlen(calls[i].name) == len && !memcmp(calls[i].name, name, len)) return calls[i].nr;
    return wrong(name);
}

static unsigned answer_named(const char *name)
{
    if (!strcmp(name, "KILL")) return SECCOMP_RET_KILL_THREAD;
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(errors[i].name, name)) return SECCOMP_RET_ERRNO | (unsigned)errors[i].number;
    return (unsigned)wrong(name);
}

#define LOAD(field) (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

static void deny_all(int nr)
{
    emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1));
    emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* Denied if `args[arg] test value`; then the call's number is loaded again. */
static void deny_if(int nr, unsigned arg, unsigned short test, unsigned value)
{
    emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 4));
    emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * arg));
    emit((struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, 1));
    emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
    emit(LOAD(nr));
}

static void deny(const char *what)
{
    if (*what == '=') {
        answer = answer_named(what + 1);
        return;
    }
    if (!strcmp(what, "mdwe")) {
        if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)) exit(77);
        return;
    }
    if (!strcmp(what, "docker")) {
        for (unsigned i = 0; docker[i]; i++) deny(docker[i]);
        deny_if(SYS_clone, 0, BPF_JSET, NEW_NAMESPACES);
        return;
    }
    const char *arg = strchr(what, ':');
    int nr = call_number(what, arg ? (size_t)(arg - what) : strlen(what));
    if (!arg) deny_all(nr);
    else if (!strncmp(arg, ":*:", 3)) deny_if(nr, 1, BPF_JEQ, (unsigned)strtoul(arg + 3, NULL, 0));
    else deny_if(nr, 0, BPF_JEQ, (unsigned)strtoul(arg + 1, NULL, 0));
}

int main(int argc, char **argv)
{
    int i = 1;
    emit(LOAD(nr));
    for (; i < argc && strcmp(argv[i], "--"); i++) deny(argv[i]);
    if (i + 1 >= argc) {
        fprintf(stderr, "odd-deny: no program\n");
        return 125;
    }
    emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog filter = {(unsigned short)nr_code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        perror("odd-deny: no filters here");
        return 77;
    }
    execvp(argv[i + 1], argv + i + 1);
    perror(argv[i + 1]);
    return 127;
}
