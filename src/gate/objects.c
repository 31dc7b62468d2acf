/* src/gate/objects.c - the loaded objects, known without the dynamic linker.  SPDX-License-Identifier: Apache-2.0
 *
 * Written under the dynamic linker's load lock only, read at any time, also in signal handlers: an entry's
 * bounds are published last and withdrawn first.  A reader that races with unloading may get a copy of
 * what was there; asking for an object whose code is running cannot race. */
#include "gate/objects.h"

#include "os/os.h"

#include <sys/mman.h>

#define BLOCK  128
#define BLOCKS 64

/* Blocks are only added. */
static struct gate_entry *blocks[BLOCKS];
static uint32_t nr_entries;     /* slots ever used */

static struct gate_entry *entry_at(uint32_t i) { return &blocks[i / BLOCK][i % BLOCK]; }

struct gate_entry *gate_entry_new(void)
{
    uint32_t n = nr_entries;
    for (uint32_t i = 0; i < n; i++)
        if (!entry_at(i)->used) return entry_at(i);
    if (n == BLOCK * BLOCKS) return NULL;
    if (!blocks[n / BLOCK]) {
        void *p = os_map(BLOCK * sizeof(struct gate_entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if ((uintptr_t)p > -4096ul) return NULL;
        blocks[n / BLOCK] = p;
    }
    __atomic_store_n(&nr_entries, n + 1, __ATOMIC_RELEASE);
    return entry_at(n);
}

void gate_entry_publish(struct gate_entry *e)
{
    e->used = true;
    __atomic_store_n(&e->lo, e->object.text, __ATOMIC_RELEASE);
    __atomic_store_n(&e->hi, e->object.text_end, __ATOMIC_RELEASE);
}

void gate_entry_drop(struct gate_entry *e)
{
    __atomic_store_n(&e->hi, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&e->lo, 0, __ATOMIC_RELEASE);
    e->used = false;
}

struct gate_entry *gate_entry_next(struct gate_entry *e)
{
    uint32_t n = __atomic_load_n(&nr_entries, __ATOMIC_ACQUIRE), i = e ? e->index + 1 : 0;
    for (; i < n; i++) {
        struct gate_entry *x = entry_at(i);
        x->index = i;
        if (x->used) return x;
    }
    return NULL;
}

struct gate_entry *gate_entry_by_base(uintptr_t base, uintptr_t text)
{
    for (struct gate_entry *e = gate_entry_next(NULL); e; e = gate_entry_next(e))
        if (e->object.base == base && e->object.text == text) return e;
    return NULL;
}

bool gate_find_object(uintptr_t pc, struct gate_object *out)
{
    uint32_t n = __atomic_load_n(&nr_entries, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++) {
        struct gate_entry *e = entry_at(i);
        uintptr_t hi = __atomic_load_n(&e->hi, __ATOMIC_ACQUIRE), lo = __atomic_load_n(&e->lo, __ATOMIC_ACQUIRE);
        if (pc < lo || pc >= hi) continue;
        *out = e->object;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&e->hi, __ATOMIC_RELAXED) == hi) return true;
    }
    return false;
}

void gate_for_each_object(void (*fn)(const struct gate_object *, void *), void *arg)
{
    for (struct gate_entry *e = gate_entry_next(NULL); e; e = gate_entry_next(e)) fn(&e->object, arg);
}

bool gate_function_bounds(const struct gate_object *o, uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
    struct gate_entry *e = gate_entry_by_base(o->base, o->text);
    struct gate_fde f;
    if (!e || !gate_fde_find(&e->image, pc - o->base, &f)) return false;
    *start = o->base + f.start;
    *end = o->base + f.end;
    return true;
}

uintptr_t gate_original_pc(uintptr_t pc)
{
    if (!gate_in_stubs(pc)) return pc;
    for (struct gate_entry *e = gate_entry_next(NULL); e; e = gate_entry_next(e)) {
        uintptr_t code = (uintptr_t)e->patched.code;
        if (code && pc >= code && pc - code < e->patched.len) return gate_chunk_original(code, e->patched.len, pc);
        code = (uintptr_t)e->hooks.code;
        if (code && pc >= code && pc - code < e->hooks.len) return gate_hook_original(code, e->hooks.len, pc);
    }
    return pc;
}
