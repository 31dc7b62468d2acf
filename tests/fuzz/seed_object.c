/* tests/fuzz/seed_object.c - a small object with all that the patcher looks at.  SPDX-License-Identifier: Apache-2.0
 * Built without libc: system calls of several shapes, a jump table, a function with landing pads, what makes an OpenMP runtime. */
__attribute__((weak)) void may_throw(void) {}
__attribute__((visibility("hidden"))) extern long seed_table[];

long seed_plain(long nr, long a)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a) : "rcx", "r11", "memory");
    return r < 0 ? -1 : r;
}
long seed_known(void)
{
    long r;
    __asm__ volatile("mov $39, %%eax; syscall; mov %%rax, seed_table(%%rip)" : "=a"(r) : : "rcx", "r11", "memory");
    return r;
}
long seed_table[4];
long seed_switch(int n)
{
    long r = n;
    switch (n) {
    case 0: r = seed_plain(0, 1); break;
    case 1: r = seed_plain(1, 2) * 3; break;
    case 2: r = seed_plain(3, 4) + 5; break;
    case 3: r = seed_plain(7, 4) ^ 77; break;
    case 4: r = seed_plain(9, 4) - 99; break;
    case 5: r = seed_plain(11, 4) << 3; break;
    }
    return r;
}
static void clean_up(int *p) { *p = 0; }
void seed_pads(void)
{
    __attribute__((cleanup(clean_up))) int guard = 1;
    may_throw();
    __asm__ volatile("syscall" : : "a"(24) : "rcx", "r11", "memory");
    seed_table[1] = guard;
}
int seed_level, seed_size;
int omp_get_level(void) { return seed_level; }
int omp_get_dynamic(void) { return seed_level & 1; }
int omp_get_max_threads(void) { return seed_size; }
void omp_set_num_threads(int n) { seed_size = n; }
void GOMP_parallel(void (*f)(void *), void *data, unsigned n, unsigned flags)
{
    seed_level += (int)n;
    f(data);
    seed_level -= (int)(n + flags);
}
