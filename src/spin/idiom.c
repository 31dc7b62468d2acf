/* src/spin/idiom.c - waits that are known by name, patched before their object runs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Some waits cannot be proved: the progress loops of MPI call dozens of functions.  But each round
 * of theirs goes through one exported function, whose entry becomes a scheduling point (a POLL
 * site).
 *
 * The OpenBLAS of Python wheels waits in loops around eight nops, a thousand of them, of which a
 * program meets about ten.  Patching all would cost each import of numpy a megabyte of copied
 * pages, so only those of the thread server are patched here, which every program meets; others are
 * found when they hurt, and learned. */
#include "spin/internal.h"

#include "arch/code.h"
#include "gate/gate.h"
#include "os/os.h"

/* ---- what is known ---------------------------------------------------------------------------- */
static const struct { const char *object, *function; } polls[] = {
    { "libopen-pal.so", "opal_progress" },          /* OpenMPI 3-5: every wait */
    { "libucp.so", "ucp_worker_progress" },         /* UCX: MPICH's and OpenMPI's waits over it */
};

static const char *base_name(const char *path)
{
    const char *b = path;
    for (const char *p = path; *p; p++)
        if (*p == '/') b = p + 1;
    return b;
}
static bool starts_with(const char *s, const char *with)
{
    while (*with && *s == *with) s++, with++;
    return !*with;
}
static bool contains(const char *s, const char *what)
{
    for (; *s; s++)
        if (starts_with(s, what)) return true;
    return false;
}

static int patch_polls(const struct gate_object *o, const char *file)
{
    int n = 0;
    for (unsigned i = 0; i < sizeof polls / sizeof *polls; i++) {
        if (!starts_with(file, polls[i].object)) continue;
        uintptr_t at = gate_find_function(o, polls[i].function), start, end;
        if (at && gate_function_bounds(o, at, &start, &end) && start == at)
            n += spin_patch_poll(start, end) >= 0;
    }
    return n;
}

#define NOPS 4u
static bool are_nops(const uint8_t *code)
{
    unsigned n = 0;
    while (n < NOPS && arch_is_nop(code + n * ARCH_NOP_LEN)) n++;
    return n == NOPS;
}

/* The waits of a function that stand around runs of nop. */
static int patch_nop_loops(uintptr_t start, uintptr_t end)
{
    const uint8_t *code = (const uint8_t *)start;
    struct spin_loop l;
    int n = 0;
    for (uintptr_t pc = start; pc + NOPS * ARCH_NOP_LEN <= end; pc += ARCH_NOP_LEN) {
        if (!are_nops(code + (pc - start))) continue;
        if (spin_recognise_anew(code, start, end, pc, &l) == SPIN_YES) n += spin_patch(start, &l) > 0;
        while (pc + NOPS * ARCH_NOP_LEN < end && arch_is_nop(code + (pc - start))) pc += ARCH_NOP_LEN;
    }
    return n;
}

#define NEIGHBOURS 6

/* The functions of one source file lie side by side: the loops of `around` and of a few next to
 * it. */
static int patch_neighbourhood(const struct gate_object *o, uintptr_t around)
{
    uintptr_t start, end, at = around;
    int n = 0;
    for (int i = 0; i < NEIGHBOURS && gate_function_bounds(o, at - 16, &start, &end); i++) at = start;
    for (int i = 0; i < 2 * NEIGHBOURS && at < o->text_end; i++) {
        if (!gate_function_bounds(o, at, &start, &end)) break;
        n += patch_nop_loops(start, end);
        at = (end + 15) & ~(uintptr_t)15;
    }
    return n;
}

int spin_apply_idioms(const struct gate_object *o)
{
    if (!o->path) return 0;
    const char *file = base_name(o->path);
    int n = patch_polls(o, file);
    if (contains(file, "openblas")) {
        uintptr_t at = gate_find_function(o, "exec_blas_async");
        if (at) n += patch_neighbourhood(o, at);
    }
    return n;
}
