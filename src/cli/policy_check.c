/* src/cli/policy_check.c - usf policy check POLICY.  SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "cli/policy.h"
#include "text/json.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEEDS = 12, SEEDS_MAX = 1000000 };
struct request { const char *word; uint64_t seed; unsigned seeds; bool machine, seed_given; };

static const char *const outcome_words[] = {
    [CHECK_NOT_CHECKED] = "not checked", [CHECK_PASSED] = "passed", [CHECK_FAILED] = "FAILED", [CHECK_NOT_PROMISED] = "not promised",
};
static const enum text_style outcome_styles[] = {
    [CHECK_NOT_CHECKED] = TEXT_DIM, [CHECK_PASSED] = TEXT_GOOD, [CHECK_FAILED] = TEXT_BAD, [CHECK_NOT_PROMISED] = TEXT_WARN,
};
static const char *const outcome_keys[] = {
    [CHECK_NOT_CHECKED] = "not-checked", [CHECK_PASSED] = "passed", [CHECK_FAILED] = "failed", [CHECK_NOT_PROMISED] = "not-promised",
};

/* ---- for people ---------------------------------------------------------------------------------- */

static void print_finding(const struct request *q, const struct check_result *r, enum check_property p)
{
    const struct check_finding *f = &r->finding[p];
    char words[sizeof f->words];
    printf("  %s%-12s%s %s\n", text_on(outcome_styles[f->outcome]), outcome_words[f->outcome], text_off(), check_properties[p].title);
    if (f->words[0]) printf("  %-12s %s%s%s\n", "", f->op != OP_NONE ? check_ops[f->op] : "", f->op != OP_NONE ? ": " : "",
                            text_clean(f->words, words, sizeof words));
    if ((f->outcome != CHECK_FAILED && f->outcome != CHECK_NOT_PROMISED) || !f->history[0]) return;
    printf("  %-12s history %s, step %lu; again: usf policy check %s --seed %lu --seeds 1\n", "", f->history, f->step, q->word, f->seed);
}

static void print_numbers(const struct check_result *r)
{
    if (r->finding[CHECK_STARVATION].outcome == CHECK_PASSED)
        printf("Longest wait among equals: %lu ms ready, %lu ms after a yield (simulated time, up to 40 threads on 1 to 8 cores).\n",
               r->longest_wait / 1000000, r->longest_yield / 1000000);
    for (unsigned i = 0; i < r->nr_costs; i++)
        printf("%s%lu ns with %u waiting on %u cores%s", i ? ", " : "Cost of enqueue and pick: ", r->cost[i].ns, r->cost[i].waiting,
               r->cost[i].cores, i + 1 == r->nr_costs ? ".\n" : "");
}

static void print(const struct request *q, const struct check_result *r, bool well)
{
    unsigned failed = 0;
    char shown[120];
    printf("%s: %s\n", r->name[0] ? r->name : text_clean(q->word, shown, sizeof shown), r->description);
    if (r->kernel) {
        puts("It leaves all scheduling to the kernel: none of its operations is ever called, and there is nothing to check.");
        return;
    }
    for (unsigned p = 0; p < CHECK_ORDER; p++) {
        print_finding(q, r, (enum check_property)p);
        failed += r->finding[p].outcome == CHECK_FAILED;
    }
    print_numbers(r);
    if (well) printf("%spassed%s: %lu calls, seeds %lu to %lu\n", text_on(TEXT_GOOD), text_off(), r->calls, q->seed, q->seed + q->seeds - 1);
    else printf("%sFAILED%s: %u of %u properties\n", text_on(TEXT_BAD), text_off(), failed, (unsigned)CHECK_ORDER);
}

/* ---- for machines -------------------------------------------------------------------------------- */

static void print_json_finding(struct json *j, const struct check_result *r, enum check_property p)
{
    const struct check_finding *f = &r->finding[p];
    json_open(j, NULL, '{');
    json_string(j, "name", check_properties[p].name);
    json_string(j, "property", check_properties[p].title);
    json_string(j, "result", outcome_keys[f->outcome]);
    if (f->words[0]) json_string(j, "why", f->words);
    if (f->op != OP_NONE) json_string(j, "operation", check_ops[f->op]);
    if (f->history[0]) {
        json_string(j, "history", f->history);
        json_uint(j, "seed", f->seed);
        json_uint(j, "step", f->step);
    }
    json_close(j, '}');
}

