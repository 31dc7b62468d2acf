/* bench/workloads/startup.c - how long does a command take from fork to exit?  SPDX-License-Identifier: Apache-2.0
 * startup REPETITIONS COMMAND [ARGUMENT]...: the median, the command's output thrown away. */
#include "workload.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double once(char **cmd, int *ok)
{
    double t0 = now_s();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) _exit(126);
        execvp(cmd[0], cmd);
        _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) die("fork or waitpid failed");
    *ok &= status == 0;
    return now_s() - t0;
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[1]) : 0;
    if (n < 1) die("usage: startup REPETITIONS COMMAND [ARGUMENT]...");
    double *s = calloc((size_t)n, sizeof *s);
    if (!s) die("out of memory");
    int ok = 1;
    begin_line("startup", 1, "start");
    (void)once(argv + 2, &ok); /* warms caches, the site cache of usf among them */
    for (long i = 0; i < n; i++) s[i] = once(argv + 2, &ok);
    qsort(s, (size_t)n, sizeof *s, by_value);
    char more[60];
    snprintf(more, sizeof more, "ms=%.3f min_ms=%.3f", s[n / 2] * 1e3, s[0] * 1e3);
    return result_line("startup", 1, s[n / 2], "start", ok, more);
}
