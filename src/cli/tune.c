/* src/cli/tune.c - usf tune: the tuner, which is the Python package usf.tune.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As `python3 -m usf.tune`, but with the package of this installation, without the working
 * directory in the search path, and without a variable that the program to be tuned would
 * inherit. */
static const char start[] =
    "import sys\n"
    "folder, tool, *words = sys.argv[1:]\n"
    "if sys.version_info < (3, 9):\n"
    "    sys.stderr.write('usf: usf tune needs Python 3.9, and %s is older\\n' % sys.executable)\n"
    "    sys.exit(127)\n"
    "sys.path[:] = [folder] * bool(folder) + [p for p in sys.path if p]\n"
    "sys.dont_write_bytecode = bool(folder)\n"
    "try:\n"
    "    from usf.tune.cli import main\n"
    "except ImportError as e:\n"
    "    sys.stderr.write('usf: usf tune needs the Python package usf, which %s cannot load: %s: install usf again\\n' % (sys.executable, e))\n"
    "    sys.exit(127)\n"
    "sys.exit(main(words, tool))\n";

static bool wants_help(char **argv)
{
    for (char **p = argv + 1; *p && strcmp(*p, "--"); p++)
        if (!strcmp(*p, "--help") || !strcmp(*p, "-h")) return true;
    return false;
}

/* The folder that has the package, in the build folder or below the prefix.  "": in a wheel, where
 * Python knows. */
static const char *find_package(const char *bin, char *buf, size_t cap)
{
    static const char *const places[] = {"python", "../share/usf/python"};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        char probe[PATH_MAX + 64];
        snprintf(buf, cap, "%s/%s", bin, places[i]);
        snprintf(probe, sizeof probe, "%s/usf/tune/cli.py", buf);
        if (access(probe, R_OK) == 0) return buf;
    }
    return "";
}

int cmd_tune(const struct cli_command *self, int argc, char **argv)
{
    static char tool[PATH_MAX], bin[PATH_MAX], folder[PATH_MAX + 32], beside[PATH_MAX + 16];
    if (wants_help(argv)) return help_command(self), CLI_OK;
    ssize_t n = readlink("/proc/self/exe", tool, sizeof tool - 1);
    if (n <= 0) {
        usf_warn("where usf lies is not known: /proc/self/exe cannot be read (%s): mount /proc", strerror(errno));
        return CLI_FAILED;
    }
    tool[n] = 0;
    strcpy(bin, tool);
    char *slash = strrchr(bin, '/');
    if (slash) *slash = 0;
    const char *package = find_package(bin, folder, sizeof folder);
    char **words = calloc((size_t)argc + 6, sizeof *words);
    if (!words) return usf_warn("out of memory"), CLI_FAILED;
    unsigned k = 0;
    words[k++] = "python3";
    words[k++] = "-c";
    words[k++] = (char *)start;
    words[k++] = (char *)package;
    words[k++] = tool;
    for (int i = 1; i < argc; i++) words[k++] = argv[i];
    /* A wheel's package belongs to the interpreter beside the tool, if there is one. */
    snprintf(beside, sizeof beside, "%s/python3", bin);
    if (!*package) {
        words[0] = beside;      /* an interpreter finds its packages by this name */
        execv(beside, words);
        words[0] = "python3";
    }
    execvp("python3", words);
    usf_warn("python3 cannot be executed: %s (usf tune is written in Python)", strerror(errno));
    return errno == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}
