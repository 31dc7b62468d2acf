/* tests/gate/dlsite.c - a library with a system call of its own, for dl.c.  SPDX-License-Identifier: Apache-2.0
 * Compiled several times: WHICH makes different code of the same size. */
long dl_which(void);
long dl_getppid(void);
long dl_seen_by_constructor;

long dl_which(void) { return WHICH; }

__attribute__((noinline)) long dl_getppid(void)
{
    long ret;
#if WHICH % 2
    __asm__ volatile("mov $110, %%eax\n\tsyscall" : "=a"(ret) : : "rcx", "r11", "memory");
#else
    long unused = 1;
    __asm__ volatile("mov $2, %%edx\n\tmov $110, %%eax\n\tsyscall" : "=a"(ret), "+d"(unused) : : "rcx", "r11", "memory");
#endif
    return ret;
}

__attribute__((constructor)) static void start(void) { dl_seen_by_constructor = dl_getppid(); }
