/* src/runtime/inherited.c - child processes inherit weight and priority.
 * SPDX-License-Identifier: Apache-2.0
 *
 * `usf policy weight` and `usf policy priority` change those of a process that runs.  As with nice
 * values, the processes that it starts afterwards begin with them.  The child of a fork has them by
 * its copy of our memory (sched_keep_inherited).  A program that is executed reads them from its
 * environment, as those of `usf run --weight`.  So the environment that a program hands to exec is
 * completed: in a copy of the array of pointers, whose memory goes with the exec.  What the program
 * has chosen itself is left alone: another weight than the one that it was given, another instance,
 * an environment without usf. */
#include <errno.h>
#include <sys/mman.h>

#include "config/env.h"
#include "runtime/runtime.h"

#define TEXT_MAX 32u            /* "USF_PRIORITY=-1000" */

/* ---- the program's memory, which may not be there -------------------------------------------- */

static bool read_byte(uintptr_t at, char *out)
{
    uint32_t word;
    if (!sync_read((const uint32_t *)(at & ~(uintptr_t)3), &word)) return false;     /* never beyond the byte's own page */
    *out = (char)(word >> (at % 4 * 8));
    return true;
}

static bool read_pointer(uintptr_t at, uintptr_t *out) { return sync_read_words(out, (const void *)at, sizeof *out); }

/* Of an entry "NAME=VALUE": where the value is; 0: it is another name's. */
static uintptr_t value_at(uintptr_t entry, const char *name)
{
    char c;
    for (; *name; name++, entry++)
        if (!read_byte(entry, &c) || c != *name) return 0;
    return read_byte(entry, &c) && c == '=' ? entry + 1 : 0;
}

static bool is_text(uintptr_t at, const char *text)
{
    char c;
    do if (!read_byte(at++, &c) || c != *text) return false;
    while (*text++);
    return true;
}

/* ---- what an environment says ---------------------------------------------------------------- */

struct found {
    uintptr_t nr;               /* entries */
    uintptr_t weight, priority, instance;   /* values, 0: not there */
    uintptr_t weight_at, priority_at;       /* ... and which entries those are */
    bool has_usf;
};

/* False: it cannot be read; exec says what is wrong with it. */
static bool look_through(uintptr_t env, struct found *f)
{
    uintptr_t entry, v;
    *f = (struct found){0};
    if (!env) return false;
    for (; read_pointer(env + f->nr * sizeof entry, &entry); f->nr++) {
        if (!entry) return true;
        if (value_at(entry, USF_ENV_OWNER)) f->has_usf = true;
        else if (!f->instance && (v = value_at(entry, USF_ENV_INSTANCE))) f->instance = v;
        else if (!f->weight && (v = value_at(entry, USF_ENV_WEIGHT))) f->weight = v, f->weight_at = f->nr;
        else if (!f->priority && (v = value_at(entry, USF_ENV_PRIORITY))) f->priority = v, f->priority_at = f->nr;
    }
    return false;
}

/* The value is the one that this program was started with: it has chosen no other. */
static bool is_handed_on(uintptr_t value, int32_t given, int32_t normal)
{
    char text[TEXT_MAX], c;
    if (!value || !read_byte(value, &c) || !c) return given == normal;
    usf_format(text, sizeof text, "%d", given);
    return is_text(value, text);
}

#define NORMAL_WEIGHT 100

struct inherited { bool weight, priority; };     /* which of the two are to be told */

static struct inherited to_be_told(const struct found *f)
{
    const struct usf_settings *o = &rt.settings;
    struct inherited tell = {false, false};
    if (!f->has_usf || !is_text(f->instance ? f->instance : (uintptr_t)SHM_DEFAULT_NAME, o->instance)) return tell;
    tell.weight = rt.sched.weight != o->weight && is_handed_on(f->weight, (int32_t)o->weight, NORMAL_WEIGHT);
    tell.priority = rt.sched.priority != o->priority && is_handed_on(f->priority, (int32_t)o->priority, 0);
    return tell;
}

/* ---- exec ------------------------------------------------------------------------------------ */

static void put(uintptr_t *env, uintptr_t *nr, uintptr_t old, uintptr_t at, const char *text)
{ env[old ? at : (*nr)++] = (uintptr_t)text; }

/* The array, and behind it the texts. */
static int complete(uintptr_t env, struct found *f, struct inherited tell, struct rt_exec_env *own)
{
    size_t entries = f->nr + 3, size = entries * sizeof(uintptr_t) + 2 * TEXT_MAX;
    uintptr_t *to = os_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), nr = f->nr;
    char *text = (char *)(to + entries);
    if (os_is_error(to)) return -ENOMEM;
    for (uintptr_t i = 0; i < nr; i++)
        if (!read_pointer(env + i * sizeof *to, &to[i])) to[i] = 0;     /* another thread has just unmapped it */
    usf_format(text, TEXT_MAX, USF_ENV_WEIGHT "=%u", rt.sched.weight);
    usf_format(text + TEXT_MAX, TEXT_MAX, USF_ENV_PRIORITY "=%d", rt.sched.priority);
    if (tell.weight) put(to, &nr, f->weight, f->weight_at, text);
    if (tell.priority) put(to, &nr, f->priority, f->priority_at, text + TEXT_MAX);
    *own = (struct rt_exec_env){to, size};
    return 0;
}

int rt_exec_env_make(struct gate_frame *f, struct rt_exec_env *own)
{
    uint64_t *arg = f->nr == __NR_execveat ? &f->arg[3] : &f->arg[2];
    struct found found;
    rt_exec_env_drop(own);
    sched_keep_inherited(&rt.sched);
    if (rt.sched.weight == rt.settings.weight && rt.sched.priority == rt.settings.priority) return 0;
    if (!look_through(*arg, &found)) return 0;
    struct inherited tell = to_be_told(&found);
    if (!tell.weight && !tell.priority) return 0;
    int r = complete(*arg, &found, tell, own);
    if (r == 0) *arg = (uint64_t)own->map;
    return r;
}

void rt_exec_env_drop(struct rt_exec_env *own)
{
    if (own->map) os_unmap(own->map, own->size);
    own->map = 0;
}
