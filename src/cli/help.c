/* src/cli/help.c - help texts, from the tables.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

#define COLUMNS 79      /* of a terminal of 80: the last one stays free */
#define LEFT 28         /* where the explanations begin */

const char *const option_groups[OPT_NR_GROUPS] = {
    [OPT_G_COMMON] = "Common options",
    [OPT_G_PLACEMENT] = "Placement: which thread runs where, and for how long",
    [OPT_G_WAITING] = "Waiting: idle cores, blocked threads, busy threads",
    [OPT_G_OUTPUT] = "Output and environment",
};
/* The common ones come first. */
const uint8_t option_group_order[OPT_NR_GROUPS] = {OPT_G_COMMON, OPT_G_PLACEMENT, OPT_G_WAITING, OPT_G_OUTPUT};

/* "-q, --quantum TIME" */
static void option_spelling(const struct usf_option *o, char *buf, size_t cap)
{
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    const char *open = o->flags & OPT_F_BARE ? "[=" : " ", *close = o->flags & OPT_F_BARE ? "]" : "";
    snprintf(buf, cap, "%s--%s%s%s%s", letter, o->name, open, o->arg, close);
}

/* 20, ms -> "20ms"; 60000, ms -> "1min" */
static const char *time_text(uint64_t value, const char *unit, char *buf, size_t cap)
{
    static const struct { const char *word; uint64_t ns; } units[] = {{"h", 3600000000000}, {"min", 60000000000}, {"s", 1000000000}, {"ms", 1000000}};
    uint64_t ns = value * (!strcmp(unit, "ms") ? 1000000u : 1000u);
    for (unsigned i = 0; i < sizeof units / sizeof *units && ns; i++)
        if (ns % units[i].ns == 0) return snprintf(buf, cap, "%lu%s", ns / units[i].ns, units[i].word), buf;
    snprintf(buf, cap, "%lu%s", value, ns ? unit : "");
    return buf;
}

static bool has_own_help(const struct cli_command *c, const struct usf_option *o)
{
    return c->instance_help && !strcmp(o->name, "instance");
}

const char *option_help(const struct cli_command *c, const struct usf_option *o)
{
    return has_own_help(c, o) ? c->instance_help : o->help;
}

/* A long list of choices has blanks, so that it can be broken. */
static const char *choices_text(const char *choices, char *buf, size_t cap)
{
    if (strlen(choices) < 40) return choices;
    size_t n = 0;
    for (; *choices && n + 4 < cap; choices++) {
        bool bar = *choices == '|';
        if (bar) buf[n++] = ' ';
        buf[n++] = *choices;
        if (bar) buf[n++] = ' ';
    }
    buf[n] = 0;
    return buf;
}

void option_range(const struct cli_command *c, const struct usf_option *o, char *buf, size_t cap)
{
    char least[24], most[24], choices[160];
    bool plain_switch = o->type == OPT_CHOICE && o->flags & OPT_F_BARE && !strcmp(o->choices, "off|on");
    buf[0] = 0;
    if (plain_switch || has_own_help(c, o)) return;
    if (o->type == OPT_NUMBER && o->unit)
        snprintf(buf, cap, " (%s to %s, default %s%s)", time_text(o->min, o->unit, least, sizeof least),
                 time_text(o->max, o->unit, most, sizeof most), o->def, o->unit);
    else if (o->type == OPT_NUMBER && !(o->flags & OPT_F_COUNT))
        snprintf(buf, cap, " (%lu to %lu, default %s)", o->min, o->max, o->def);
    else if (o->type == OPT_LEVEL)
        snprintf(buf, cap, " (-%lu to %lu, default %s)", o->max, o->max, o->def);
    else if (o->type == OPT_CHOICE || o->type == OPT_SHARE || o->type == OPT_FLOAT)
        snprintf(buf, cap, " (%s, default %s)", choices_text(o->choices, choices, sizeof choices), o->def);
    else if (o->type == OPT_NAME)
        snprintf(buf, cap, " (default: the instance named %s)", o->def);
    else if (*o->def && o->type != OPT_REPORT && !(o->flags & OPT_F_COUNT))
        snprintf(buf, cap, " (default %s)", o->def);
}

/* Prints words from column `at` on, broken before COLUMNS, further lines indented.  A newline
 * begins a line.  Ends the line. */
static void wrap(const char *text, size_t at, size_t indent)
{
    bool first = true;
    while (*text) {
        size_t blanks = strspn(text, " "), n = strcspn(text + blanks, " \n");
        if (*text == '\n' || (!first && n && at + blanks + n > COLUMNS)) {
            printf("\n%*s", (int)indent, "");
            at = indent;
            text += *text == '\n' ? 1 : blanks;
            first = true;
            continue;
        }
        printf("%.*s", (int)(blanks + n), text);
        at += blanks + n;
        text += blanks + n;
        first = false;
    }
    putchar('\n');
}

static void line(const char *left, const char *help, const char *tail)
{
    char all[600];
    snprintf(all, sizeof all, "%s%s", help, tail);
    if (strlen(left) + 2 > LEFT - 1) printf("  %s\n%*s", left, LEFT, "");
    else printf("  %-*s", LEFT - 2, left);
    wrap(all, LEFT, LEFT);
}

