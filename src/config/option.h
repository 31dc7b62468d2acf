/* src/config/option.h - the option table.  SPDX-License-Identifier: Apache-2.0
 *
 * One row per option drives the command line, the environment, the configuration files, --help, the
 * man page, shell completion and `usf config show`; the preloaded library reads its environment
 * through the same rows, so that both sides agree on names, ranges and defaults by construction.
 * Nothing here calls libc.
 */
#ifndef USF_CONFIG_OPTION_H
#define USF_CONFIG_OPTION_H

#include "config/settings.h"

enum opt_type {
    OPT_NAME,       /* instance name */
    OPT_CPULIST,
    OPT_POLICY,
    OPT_NUMBER,     /* whole number min..max, times `scale`; with a unit: a time, like 20ms or 1.5s, without one in `unit` */
    OPT_LEVEL,      /* whole number -max..max */
    OPT_CHOICE,     /* one of `choices`, stored as its index */
    OPT_PATH,       /* absolute */
    OPT_FILE,       /* also relative to the working directory */
    OPT_SHARE,      /* one of `choices`; `group` also with :GROUP */
    OPT_FLOAT,      /* one of `choices`; `off` also with :NAME,NAME... of programs */
    OPT_CONTEXTS,   /* contexts.h */
    OPT_REPORT,     /* where a report goes: "off", "on" or "-" (stderr), or a file name */
};
enum {
    OPT_F_BARE   = 1,   /* on the command line the value may be missing, or be given with '=' */
    OPT_F_COUNT  = 2,   /* without a value: one more than before */
    OPT_F_EXPORT = 4,   /* `usf run` hands it to the program's environment */
    OPT_F_INST   = 8,   /* fixed when the instance is made */
};

/* Where --help lists an option. */
enum opt_group { OPT_G_PLACEMENT, OPT_G_COMMON, OPT_G_WAITING, OPT_G_OUTPUT, OPT_NR_GROUPS };

struct usf_option {
    const char *name;           /* --name, and key in the configuration files */
    const char *env;
    const char *arg;            /* placeholder in the help */
    const char *unit;           /* of numbers that are times: "ms" or "us", what a bare number is in; or null */
    const char *choices;        /* "auto|on|off", or null */
    const char *def;            /* default, as text */
    const char *help;           /* one line */
    const char *more;           /* further sentences for the man page, or null */
    uint64_t min, max, scale;
    uint64_t zero;              /* what 0 is stored as, where 0 has another meaning below; or 0 */
    uint16_t field;             /* offset in struct usf_settings */
    uint8_t type, flags, group;
    char letter;                /* -c, or 0 */
};

extern const struct usf_option usf_options[];
extern const unsigned usf_nr_options;

/* Read `text` as a value of option o into its field.  0, or -1 with why = what is wrong, starting
 * with the value ("'abc' is ..."), to be put behind the name of its origin. */
int option_parse(const struct usf_option *o, const char *text, struct usf_settings *s, char *why, size_t cap);
/* A time like 20ms, 1.5s or 2min; a bare number is in `unit`.  False: it is none. */
bool option_time(const char *text, const char *unit, uint64_t *ns);
/* Row by name (len < 0: NUL-terminated), by variable, by letter; null: none. */
const struct usf_option *option_by_name(const char *name, long len);
const struct usf_option *option_by_env(const char *name, long len);
const struct usf_option *option_by_letter(char letter);

/* Edit distance with transpositions; words longer than 63 characters are cut. */
unsigned word_distance(const char *a, const char *b);
/* The nearest of n words (null entries are skipped), if it is near: one that `word` begins, or one
 * with few letters wrong.  Else null. */
const char *word_nearest(const char *word, const char *const *words, unsigned n);

#endif
