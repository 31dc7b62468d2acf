/* src/cli/policy_new.c - usf policy new NAME.  SPDX-License-Identifier: Apache-2.0
 *
 * A folder with a policy that works, the interface, and a Makefile.  What it copies is part of the
 * tool (new/embed.py): it fits the tool, and an installation needs no other files for it. */
#include "cli/new/files.h"
#include "cli/policy.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct language { const char *name, *ext, *source, *makefile, *interface[2]; } languages[] = {
    {"c", "c", "policy.c.in", "Makefile.c.in", {"policy.h"}},
    {"c++", "cpp", "policy.cpp.in", "Makefile.cpp.in", {"policy.h"}},
    {"rust", "rs", "policy.rs.in", "Makefile.rs.in", {"policy.rs", "policy.h"}},
};
#define NR_LANGUAGES (sizeof languages / sizeof *languages)

struct words { const char *name, *ext; char usf[PATH_MAX]; };

static const char *text_of(const char *file)
{
    for (const struct new_file *f = new_files; f->name; f++)
        if (!strcmp(f->name, file)) return f->text;
    usf_assert(!"a file of new/ is missing");
    return "";
}

/* The text, with @NAME@, @EXT@ and @USF@ replaced. */
static void put(FILE *out, const char *text, const struct words *w)
{
    const struct { const char *mark, *word; } marks[] = {{"@NAME@", w->name}, {"@EXT@", w->ext}, {"@USF@", w->usf}};
    while (*text) {
        size_t skipped = 0;
        for (unsigned i = 0; i < 3 && !skipped; i++)
            if (!strncmp(text, marks[i].mark, strlen(marks[i].mark))) {
                fputs(marks[i].word, out);
                skipped = strlen(marks[i].mark);
            }
        if (!skipped) fputc(*text, out);
        text += skipped ? skipped : 1;
    }
}

static bool write_file(const char *folder, const char *name, const char *text, const struct words *w)
{
    char *path = xasprintf("%s/%s", folder, name);
    FILE *f = fopen(path, "wx");
    bool done = f != NULL;
    if (f && w) put(f, text, w);
    else if (f) fputs(text, f);
    if (f && ferror(f)) done = false;
    if (f && fclose(f)) done = false;
    if (!done) usf_warn("%s: %s", path, strerror(errno));
    free(path);
    return done;
}

static bool make_folder(const char *path)
{
    if (!mkdir(path, 0777)) return true;
    if (errno == EEXIST) usf_warn("%s exists already: choose another name, or remove it", path);
    else usf_warn("%s: %s", path, strerror(errno));
    return false;
}

static int make(const char *folder, const struct language *l, struct words *w)
{
    char *inner = xasprintf("%s/usf", folder), *source = xasprintf("%s.%s", w->name, l->ext);
    bool done = make_folder(folder) && make_folder(inner) && write_file(folder, source, text_of(l->source), w)
                && write_file(folder, "Makefile", text_of(l->makefile), w) && write_file(folder, "README.md", text_of("README.in"), w);
    for (unsigned i = 0; done && i < 2 && l->interface[i]; i++) done = write_file(inner, l->interface[i], text_of(l->interface[i]), NULL);
    if (done)
        printf("%s: a policy in %s that works. Next:\n  cd %s && make && make check\n  edit %s (docs/policy.md explains it)\n", folder,
               l->name, folder, source);
    free(inner);
    free(source);
    return done ? CLI_OK : CLI_FAILED;
}

/* What make would take for something else: then the Makefile says `usf`, to be found by PATH. */
static void find_myself(char *path, size_t cap)
{
    ssize_t n = readlink("/proc/self/exe", path, cap - 1);
    path[n > 0 ? n : 0] = 0;
    if (path[0] != '/' || strpbrk(path, " \t\n$#:\"'\\;&|<>()`*?[")) snprintf(path, cap, "usf");
}

static const struct language *language(const char *word)
{
    for (unsigned i = 0; i < NR_LANGUAGES; i++)
        if (!strcmp(word, languages[i].name)) return &languages[i];
    return !strcmp(word, "cpp") || !strcmp(word, "cxx") ? &languages[1] : NULL;
}

static int bad_language(const char *word)
{
    char shown[40];
    return cli_usage("'%s' is no language that a policy can be made in: c, c++ or rust", text_clean(word, shown, sizeof shown));
}

int policy_new(int argc, char **argv, bool machine)
{
    const struct language *l = &languages[0];
    const char *word = NULL;
    char shown[80];
    for (int i = 1; i < argc; i++) {
        bool apart = !strcmp(argv[i], "--lang") || !strcmp(argv[i], "-l");
        if (apart || !strncmp(argv[i], "--lang=", 7)) {
            if (apart && i + 1 == argc) return cli_usage("--lang needs a value: c, c++ or rust");
            const char *value = apart ? argv[++i] : argv[i] + 7;
            if (!(l = language(value))) return bad_language(value);
        } else if (argv[i][0] == '-') {
            return cli_usage("usf policy new has no option '%s' (--lang c|c++|rust)", text_clean(argv[i], shown, sizeof shown));
        } else if (word) {
            return cli_usage("'%s' is one argument too many", text_clean(argv[i], shown, sizeof shown));
        } else {
            word = argv[i];
        }
    }
    if (machine) return cli_usage("usf policy new has no --json");
    if (!word) return cli_usage("usf policy new needs a name: that of the policy, and of its folder");
    struct words w = {.name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word, .ext = l->ext};
    if (!policy_name_is_valid(w.name))
        return cli_usage("'%s' is no name for a policy: 1 to %u of a-z 0-9 - _", text_clean(w.name, shown, sizeof shown), POLICY_NAME_MAX);
    if (w.name[0] == '-') return cli_usage("'%s' is no name for a policy: it looks like an option", w.name);
    if (policy_find(w.name) || !strcmp(w.name, "defaults")) return cli_usage("'%s' is the name of a built-in policy: choose another", w.name);
    find_myself(w.usf, sizeof w.usf);
    return make(word, l, &w);
}
