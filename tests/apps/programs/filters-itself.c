/* tests/apps/programs/filters-itself.c - more processes than cores allow themselves write and exit_group
 * only, and go on.  SPDX-License-Identifier: Apache-2.0 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 8, WRITES = 5000 };

static int confined(int pipe_end, int by_prctl)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    long r = by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
                      : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
    for (int i = 0; !r && i < WRITES; i++)
        if (write(pipe_end, "x", 1) != 1) return 2;
    return r ? 3 : 0;
}

int main(void)
{
    int end[2], status;
    long read_in_all = 0, n;
    char some[4096];
    alarm(30);
    if (pipe(end)) return 1;
    for (int i = 0; i < PROCESSES; i++)
        if (!fork()) syscall(SYS_exit_group, confined(end[1], i % 2));
    close(end[1]);
    while ((n = read(end[0], some, sizeof some)) > 0) read_in_all += n;
    for (int i = 0; i < PROCESSES; i++)
        if (wait(&status) < 0 || status) return dprintf(2, "one ended with status %#x\n", status), 1;
    printf("%ld\n", read_in_all);
    return read_in_all != PROCESSES * WRITES;
}
