/* src/cli/args.c - parse a command's options through the table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int cli_usage(const char *fmt, ...)
{
    char line[480];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    usf_warn("%s", line);
    return CLI_USAGE;
}

bool cli_takes_option(const struct cli_command *c, const char *name)
{
    if (!c->options) return false;
    if (!strcmp(c->options, "*")) return true;
    size_t n = strlen(name);
    for (const char *p = c->options; (p = strstr(p, name)); p += n)
        if ((p == c->options || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ')) return true;
    return false;
}

const char *cli_flag(const struct cli_args *a, const char *name)
{
    for (const struct cli_flag *f = a->flags; f->name; f++)
        if (!strcmp(f->name, name)) return f->value;
    return 0;
}

int cli_no_more(const struct cli_args *a, int argc, char **argv)
{
    char buf[64];
    if (a->rest >= argc) return -1;
    return cli_usage("'%s' is one argument too many", text_clean(argv[a->rest], buf, sizeof buf));
}

const char *cli_near(const char *mark, const char *near, char *buf, size_t cap)
{
    if (near) snprintf(buf, cap, "; the nearest is %s%s%s", mark, near, *mark == '\'' ? mark : "");
    return near ? buf : "";
}

static int unknown_option(const struct cli_command *self, const struct cli_args *a, const char *arg)
{
    const char *words[CONFIG_MAX_OPTIONS + 10];
    unsigned n = 0;
    for (unsigned i = 0; i < usf_nr_options; i++)
        if (cli_takes_option(self, usf_options[i].name)) words[n++] = usf_options[i].name;
    for (const struct cli_flag *f = a->flags; f->name; f++) words[n++] = f->name;
    words[n++] = "help";
    char word[64], shown[64], near[96];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
    return cli_usage("unknown option --%s of usf %s%s ('usf %s --help' lists all)", text_clean(word, shown, sizeof shown), self->name,
                     cli_near("--", word_nearest(word, words, n), near, sizeof near), self->name);
}

static struct cli_flag *find_flag(struct cli_args *a, const char *name, size_t len, char letter)
{
    for (struct cli_flag *f = a->flags; f->name; f++)
        if (name ? strlen(f->name) == len && !memcmp(f->name, name, len) : f->letter && f->letter == letter) return f;
    return 0;
}

static int set_option(struct cli_args *a, const struct usf_option *o, const char *value, const char *spelled)
{
    if (config_set_cli(&a->config, o, value, spelled) == 0) return -1;
    return cli_usage("%s", a->config.error);
}

/* --name, --name=value, --name value.  *i moves on over a value of its own. */
static int parse_long(const struct cli_command *self, struct cli_args *a, int argc, char **argv, int *i)
{
    const char *arg = argv[*i], *name = arg + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : 0;
    char spelled[80];
    snprintf(spelled, sizeof spelled, "--%.*s", (int)len, name);
    const struct usf_option *o = option_by_name(name, (long)len);
    if (o && !cli_takes_option(self, o->name)) o = 0;
    struct cli_flag *f = o ? 0 : find_flag(a, name, len, 0);
    if (!o && !f) {
        if (strcmp(arg, "--help")) return unknown_option(self, a, arg);
        help_command(self);
        return CLI_OK;
    }
    bool wants = o ? !(o->flags & OPT_F_BARE) : f->arg != 0;
    if (wants && !value) {
        if (*i + 1 >= argc) return cli_usage("%s needs a value: %s", spelled, o ? o->arg : f->arg);
        value = argv[++*i];
    }
    if (o) return set_option(a, o, value, spelled);
    if (!f->arg && value) return cli_usage("%s takes no value", spelled);
    f->value = value ? value : "";
    return -1;
}

/* -v, -vv, -cLIST, -c LIST. */
static int parse_short(const struct cli_command *self, struct cli_args *a, int argc, char **argv, int *i)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        char spelled[3] = {'-', *p, 0};
        const struct usf_option *o = option_by_letter(*p);
        if (o && !cli_takes_option(self, o->name)) o = 0;
        struct cli_flag *f = o ? 0 : find_flag(a, 0, 0, *p);
        if (!o && !f) {
            if (*p != 'h') return cli_usage("unknown option -%c of usf %s ('usf %s --help' lists all)",
                                            *p > 0x20 && *p < 0x7f ? *p : '?', self->name, self->name);
            help_command(self);
            return CLI_OK;
        }
        const char *value = 0;
        bool wants = o ? !(o->flags & OPT_F_BARE) : f->arg != 0;
        if (wants) {
            if (!p[1] && *i + 1 >= argc) return cli_usage("%s needs a value: %s", spelled, o ? o->arg : f->arg);
            value = p[1] ? p + 1 : argv[++*i];
        }
        if (f) f->value = value ? value : "";
        int r = o ? set_option(a, o, value, spelled) : -1;
        if (r >= 0 || wants) return r;
    }
    return -1;
}

int cli_parse(const struct cli_command *self, struct cli_args *a, int argc, char **argv)
{
    memset(a, 0, sizeof *a);
    for (unsigned n = 0; self->flags && self->flags[n].name; n++) {
        usf_assert(n + 1 < sizeof a->flags / sizeof *a->flags);
        a->flags[n] = self->flags[n];
    }
    if (config_load(&a->config, environ)) return cli_usage("%s", a->config.error);
    int i = 1;
    for (; i < argc; i++) {
        const char *arg = argv[i];
        if (!strcmp(arg, "--")) {
            i++;
            break;
        }
        if (arg[0] != '-' || !arg[1]) break;
        int r = arg[1] == '-' ? parse_long(self, a, argc, argv, &i) : parse_short(self, a, argc, argv, &i);
        if (r >= 0) return r;
    }
    a->rest = i;
    if (cli_takes_option(self, "profile") && *a->config.s.profile && config_apply_profile(&a->config)) return cli_usage("%s", a->config.error);
    usf_verbose = (int)a->config.s.verbose;
    return -1;
}

const struct cli_command *cli_find(const char *name)
{
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!strcmp(c->name, name)) return c;
    return 0;
}

const char *cli_nearest_command(const char *name)
{
    const char *words[16];
    unsigned n = 0;
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden) words[n++] = c->name;
    return word_nearest(name, words, n);
}
