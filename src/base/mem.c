/* src/base/mem.c - memory functions of our own.  SPDX-License-Identifier: Apache-2.0
 *
 * The compiler may turn copies into calls of these.  libc's use vector registers, which the gate
 * does not save: code that runs inside a user's program must never reach them.  Hidden, so that the
 * program keeps libc's.
 *
 * A compiler that recognises one of the loops below as the function it implements would make it
 * call itself.  The empty asm in each loop hides it from any such pass, whatever the flags. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "arch/arch.h"

#define HIDDEN __attribute__((visibility("hidden"), used))
#define OPAQUE(p) __asm__ volatile("" : "+r"(p))

HIDDEN void *memcpy(void *restrict d, const void *restrict s, size_t n)
{
    arch_copy(d, s, n);
    return d;
}
HIDDEN void *memmove(void *d, const void *s, size_t n)
{
    if ((uintptr_t)d - (uintptr_t)s >= n) arch_copy(d, s, n);
    else arch_copy_down((char *)d + n - 1, (const char *)s + n - 1, n);
    return d;
}
HIDDEN void *memset(void *d, int c, size_t n)
{
    arch_fill(d, c, n);
    return d;
}
HIDDEN int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (; n; n--, x++, y++) {
        OPAQUE(x);
        if (*x != *y) return *x < *y ? -1 : 1;
    }
    return 0;
}
/* clang calls it where a memcmp is compared with 0. */
HIDDEN int bcmp(const void *a, const void *b, size_t n) { return memcmp(a, b, n); }
HIDDEN size_t strlen(const char *s)
{
    const char *p = s;
    for (; *p; p++) OPAQUE(p);
    return (size_t)(p - s);
}
HIDDEN int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++) OPAQUE(a);
    return (unsigned char)*a - (unsigned char)*b;
}
HIDDEN int strncmp(const char *a, const char *b, size_t n)
{
    for (; n; n--, a++, b++) {
        OPAQUE(a);
        if (*a != *b) return (unsigned char)*a - (unsigned char)*b;
        if (!*a) break;
    }
    return 0;
}
