/* src/cli/policy_info.c - usf policy info POLICY.  SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"
#include "cli/policy.h"
#include <stdio.h>
#include <string.h>

static const struct { const char *name; size_t field; } operations[] = {
#define OP(f) {#f, offsetof(struct usf_policy_ops, f)}
    OP(init), OP(group_add), OP(group_remove), OP(task_add), OP(task_remove), OP(select_core), OP(enqueue), OP(pick),
    OP(dequeue), OP(yield), OP(started), OP(stopped), OP(tick), OP(group_changed),
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

static int show(const struct usf_policy_ops *ops, bool machine)
{
    struct json j;
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

int policy_info(int argc, char **argv, bool machine)
{
    const char *word = NULL;
    int code = CLI_OK;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) machine = true;
        else if (!word) word = argv[i];
        else return cli_usage("'%.60s' is one argument too many", argv[i]);
    }
    if (!word) return cli_usage("usf policy info needs a policy: a name or a path");
    const struct usf_policy_ops *ops = policy_by_word(word, &code);
    return ops ? show(ops, machine) : code;
}
