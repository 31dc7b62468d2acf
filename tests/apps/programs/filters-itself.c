/* tests/apps/programs/filters-itself.c - more processes than cores allow themselves write and exit_group only, or no call
 * that has to do with files, and go on, the latter with another thread.  SPDX-License-Identifier: Apache-2.0 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 8, WRITES = 5000 };

#define IF(call, then) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##then)
static struct sock_filter little[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    IF(SYS_write, ALLOW), IF(SYS_exit_group, ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
}, no_files[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    IF(SYS_open, KILL_PROCESS), IF(SYS_openat, KILL_PROCESS), IF(SYS_read, KILL_PROCESS), IF(SYS_pwrite64, KILL_PROCESS),
    IF(SYS_fstat, KILL_PROCESS), IF(SYS_newfstatat, KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_fprog filters[] = {{sizeof little / sizeof *little, little}, {sizeof no_files / sizeof *no_files, no_files}};

static void *write_some(void *pipe_end)
{
    for (int i = 0; i < WRITES; i++)
        if (write(*(int *)pipe_end, "x", 1) != 1) return pipe_end;
    return NULL;
}

static int confined(int pipe_end, int by_prctl, int with_thread)
{
    struct sock_fprog *filter = &filters[with_thread];
    pthread_t t;
    void *failed;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    if (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter) : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter)) return 3;
    if (!with_thread) failed = write_some(&pipe_end);
    else if (pthread_create(&t, NULL, write_some, &pipe_end) || pthread_join(t, &failed)) return 4;
    return failed ? 2 : 0;
}

int main(void)
{
    int end[2], status;
    long read_in_all = 0, n;
    char some[4096];
    alarm(30);
    if (pipe(end)) return 1;
    for (int i = 0; i < PROCESSES; i++)
        if (!fork()) syscall(SYS_exit_group, confined(end[1], i % 2, i / 2 % 2));
    close(end[1]);
    while ((n = read(end[0], some, sizeof some)) > 0) read_in_all += n;
    for (int i = 0; i < PROCESSES; i++)
        if (wait(&status) < 0 || status) return dprintf(2, "one ended with status %#x\n", status), 1;
    printf("%ld\n", read_in_all);
    return read_in_all != PROCESSES * WRITES;
}
