/* src/teams/patch.c - hook the OpenMP runtimes of this process as they are loaded.
 * SPDX-License-Identifier: Apache-2.0
 *
 * At start, or under the dynamic linker's load lock. */
#include "teams/internal.h"

#include "base/base.h"
#include "gate/objects.h"

struct teams_runtime teams_runtimes[TEAMS_RUNTIMES];
enum teams_mode teams_mode;

static char **first_environment;
extern char **environ;              /* libc's; null until it has started */

void teams_init(enum teams_mode mode, char **envp)
{
    teams_mode = mode;
    first_environment = envp;
}

/* ---- what the user has said ----------------------------------------------------------------------- */

/* The value, if the entry sets that variable to anything. */
static const char *value(const char *entry, const char *name)
{
    while (*name && *entry == *name) entry++, name++;
    return !*name && *entry == '=' && entry[1] ? entry + 1 : NULL;
}

static bool is_true(const char *v)
{
    while (*v == ' ' || *v == '\t' || *v == '.') v++;
    char c = (char)(*v | 0x20);
    return c == 't' || c == 'y' || *v == '1' || (c == 'o' && (v[1] | 0x20) == 'n');
}

void teams_read_environment(struct teams_runtime *r)
{
    static const char *const sizes[] = {"OMP_NUM_THREADS", "OMP_NUM_THREADS_ALL", "KMP_HW_SUBSET", "KMP_PLACE_THREADS"};
    static const char *const dynamic[] = {"OMP_DYNAMIC", "OMP_DYNAMIC_ALL"};
    for (char **e = environ ? environ : first_environment; e && *e; e++) {
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (value(*e, sizes[i])) r->said = true;
        for (unsigned i = 0; i < sizeof dynamic / sizeof *dynamic; i++) {
            const char *v = value(*e, dynamic[i]);
            if (v && !is_true(v)) r->rigid = true;
        }
    }
}

/* ---- hooking --------------------------------------------------------------------------------------- */

/* Something else lies there, or nothing. */
static bool is_gone(const struct teams_runtime *r)
{
    struct gate_object o;
    struct gate_entry *e;
    if (!gate_find_object(r->text, &o) || o.text != r->text || o.text_end != r->text_end) return true;
    e = gate_entry_of(&o);
    return !e || !e->hooks.code;
}

/* `fresh` has no hooks yet: what was there before is gone. */
static struct teams_runtime *new_runtime(const struct gate_object *fresh)
{
    static unsigned latest;
    static uint32_t serial;
    for (struct teams_runtime *r = teams_runtimes; r < teams_runtimes + TEAMS_RUNTIMES; r++)
        if (r->text && (r->text == fresh->text || is_gone(r))) r->text = 0;
    for (unsigned i = 1; i <= TEAMS_RUNTIMES; i++) {
        unsigned n = (latest + i) % TEAMS_RUNTIMES;
        struct teams_runtime *r = &teams_runtimes[n];
        if (r->text) continue;
        latest = n;
        *r = (struct teams_runtime){.text = fresh->text, .text_end = fresh->text_end, .serial = ++serial, .look = 1};
        return r;
    }
    return NULL;
}

static uintptr_t without_hook(uintptr_t base, uint64_t function, const struct gate_hook *hook, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (hook[i].at == base + function) return hook[i].resume;
    return function ? base + function : 0;
}

#define CALL(r, member, address) ((r)->member = (__typeof__((r)->member))((address) ? o->base + (address) : 0))

void teams_object_loaded(const struct gate_object *o)
{
    static struct teams_found f;            /* one at a time (above) */
    static struct gate_hook hook[TEAMS_MAX_HOOKS];
    struct gate_entry *e = gate_entry_of(o);
    if (!e || !teams_find(&e->image, o->base, &f)) return;
    struct teams_runtime *r = new_runtime(o);
    if (!r) {
        usf_say("%s: too many OpenMP runtimes: its teams do not follow shares", o->path);
        return;
    }
    unsigned n = 0;
    for (unsigned i = 0; i < f.nr; i++)
        if (f.hook[i].role != TEAMS_MAX || teams_mode == TEAMS_ON)      /* it answers something else then alone */
            hook[n++] = (struct gate_hook){.at = o->base + f.hook[i].at, .data = (uint64_t)(r - teams_runtimes) << TEAMS_ROLE_BITS | f.hook[i].role};
    CALL(r, level, f.call[TEAMS_GET_LEVEL]);
    CALL(r, dynamic, f.call[TEAMS_GET_DYNAMIC]);
    CALL(r, teams, f.call[TEAMS_GET_TEAMS]);
    CALL(r, limit, f.call[TEAMS_GET_LIMIT]);
    CALL(r, gtid, f.call[TEAMS_GTID]);
    teams_read_environment(r);
    const char *why = gate_hook_functions(o, hook, n, teams_entry);
    if (!why) {
        r->push = (void (*)(void *, int, int))without_hook(o->base, f.push, hook, n);
        r->max = (int (*)(void))without_hook(o->base, f.max, hook, n);
        return;
    }
    usf_say("%s: its OpenMP teams do not follow shares: %s", o->path, why);
}
