/* src/cli/policy_list.c - usf policy list.  SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"
#include "cli/policy.h"
#include <stdio.h>
#include <string.h>

int policy_list(int argc, char **argv, bool machine)
{
    struct json j;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json")) return cli_usage("'%.60s' is one argument too many", argv[i]);
        machine = true;
    }
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
