/* src/cli/policy.c - usf policy list | info POLICY.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/json.h"
#include "policy/policy.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct { const char *name; size_t field; } operations[] = {
#define OP(f) {#f, offsetof(struct usf_policy_ops, f)}
    OP(init), OP(proc_add), OP(proc_remove), OP(task_add), OP(task_remove), OP(select_core), OP(enqueue), OP(pick),
    OP(dequeue), OP(yield), OP(started), OP(stopped), OP(tick), OP(proc_changed),
};
#define NR_OPERATIONS (sizeof operations / sizeof *operations)

/* A loaded policy comes with the defaults filled in: its own operations are those that differ. */
static bool own(const struct usf_policy_ops *ops, unsigned i)
{
    void *mine, *theirs;
    memcpy(&mine, (const char *)ops + operations[i].field, sizeof mine);
    memcpy(&theirs, (const char *)&usf_policy_defaults + operations[i].field, sizeof theirs);
    return mine && mine != theirs;
}

static int list(bool machine)
{
    struct json j;
    if (machine) {
        json_start(&j, stdout);
        json_open(&j, NULL, '[');
    }
    for (const struct usf_policy_ops *const *o = usf_builtin_policies; *o; o++) {
        if (!machine) {
            printf("%-10s %s%s\n", (*o)->name, (*o)->description, o == usf_builtin_policies ? " (default)" : "");
            continue;
        }
        json_open(&j, NULL, '{');
        json_string(&j, "name", (*o)->name);
        json_string(&j, "description", (*o)->description);
        json_bool(&j, "default", o == usf_builtin_policies);
        json_close(&j, '}');
    }
    if (machine) {
        json_close(&j, ']');
        json_end(&j);
    }
    return CLI_OK;
}

/* By name or by path; null: said, with the exit code in *code. */
static const struct usf_policy_ops *find(const char *word, int *code)
{
    static char path[PATH_MAX], why[320];
    char shown[80];
    text_clean(word, shown, sizeof shown);
    if (!strchr(word, '/')) {
        const struct usf_policy_ops *ops = policy_find(word);
        const char *near = ops ? NULL : policy_nearest(word);
        if (!ops)
            *code = cli_usage("there is no policy '%s'; %s%s%s", shown, near ? "the nearest is '" : "", near ? near
                              : "a shared object needs a path with a '/'", near ? "'" : "");
        return ops;
    }
    *code = CLI_FAILED;
    if (!realpath(word, path)) {
        usf_warn("%s: %s", shown, strerror(errno));
        return NULL;
    }
    const struct usf_policy_ops *ops = policy_load(path, why, sizeof why);
    if (!ops) usf_warn("%s", why);
    return ops;
}

static int info(const char *word, bool machine)
{
    int code = CLI_OK;
    struct json j;
    const struct usf_policy_ops *ops = find(word, &code);
    if (!ops) return code;
    if (!machine) {
        printf("%s: %s\n", ops->name, ops->description ? ops->description : "");
        for (unsigned i = 0; i < NR_OPERATIONS; i++)
            printf("  %-12s %s\n", operations[i].name, own(ops, i) ? "its own" : "default");
        return CLI_OK;
    }
    json_start(&j, stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "name", ops->name);
    json_string(&j, "description", ops->description);
    json_open(&j, "operations", '[');
    for (unsigned i = 0; i < NR_OPERATIONS; i++)
        if (own(ops, i)) json_string(&j, NULL, operations[i].name);
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
    return CLI_OK;
}

int cmd_policy(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    static const char *const verbs[] = {"list", "info"};
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0) return code;
    const char *verb = argv[a.rest];
    if (!verb) return cli_usage("usf policy what? (usf policy %s)", self->synopsis);
    bool is_info = !strcmp(verb, "info");
    if (!is_info && strcmp(verb, "list")) {
        char shown[64];
        return cli_usage("usf policy has no '%s'; the nearest is '%s'", text_clean(verb, shown, sizeof shown),
                         word_nearest(verb, verbs, 2));
    }
    int i = a.rest + 1;
    const char *word = NULL;
    bool machine = cli_flag(&a, "json") != NULL;
    for (; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) machine = true;
        else if (is_info && !word) word = argv[i];
        else return cli_usage("'%.60s' is one argument too many", argv[i]);
    }
    if (is_info && !word) return cli_usage("usf policy info needs a policy: a name or a path");
    return is_info ? info(word, machine) : list(machine);
}
