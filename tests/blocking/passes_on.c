/* tests/blocking/passes_on.c - a thread that only hands data on is not kept on one CPU.  SPDX-License-Identifier: Apache-2.0
 *
 * Its calls only lend its core, which nobody wants: it talks to a `cat` that is not in the instance.  It has to become a guest all
 * the same, which shows in the CPUs that the kernel lets it run on. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20000
#define LOOK   64

static unsigned bits(const char *hex)
{
    unsigned n = 0;
    for (; *hex && *hex != '\n'; hex++) {
        char digit[2] = {*hex, 0};
        n += (unsigned)__builtin_popcountl(strtoul(digit, NULL, 16));
    }
    return n;
}

/* As the kernel has it: what sched_getaffinity says under usf is what the program has asked for. */
static unsigned cpus(void)
{
    char text[4096] = "";
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    const char *s = n > 0 ? strstr(text, "Cpus_allowed:\t") : NULL;
    return s ? bits(s + 14) : 0;
}

int main(void)
{
    int to[2], from[2];
    char c = 'x', *argv[] = {"cat", NULL}, *envp[] = {NULL};
    alarm(100);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return 77;
    if (pipe(to) || pipe(from)) return 1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execve("/bin/cat", argv, envp);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    unsigned first = cpus(), most = 0;
    int round;
    for (round = 0; round < ROUNDS && most < 2; round++) {
        if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1) return 1;
        if (round % LOOK == LOOK - 1) most = cpus();
    }
    close(to[1]);
    waitpid(pid, NULL, 0);
    printf("CPUs: %u at first, %u after %d rounds\n", first, most, round);
    return first == 1 && most > 1 ? 0 : 1;
}
