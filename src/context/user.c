/* src/context/user.c - see user.h.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/env.h"
#include "config/toml.h"
#include "context/context.h"
#include "context/user.h"

#define PROFILE_MAX 65536       /* bytes, as in src/config/resolve.c */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : 0;
}

/* What [run] of the profile says of contexts: "" for nothing.  Read once: the program may change
 * its folder later. */
static struct { bool read; char contexts[USF_CONTEXTS_MAX]; } profile;

static int slurp(const char *path, char *buf, size_t *n)
{
    struct stat st;
    FILE *f = fopen(path, "re");
    int e = f ? 0 : errno;
    if (f && fstat(fileno(f), &st) == 0 && !S_ISREG(st.st_mode)) e = EISDIR;
    *n = f && !e ? fread(buf, 1, PROFILE_MAX + 1, f) : 0;
    if (f && !e && ferror(f)) e = EIO;
    if (f) fclose(f);
    if (e) return context_fail(EINVAL, "profile %.200s: %s", path, e == EISDIR ? "it is not a file" : strerror(e));
    return *n > PROFILE_MAX ? context_fail(EINVAL, "profile %.200s: longer than %d bytes", path, PROFILE_MAX) : 0;
}

static int take(const char *path, const struct toml_doc *d)
{
    char why[256];
    for (size_t i = 0; i < d->nr; i++) {
        const struct toml_entry *e = &d->entries[i];
        if (strcmp(e->section, "run") || strcmp(e->key, "contexts")) continue;
        if (e->type != TOML_STRING) return context_fail(EINVAL, "%.200s:%u: contexts takes text in quotes", path, e->line);
        if (contexts_check(e->text, why, sizeof why)) return context_fail(EINVAL, "%.200s:%u: contexts: %s", path, e->line, why);
        strcpy(profile.contexts, e->text);      /* contexts_check has looked at its length */
    }
    return 0;
}

static int read_profile(const char *path)
{
    struct toml_doc d;
    size_t n;
    char *buf = malloc(PROFILE_MAX + 1);
    if (!buf) return context_fail(ENOMEM, "out of memory");
    int r = slurp(path, buf, &n);
    if (!r) {
        r = toml_parse_as(&d, buf, n, TOML_FRACTIONS) ? context_fail(EINVAL, "%.200s:%u: %s", path, d.error_line, d.error) : take(path, &d);
        toml_free(&d);
    }
    free(buf);
    profile.read = !r;
    return r;
}

int user_cpus(const char *name, char list[USF_CONTEXTS_MAX], const char **from)
{
    char why[256];
    const char *text = variable(USF_ENV_CONTEXTS), *path = variable(USF_ENV_PROFILE);
    *from = 0;
    if (text) {
        if (contexts_check(text, why, sizeof why)) return context_fail(EINVAL, "%s: %s", USF_ENV_CONTEXTS, why);
        if (contexts_find(text, name, list)) *from = USF_ENV_CONTEXTS;
        return 0;
    }
    if (!path || variable(USF_ENV_TREE)) return 0;
    int r = profile.read ? 0 : read_profile(path);
    if (!r && contexts_find(profile.contexts, name, list)) *from = USF_ENV_PROFILE;
    return r;
}

void user_say(const char *name, const char *cpus, const char *from)
{
    const char *verbose = variable(USF_ENV_VERBOSE);
    if (!verbose || !strcmp(verbose, "0")) return;
    usf_verbose = 1;            /* this library's own */
    usf_say("context '%s': CPUs %s, %s%s", name, cpus, from ? "given by " : "as the program says", from ? from : "");
}
