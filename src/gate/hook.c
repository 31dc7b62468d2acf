/* src/gate/hook.c - functions of loaded objects that pass through one of ours first.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The function's first instructions, enough for a jump, move to a stub, and the jump takes their
 * place.  The architecture (src/arch) builds the stub.
 *
 * Branches of the function itself into what is moved are refused.  Those of other functions to
 * anything but its beginning lead behind conditional jumps, which are longer than the window where
 * they can reach that far. */
#include "gate/objects.h"

#include "arch/code.h"
#include "base/base.h"
#include "os/os.h"

#include <sys/mman.h>

#define MAX_LEN (4096u * 16)

static const char no_function[] = "there is no description of its bounds", branched[] = "something jumps into its first instructions",
                  immovable[] = "its first instructions cannot be moved", no_memory[] = "no memory in reach",
                  not_written[] = "code cannot be written";

/* ---- may it be hooked? -------------------------------------------------------------------------- */

static const char *look_whole(struct gate_function *f, const struct gate_hook_window *w)
{
    const char *why = NULL;
    f->mark = os_map(f->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_is_error(f->mark)) return no_memory;
    gate_decode(f);
    if (f->undecodable) why = gate_hook_undecodable;
    for (uint64_t i = 1, from = w->code - f->code; i < w->len && !why; i++)
        if (f->mark[from + i] & MARK_TARGET) why = branched;
    os_unmap(f->mark, f->len);
    return why;
}

static const char *look(const struct gate_image *im, uint64_t function, struct gate_hook_window *w)
{
    struct gate_function f = {.im = im};
    if (!gate_fde_find(im, function, &f.fde) || f.fde.start != function) return no_function;
    f.len = f.fde.end - f.fde.start;
    f.code = gate_at(im, function, f.len);
    if (!f.code || f.len > MAX_LEN) return no_function;
    const char *why = gate_hook_choose(&f, w);
    return why || !gate_hook_may_branch(&f, w) ? why : look_whole(&f, w);
}

const char *gate_hook_refuses(const struct gate_image *im, uint64_t function)
{
    struct gate_hook_window w;
    return look(im, function, &w);
}

/* ---- all of an object's --------------------------------------------------------------------------- */

/* Memory for one pass. */
struct work { struct gate_hook_window *w; uint8_t *code; size_t size, len; };

static bool make_work(struct work *k, unsigned n)
{
    k->len = n * (size_t)GATE_STUB;
    k->size = k->len + n * sizeof *k->w;
    k->code = os_map(k->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    k->w = (void *)(k->code + k->len);
    return !os_is_error(k->code);
}

static const char *write_hooks(const struct work *k, uintptr_t base, void *code, unsigned n)
{
    struct gate_writer w;
    gate_writer_open(&w);
    bool good = !gate_writer_put(&w, code, k->code, k->len);
    for (unsigned i = 0; i < n && good; i++) {      /* the rest of the window: decoders that come later are not led astray */
        uint8_t patch[GATE_WINDOW_MAX];
        usf_dassert(k->w[i].nr && k->w[i].nr <= GATE_HOOK_MAX && k->w[i].len >= ARCH_JUMP_LEN && k->w[i].len <= sizeof patch);
        uintptr_t at = base + k->w[i].start, to = (uintptr_t)code + i * GATE_STUB + sizeof(struct gate_hook_site);
        arch_put_jump(patch, at, to, false);
        arch_put_nops(patch + ARCH_JUMP_LEN, k->w[i].len - ARCH_JUMP_LEN);
        good = !gate_writer_put(&w, (void *)at, patch, k->w[i].len);
    }
    gate_writer_close(&w);
    return good ? NULL : not_written;
}

static const char *prepare(const struct gate_entry *e, struct gate_hook *h, unsigned n, uintptr_t enter, struct work *k, void **code)
{
    uintptr_t base = e->object.base, lo = base + e->image.low, hi = base + e->image.high;
    for (unsigned i = 0; i < n; i++) {
        const char *why = look(&e->image, h[i].at - base, &k->w[i]);
        if (why) return why;
    }
    *code = gate_reuse_code(lo, hi, k->len);
    if (!*code) *code = gate_alloc_code(lo, hi, k->len);
    if (!*code) return no_memory;
    for (unsigned i = 0; i < n; i++) {
        uint8_t *stub = k->code + i * GATE_STUB;
        if (!gate_hook_build(&k->w[i], base, h[i].data, enter, stub, (uintptr_t)*code + i * GATE_STUB)) return immovable;
        h[i].resume = ((const struct gate_hook_site *)(const void *)stub)->resume;
    }
    return NULL;
}

const char *gate_hook_functions(const struct gate_object *o, struct gate_hook *h, unsigned n, void (*enter)(void))
{
    struct gate_entry *e = gate_entry_of(o);
    struct work k;
    void *code = NULL;
    if (!e || e->hooks.code) return no_function;
    if (!make_work(&k, n)) return no_memory;
    const char *why = prepare(e, h, n, (uintptr_t)enter, &k, &code);
    if (why) gate_free_code(code, k.len);
    else {
        e->hooks = (struct gate_patched){code, k.len};
        why = write_hooks(&k, o->base, code, n);
    }
    os_unmap(k.code, k.size);
    return why;
}
