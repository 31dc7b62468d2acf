/* tests/policy/test_loader.c - what a bad policy gets.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_loader GOOD.so OBJECT.so=WORDS...      each must be refused with these words; without words, loaded */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "policy/policy.h"

static int failures;

static void expect_refusal(const char *path, const char *words)
{
    char why[256] = "";
    if (policy_load(path, why, sizeof why)) {
        printf("FAILED: %s was loaded; expected: %s\n", path, words);
        failures++;
    } else if (!strstr(why, words) || strchr(why, '\n')) {
        printf("FAILED: %s: got \"%s\", expected: %s\n", path, why, words);
        failures++;
    } else {
        printf("ok: %s\n", why);
    }
}

/* Tables of other sizes: what they do not have, or what lies behind the end that they name, is the default. */
static void expect_loaded(const char *path)
{
    char why[256] = "";
    const struct usf_policy_ops *ops = policy_load(path, why, sizeof why);
    if (!ops || ops->group_changed != usf_policy_defaults.group_changed || ops->size != sizeof *ops) {
        printf("FAILED: %s: %s\n", path, ops ? "not completed with the defaults" : why);
        failures++;
    } else {
        printf("ok: %s loads\n", path);
    }
}

static void copy(const char *from, const char *to, size_t limit, mode_t mode)
{
    static char buf[1 << 20];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n = read(in, buf, limit < sizeof buf ? limit : sizeof buf);
    if (n < 0 || write(out, buf, (size_t)n) != n || fchmod(out, mode)) exit(1);
    close(in);
    close(out);
}

static void expect_bad_files(const char *good)
{
    char dir[] = "/tmp/usf-policy-XXXXXX", path[128];
    if (!mkdtemp(dir)) exit(1);
    snprintf(path, sizeof path, "%s/p.so", dir);
    expect_refusal(path, "No such file");
    expect_refusal(dir, "not a regular file");
    expect_refusal("relative.so", "absolute path");
    copy(good, path, 1 << 20, 0666);
    expect_refusal(path, "chmod go-w");
    copy(good, path, 3000, 0600);
    expect_refusal(path, "truncated");
    copy(good, path, 70, 0600);
    expect_refusal(path, "truncated");
    copy("/proc/self/maps", path, 100, 0600);
    expect_refusal(path, "not a shared object");
    copy("/proc/self/exe", path, 1 << 20, 0600);
    expect_refusal(path, "p.so: ");             /* a position-independent program: the dynamic linker's words */
    unlink(path);
    rmdir(dir);
}

static void expect_words(void)
{
    static const struct { const char *word, *near; } cases[] = {
        {"cop", "coop"}, {"coop ", "coop"}, {"linx", "linux"}, {"fifoo", "fifo"}, {"Linux", "linux"},
        {"something-else", NULL}, {"", NULL}, {"x", NULL},
        {"a-very-long-word-that-nobody-would-have-meant-at-all", NULL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *near = policy_nearest(cases[i].word);
        if ((near == NULL) == (cases[i].near == NULL) && (!near || !strcmp(near, cases[i].near))) continue;
        printf("FAILED: nearest to \"%s\" is %s\n", cases[i].word, near ? near : "nothing");
        failures++;
    }
    for (const struct usf_policy_ops *const *o = usf_builtin_policies; *o; o++) {
        char why[160];
        if (policy_find((*o)->name) == *o && policy_ops_is_valid(*o, why, sizeof why)) continue;
        printf("FAILED: built-in policy %s\n", (*o)->name);
        failures++;
    }
}

int main(int argc, char **argv)
{
    char why[256];
    alarm(60);
    if (argc < 2) return fprintf(stderr, "usage: test_loader GOOD.so [BROKEN.so=WORDS...]\n"), 2;
    const struct usf_policy_ops *ops = policy_load(argv[1], why, sizeof why);
    if (!ops) return printf("FAILED: %s\n", why), 1;
    if (policy_load(argv[1], why, sizeof why) != ops) printf("FAILED: loaded twice\n"), failures++;
    for (int i = 2; i < argc; i++) {
        char *words = strchr(argv[i], '=');
        if (!words) return 2;
        *words++ = 0;
        if (*words) expect_refusal(argv[i], words);
        else expect_loaded(argv[i]);
    }
    expect_bad_files(argv[1]);
    expect_words();
    return failures != 0;
}
