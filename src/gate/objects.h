/* src/gate/objects.h - table of loaded objects.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_GATE_OBJECTS_H
#define USF_GATE_OBJECTS_H

#include "gate/internal.h"

#include <link.h>

#define GATE_PATH_MAX 232

/* Both are found by an index, which is never 0.  Owner: the holder of the dynamic linker's load
 * lock. */

/* One link map that the dynamic linker has listed, whether or not its object is intercepted.
 * map != null: in use.  lo < hi: an intercepted object, found by these addresses. */
struct gate_place {
    uintptr_t lo, hi;
    const struct link_map *map;
    uintptr_t base;                 /* map->l_addr */
    uint32_t next;                  /* the next one of its namespace, or of the free ones; 0 = none */
};

/* An intercepted object; used: its place says lo < hi. */
struct gate_entry {
    uint32_t index;
    bool used;
    struct gate_object object;      /* path and build_id point at the copies below */
    struct gate_image image;
    struct gate_patched patched;
    struct gate_patched hooks;      /* hook.c's stubs */
    char path[GATE_PATH_MAX];       /* cut if longer */
    uint8_t build_id[32];
};

extern struct gate_patched gate_vdso_code;      /* gate_patch_vdso */

uint32_t gate_place_new(const struct link_map *map);    /* 0: table full */
void gate_place_free(uint32_t index);
struct gate_place *gate_place_at(uint32_t index);
struct gate_entry *gate_entry_at(uint32_t index);

void gate_entry_publish(struct gate_entry *e);
void gate_entry_drop(struct gate_entry *e);
struct gate_entry *gate_entry_next(struct gate_entry *e);     /* null: first */
struct gate_entry *gate_entry_of(const struct gate_object *o);     /* null: it has been unloaded */
bool gate_is_known(uintptr_t base, uintptr_t text);
#endif
