/* src/cli/policy.c - usf policy VERB: the table of verbs.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct policy_verb verbs[] = {
    {"list", policy_list},
    {"info", policy_info},
    {"new", policy_new},
    {"show", policy_show},
    {"set", policy_set},
    {"weight", policy_weight},
    {"priority", policy_priority},
    {"check", policy_check},
};
#define NR_VERBS (sizeof verbs / sizeof *verbs)

const struct usf_policy_ops *policy_by_word(const char *word, int *code)
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

int cmd_policy(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    const char *names[NR_VERBS];
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0) return code;
    const char *verb = argv[a.rest];
    if (!verb) return cli_usage("usf policy what? ('usf help policy' lists its commands)");
    for (unsigned i = 0; i < NR_VERBS; i++) {
        names[i] = verbs[i].name;
        if (!strcmp(verb, verbs[i].name)) return verbs[i].main(argc - a.rest, argv + a.rest, cli_flag(&a, "json") != NULL);
    }
    char shown[64], near[64];
    return cli_usage("usf policy has no '%s'%s ('usf help policy' lists all)", text_clean(verb, shown, sizeof shown),
                     cli_near("'", word_nearest(verb, names, NR_VERBS), near, sizeof near));
}
