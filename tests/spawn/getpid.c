/* tests/spawn/getpid.c - preloaded; says when its getpid is called, as a library's may allocate memory there.  SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>
#include <unistd.h>

pid_t getpid(void)
{
    static const char text[] = "getpid\n";
    return write(2, text, sizeof text - 1) < 0 ? -1 : (pid_t)syscall(SYS_getpid);
}
