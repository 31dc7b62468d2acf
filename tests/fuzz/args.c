/* tests/fuzz/args.c - command lines, environments and lists of CPUs.  SPDX-License-Identifier: Apache-2.0
 *
 * Words that end with a zero byte: those with a '=' and a name in capitals at the front are the environment, the
 * others a command and its arguments. */
#include "cli/cli.h"
#include "config/option.h"
#include "fuzz.h"
#include "os/os.h"
#include "policy/policy.h"

extern char **environ;

enum { MAX_WORDS = 40 };

void fuzz_start(void) {}

static void cpulist(const char *text)
{
    struct os_cpuset set, again;
    char out[8192], small[8];
    size_t bad = 0;
    if (os_cpulist_parse(text, &set, &bad)) {
        FUZZ_CHECK(bad <= strlen(text));
        return;
    }
    os_cpulist_format(&set, small, sizeof small);
    os_cpulist_format(&set, out, sizeof out);
    FUZZ_CHECK(memchr(small, 0, sizeof small) && os_cpulist_parse(out, &again, NULL) == 0);
    FUZZ_CHECK(!memcmp(&set, &again, sizeof set));
}

static void values(const char *text)
{
    static struct usf_settings s;
    char why[160];
    for (unsigned i = 0; i < usf_nr_options; i++) {
        memset(why, 0, sizeof why);
        int r = option_parse(&usf_options[i], text, &s, why, sizeof why);
        FUZZ_CHECK(r == 0 || (r == -1 && *why && memchr(why, 0, sizeof why)));
    }
    FUZZ_CHECK(memchr(s.instance, 0, sizeof s.instance) && memchr(s.cache_dir, 0, sizeof s.cache_dir));
    FUZZ_CHECK(policy_nearest(text) || true);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    static struct cli_args a;
    static struct usf_settings s;
    char *copy = malloc(size + 1), *arg[MAX_WORDS + 1], *env[MAX_WORDS + 1];
    int nr_args = 0, nr_env = 0;
    if (!copy) exit(1);
    memcpy(copy, data, size);
    copy[size] = 0;
    for (char *p = copy; p < copy + size; p += strlen(p) + 1) {
        bool is_env = *p >= 'A' && *p <= 'Z' && strchr(p, '=');
        if (is_env && nr_env < MAX_WORDS) env[nr_env++] = p;
        else if (nr_args < MAX_WORDS) arg[nr_args++] = p;
    }
    arg[nr_args] = env[nr_env] = NULL;
    for (int i = 0; i < nr_args; i++) cpulist(arg[i]), values(arg[i]);
    char **before = environ;
    environ = env;
    config_inproc_read(env, &s);
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (!nr_args) break;
        cli_nearest_command(arg[0]);
        int r = cli_parse(c, &a, nr_args, arg);
        FUZZ_CHECK(r == -1 || r == CLI_OK || r == CLI_USAGE);
        if (r == -1) FUZZ_CHECK(a.rest >= 1 && a.rest <= nr_args);
        config_free(&a.config);
    }
    environ = before;
    free(copy);
}

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    static const char *const texts[] = {
        "run|-c|0-3,8,10-14:2|--quantum=20|--|sleep|1", "ps|--why|--json|-i|x", "USF_QUANTUM=5|USF_CPUS=0|run|-v|a",
        "dump|123", "run|--policy|./a.so|-vvv|--stats=x|b", "clean|--all|-f", "config|show|--malleable|on", "help|run",
        "USF_INSTANCE=a|USF_POLICY=fifo|USF_POLL=0|USF_LEND=1|USF_THREAD_CACHE=off|USF_VERBOSE=2|doctor|--program|x",
        "run|--cpus=0-1023|-h", "x|--lok=1", "run|0-1,,3", "run|1-0", "run|0-100:200", "run|4294967296", "run|--cpus",
        "run|--\302\200\303\251\303\251",
        "USF_CACHE_DIR=/x|USF_STATS=-|USF_KEEP_ENV=on|USF_RUN=1|USF_OWNER=0|USF_TOOL=/t|USF_MONITOR_LINGER=1|USF_NO=1|run|-i|a|b",
    };
    size_t len = fuzz_seed_text(texts, sizeof texts / sizeof *texts, n, buf, cap);
    for (size_t i = 0; i < len; i++)
        if (buf[i] == '|') buf[i] = 0;
    return len;
}