void help_overview(void)
{
    puts("usage: usf COMMAND [OPTION...]\n\n"
         "Run programs so that their threads share the cores cooperatively: one running\n"
         "thread per core, switched when it blocks, yields or ends. Nothing is rebuilt.\n\n"
         "Commands:");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden) line(c->name, c->help, "");
    puts("\n'usf help COMMAND' and 'man usf-COMMAND' describe a command, 'man usf' all in\n"
         "common; 'usf --version' prints the version.\n\n"
         "Example: usf run -- python3 train.py");
}

static void usage_lines(const struct cli_command *c)
{
    const char *before = "usage:";
    for (const char *p = c->synopsis; p; before = "") {
        const char *end = strchr(p, '\n');
        char text[300];
        snprintf(text, sizeof text, "%-6s usf %s%s%.*s", before, c->name, *p ? " " : "", (int)(end ? end - p : (long)strlen(p)), p);
        wrap(text, 0, 11);
        p = end ? end + 1 : NULL;
    }
}

static void flag_lines(const struct cli_flag *f)
{
    char left[80];
    for (; f && f->name; f++) {
        char letter[8] = "    ";
        if (f->letter) snprintf(letter, sizeof letter, "-%c, ", f->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, f->name, f->arg ? " " : "", f->arg ? f->arg : "");
        line(left, f->help, "");
    }
}

static void option_lines(const struct cli_command *c, uint8_t group, const char *title)
{
    char left[80], tail[80];
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        if (o->group != group || !cli_takes_option(c, o->name)) continue;
        if (title) printf("\n%s:\n", title);
        title = NULL;
        option_spelling(o, left, sizeof left);
        option_range(c, o, tail, sizeof tail);
        line(left, option_help(c, o), tail);
    }
}

void help_command(const struct cli_command *c)
{
    char left[200];
    bool all = c->options && !strcmp(c->options, "*");
    usage_lines(c);
    snprintf(left, sizeof left, "%c%s.", c->help[0] - 'a' + 'A', c->help + 1);
    putchar('\n');
    wrap(left, 0, 0);
    if (c->verbs) puts("\nCommands:");
    for (const struct cli_verb *v = c->verbs; v && v->name; v++) {
        snprintf(left, sizeof left, "%s%s%s", v->name, *v->synopsis ? " " : "", v->synopsis);
        line(left, v->help, "");
    }
    if (c->flags || c->verb_flags || (c->options && !all)) puts("\nOptions:");
    flag_lines(c->flags);
    flag_lines(c->verb_flags);
    for (unsigned i = 0; i < OPT_NR_GROUPS; i++)
        option_lines(c, option_group_order[i], all ? option_groups[option_group_order[i]] : NULL);
    if (c->more) {
        putchar('\n');
        wrap(c->more, 0, 0);
    }
    if (all)
        puts("\nA time is a number with a unit (ns, us, ms, s, min, h); a bare number is in the\n"
             "unit of the default. Every option can also be set in the environment\n"
             "(USF_QUANTUM for --quantum), in a profile, in $XDG_CONFIG_HOME/usf/config.toml\n"
             "and in /etc/usf.toml (quantum = \"20ms\"). 'usf config show' prints what is set.");
}

/* `man` and usf.1: the overview; usf-COMMAND.1: that command's page.  False: there is no such
 * page. */
static bool print_page(const char *page)
{
    char name[32];
    int n = 0;
    if (!strcmp(page, "man") || !strcmp(page, "usf.1")) return man_overview(), true;
    if (sscanf(page, "usf-%31[a-z].1%n", name, &n) != 1 || !n || page[n]) return false;
    const struct cli_command *c = cli_find(name);
    if (c) man_command(c);
    return c;
}

static int print_completion(const char *shell)
{
    char shown[64];
    if (help_completion(shell)) return CLI_OK;
    return cli_usage("no completion for '%s': bash, zsh or fish", text_clean(shell, shown, sizeof shown));
}

int cmd_help(const struct cli_command *self, int argc, char **argv)
{
    const char *topic = argc > 1 ? argv[1] : "--help";
    char buf[64], near[64];
    (void)self;
    /* (No cli_parse: help is there whatever is wrong with the settings.) */
    bool completion = !strcmp(topic, "completion");
    const struct cli_args a = {.rest = completion ? 3 : 2};
    int code = cli_no_more(&a, argc, argv);
    if (code >= 0) return code;
    if (completion) return print_completion(argc > 2 ? argv[2] : "bash");
    if (print_page(topic)) return CLI_OK;
    if (!strcmp(topic, "--help") || !strcmp(topic, "-h")) return help_overview(), CLI_OK;
    if (*topic == '-') return cli_usage("usf help has no option %s, only --help", text_clean(topic, buf, sizeof buf));
    const struct cli_command *c = cli_find(topic);
    if (!c) return cli_usage("no help on '%s'%s ('usf --help' lists all commands)", text_clean(topic, buf, sizeof buf),
                             cli_near("'", cli_nearest_command(topic), near, sizeof near));
    help_command(c);
    return CLI_OK;
}
