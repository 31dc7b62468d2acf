/* src/cli/doctor.c - usf doctor: is this machine able, and is all well?
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"
#include "cli/cli.h"
#include "cli/instance.h"
#include <stdio.h>
#include <string.h>

static struct {
    bool machine;           /* as JSON */
    struct json json;
    unsigned bad, unable;   /* things wrong; those of the machine */
    bool unscheduled;       /* the program */
    const char *instance;   /* that it would join; null: no program is asked about */
    const char *section;
} out;

void doctor_section(const char *title)
{
    if (!out.machine) printf("%s%s%s%s\n", out.section ? "\n" : "", text_on(TEXT_BOLD), title, text_off());
    out.section = title;
}

/* A program can be scheduled, whatever is wrong with instances that it does not join. */
static bool concerns(const char *what)
{ return !out.instance || !out.section || strcmp(out.section, "instances") || !strcmp(what, out.instance); }

void doctor_find(enum finding f, const char *what, const char *fmt, ...)
{
    static const struct { const char *word; enum text_style style; } kinds[] = {
        {"ok", TEXT_GOOD}, {"note", TEXT_DIM}, {"warning", TEXT_WARN}, {"wrong", TEXT_BAD}};
    char text[600], shown[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out.bad += f == FINDING_BAD && concerns(what);
    out.unable += f == FINDING_BAD && out.section && !strcmp(out.section, "machine");
    if (out.machine) {
        json_open(&out.json, NULL, '{');
        json_string(&out.json, "section", out.section);
        json_string(&out.json, "check", what);
        json_string(&out.json, "result", kinds[f].word);
        json_string(&out.json, "text", text);
        json_close(&out.json, '}');
        return;
    }
    printf("  %s%-8s%s %-18s %s\n", text_on(kinds[f].style), kinds[f].word, text_off(), what,
           text_clean(text, shown, sizeof shown));
}

void doctor_unscheduled(void) { out.unscheduled = true; }

/* What the option files have wrong comes as warnings while they are read, before the report
 * begins. */
struct remembered { char line[8][512]; unsigned n; };
static void remember(void *arg, const char *line)
{
    struct remembered *r = arg;
    if (r->n < sizeof r->line / sizeof *r->line) snprintf(r->line[r->n++], sizeof r->line[0], "%s", line);
}

static void doctor_options(void)
{
    extern char **environ;
    static struct config c;
    static struct remembered seen;
    c.warn = remember;
    c.warn_arg = &seen;
    int r = config_load(&c, environ);
    doctor_section("options");
    for (unsigned i = 0; i < seen.n; i++) doctor_find(FINDING_WARN, "configuration", "%s", seen.line[i]);
    if (r) doctor_find(FINDING_BAD, "environment", "%s", c.error);
    if (!r && !seen.n) doctor_find(FINDING_GOOD, "configuration", "%s and %s have nothing wrong, if they exist",
                                   c.system_path, c.user_path ? c.user_path : "the user's");
}

int cmd_doctor(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0) return code;
    const char *program = cli_flag(&a, "program");
    if (!program && a.rest < argc) program = argv[a.rest++];
    if ((code = cli_no_more(&a, argc, argv)) >= 0) return code;
    if (program && (code = share_choose(&a.config)) >= 0) return code;
    if (program) out.instance = a.config.s.instance;
    out.machine = cli_flag(&a, "json") != NULL;
    if (out.machine) {
        json_start(&out.json, stdout);
        json_open(&out.json, NULL, '{');
        json_string(&out.json, "version", USF_VERSION);
        json_open(&out.json, "findings", '[');
    }
    doctor_machine(&a.config);
    doctor_options();
    doctor_instances();
    if (program) doctor_program(program);
    if (out.machine) {
        json_close(&out.json, ']');
        json_bool(&out.json, "able", out.unable == 0);
        json_uint(&out.json, "wrong", out.bad);
        if (program) json_bool(&out.json, "scheduled", !out.unscheduled);
        json_close(&out.json, '}');
        json_end(&out.json);
    } else if (out.bad) {
        printf("\n%u thing%s wrong\n", out.bad, out.bad == 1 ? " is" : "s are");
    }
    return out.bad ? CLI_FAILED : out.unscheduled ? CLI_UNSCHEDULED : CLI_OK;
}
