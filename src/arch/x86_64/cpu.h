/* src/arch/x86_64/cpu.h - x86-64.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_X86_64_CPU_H
#define USF_ARCH_X86_64_CPU_H

#include <stddef.h>
#include <stdint.h>

/* Result as the kernel's: -errno on error. */
static inline __attribute__((always_inline)) long arch_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

/* In a loop that waits. */
static inline void arch_pause(void) { __builtin_ia32_pause(); }
/* Cycles of this CPU. */
static inline uint64_t arch_cycles(void) { return __builtin_ia32_rdtsc(); }
/* The CPU that the caller runs on, at this moment.  Linux keeps it in a segment's limit, for its
 * own getcpu. */
static inline uint32_t arch_cpu(void)
{
    uint32_t cpu_and_node = ~0u, segment = 0x7b;
    __asm__ volatile("lsl %1, %0" : "+r"(cpu_and_node) : "r"(segment) : "cc");
    return cpu_and_node & 0xfff;
}

/* The calling thread's, of libc. */
static inline uintptr_t arch_thread_pointer(void)
{
    uintptr_t self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
}
/* ... as the kernel knows it: the program may have set one of its own.  0: unknown */
static inline uintptr_t arch_thread_register(void)
{
    uintptr_t self = 0;
    arch_syscall(158 /* arch_prctl */, 0x1003 /* ARCH_GET_FS */, (long)&self, 0, 0, 0, 0);
    return self;
}
/* glibc's table of the calling thread's blocks of thread-local storage. */
static inline const size_t *arch_thread_blocks(void)
{
    const size_t *table;
    __asm__("mov %%fs:8, %0" : "=r"(table));
    return table;
}

/* Call fn on the stack that ends at `top`, which is aligned to 16 bytes. */
static inline void arch_call_on(void *top, void (*fn)(void))
{
    __asm__ volatile("mov %%rsp, %%rbx\n mov %0, %%rsp\n call *%1\n mov %%rbx, %%rsp"
                     : : "r"(top), "r"(fn)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
}

/* clone(flags) onto the stack that ends at `top`, which is aligned to 16 bytes.  The child calls
 * fn(arg), which does not return.  tid: the word for CLONE_PARENT_SETTID and
 * CLONE_CHILD_CLEARTID. */
static inline long arch_clone(unsigned long flags, void *top, void *tid, void (*fn)(void *), void *arg)
{
    long ret;
    void **sp = (void **)top - 2;
    sp[0] = (void *)fn;
    sp[1] = arg;
    register long r10 __asm__("r10") = (long)tid;
    register long r8 __asm__("r8") = 0;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "pop %%rax\n\t"
                     "pop %%rdi\n\t"
                     "call *%%rax\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(ret)
                     : "a"(56 /* clone */), "D"(flags), "S"(sp), "d"(tid), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return ret;
}

/* Copy n bytes upwards; copy n bytes downwards, of which d and s are the last; write n times c.
 * No vector registers, no calls. */
static inline void arch_copy(void *d, const void *s, size_t n)
{ __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory"); }
static inline void arch_copy_down(void *d, const void *s, size_t n)
{ __asm__ volatile("std; rep movsb; cld" : "+D"(d), "+S"(s), "+c"(n) : : "memory"); }
static inline void arch_fill(void *d, int c, size_t n)
{ __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory"); }

#endif
