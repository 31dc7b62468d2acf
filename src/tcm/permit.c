/* src/tcm/permit.c - records of permits.  SPDX-License-Identifier: Apache-2.0
 *
 * A handle is the place of a record and its generation, so that a handle whose permit was released
 * names nothing. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tcm/tcm.h"

/* The permits that this thread has registered with, the last one last.  Of more than DEEP only
 * their number is known. */
#define DEEP 16u
static _Thread_local struct { uint64_t handle[DEEP]; uint32_t depth; } registered;

#define PLACE_BITS 20
_Static_assert(TCM_CHUNK * TCM_CHUNKS < 1u << PLACE_BITS, "a place fits");

static struct tcm_permit *find(uint64_t handle)
{
    uint64_t at = handle & ((1u << PLACE_BITS) - 1);
    if (at == 0 || at > TCM_CHUNK * TCM_CHUNKS) return NULL;
    struct tcm_permit *chunk = atomic_load_explicit(&tcm.chunk[(at - 1) / TCM_CHUNK], memory_order_acquire);
    if (!chunk) return NULL;
    struct tcm_permit *p = &chunk[(at - 1) % TCM_CHUNK];
    return atomic_load_explicit(&p->handle, memory_order_relaxed) == handle ? p : NULL;
}

struct tcm_permit *tcm_permit_of(tcm_permit_handle_t handle) { return find((uint64_t)(uintptr_t)handle); }

static bool more_places(void)
{
    struct tcm_permit *chunk = tcm.chunks < TCM_CHUNKS ? calloc(TCM_CHUNK, sizeof(*chunk)) : NULL;
    if (!chunk) return false;
    for (uint32_t i = TCM_CHUNK; i-- > 0;) {
        chunk[i].place = tcm.chunks * TCM_CHUNK + i;
        chunk[i].next = tcm.free;
        tcm.free = &chunk[i];
    }
    atomic_store_explicit(&tcm.chunk[tcm.chunks++], chunk, memory_order_release);
    return true;
}

static void append(struct tcm_permit *p)
{
    struct tcm_permit **to = &tcm.permits;
    while (*to) to = &(*to)->next;
    p->next = NULL;
    *to = p;
}

static void take_out(struct tcm_permit *p)
{
    struct tcm_permit **at = &tcm.permits;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
}

struct tcm_permit *tcm_permit_new(void)
{
    if (!tcm.free && !more_places()) return NULL;
    struct tcm_permit *p = tcm.free;
    uint32_t place = p->place, generation = p->generation + 1;
    tcm.free = p->next;
    *p = (struct tcm_permit){.place = place, .generation = generation, .asker = pthread_self(), .state = TCM_PERMIT_STATE_INACTIVE, .told_state = TCM_PERMIT_STATE_INACTIVE};
    append(p);
    atomic_store_explicit(&p->handle, (uint64_t)generation << PLACE_BITS | (place + 1), memory_order_relaxed);
    return p;
}

void tcm_permit_free(struct tcm_permit *p)
{
    take_out(p);
    if (p->news) tcm.waiting_news--;
    p->news = 0;
    p->calling = false;
    free(p->constraint);
    p->constraint = NULL;
    atomic_store_explicit(&p->handle, 0, memory_order_relaxed);
    p->next = tcm.free;
    tcm.free = p;
}

void tcm_permit_last(struct tcm_permit *p)
{
    take_out(p);
    append(p);
}

/* The grant, divided among its constraints: minima first, then evenly. */
static void divide(const struct tcm_permit *p, uint32_t *threads, uint32_t n)
{
    uint32_t left = p->grant, some[p->constraints];
    for (uint32_t i = 0; i < p->constraints; i++) {
        some[i] = p->constraint[i].min < left ? p->constraint[i].min : left;
        left -= some[i];
    }
    for (bool given = true; left && given;) {
        given = false;
        for (uint32_t i = 0; i < p->constraints && left; i++) {
            if (some[i] >= p->constraint[i].max) continue;
            some[i]++;
            left--;
            given = true;
        }
    }
    for (uint32_t i = 0; i < n && i < p->constraints; i++) threads[i] = some[i];
}

void tcm_permit_show(const struct tcm_permit *p, tcm_permit_t *to)
{
    to->state = p->state;
    to->flags = (tcm_permit_flags_t){.rigid_concurrency = p->rigid, .request_as_inactive = p->as_inactive};
    if (to->concurrencies && to->size) {
        if (p->constraints) divide(p, to->concurrencies, to->size);
        else to->concurrencies[0] = p->grant;
    }
    for (uint32_t i = 0; to->cpu_masks && i < p->constraints && i < to->size; i++) tcm_write_mask(to->cpu_masks[i], &p->constraint[i].cpus);
}

bool tcm_in_another(const struct tcm_permit *p)
{
    for (uint32_t i = 0; i < registered.depth && i < DEEP; i++) {
        struct tcm_permit *in = find(registered.handle[i]);
        if (in && in != p && (in->state == TCM_PERMIT_STATE_ACTIVE || in->state == TCM_PERMIT_STATE_IDLE)) return true;
    }
    return false;
}

tcm_result_t tcm_thread_in(tcm_permit_handle_t handle)
{
    struct tcm_permit *p = tcm_permit_of(handle);
    if (!p) return TCM_RESULT_ERROR_UNKNOWN;
    atomic_store_explicit(&p->used, true, memory_order_relaxed);
    if (registered.depth < DEEP) registered.handle[registered.depth] = (uint64_t)(uintptr_t)handle;
    registered.depth++;
    return TCM_RESULT_SUCCESS;
}

tcm_result_t tcm_thread_out(void)
{
    if (!registered.depth) return TCM_RESULT_ERROR_UNKNOWN;
    registered.depth--;
    return TCM_RESULT_SUCCESS;
}
