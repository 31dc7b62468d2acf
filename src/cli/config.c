/* src/cli/config.c - usf config show.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "text/json.h"
#include <stdio.h>
#include <string.h>

static void show_text(const struct config *c)
{
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        const struct config_value *v = config_value(c, o);
        char value[200];
        text_clean(v->text, value, sizeof value);
        printf("%-15s %-20s %s%s%s\n", o->name, *value ? value : "-", text_on(v->origin == ORIGIN_DEFAULT ? TEXT_DIM : TEXT_PLAIN),
               v->where, text_off());
    }
}

static void show_json(const struct config *c)
{
    struct json j;
    json_start(&j, stdout);
    json_open(&j, NULL, '[');
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        const struct config_value *v = config_value(c, o);
        json_open(&j, NULL, '{');
        json_string(&j, "name", o->name);
        json_string(&j, "value", v->text);
        json_string(&j, "origin", config_origin_name(v->origin));
        json_string(&j, "where", v->where);
        json_string(&j, "default", o->def);
        json_string(&j, "variable", o->env);
        json_string(&j, "unit", o->unit);
        json_string(&j, "choices", o->choices);
        json_string(&j, "help", o->help);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_end(&j);
}

/* `usf config show --quantum 5` and `usf config --quantum 5 show` mean the same. */
int cmd_config(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    char shown[64];
    if (argc >= 2 && argv[1][0] != '-') {
        if (strcmp(argv[1], "show")) return cli_usage("usf config has no '%s', only 'show'", text_clean(argv[1], shown, sizeof shown));
        argv++;
        argc--;
    }
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0) return code;
    if (argv[a.rest] && !strcmp(argv[a.rest], "show")) a.rest++;
    if ((code = cli_no_more(&a, argc, argv)) >= 0) return code;
    if (cli_flag(&a, "json")) show_json(&a.config);
    else show_text(&a.config);
    return CLI_OK;
}
