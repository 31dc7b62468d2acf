/* src/config/config.h - resolve the options from all their origins (tool only).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order: command line > environment > profile > $XDG_CONFIG_HOME/usf/config.toml > /etc/usf.toml >
 * default.
 *
 * What is wrong on the command line, in the environment or in a profile is an error of the caller;
 * what is wrong in a configuration file is a warning, and the file (syntax) or the entry (value,
 * key) is passed over: a broken file of the system must not keep all users from working.
 */
#ifndef USF_CONFIG_CONFIG_H
#define USF_CONFIG_CONFIG_H

#include "config/option.h"

#define CONFIG_MAX_OPTIONS 32

enum config_origin { ORIGIN_DEFAULT, ORIGIN_SYSTEM, ORIGIN_USER, ORIGIN_PROFILE, ORIGIN_ENV, ORIGIN_CLI };

struct config_value {
    char *text;                 /* as it is exported; never null */
    enum config_origin origin;
    char *where;                /* "/etc/usf.toml:3", "USF_QUANTUM", "--quantum", "default" */
};
struct config_variable { char *name, *value; };
struct config {
    struct usf_settings s;
    struct config_value v[CONFIG_MAX_OPTIONS];  /* by row of the table */
    char *system_path, *user_path;              /* user_path: null without a home */
    struct config_variables {                   /* of the profile: */
        struct config_variable *at;
        unsigned nr;
    } variables, parameters;                    /* for the program's environment; for {NAME} in its command line */
    void (*warn)(void *arg, const char *line);  /* null: usf_warn */
    void *warn_arg;
    char error[512];            /* after an error: one line */
};

/* Defaults, files, environment.  0, or -1 with error. */
int config_load(struct config *c, char **envp);
/* One option from the command line, on top.  text null: given without a value.  0, or -1 with
 * error. */
int config_set_cli(struct config *c, const struct usf_option *o, const char *text, const char *spelled);
/* The profile that c->s.profile names, below the environment; all that is in it must be right.
 * Call it once, when the command line has been read.  0, or -1 with error. */
int config_apply_profile(struct config *c);
void config_free(struct config *c);
const struct config_value *config_value(const struct config *c, const struct usf_option *o);
const struct config_value *config_value_of(const struct config *c, const char *name);
const char *config_origin_name(enum config_origin o);

#endif
