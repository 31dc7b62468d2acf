/* src/tasks/config.c - nosv.toml and the environment.  SPDX-License-Identifier: Apache-2.0
 *
 * One file: $NOSV_CONFIG, else ./nosv.toml, else none.  Then $NOSV_PRESET, then
 * $NOSV_CONFIG_OVERRIDE on top.  A wrong value, and a file that cannot be read, is reported and
 * ignored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/option.h"
#include "config/toml.h"
#include "tasks/tasks.h"

enum kind { NUMBER, BOOLEAN, TEXT, SIZE, LISTS, IGNORED };
struct key {
    const char *name;
    enum kind kind;
    size_t at, cap;             /* in struct tk_config */
    const char *choices;        /* of TEXT: "a|b|c"; null: any */
};
#define AT(field) offsetof(struct tk_config, field), sizeof(((struct tk_config *)0)->field)

static const struct key keys[] = {
    {"shared_memory.name", TEXT, AT(instance), 0},
    {"shared_memory.isolation_level", TEXT, AT(isolation), "process|user|group|public"},
    {"scheduler.quantum_ns", NUMBER, AT(quantum_ns), 0},
    {"scheduler.immediate_successor", BOOLEAN, AT(successors), 0},
    {"governor.policy", TEXT, AT(policy), "hybrid|idle|busy"},
    {"governor.spins", NUMBER, AT(spins), 0},
    {"topology.binding", TEXT, AT(binding), 0},
    {"topology.complex_sets", LISTS, AT(complexes), 0},
    {"topology.numa_nodes", LISTS, AT(numa), 0},
    {"task_affinity.default", TEXT, AT(affinity), 0},
    {"task_affinity.default_policy", TEXT, AT(affinity_policy), "strict|preferred"},
    {"turbo.enabled", BOOLEAN, AT(turbo), 0},
    {"misc.stack_size", SIZE, AT(stack_size), 0},
    /* What has no meaning here: tasks lie in their process's memory, affinity masks stay the
     * program's own in any case, and `usf trace` records. */
    {"shared_memory.size", IGNORED, 0, 0, 0}, {"shared_memory.start", IGNORED, 0, 0, 0},
    {"scheduler.cpus_per_queue", IGNORED, 0, 0, 0}, {"scheduler.queue_batch", IGNORED, 0, 0, 0},
    {"scheduler.in_queue_size", IGNORED, 0, 0, 0}, {"topology.print", IGNORED, 0, 0, 0},
    {"thread_affinity.compat_support", IGNORED, 0, 0, 0}, {"affinity.compat_support", IGNORED, 0, 0, 0},
    {"debug.dump_config", IGNORED, 0, 0, 0}, {"debug.print_binding", IGNORED, 0, 0, 0},
    {"hwcounters.verbose", IGNORED, 0, 0, 0}, {"hwcounters.backend", IGNORED, 0, 0, 0}, {"hwcounters.papi_events", IGNORED, 0, 0, 0},
    {"monitoring.enabled", IGNORED, 0, 0, 0}, {"monitoring.verbose", IGNORED, 0, 0, 0},
    {"instrumentation.version", IGNORED, 0, 0, 0}, {"ovni.level", IGNORED, 0, 0, 0}, {"ovni.events", IGNORED, 0, 0, 0},
    {"ovni.kernel_ringsize", IGNORED, 0, 0, 0},
};
#define NR_KEYS (sizeof keys / sizeof *keys)

struct source { struct tk_config *c; const char *where; char ignored[512]; };

/* ---- values ------------------------------------------------------------------------------------- */

static const struct key *find(const char *name)
{
    for (size_t i = 0; i < NR_KEYS; i++)
        if (!strcmp(keys[i].name, name)) return &keys[i];
    return 0;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t n = strlen(text);
    for (const char *c = choices; c; c = strchr(c, '|') ? strchr(c, '|') + 1 : 0)
        if (!strncmp(c, text, n) && (c[n] == '|' || !c[n])) return n != 0;
    return false;
}

static bool number(const char *text, bool size, uint64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    uint64_t v = strtoull(text, &end, 0);
    if (size && *end) {
        const char *unit = strchr("KMG", *end);
        if (!unit || end[1]) return false;
        for (int i = 0; i <= unit - "KMG"; i++) v <<= 10;
        end++;
    }
    *out = v;
    return !*end;
}

static bool lists(struct tk_lists *l, const char *text)
{
    struct tk_lists all = {0};
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        size_t n = (size_t)(end - text);
        if (all.n == sizeof all.at / sizeof *all.at || n >= sizeof *all.at) return false;
        memcpy(all.at[all.n++], text, n);
    }
    *l = all;
    return true;
}

static bool set(struct tk_config *c, const struct key *k, const char *text)
{
    char *at = (char *)c + k->at;
    uint64_t v;
    switch (k->kind) {
    case NUMBER: case SIZE:
        if (!number(text, k->kind == SIZE, &v)) return false;
        memcpy(at, &v, sizeof v);
        return true;
    case BOOLEAN:
        if (strcmp(text, "true") && strcmp(text, "false")) return false;
        *(bool *)at = *text == 't';
        return true;
    case TEXT:
        if (strlen(text) >= k->cap || (k->choices && !is_choice(k->choices, text))) return false;
        strcpy(at, text);
        return true;
    case LISTS: return lists((struct tk_lists *)(void *)at, text);
    default: return true;
    }
}

