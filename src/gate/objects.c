/* src/gate/objects.c - the loaded objects, known without the dynamic linker.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written under the dynamic linker's load lock only, read at any time, also in signal handlers: an
 * entry's bounds are published last and withdrawn first.  A reader that races with unloading may
 * get a copy of what was there; asking for an object whose code is running cannot race. */
#include "gate/objects.h"

#include "os/os.h"

#include <sys/mman.h>

#define BLOCK  128
#define BLOCKS 64

/* Blocks are only added.  The places lie apart from the large entries, so that a search by address
 * reads little memory. */
struct block {
    struct gate_place place[BLOCK];
    struct gate_entry entry[BLOCK];
};
static struct block *blocks[BLOCKS];
struct gate_patched gate_vdso_code;
static uint32_t nr_places = 1;      /* ever used; place 0 is none */
static uint32_t free_places;

struct gate_place *gate_place_at(uint32_t i) { return &blocks[i / BLOCK]->place[i % BLOCK]; }
struct gate_entry *gate_entry_at(uint32_t i) { return &blocks[i / BLOCK]->entry[i % BLOCK]; }

static uint32_t add_place(void)
{
    uint32_t n = nr_places;
    if (n == BLOCK * BLOCKS) return 0;
    if (!blocks[n / BLOCK]) {
        void *p = os_map(sizeof(struct block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (os_is_error(p)) return 0;
        blocks[n / BLOCK] = p;
    }
    __atomic_store_n(&nr_places, n + 1, __ATOMIC_RELEASE);
    return n;
}

uint32_t gate_place_new(const struct link_map *map)
{
    uint32_t i = free_places;
    if (i) free_places = gate_place_at(i)->next;
    else if (!(i = add_place())) return 0;
    *gate_place_at(i) = (struct gate_place){.map = map, .base = map->l_addr};
    return i;
}

void gate_place_free(uint32_t i)
{
    struct gate_place *p = gate_place_at(i);
    p->map = NULL;
    p->next = free_places;
    free_places = i;
}

void gate_entry_publish(struct gate_entry *e)
{
    struct gate_place *p = gate_place_at(e->index);
    e->used = true;
    __atomic_store_n(&p->lo, e->object.text, __ATOMIC_RELEASE);
    __atomic_store_n(&p->hi, e->object.text_end, __ATOMIC_RELEASE);
}

void gate_entry_drop(struct gate_entry *e)
{
    struct gate_place *p = gate_place_at(e->index);
    __atomic_store_n(&p->hi, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&p->lo, 0, __ATOMIC_RELEASE);
    e->used = false;
}

struct gate_entry *gate_entry_next(struct gate_entry *e)
{
    uint32_t n = __atomic_load_n(&nr_places, __ATOMIC_ACQUIRE), i = e ? e->index + 1 : 1;
    for (; i < n; i++)
        if (gate_entry_at(i)->used) return gate_entry_at(i);
    return NULL;
}

struct gate_entry *gate_entry_of(const struct gate_object *o)
{
    if (!o->index || o->index >= __atomic_load_n(&nr_places, __ATOMIC_ACQUIRE)) return NULL;
    struct gate_entry *e = gate_entry_at(o->index);
    return e->used && e->object.base == o->base && e->object.text == o->text ? e : NULL;
}

bool gate_is_known(uintptr_t base, uintptr_t text)
{
    for (uint32_t i = 1; i < nr_places; i++) {
        const struct gate_place *p = gate_place_at(i);
        if (p->hi && p->lo == text && p->base == base) return true;
    }
    return false;
}

bool gate_find_object(uintptr_t pc, struct gate_object *out)
{
    uint32_t n = __atomic_load_n(&nr_places, __ATOMIC_ACQUIRE);
    for (uint32_t i = 1; i < n; i++) {
        struct gate_place *p = gate_place_at(i);
        uintptr_t hi = __atomic_load_n(&p->hi, __ATOMIC_ACQUIRE), lo = __atomic_load_n(&p->lo, __ATOMIC_ACQUIRE);
        if (pc < lo || pc >= hi) continue;
        *out = gate_entry_at(i)->object;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&p->hi, __ATOMIC_RELAXED) == hi) return true;
    }
    return false;
}

void gate_for_each_object(void (*fn)(const struct gate_object *, void *), void *arg)
{
    for (struct gate_entry *e = gate_entry_next(NULL); e; e = gate_entry_next(e)) fn(&e->object, arg);
}

bool gate_function_bounds(const struct gate_object *o, uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
    struct gate_entry *e = gate_entry_of(o);
    struct gate_fde f;
    if (!e || !gate_fde_find(&e->image, pc - o->base, &f)) return false;
    *start = o->base + f.start;
    *end = o->base + f.end;
    return true;
}

uintptr_t gate_original_pc(uintptr_t pc)
{
    if (!gate_in_stubs(pc)) return pc;
    uintptr_t vdso = (uintptr_t)gate_vdso_code.code;
    if (vdso && pc >= vdso && pc - vdso < gate_vdso_code.len) return gate_chunk_original(vdso, gate_vdso_code.len, pc);
    for (struct gate_entry *e = gate_entry_next(NULL); e; e = gate_entry_next(e)) {
        uintptr_t code = (uintptr_t)e->patched.code;
        if (code && pc >= code && pc - code < e->patched.len) return gate_chunk_original(code, e->patched.len, pc);
        code = (uintptr_t)e->hooks.code;
        if (code && pc >= code && pc - code < e->hooks.len) return gate_hook_original(code, e->hooks.len, pc);
    }
    return pc;
}

uintptr_t gate_moved_pc(uintptr_t pc)
{
    struct gate_object o;
    const struct gate_entry *e = gate_find_object(pc, &o) ? gate_entry_of(&o) : NULL;
    if (e && e->patched.code) pc = gate_chunk_moved((uintptr_t)e->patched.code, e->patched.len, pc);
    return e && e->hooks.code ? gate_hook_moved((uintptr_t)e->hooks.code, e->hooks.len, pc) : pc;
}
