/* tests/loader/looked_at.c - a program for debuggers and profilers: it is busy in a context's library.  SPDX-License-Identifier: Apache-2.0
 * usage: loader-looked-at FOLDER ROUNDS */
#include "tests/loader/cases.h"

int main(int argc, char **argv)
{
    CHECK(argc == 3 && realpath(argv[1], folder));
    alarm(100);
    int rounds = atoi(argv[2]), (*spin)(int) = IN(open_in(make(0, 0), "libdep.so"), dep_spin);
    CHECK_EQ(spin(rounds), rounds);
    return 0;
}
