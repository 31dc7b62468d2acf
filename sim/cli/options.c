/* sim/cli/options.c - the options of usf sim.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/cli.h"
#include "sim/lang/lang.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { O_TEXT, O_LIST, O_WORDS, O_NUMBER, O_TIME, O_FLAG, O_SWITCH };
struct option {
    const char *name;
    char letter, group;
    uint8_t kind;
    size_t field;
    const char *arg, *help;
    const char *unit;       /* of a bare number that is a time: as that of usf run */
};
#define F(f) offsetof(struct options, f)
static const struct option options[] = {
    {"machine", 'm', 'm', O_TEXT, F(machine), "MACHINE", "a ready machine's name, a file, or a description like package:2 core:16 (default 1x16)", NULL},
    {"policy", 'p', 'p', O_WORDS, F(policies), "P[,P...]", "policies, models of Linux, or POLICY@MODEL ('usf sim policies' lists them; default coop)", NULL},
    {"seed", 's', 'r', O_NUMBER, F(seed), "N", "what all that is random depends on (default 1)", NULL},
    {"seeds", 'n', 'r', O_NUMBER, F(seeds), "N", "repeat with N seeds from --seed on, and show means", NULL},
    {"jobs", 'j', 'r', O_NUMBER, F(jobs), "N", "simulations at a time (default: one for each CPU)", NULL},
    {"set", 0, 's', O_LIST, F(sets), "NAME=VALUE", "give a param of the workload another value", NULL},
    {"vary", 0, 'v', O_LIST, F(vary), "NAME=V[,V...]", "values of a param, of machine, or of quantum, slice, progress, lend, poll; several: every combination", NULL},
    {"quantum", 0, 'a', O_TIME, F(quantum), "TIME", "the options of usf run ('usf help run'): quantum, like 20ms", "ms"},
    {"slice", 0, 'a', O_TIME, F(slice), "TIME", "... slice", "ms"},
    {"progress", 0, 'a', O_TIME, F(progress), "TIME", "... progress", "ms"},
    {"lend", 0, 'a', O_TIME, F(lend), "TIME", "... lend", "us"},
    {"poll", 0, 'a', O_TIME, F(poll), "TIME", "... poll", "us"},
    {"no-poll", 0, 'a', O_FLAG, F(no_poll), NULL, "idle cores sleep immediately", NULL},
    {"float", 0, 'a', O_SWITCH, F(floats), "on|off", "... float (default on)", NULL},
    {"no-spins", 0, 'a', O_FLAG, F(no_spins), NULL, "busy-wait loops are not recognised", NULL},
    {"topology-blind", 0, 'a', O_FLAG, F(blind), NULL, "policies ignore NUMA nodes and caches", NULL},
    {"limit", 0, 'a', O_TIME, F(limit), "TIME", "give up at this virtual time (like 100s)", "s"},
    {"events", 0, 'a', O_NUMBER, F(events), "N", "give up after so many events", NULL},
    {"check", 0, 'a', O_FLAG, F(check), NULL, "verify the scheduler's invariants after every step (slow)", NULL},
    {"no-alone", 0, 'a', O_FLAG, F(no_alone), NULL, "do not simulate each program alone: no slowdowns, no Jain index", NULL},
    {"programs", 0, 'a', O_FLAG, F(programs), NULL, "also a table of each run's programs", NULL},
    {"json", 0, 'a', O_FLAG, F(json), NULL, "print JSON", NULL},
    {"csv", 0, 'c', O_FLAG, F(csv), NULL, "one line for each run", NULL},
    {"trace", 0, 't', O_TEXT, F(trace), "FILE", "write a trace for ui.perfetto.dev, one lane for each CPU", NULL},
    {"gantt", 0, 'g', O_TEXT, F(gantt), "FILE", "draw who ran where: SVG if FILE ends in .svg, else text (- for stdout)", NULL},
    {"json", 0, 'x', O_FLAG, F(json), NULL, "print JSON", NULL},
    {"output", 'o', 'o', O_TEXT, F(output), "FILE", "write it there instead of to stdout", NULL},
    {0},
};

/* usf_warn knows fewer formats than libc. */
static void say(const char *fmt, va_list ap)
{
    char line[1400];
    vsnprintf(line, sizeof line, fmt, ap);
    usf_warn("%s", line);
}

