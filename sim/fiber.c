/* sim/fiber.c - threads' fibers, and the one stack that they all execute on.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whose turn it is has its frames on the stack; those of the others lie in records, packed: with a
 * stack for each, of a hundred thousand threads, every step would begin in pages that the host's
 * TLB does not know.  So nothing that lies on a fiber's stack may be known by its address to
 * others. */
#include "sim/internal.h"

#include "arch/fiber.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK 262144u
#define GUARD 4096u
#define LARGE_PAGE (2u << 20)
#define DEEP_STEP 2048u

/* ---- threads' records ----------------------------------------------------------------------------- */

/* A block of threads, then what each has on the stack. */
#define BLOCK_SIZE (SIM_BLOCK * (sizeof(struct sim_thread) + SIM_FRAMES))

/* In large pages, where there are some: of many threads hardly one is in the host's caches when its
 * time comes. */
bool sim_block_add(struct sim *s)
{
    struct sim_thread **blocks = realloc(s->block, (s->nr_blocks + 1) * sizeof *blocks);
    if (!blocks) return false;
    s->block = blocks;
    char *p = mmap(0, BLOCK_SIZE + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    size_t off = -(uintptr_t)p % LARGE_PAGE;
    if (off) munmap(p, off);
    munmap(p + off + BLOCK_SIZE, LARGE_PAGE - off);
    if (s->nr_blocks) madvise(p + off, BLOCK_SIZE, MADV_HUGEPAGE);      /* not worth it for the few of a small simulation */
    blocks[s->nr_blocks++] = (struct sim_thread *)(void *)(p + off);
    return true;
}

static void *packed(const struct sim *s, const struct sim_thread *t)
{ return (char *)&s->block[t->k.id / SIM_BLOCK][SIM_BLOCK] + t->k.id % SIM_BLOCK * SIM_FRAMES; }

/* ---- the stack -------------------------------------------------------------------------------------- */

int sim_fibers_init(struct sim *s)
{
    char *p = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return -ENOMEM;
    s->stack_end = p + STACK;
    return mprotect(p, GUARD, PROT_NONE) ? -ENOMEM : 0;
}

void sim_fibers_free(struct sim *s)
{
    for (uint32_t i = 0; i < s->nr_threads; i++) free(sim_thread(s, i)->deep);
    for (uint32_t i = 0; i < s->nr_blocks; i++) munmap(s->block[i], BLOCK_SIZE);
    free(s->block);
    if (s->stack_end) munmap(s->stack_end - STACK, STACK);
}

static size_t depth(const struct sim *s, const struct sim_thread *t) { return (size_t)(s->stack_end - (char *)t->sp); }

void sim_fiber_begin(struct sim *s, struct sim_thread *t, void (*run)(void))
{
    uintptr_t frames[ARCH_FIBER_WORDS];
    arch_fiber_begin(frames, run);
    t->sp = s->stack_end - sizeof frames;
    memcpy(packed(s, t), frames, sizeof frames);
}

void sim_fiber_end(struct sim *s, struct sim_thread *t)
{
    if (s->on_stack == t) s->on_stack = 0;
    free(t->deep);
    t->deep = 0;
    t->sp = 0;
}

/* Those with calls deep within calls have their frames elsewhere. */
static bool pack(struct sim *s, struct sim_thread *t)
{
    size_t n = depth(s, t);
    if (n > SIM_FRAMES && n > t->deep_cap) {
        uint32_t cap = (uint32_t)(n + DEEP_STEP);
        void *deep = realloc(t->deep, cap);
        if (!deep) return false;
        t->deep = deep;
        t->deep_cap = cap;
    }
    memcpy(n > SIM_FRAMES ? t->deep : packed(s, t), t->sp, n);
    return true;
}

/* Lets it execute until its next request.  False: error set. */
bool sim_fiber_run(struct sim *s, struct sim_thread *t)
{
    if (s->on_stack != t) {
        size_t n = depth(s, t);
        if (s->on_stack && !pack(s, s->on_stack)) return sim_fail(s, -ENOMEM, "no memory for another thread's stack"), false;
        memcpy(t->sp, n > SIM_FRAMES ? t->deep : packed(s, t), n);
        s->on_stack = t;
    }
    s->self = t;
    arch_fiber_switch(&s->engine_sp, t->sp);
    s->self = 0;
    return true;
}

void sim_fiber_fetch(const struct sim *s, const struct sim_thread *t)
{
    size_t n = depth(s, t);
    sim_fetch(n > SIM_FRAMES ? t->deep : packed(s, t), n);
}
