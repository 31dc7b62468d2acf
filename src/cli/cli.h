/* src/cli/cli.h - the command line tool: one file per command.  SPDX-License-Identifier: Apache-2.0
 *
 * The tool is never preloaded with usf on its own account, so libc is used freely.  Trouble is told
 * as one line "usf: ..." on stderr (usf_warn); what was asked for goes to stdout. */
#ifndef USF_CLI_H
#define USF_CLI_H

#include "base/base.h"
#include "config/config.h"
#include "text/text.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_UNSCHEDULED = 2, CLI_USAGE = 125, CLI_NOT_EXECUTABLE = 126, CLI_NOT_FOUND = 127 };

/* A flag that is not an option of the table. */
struct cli_flag {
    const char *name;
    char letter;
    const char *arg;        /* placeholder, or null: a switch */
    const char *help;
    const char *choices;    /* "a|b", or null */
    const char *value;      /* out: the argument, or "" for a switch; null: not given */
};
/* What stands behind the name of a command that does several things. */
struct cli_verb { const char *name, *synopsis, *help; };
struct cli_command {
    const char *name;
    int (*main)(const struct cli_command *self, int argc, char **argv);
    const char *synopsis;   /* behind "usf NAME "; a line for each form */
    const char *help;       /* one line */
    const char *more;       /* a paragraph for 'usf help NAME' and the man page; or null */
    const struct cli_verb *verbs;   /* ends with a null name; or null */
    const char *options;    /* rows of the option table that it takes: "*", or names with blanks between */
    const char *instance_help;      /* what --instance means to this command; null: as in the option table */
    const struct cli_flag *flags;   /* ends with a null name; or null */
    const struct cli_flag *verb_flags;  /* those that the verbs parse themselves, for the help; or null */
    bool hidden;
};
extern const struct cli_command cli_commands[];     /* ends with a null name */

int cmd_run(const struct cli_command *self, int argc, char **argv);
int cmd_ps(const struct cli_command *self, int argc, char **argv);
int cmd_policy(const struct cli_command *self, int argc, char **argv);
int cmd_config(const struct cli_command *self, int argc, char **argv);
int cmd_sim(const struct cli_command *self, int argc, char **argv);
int cmd_doctor(const struct cli_command *self, int argc, char **argv);
int cmd_dump(const struct cli_command *self, int argc, char **argv);
int cmd_tune(const struct cli_command *self, int argc, char **argv);
int cmd_trace(const struct cli_command *self, int argc, char **argv);
int cmd_shim(const struct cli_command *self, int argc, char **argv);
int cmd_clean(const struct cli_command *self, int argc, char **argv);
int cmd_help(const struct cli_command *self, int argc, char **argv);
int cmd_monitor(const struct cli_command *self, int argc, char **argv);

/* ---- args.c ---------------------------------------------------------------------------------- */
/* The resolved options and flags of one command. */
struct cli_args {
    struct config config;
    struct cli_flag flags[8];
    int rest;               /* index of the first argument that is no option */
};
/* Parse argv[1..] up to the first non-option.  -1: go on; else the exit code to leave with (help
 * was printed, or the mistake was said). */
int cli_parse(const struct cli_command *self, struct cli_args *a, int argc, char **argv);
const char *cli_flag(const struct cli_args *a, const char *name);      /* value, or null */
bool cli_takes_option(const struct cli_command *c, const char *name);
/* Says the mistake, returns CLI_USAGE. */
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "Too many arguments", if there are any left.  As cli_parse. */
int cli_no_more(const struct cli_args *a, int argc, char **argv);
const struct cli_command *cli_find(const char *name);
const char *cli_nearest_command(const char *name);      /* null: none is near */
/* "; the nearest is MARKnear", MARK a quote or dashes; "" where nothing is near. */
const char *cli_near(const char *mark, const char *near, char *buf, size_t cap);

/* ---- help.c, man.c, completion.c: all from the tables ----------------------------------------- */
void help_overview(void);
void help_command(const struct cli_command *c);
extern const char *const option_groups[OPT_NR_GROUPS];          /* their titles */
extern const uint8_t option_group_order[OPT_NR_GROUPS];
/* The option's text in the help of this command, and its range: " (1ms to 10s, default 20ms)", or
 * "". */
const char *option_help(const struct cli_command *c, const struct usf_option *o);
void option_range(const struct cli_command *c, const struct usf_option *o, char *buf, size_t cap);
void man_overview(void);                            /* usf.1, roff */
void man_command(const struct cli_command *c);      /* usf-COMMAND.1 */
bool help_completion(const char *shell);            /* false: bash, zsh and fish are known */

/* ---- colour.c: terminals ---------------------------------------------------------------------- */
enum text_style { TEXT_PLAIN, TEXT_GOOD, TEXT_WARN, TEXT_BAD, TEXT_DIM, TEXT_BOLD };
/* Escape sequences, empty unless stdout is a terminal and NO_COLOR is not set. */
const char *text_on(enum text_style s);
const char *text_off(void);

#endif
