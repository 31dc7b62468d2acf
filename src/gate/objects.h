/* src/gate/objects.h - table of loaded objects.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_GATE_OBJECTS_H
#define USF_GATE_OBJECTS_H

#include "gate/internal.h"

#define GATE_PATH_MAX 232

/* Owner: whoever holds the dynamic linker's load lock.  used: the slot holds an object; lo < hi: it may be
 * found by address. */
struct gate_entry {
    uintptr_t lo, hi;
    uint32_t index;
    bool used;
    bool seen;                      /* met in the walk at hand; what is not has been unloaded */
    bool fresh;                     /* new in the last walk */
    struct gate_object object;      /* path and build_id point at the copies below */
    struct gate_image image;
    struct gate_patched patched;
    struct gate_patched hooks;      /* hook.c's stubs */
    char path[GATE_PATH_MAX];       /* cut if longer */
    uint8_t build_id[32];
};

struct gate_entry *gate_entry_new(void);        /* a free slot, or null: table full */
void gate_entry_publish(struct gate_entry *e);
void gate_entry_drop(struct gate_entry *e);
struct gate_entry *gate_entry_next(struct gate_entry *e);     /* null: first */
struct gate_entry *gate_entry_by_base(uintptr_t base, uintptr_t text);
#endif