void trouble(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

int usage(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    return SIM_USAGE;
}

static bool takes(const struct command *c, const struct option *o) { return strchr(c->options, o->group) != NULL; }

void options_help(FILE *f, const struct command *c)
{
    fprintf(f, "usage: usf sim %s %s\n\n%c%s.\n", c->name, c->synopsis, c->help[0] & ~0x20, c->help + 1);
    if (*c->options) fputs("\nOptions:\n", f);
    for (const struct option *o = options; o->name; o++) {
        if (!takes(c, o)) continue;
        char head[64];
        snprintf(head, sizeof head, "%s%c%s--%s%s%s", o->letter ? "-" : "  ", o->letter ? o->letter : ' ', o->letter ? ", " : " ", o->name, o->arg ? " " : "",
                 o->arg ? o->arg : "");
        fprintf(f, "  %-28s %s\n", head, o->help);
    }
}

static bool add(struct list *l, char *item)
{
    if (l->nr == MANY) return false;
    l->item[l->nr++] = item;
    return true;
}

static bool bare_time(const char *value, const char *unit, uint64_t *ns)
{
    char text[64];
    return snprintf(text, sizeof text, "%s%s", value, unit) < (int)sizeof text && lang_time(text, ns);
}

static int take(const struct option *o, struct options *out, char *value)
{
    void *field = (char *)out + o->field;
    char *rest;
    switch ((enum kind)o->kind) {
    case O_FLAG: *(bool *)field = true; break;
    case O_SWITCH:
        if (strcmp(value, "on") && strcmp(value, "off")) return usage("--%s: '%.40s' is neither on nor off", o->name, value);
        *(bool *)field = !strcmp(value, "on");
        break;
    case O_TEXT: *(const char **)field = value; break;
    case O_TIME:
        if (!lang_time(value, field) && !bare_time(value, o->unit, field)) return usage("--%s: '%.40s' is no time (like 20ms)", o->name, value);
        break;
    case O_NUMBER:
        errno = 0;
        *(uint64_t *)field = strtoull(value, &rest, 10);
        if (!*value || *rest || *value < '0' || *value > '9' || errno) return usage("--%s: '%.40s' is no number", o->name, value);
        break;
    case O_LIST:
        if (!add(field, value)) return usage("--%s is given more than %u times", o->name, MANY);
        break;
    case O_WORDS:
        for (char *w = strtok_r(value, ",", &rest); w; w = strtok_r(NULL, ",", &rest))
            if (!add(field, w)) return usage("--%s has more than %u values", o->name, MANY);
        if (!((struct list *)field)->nr) return usage("--%s needs %s", o->name, o->arg);
        break;
    }
    return -1;
}

static const struct option *find(const struct command *c, const char *arg, size_t len)
{
    for (const struct option *o = options; o->name; o++)
        if (takes(c, o) && (arg[1] == '-' ? strlen(o->name) == len && !strncmp(o->name, arg + 2, len) : o->letter && o->letter == arg[1])) return o;
    return NULL;
}

static int one(const struct command *c, struct options *o, char **argv, int argc, int *i)
{
    char *arg = argv[*i], *value = NULL;
    if (arg[0] != '-' || !arg[1]) {
        if (o->nr_rest == c->max) return usage("'%.60s' is one argument too many", arg);
        o->rest[o->nr_rest++] = arg;
        return -1;
    }
    if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
        o->help = true;
        return -1;
    }
    size_t len = arg[1] == '-' ? strcspn(arg + 2, "=") : 1;
    const struct option *opt = find(c, arg, len);
    if (!opt) return usage("unknown option %.60s of usf sim %s ('usf sim %s --help' lists them)", arg, c->name, c->name);
    if (arg[1] == '-' && arg[2 + len] == '=') value = arg + 3 + len;
    else if (arg[1] != '-' && arg[2]) value = arg + 2;
    if (opt->kind == O_FLAG && value) return usage("--%s takes no value", opt->name);
    if (opt->kind != O_FLAG && !value) {
        if (*i + 1 >= argc) return usage("--%s needs %s", opt->name, opt->arg);
        value = argv[++*i];
    }
    return take(opt, o, value);
}

int options_parse(const struct command *c, struct options *o, int argc, char **argv)
{
    *o = (struct options){.machine = "1x16", .seed = 1, .seeds = 1, .floats = true};
    for (int i = 0; i < argc; i++) {
        int r = one(c, o, argv, argc, &i);
        if (r >= 0) return r;
    }
    if (o->help) {
        options_help(stdout, c);
        return SIM_OK;
    }
    if (o->nr_rest < c->min) return usage("usf sim %s needs a workload: a file, or a name that 'usf sim workloads' lists", c->name);
    if (!o->policies.nr) add(&o->policies, (char *)(uintptr_t)"coop");
    if (!o->seeds || o->seeds > 100000) return usage("--seeds is to be 1 to 100000");
    if (!o->jobs) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        o->jobs = n > 0 ? (uint64_t)n : 1;
    }
    if (o->jobs > 1024) return usage("--jobs is to be 1 to 1024");
    return -1;
}
