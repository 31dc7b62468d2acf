/* src/config/resolve.c - layers of options, from the default up to the command line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "config/config.h"
#include "config/env.h"
#include "config/toml.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 65536

__attribute__((format(printf, 2, 3)))
static void warning(struct config *c, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (c->warn) c->warn(c->warn_arg, line);
    else usf_warn("%s", line);
}

static char *xstrdup(const char *s)
{
    char *p = strdup(s);
    if (!p) {
        usf_warn("out of memory");
        _exit(125);
    }
    return p;
}

static void keep(struct config *c, const struct usf_option *o, const char *text, enum config_origin origin, const char *where)
{
    struct config_value *v = &c->v[o - usf_options];
    char *t = xstrdup(text), *w = xstrdup(where);   /* first: text may be the old value */
    free(v->text);
    free(v->where);
    *v = (struct config_value){.text = t, .where = w, .origin = origin};
}

/* ---- files ----------------------------------------------------------------------------------- */
static bool is_number(const struct usf_option *o) { return o->type == OPT_NUMBER || o->type == OPT_LEVEL; }

static bool has_unit(const char *time) { return time[strspn(time, "0123456789.")]; }

/* The text that option_parse takes, or null: the entry's type does not fit. */
static const char *entry_text(const struct usf_option *o, const struct toml_entry *e)
{
    if (e->type == TOML_STRING) return is_number(o) && !(o->unit && has_unit(e->text)) ? 0 : e->text;
    if (e->type == TOML_INTEGER) return is_number(o) ? e->text : 0;
    bool switches = o->type == OPT_REPORT || (o->choices && (!strcmp(o->choices, "off|on") || !strcmp(o->choices, "auto|on|off")));
    return !switches ? 0 : !strcmp(e->text, "true") ? "on" : "off";
}

static void unknown_key(struct config *c, const char *path, const struct toml_entry *e)
{
    const char *names[CONFIG_MAX_OPTIONS];
    for (unsigned i = 0; i < usf_nr_options; i++) names[i] = usf_options[i].name;
    const char *near = word_nearest(e->key, names, usf_nr_options);
    warning(c, "%s:%u: unknown key '%s'%s%s%s", path, e->line, e->key, near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}

static void apply_entry(struct config *c, const char *path, enum config_origin origin, const struct toml_entry *e)
{
    const struct usf_option *o = option_by_name(e->key, -1);
    if (!o) {
        unknown_key(c, path, e);
        return;
    }
    const char *text = entry_text(o, e);
    char why[256];
    if (!text) {
        warning(c, "%s:%u: %s takes %s", path, e->line, o->name,
                o->unit ? "a whole number, without quotes, or a time with a unit, in quotes" : is_number(o) ? "a whole number, without quotes" : "text in quotes");
        return;
    }
    struct usf_settings before = c->s;      /* a refused value must leave no trace */
    if (option_parse(o, text, &c->s, why, sizeof why)) {
        c->s = before;
        warning(c, "%s:%u: %s: %s", path, e->line, o->name, why);
        return;
    }
    char where[1200];
    snprintf(where, sizeof where, "%s:%u", path, e->line);
    keep(c, o, text, origin, where);
}

static void apply_doc(struct config *c, const char *path, enum config_origin origin, const struct toml_doc *d)
{
    const char *skipped = "";
    for (size_t i = 0; i < d->nr; i++) {
        const struct toml_entry *e = &d->entries[i];
        if (!*e->section) {
            apply_entry(c, path, origin, e);
        } else if (strcmp(skipped, e->section)) {
            warning(c, "%s:%u: section [%s] is not known: it is passed over; options stand before any section",
                    path, e->line, e->section);
            skipped = e->section;
        }
    }
}

/* Bytes read, -1 with errno.  No file is no error: returns -1 with ENOENT. */
static long slurp(const char *path, char *buf, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    struct stat st;
    size_t n = 0;
    long r = 0;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) errno = EISDIR, r = -1;
    else
        while (n < cap && (r = read(fd, buf + n, cap - n)) > 0) n += (size_t)r;
    int e = errno;
    close(fd);
    errno = e;
    return r < 0 ? -1 : (long)n;
}

static void apply_file(struct config *c, const char *path, enum config_origin origin)
{
    static char buf[FILE_MAX + 1];
    long n = slurp(path, buf, sizeof buf);
    if (n < 0) {
        if (errno == EISDIR) warning(c, "%s: not a file: passed over", path);
        else if (errno != ENOENT && errno != ENOTDIR) warning(c, "%s: %s: passed over", path, strerror(errno));
        return;
    }
    if (n > FILE_MAX) {
        warning(c, "%s: longer than %d bytes: passed over", path, FILE_MAX);
        return;
    }
    struct toml_doc d;
    if (toml_parse(&d, buf, (size_t)n)) warning(c, "%s:%u: %s; the file is passed over", path, d.error_line, d.error);
    else apply_doc(c, path, origin, &d);
    toml_free(&d);
}

