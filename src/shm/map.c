/* src/shm/map.c - where the segment lies in a process.  SPDX-License-Identifier: Apache-2.0
 *
 * A program's wild write is not to reach it.  By itself the kernel puts it between the program's
 * own mappings: what runs over the end of one of these would go on in the segment's header.  So it
 * lies at a random place far from heap, stacks and objects, with memory before and behind it that
 * cannot be accessed.
 *
 * No part of it is mapped for reading only, since each page has words that every member writes.
 * Protection keys do not guard it: WRPKRU takes some 23 cycles and nothing passes it, so to open
 * and close the segment would add some 15 ns to each entry, which may take 10 to 20. */
#include "internal.h"
#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define GUARD (64u << 10)
#define TRIES 8

/* Below stacks and objects as the kernel places them by default, with some 100 GiB to grow in
 * between, and far above heaps (0x55...). Sanitizers know this range as the program's;
 * ThreadSanitizer ends programs that have mappings below it. */
#define LOWEST 0x7e8000000000ull
#define PLACES (0x006000000000ull >> 12)

static void *reserve(size_t len)
{
    for (unsigned i = 0; i < TRIES; i++) {
        void *at = (void *)(uintptr_t)(LOWEST + (os_random() % PLACES << 12));
        void *p = os_map_at(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (!os_is_error(p)) return p;      /* older kernels: perhaps at another place */
        if ((intptr_t)p != -EEXIST) break;
    }
    return os_map(len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void *shm_map(int fd, size_t size)
{
    char *p = reserve(size + 2 * GUARD);
    if (os_is_error(p)) return p;
    void *map = os_map_at(p + GUARD, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (os_is_error(map)) os_unmap(p, size + 2 * GUARD);
    return map;
}

void shm_unmap(void *map, size_t size) { os_unmap((char *)map - GUARD, size + 2 * GUARD); }