static void set_by_name(struct source *s, const char *name, const char *text)
{
    const char *names[NR_KEYS], *near;
    const struct key *k = find(name);
    for (size_t i = 0; i < NR_KEYS; i++) names[i] = keys[i].name;
    if (!k) {
        near = word_nearest(name, names, NR_KEYS);
        usf_warn("nosv: %s: there is no key '%s'%s%s%s", s->where, name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    } else if (k->kind == IGNORED) {
        size_t n = strlen(s->ignored);
        snprintf(s->ignored + n, sizeof s->ignored - n, "%s%s", n ? ", " : "", name);
    } else if (!set(s->c, k, text)) {
        usf_warn("nosv: %s: '%s' is no value of '%s'%s%s", s->where, text, name, k->choices ? ", which are " : "", k->choices ? k->choices : "");
    }
}

static void tell_ignored(const struct source *s)
{ if (*s->ignored) usf_warn("nosv: %s: what has no meaning here is ignored: %s", s->where, s->ignored); }

/* ---- sources ------------------------------------------------------------------------------------ */

static char *read_text(const char *path, size_t *len)
{
    char *text = 0;
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    size_t room = 0;
    *len = 0;
    do {
        char *more = realloc(text, room += 65536);
        if (!more) break;
        text = more;
        *len += fread(text + *len, 1, room - *len, f);
    } while (*len == room && room < 16u << 20);
    if (ferror(f)) {    /* a folder, among others */
        free(text);
        text = 0;
    }
    fclose(f);
    return text;
}

static void read_file(struct tk_config *c, const char *path, bool asked)
{
    struct source s = {.c = c, .where = path};
    struct toml_doc d;
    size_t len = 0;
    char *text = read_text(path, &len), name[2 * TOML_WORD];
    if (!text) {
        if (asked) usf_warn("nosv: NOSV_CONFIG: '%s' cannot be read; the defaults hold", path);
        return;
    }
    if (toml_parse_as(&d, text, len, TOML_MORE))
        usf_warn("nosv: %s:%u: %s; the file is not read", path, d.error_line, d.error);
    for (size_t i = 0; i < d.nr; i++) {
        snprintf(name, sizeof name, "%s.%s", d.entries[i].section, d.entries[i].key);
        set_by_name(&s, name, d.entries[i].text);
    }
    tell_ignored(&s);
    toml_free(&d);
    free(text);
}

static void read_preset(struct tk_config *c, const char *preset)
{
    if (!preset || !*preset) return;
    if (!strcmp(preset, "isolated")) {
        strcpy(c->isolation, "process");
        strcpy(c->binding, "inherit");
    } else if (!strcmp(preset, "shared-mpi")) {
        strcpy(c->isolation, "user");
        strcpy(c->binding, "all");
        strcpy(c->affinity_policy, "preferred");
    } else {
        usf_warn("nosv: NOSV_PRESET: '%s' is neither isolated nor shared-mpi", preset);
    }
}

/* Without spaces around it, and a value without quotes. */
static char *trimmed(char *s, bool quotes)
{
    s += strspn(s, " \t");
    size_t n = strlen(s);
    while (n && strchr(" \t", s[n - 1])) n--;
    if (quotes && n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s) s++, n -= 2;
    s[n] = 0;
    return s;
}

/* "a.b=v,c.d=w".  Values with commas: "topology.binding=0-3,8,scheduler.quantum_ns=1": a piece
 * without '=' belongs to the one before. */
static void read_override(struct tk_config *c, const char *text)
{
    struct source s = {.c = c, .where = "NOSV_CONFIG_OVERRIDE"};
    char *copy = text && *text ? strdup(text) : 0, *key = copy;
    while (key) {
        char *value = strchr(key, '='), *next = value ? strchr(value, ',') : 0;
        while (next && strchr(next, '=') && strcspn(next + 1, "=") > strcspn(next + 1, ",")) next = strchr(next + 1, ',');
        if (next && !strchr(next, '=')) next = 0;
        if (next) *next++ = 0;
        if (value) {
            *value++ = 0;
            set_by_name(&s, trimmed(key, false), trimmed(value, true));
        } else {
            usf_warn("nosv: NOSV_CONFIG_OVERRIDE: '%s' is no key=value", key);
        }
        key = next;
    }
    tell_ignored(&s);
    free(copy);
}

void tk_config_read(struct tk_config *c)
{
    const char *path = getenv("NOSV_CONFIG");
    *c = (struct tk_config){.isolation = "process", .policy = "hybrid", .binding = "inherit", .affinity = "all",
                            .affinity_policy = "strict", .quantum_ns = 20000000, .spins = 10000, .successors = true};
    if (path && *path) read_file(c, path, true);
    else read_file(c, "nosv.toml", false);
    read_preset(c, getenv("NOSV_PRESET"));
    read_override(c, getenv("NOSV_CONFIG_OVERRIDE"));
}