/* ---- environment ----------------------------------------------------------------------------- */
static const char *env_of(char **envp, const char *name)
{
    size_t n = strlen(name);
    for (; envp && *envp; envp++)
        if (!strncmp(*envp, name, n) && (*envp)[n] == '=' && (*envp)[n + 1]) return *envp + n + 1;
    return 0;
}

static void check_variable(struct config *c, const char *entry)
{
    static const char *const others[] = {USF_ENV_RUN, USF_ENV_OWNER, USF_ENV_TOOL, USF_ENV_PIDNS, USF_ENV_TREE, USF_ENV_POINTS,
                                         USF_ENV_SYSTEM_CONFIG, USF_ENV_OF_TESTS};
    const char *eq = strchr(entry, '=');
    size_t len = eq ? (size_t)(eq - entry) : 0;
    if (!len || option_by_env(entry, (long)len) || !strncmp(entry, USF_ENV_TEST_PREFIX, strlen(USF_ENV_TEST_PREFIX))) return;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == len && !memcmp(others[i], entry, len)) return;
    const char *names[CONFIG_MAX_OPTIONS];
    for (unsigned i = 0; i < usf_nr_options; i++) names[i] = usf_options[i].env;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)len, entry);
    const char *near = word_nearest(word, names, usf_nr_options);
    warning(c, "unknown variable %s in the environment%s%s", word, near ? "; the nearest is " : "", near ? near : "");
}

static int apply_env(struct config *c, char **envp)
{
    char why[256];
    for (char **e = envp; e && *e; e++)
        if (!strncmp(*e, USF_ENV_PREFIX, strlen(USF_ENV_PREFIX))) check_variable(c, *e);
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        const char *text = env_of(envp, o->env);
        if (!text) continue;
        if (option_parse(o, text, &c->s, why, sizeof why)) {
            snprintf(c->error, sizeof c->error, "%s: %s", o->env, why);
            return -1;
        }
        keep(c, o, text, ORIGIN_ENV, o->env);
    }
    return 0;
}

/* ---- profile --------------------------------------------------------------------------------- */
__attribute__((format(printf, 2, 3)))
static int mistake(struct config *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->error, sizeof c->error, fmt, ap);
    va_end(ap);
    return -1;
}

static int unknown_option(struct config *c, const struct toml_entry *e)
{
    const char *names[CONFIG_MAX_OPTIONS];
    for (unsigned i = 0; i < usf_nr_options; i++) names[i] = usf_options[i].name;
    const char *near = word_nearest(e->key, names, usf_nr_options);
    return mistake(c, "%.200s:%u: [run] has the unknown option '%s'%s%s%s", c->s.profile, e->line, e->key, near ? "; the nearest is '" : "",
                   near ? near : "", near ? "'" : "");
}

/* An option of [run].  Numbers and texts may be in quotes or bare: the tuner does not know an
 * option's type. */
static int profile_option(struct config *c, const struct toml_entry *e)
{
    const struct usf_option *o = option_by_name(e->key, -1);
    char why[256], where[1200];
    if (!o) return unknown_option(c, e);
    if (o->type == OPT_FILE) return mistake(c, "%.200s:%u: a profile names no other profile", c->s.profile, e->line);
    const char *text = e->type != TOML_BOOLEAN ? e->text : !strcmp(e->text, "true") ? "on" : "off";
    struct usf_settings before = c->s;
    if (option_parse(o, text, &c->s, why, sizeof why))
        return mistake(c, "%.200s:%u: %s: %s", before.profile, e->line, o->name, why);
    if (config_value(c, o)->origin > ORIGIN_PROFILE) {
        c->s = before;
        return 0;
    }
    snprintf(where, sizeof where, "%s:%u", c->s.profile, e->line);
    keep(c, o, text, ORIGIN_PROFILE, where);
    return 0;
}

static int add_variable(struct config *c, struct config_variables *to, const struct toml_entry *e)
{
    struct config_variable *more = realloc(to->at, (to->nr + 1) * sizeof *more);
    if (!more) return mistake(c, "out of memory");
    to->at = more;
    more[to->nr++] = (struct config_variable){.name = xstrdup(e->key), .value = xstrdup(e->text)};
    return 0;
}

/* A variable of [env]. */
static int profile_variable(struct config *c, const struct toml_entry *e)
{
    if ((*e->key >= '0' && *e->key <= '9') || strchr(e->key, '-'))
        return mistake(c, "%.200s:%u: [env] has '%s', which is not a name for a variable", c->s.profile, e->line, e->key);
    if (!strncmp(e->key, USF_ENV_PREFIX, strlen(USF_ENV_PREFIX)))
        return mistake(c, "%.200s:%u: [env] has %s: options of usf run stand in [run]", c->s.profile, e->line, e->key);
    return add_variable(c, &c->variables, e);
}

static int profile_entry(struct config *c, const struct toml_entry *e)
{
    if (!strcmp(e->section, "run")) return profile_option(c, e);
    if (!strcmp(e->section, "env")) return profile_variable(c, e);
    if (!strcmp(e->section, "parameters")) return add_variable(c, &c->parameters, e);
    if (!strcmp(e->section, "tuning")) return 0;    /* for people, and for usf.tune.load */
    if (*e->section)
        return mistake(c, "%.200s:%u: section [%s] is not known, only run, env, parameters and tuning", c->s.profile, e->line, e->section);
    return mistake(c, "%.200s:%u: '%s' stands in no section: options of usf run stand in [run]", c->s.profile, e->line, e->key);
}

