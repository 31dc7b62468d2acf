/* tests/cli/harness.c - drives the config room for test_config.py.  SPDX-License-Identifier: Apache-2.0
 *
 *   harness toml     documents on stdin, each "LENGTH\n" and its bytes: a line of JSON for each
 *   harness env      the settings that the preloaded library would read from this environment
 *   harness words    pairs of lines: the edit distance of each
 *   harness symbol   lines "FILE ADDRESS": "NAME OFFSET" of each, or "-"
 *   harness places   where some of a segment's fields lie, as JSON */
#include "text/json.h"
#include "inspect/symbol.h"
#include "config/option.h"
#include "config/toml.h"
#include "shm/layout.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static void dump(const struct toml_doc *d, int r)
{
    struct json j;
    json_start(&j, stdout);
    json_open(&j, NULL, '{');
    if (r) {
        json_uint(&j, "line", d->error_line);
        json_string(&j, "error", d->error);
    }
    json_open(&j, "entries", '[');
    for (size_t i = 0; i < d->nr; i++) {
        const struct toml_entry *e = &d->entries[i];
        json_open(&j, NULL, '{');
        json_string(&j, "section", e->section);
        json_string(&j, "key", e->key);
        json_string(&j, "type", e->type == TOML_STRING ? "string" : e->type == TOML_INTEGER ? "integer" : "boolean");
        json_string(&j, "text", e->text);
        json_uint(&j, "line", e->line);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}

static int toml(void)
{
    size_t len;
    while (scanf("%zu", &len) == 1) {
        /* Exactly as long as the document, so that a sanitizer sees a read behind its end. */
        char *text = malloc(len ? len : 1);
        struct toml_doc d;
        if (getchar() != '\n' || !text || fread(text, 1, len, stdin) != len) return 1;
        dump(&d, toml_parse(&d, text, len));
        toml_free(&d);
        free(text);
        puts("--");
        fflush(stdout);
    }
    return 0;
}

static int env(void)
{
    static struct usf_settings s;
    char cpus[256];
    config_inproc_read(environ, &s);
    os_cpulist_format(&s.cpus, cpus, sizeof cpus);
    printf("{\"instance\": \"%s\", \"cpus\": \"%s\", \"policy\": \"%s\", \"policy_path\": \"%s\", \"quantum_ns\": %lu, "
           "\"poll_ns\": %lu, \"progress_ns\": %lu, \"lend_ns\": %lu, \"linger_ns\": %lu, \"thread_cache\": %u, "
           "\"shared_code\": %u, \"verbose\": %lu, \"cache_dir\": \"%s\", \"run\": %u}\n",
           s.instance, cpus, s.policy.name, s.policy.path, s.quantum_ns, s.poll_ns, s.progress_ns, s.lend_ns,
           s.monitor_linger_ns, s.thread_cache, s.shared_code, s.verbose, s.cache_dir, s.run);
    return 0;
}

static int words(void)
{
    char a[256], b[256];
    while (fgets(a, sizeof a, stdin) && fgets(b, sizeof b, stdin)) {
        a[strcspn(a, "\n")] = b[strcspn(b, "\n")] = 0;
        printf("%u\n", word_distance(a, b));
    }
    return 0;
}

static int symbol(void)
{
    char path[256], name[64];
    uint64_t addr, off, lo, hi;
    while (scanf("%255s %lx", path, &addr) == 2) {
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && elf_extent(fd, &lo, &hi) && elf_symbol(fd, addr, name, sizeof name, &off)) printf("%s %lx\n", name, off);
        else puts("-");
        close(fd);
    }
    return 0;
}

static int places(void)
{
    struct json j;
    json_start(&j, stdout);
    json_open(&j, NULL, '{');
#define PLACE(f) json_uint(&j, #f, offsetof(struct usf_header, f));
    PLACE(magic) PLACE(header_size) PLACE(layout_hash) PLACE(state) PLACE(nr_cores) PLACE(lock) PLACE(task_hwm) PLACE(off_tasks) PLACE(policy) PLACE(policy_why)
    json_close(&j, '}');
    json_end(&j);
    return 0;
}

int main(int argc, char **argv)
{
    alarm(120);
    if (argc == 2 && !strcmp(argv[1], "toml")) return toml();
    if (argc == 2 && !strcmp(argv[1], "env")) return env();
    if (argc == 2 && !strcmp(argv[1], "words")) return words();
    if (argc == 2 && !strcmp(argv[1], "symbol")) return symbol();
    if (argc == 2 && !strcmp(argv[1], "places")) return places();
    return 2;
}