static void print_json(const struct request *q, const struct check_result *r, bool well)
{
    struct json j;
    json_start(&j, stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "policy", q->word);
    json_string(&j, "name", r->name);
    json_bool(&j, "passed", well);
    json_bool(&j, "kernel", r->kernel);
    json_uint(&j, "seed", q->seed);
    json_uint(&j, "seeds", q->seeds);
    json_uint(&j, "calls", r->calls);
    json_open(&j, "properties", '[');
    for (unsigned p = 0; p < CHECK_ORDER && !r->kernel; p++) print_json_finding(&j, r, (enum check_property)p);
    json_close(&j, ']');
    json_uint(&j, "longest_wait_ns", r->longest_wait);
    json_uint(&j, "longest_yield_ns", r->longest_yield);
    json_open(&j, "cost", '[');
    for (unsigned i = 0; i < r->nr_costs; i++) {
        json_open(&j, NULL, '{');
        json_uint(&j, "cores", r->cost[i].cores);
        json_uint(&j, "waiting", r->cost[i].waiting);
        json_uint(&j, "enqueue_and_pick_ns", r->cost[i].ns);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static bool number(const char *s, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(s, &end, 0);
    return *s >= '0' && *s <= '9' && !*end && !errno && *out <= max;
}

/* --NAME VALUE or --NAME=VALUE at argv[*i]: the value, or null. */
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n)) return NULL;
    if (argv[*i][n] == '=') return argv[*i] + n + 1;
    return argv[*i][n] == 0 && *i + 1 < argc ? argv[++*i] : NULL;
}

/* -1, or the exit code: the mistake was said. */
static int parse(int argc, char **argv, struct request *q)
{
    for (int i = 1; i < argc; i++) {
        const char *value;
        uint64_t n;
        if (!strcmp(argv[i], "--json")) {
            q->machine = true;
        } else if ((value = value_of("--seeds", argc, argv, &i))) {
            if (!number(value, SEEDS_MAX, &n) || !n) return cli_usage("--seeds needs a number from 1 to %d, not '%.40s'", SEEDS_MAX, value);
            q->seeds = (unsigned)n;
        } else if ((value = value_of("--seed", argc, argv, &i))) {
            if (!number(value, UINT64_MAX - SEEDS_MAX, &n)) return cli_usage("--seed needs a number, not '%.40s'", value);
            q->seed = n;
            q->seed_given = true;
        } else if (argv[i][0] == '-') {
            return cli_usage("usf policy check has no option '%.40s' (--seeds N, --seed S and --json)", argv[i]);
        } else if (q->word) {
            return cli_usage("'%.60s' is one argument too many", argv[i]);
        } else {
            q->word = argv[i];
        }
    }
    return q->word ? -1 : cli_usage("usf policy check needs a policy: a name, or a path with a '/'");
}

int policy_check(int argc, char **argv, bool machine)
{
    static struct check_result r;
    struct request q = {.seeds = SEEDS, .machine = machine};
    char path[PATH_MAX], shown[80];
    int code = parse(argc, argv, &q);
    if (code >= 0) return code;
    const char *word = q.word, *near;
    if (!strchr(word, '/') && strcmp(word, "defaults") && !policy_find(word)) {
        near = policy_nearest(word);
        return cli_usage("there is no policy '%s'; %s%s%s", text_clean(word, shown, sizeof shown), near ? "the nearest is '" : "",
                         near ? near : "a shared object needs a path with a '/'", near ? "'" : "");
    }
    if (strchr(word, '/')) {
        if (!realpath(word, path)) return usf_warn("%s: %s", text_clean(word, shown, sizeof shown), strerror(errno)), CLI_FAILED;
        word = path;
    }
    if (!q.seed_given) q.seed = ((uint64_t)time(NULL) * 1000003u + (uint64_t)getpid()) % 1000000000u;
    bool well = check_policy(word, q.seed, q.seeds, &r);
    if (r.trouble[0]) return usf_warn("%s could not be checked: %s", word, r.trouble), CLI_USAGE;
    if (q.machine) print_json(&q, &r, well);
    else print(&q, &r, well);
    return well ? CLI_OK : CLI_FAILED;
}