int config_apply_profile(struct config *c)
{
    static char buf[FILE_MAX + 1];
    struct toml_doc d;
    long n = slurp(c->s.profile, buf, sizeof buf);
    if (n < 0) return mistake(c, "profile %.200s: %s", c->s.profile, errno == EISDIR ? "it is not a file" : strerror(errno));
    if (n > FILE_MAX) return mistake(c, "profile %.200s: longer than %d bytes", c->s.profile, FILE_MAX);
    int r = toml_parse_as(&d, buf, (size_t)n, TOML_FRACTIONS);
    if (r) mistake(c, "%.200s:%u: %s", c->s.profile, d.error_line, d.error);
    for (size_t i = 0; !r && i < d.nr; i++) r = profile_entry(c, &d.entries[i]);
    toml_free(&d);
    return r;
}

/* ---- all together ---------------------------------------------------------------------------- */
/* Services and jobs often have no HOME: then the user's home directory is the one in the password
 * database. */
static const char *home_of(char **envp)
{
    const char *home = env_of(envp, "HOME");
    const struct passwd *user = home ? 0 : getpwuid(geteuid());
    return home ? home : user ? user->pw_dir : 0;
}

/* BASE/TAIL if the variable is an absolute path (the XDG rule), else HOME/HOME_TAIL; null without a
 * home. */
static char *xdg_path(char **envp, const char *var, const char *home_dir, const char *tail)
{
    const char *base = env_of(envp, var);
    char *path = 0;
    if (base && *base == '/') {
        if (asprintf(&path, "%s/%s", base, tail) < 0) return 0;
        return path;
    }
    const char *home = home_of(envp);
    if (home && *home == '/' && asprintf(&path, "%s/%s/%s", home, home_dir, tail) < 0) return 0;
    return path;
}

static void apply_defaults(struct config *c, char **envp)
{
    char why[256];
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        if (option_parse(o, o->def, &c->s, why, sizeof why)) usf_bug(o->name, __FILE__, __LINE__);
        keep(c, o, o->def, ORIGIN_DEFAULT, "default");
    }
    const struct usf_option *cache = option_by_name("cache-dir", -1);
    char *dir = xdg_path(envp, "XDG_CACHE_HOME", ".cache", "usf");
    if (dir && option_parse(cache, dir, &c->s, why, sizeof why) == 0) keep(c, cache, dir, ORIGIN_DEFAULT, "default");
    free(dir);
}

int config_load(struct config *c, char **envp)
{
    if (usf_nr_options > CONFIG_MAX_OPTIONS) usf_bug("the table fits", __FILE__, __LINE__);
    apply_defaults(c, envp);
    const char *sys = env_of(envp, USF_ENV_SYSTEM_CONFIG);
    c->system_path = xstrdup(sys ? sys : "/etc/usf.toml");
    c->user_path = xdg_path(envp, "XDG_CONFIG_HOME", ".config", "usf/config.toml");
    apply_file(c, c->system_path, ORIGIN_SYSTEM);
    if (c->user_path) apply_file(c, c->user_path, ORIGIN_USER);
    return apply_env(c, envp);
}

int config_set_cli(struct config *c, const struct usf_option *o, const char *text, const char *spelled)
{
    char why[256], count[24];
    if (!text && (o->flags & OPT_F_COUNT)) {
        uint64_t now = *(uint64_t *)((char *)&c->s + o->field) / o->scale;
        snprintf(count, sizeof count, "%lu", now < o->max ? now + 1 : o->max);
        text = count;
    }
    if (!text) text = "on";
    if (option_parse(o, text, &c->s, why, sizeof why)) {
        snprintf(c->error, sizeof c->error, "%s: %s", spelled, why);
        return -1;
    }
    keep(c, o, text, ORIGIN_CLI, spelled);
    return 0;
}

static void free_variables(struct config_variables *v)
{
    for (unsigned i = 0; i < v->nr; i++) {
        free(v->at[i].name);
        free(v->at[i].value);
    }
    free(v->at);
}

void config_free(struct config *c)
{
    for (unsigned i = 0; i < CONFIG_MAX_OPTIONS; i++) {
        free(c->v[i].text);
        free(c->v[i].where);
    }
    free_variables(&c->variables);
    free_variables(&c->parameters);
    free(c->system_path);
    free(c->user_path);
    memset(c, 0, sizeof *c);
}

const struct config_value *config_value(const struct config *c, const struct usf_option *o) { return &c->v[o - usf_options]; }

const struct config_value *config_value_of(const struct config *c, const char *name)
{
    const struct usf_option *o = option_by_name(name, -1);
    return o ? config_value(c, o) : 0;
}

const char *config_origin_name(enum config_origin o)
{
    static const char *const names[] = {"default", "system file", "user file", "profile", "environment", "command line"};
    return names[o];
}
