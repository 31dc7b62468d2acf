/* bench/context_lib/context_lib.c - see ../context_lib.h.  SPDX-License-Identifier: Apache-2.0 */
#include "context_lib.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#define NAME2(prefix, name) prefix##_##name
#define NAME1(prefix, name) NAME2(prefix, name)
#define NAME(name) NAME1(PREFIX, name)

void NAME(nothing)(void) {}

void NAME(getaffinity)(long n)
{
    cpu_set_t set;
    while (n--) sched_getaffinity(0, sizeof set, &set);
}

void NAME(open_cpuinfo)(long n)
{
    while (n--) close(open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC));
}

void NAME(open_null)(long n)
{
    while (n--) close(open("/dev/null", O_RDONLY | O_CLOEXEC));
}
