/* src/inspect/address.h - what lies at an address of another process.
 * SPDX-License-Identifier: Apache-2.0
 *
 * From /proc/PID/maps and the symbol tables of the files mapped there.  Whatever cannot be read, or
 * has changed meanwhile, makes the answer shorter, never an error. */
#ifndef USF_INSPECT_ADDRESS_H
#define USF_INSPECT_ADDRESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
    uint64_t start, end, offset, dev, ino;
    char perms[5];
    char *path;                 /* "", "[heap]", "/lib/x.so", "/x (deleted)" */
};
struct thread_stack { int32_t tid; uint64_t sp; };

struct place_cached;

struct address_space {
    int32_t pid;
    struct mapping *map;
    unsigned nr;
    struct thread_stack *stack; /* of threads that wait in the kernel; read when first asked for */
    unsigned nr_stacks;
    bool stacks_known;
    struct place_cached *cache; /* answers: a thousand threads may wait at one address */
    unsigned nr_cached;
};

enum place_kind {
    PLACE_UNKNOWN = 0,  /* the process cannot be looked at */
    PLACE_UNMAPPED,
    PLACE_OBJECT,       /* a program or library: object, perhaps symbol */
    PLACE_FILE,         /* another file, or shared memory */
    PLACE_HEAP, PLACE_STACK, PLACE_THREAD_STACK, PLACE_ANONYMOUS, PLACE_SPECIAL,
};
struct place {
    enum place_kind kind;
    char object[256];           /* path, or "[heap]" and the like */
    char symbol[160];           /* "" if none is known */
    uint64_t offset;            /* in the symbol, else in the object as linked, else in the mapping */
    uint64_t size;              /* of the mapping */
    int32_t tid;                /* THREAD_STACK: whose */
};
/* False: /proc does not show the process's maps (as is empty then, and may be used). */
bool address_space_load(struct address_space *as, int32_t pid);
void address_space_free(struct address_space *as);
const struct mapping *address_mapping(const struct address_space *as, uint64_t addr);
void address_find(struct address_space *as, uint64_t addr, struct place *out);
/* "lock+0x8 (/usr/bin/prog)", "[heap]+0x120", "stack of thread 12+0x..", in words. */
void place_text(const struct place *p, char *buf, size_t cap);
const char *place_kind_name(enum place_kind k);
/* Bytes of the process's memory.  False: not permitted, or not there. */
bool address_read(int32_t pid, uint64_t addr, void *buf, size_t n);

#endif
