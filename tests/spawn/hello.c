/* tests/spawn/hello.c - runs what its arguments say.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    printf("between, user %d %d\n", (int)getuid(), (int)geteuid());
    fflush(stdout);
    if (argc < 2) return 0;
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
