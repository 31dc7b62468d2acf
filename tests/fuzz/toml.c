/* tests/fuzz/toml.c - configuration files.  SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"
#include "config/toml.h"
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

static void quiet(void *arg, const char *line)
{
    (void)arg;
    FUZZ_CHECK(*line && strlen(line) < 2000 && !strchr(line, '\n'));
}

static void parse(const uint8_t *data, size_t size, unsigned flags)
{
    struct toml_doc d;
    int r = toml_parse_as(&d, (const char *)data, size, flags);
    FUZZ_CHECK(r == 0 || r == -1);
    if (r) FUZZ_CHECK(d.nr == 0 && d.error_line > 0 && *d.error && memchr(d.error, 0, sizeof d.error) && !strchr(d.error, '\n'));
    for (size_t i = 0; i < d.nr; i++) {
        const struct toml_entry *e = &d.entries[i];
        FUZZ_CHECK(memchr(e->section, 0, TOML_WORD) && memchr(e->key, 0, TOML_WORD) && memchr(e->text, 0, TOML_TEXT));
        FUZZ_CHECK(*e->key && e->line > 0 && (e->type <= TOML_BOOLEAN || (flags && e->type == TOML_FRACTION)));
        for (size_t k = 0; k < i && d.nr < 100; k++)
            FUZZ_CHECK(strcmp(e->section, d.entries[k].section) || strcmp(e->key, d.entries[k].key));
    }
    toml_free(&d);
}

/* As a file that the tool reads. */
static void load(const uint8_t *data, size_t size)
{
    static char *env[] = {"USF_SYSTEM_CONFIG=/proc/self/cwd/config.toml", NULL};
    static struct config c;
    int fd = open("config.toml", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) exit(1);
    close(fd);
    memset(&c, 0, sizeof c);
    c.warn = quiet;
    FUZZ_CHECK(config_load(&c, env) == 0);     /* a broken file of the system must not keep anybody from working */
    FUZZ_CHECK(c.s.quantum_ns && c.s.progress_ns && c.s.lend_ns && c.s.verbose <= 3);
    config_free(&c);
}

/* As a profile, which config.toml is by now. */
static void profile(void)
{
    static char *env[] = {"USF_SYSTEM_CONFIG=/nowhere/none", "USF_PROFILE=config.toml", NULL};
    static struct config c;
    memset(&c, 0, sizeof c);
    c.warn = quiet;
    FUZZ_CHECK(config_load(&c, env) == 0);
    int r = config_apply_profile(&c);
    FUZZ_CHECK(r == 0 || (r == -1 && *c.error && memchr(c.error, 0, sizeof c.error) && !strchr(c.error, '\n')));
    FUZZ_CHECK(c.s.quantum_ns && c.s.progress_ns && c.s.lend_ns && c.s.verbose <= 3);
    for (unsigned i = 0; i < c.variables.nr; i++) FUZZ_CHECK(*c.variables.at[i].name && !strchr(c.variables.at[i].name, '='));
    config_free(&c);
}

void fuzz_start(void) {}

void fuzz_one(const uint8_t *data, size_t size)
{
    parse(data, size, 0);
    parse(data, size, TOML_FRACTIONS);
    load(data, size);
    profile();
}

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    static const char *const texts[] = {
        "quantum = 20\npoll = 200 # us\n[run]\ncpus = \"0-3,8\"\n",
        "[run]\nquantum = 5\npolicy = \"fl\"\n[env]\nOMP_NUM_THREADS = \"4\"\n[parameters]\nn = 4\n[tuning]\nvalue = 1.25e-3\n",
        "# nothing\n\n[a]\nb = 'c'\nd = true\n e = 1_000\n",
        "malleable = \"on\"\npolicy = \"\\u0063oop\\t\\n\\\"\\\\\"\nthread-cache = false\n",
        "x = 0x1F\ny = 0o17\nz = 0b101\nw = -9223372036854775808\nv = +1\n",
        "a = [1, 2]\n", "a.b = 1\n", "a = 1979-05-27\n", "a = \"\"\"x\"\"\"\n", "[[a]]\n", "a = {b = 1}\n", "a = 1.5\n",
        "instance = \"x\"\ncache-dir = \"/a\"\nverbose = 3\nprogress = 1\nlend = 1\nmonitor-linger = 0\nstats = \"-\"\r\n",
    };
    return fuzz_seed_text(texts, sizeof texts / sizeof *texts, n, buf, cap);
}
