/* The classic daemon: fork, setsid, fork, chdir, close everything, work with threads, leave a file.
 * SPDX-License-Identifier: Apache-2.0
 * usage: daemonise FILE */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void *run(void *arg)
{
    usleep(5000);
    return arg;
}

int main(int argc, char **argv)
{
    char path[4096], fresh[4160];
    pthread_t t[4];
    if (argc < 2) return 2;
    if (argv[1][0] == '/') snprintf(path, sizeof path, "%s", argv[1]);
    else snprintf(path, sizeof path, "%s/%s", get_current_dir_name(), argv[1]);
    pthread_create(&t[0], NULL, run, NULL); /* threads before the fork, too */
    pthread_join(t[0], NULL);
    if (fork()) _exit(0);
    setsid();
    if (fork()) _exit(0);
    umask(022);
    if (chdir("/")) _exit(1);
    for (int i = 0; i < 256; i++) close(i);
    open("/dev/null", O_RDWR);
    dup(0);
    dup(0);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *f = fopen(fresh, "w");
    if (!f) _exit(1);
    fprintf(f, "daemon was here\n");
    fclose(f);
    return rename(fresh, path);
}
