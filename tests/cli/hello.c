/* tests/cli/hello.c - says hello, exits with its argument.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    puts("hello");
    return argc > 1 ? atoi(argv[1]) : 0;
}
