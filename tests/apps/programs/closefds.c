/* Closes every descriptor it did not open, then goes on: threads, children, new descriptors.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *run(void *arg)
{
    usleep(2000);
    return arg;
}

static long threads(void)
{
    pthread_t t[8];
    long sum = 0;
    for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, run, (void *)i);
    for (int i = 0; i < 8; i++) {
        void *r;
        pthread_join(t[i], &r);
        sum += (long)r;
    }
    return sum;
}

int main(void)
{
    closefrom(3);
    printf("after closefrom(3): %ld\n", threads());
    int fd = open("/dev/null", O_RDONLY);
    printf("next descriptor: %d\n", fd);
    fflush(stdout);
    int keep = dup(1);
    for (int i = 0; i < 1024; i++)
        if (i != keep) close(i);
    int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
    long sum = threads();
    pid_t child = fork();
    if (child == 0) {
        close(keep);
        _exit((int)threads());
    }
    int status;
    waitpid(child, &status, 0);
    dprintf(keep, "all closed: first descriptors %d %d, threads %ld, child %d\n", first, second, sum,
            WEXITSTATUS(status));
    return 0;
}
