/* src/config/inproc.c - settings of the preloaded library, from the environment.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs before the program's own constructors: no libc, no allocation.  A program may have been
 * started with any environment, so nothing here is taken on trust. */
#include "base/base.h"
#include "config/env.h"
#include "config/option.h"
#include <string.h>

static const char *value_of(const char *entry, const char *name)
{
    while (*name && *entry == *name) entry++, name++;
    return !*name && entry[0] == '=' && entry[1] ? entry + 1 : 0;
}

/* The part of the environment that has usf's variables, which usually are side by side: every start
 * looks for each of them. */
struct vars { char **from, **to; };

static struct vars find_vars(char **envp)
{
    struct vars v = {0};
    for (; envp && *envp; envp++)
        if ((*envp)[0] == 'U' && (*envp)[1] == 'S' && (*envp)[2] == 'F' && (*envp)[3] == '_') {
            if (!v.from) v.from = envp;
            v.to = envp + 1;
        }
    return v;
}

static const char *lookup(struct vars vars, const char *name)
{
    for (char **e = vars.from; e < vars.to; e++) {
        const char *v = value_of(*e, name);
        if (v) return v;
    }
    return 0;
}

static void read_option(const struct usf_option *o, const char *text, struct usf_settings *out)
{
    char why[200];
    if (text && option_parse(o, text, out, why, sizeof why) == 0) return;
    if (text) usf_warn("%s: %s; the default '%s' is taken", o->env, why, o->def);
    if (option_parse(o, o->def, out, why, sizeof why)) usf_bug("the default is a value", __FILE__, __LINE__);
}

static bool read_small(const char *text, uint32_t max, uint32_t *out)
{
    uint64_t v = 0;
    for (; *text >= '0' && *text <= '9' && v <= max; text++) v = v * 10 + (uint64_t)(*text - '0');
    if (*text || v > max) return false;
    *out = (uint32_t)v;
    return true;
}

void config_inproc_read(char **envp, struct usf_settings *out)
{
    struct vars vars = find_vars(envp);
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        read_option(o, o->flags & OPT_F_EXPORT ? lookup(vars, o->env) : 0, out);
    }
    /* Not the whole struct: most of it are paths that no program has, in pages that each start
     * would have to touch. */
    out->run = out->pidns = 0;
    out->tool[0] = 0;
    const char *run = lookup(vars, USF_ENV_RUN);
    if (run && !read_small(run, USF_MAX_RUNS, &out->run))
        usf_warn("%s is not a run of this instance: no statistics", USF_ENV_RUN);
    const char *owner = lookup(vars, USF_ENV_OWNER), *tool = lookup(vars, USF_ENV_TOOL);
    out->has_owner = owner && read_small(owner, UINT32_MAX, &out->owner);
    const char *pidns = lookup(vars, USF_ENV_PIDNS);
    if (pidns && !read_small(pidns, UINT32_MAX, &out->pidns)) out->pidns = 0;
    if (tool && *tool == '/' && strlen(tool) < sizeof out->tool) memcpy(out->tool, tool, strlen(tool) + 1);
}
