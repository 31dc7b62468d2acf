/* src/cli/policy_show.c - usf policy show: which policy is in force, since when, and why.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"
#include "cli/policy.h"
#include "inspect/view.h"
#include "policy/switches.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct cli_flag flags[] = {{.name = "json", .help = "for machines"}, {0}};
static const struct cli_command itself = {.name = "policy", .synopsis = "show | set POLICY | weight PID N | priority PID N [-i NAME] [--json]",
                                          .help = "show or change an instance's policy", .options = "instance", .flags = flags};

static bool is_option(const char *arg) { return arg[0] == '-' && arg[1] && !isdigit((unsigned char)arg[1]); }
static bool takes_next(const char *arg) { return !strcmp(arg, "-i") || !strcmp(arg, "--instance"); }

int policy_words(struct policy_words *w, int argc, char **argv)
{
    char *options[16] = {argv[0]};
    int n = 1;
    w->nr = 0;
    for (int i = 1; i < argc; i++) {
        char shown[64];
        bool option = is_option(argv[i]);
        if (option ? n + 2 >= 15 : w->nr == sizeof w->word / sizeof *w->word)
            return cli_usage("'%s' is one argument too many", text_clean(argv[i], shown, sizeof shown));
        if (!option) {
            w->word[w->nr++] = argv[i];
            continue;
        }
        options[n++] = argv[i];
        if (takes_next(argv[i]) && i + 1 < argc) options[n++] = argv[++i];
    }
    int code = cli_parse(&itself, &w->args, n, options);
    if (code >= 0) return code;
    w->named = config_value_of(&w->args.config, "instance")->origin == ORIGIN_CLI;
    w->machine = cli_flag(&w->args, "json") != NULL;
    return -1;
}

static const char *by(const struct usf_header *h)
{
    switch (h->policy_by) {
    case USF_POLICY_BY_REQUEST: return "request";
    case USF_POLICY_BY_FAULT: return "fault";
    default: return "start";
    }
}

/* What gang counts of itself; null: another policy is in force, or it has had nothing to change
 * yet.  A snapshot: no process writes to it. */
static const struct gang_switches *switches_of(const struct usf_header *h)
{
    const struct gang_switches *s = (const struct gang_switches *)(const void *)h->pol_data;
    return !strncmp(h->policy, "gang", sizeof h->policy) && s->count ? s : NULL;
}

static void show_switches(const struct gang_switches *s)
{
    static const uint32_t parts[] = {500, 990};
    printf("  %lu changes of slots: all cores changed after %.3f ms in the mean, %.3f ms at most; %lu took more than 1 ms\n", (unsigned long)s->count,
           (double)s->sum_ns / (double)s->count * 1e-6, (double)s->longest_ns * 1e-6, (unsigned long)s->late);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t us = gang_switch_quantile(s, parts[i]);
        if (us == UINT64_MAX) printf("  %u %% of them after more than %u us\n", (1000 - parts[i]) / 10, 1u << (GANG_SWITCH_BUCKETS - 2));
        else printf("  %u %% of them in less than %lu us\n", parts[i] / 10, (unsigned long)us);
    }
}

static void show_text(const struct usf_header *h, double seconds)
{
    char name[64], text[2 * USF_POLICY_PATH_MAX];
    printf("instance %s: policy %s", view_bounded(h->name, sizeof h->name, name, sizeof name),
           view_bounded(h->policy, sizeof h->policy, text, sizeof text));
    printf(", for %.1f s", seconds);
    if (h->policy_by == USF_POLICY_BY_REQUEST) printf(", asked for by 'usf policy set'");
    else if (h->policy_by == USF_POLICY_BY_MAKER) printf(", since it was made");
    if (h->policy_was[0]) printf(" (before: %s)", view_bounded(h->policy_was, sizeof h->policy_was, text, sizeof text));
    putchar('\n');
    if (h->policy_why[0]) printf("  %s%s%s\n", text_on(TEXT_WARN), view_bounded(h->policy_why, sizeof h->policy_why, text, sizeof text), text_off());
    if (h->policy_path[0])
        printf("  object that can be set: %s\n", view_bounded(h->policy_path, sizeof h->policy_path, text, sizeof text));
    if (switches_of(h)) show_switches(switches_of(h));
}

static void show_json(const struct usf_header *h, double seconds)
{
    struct json j;
    char text[USF_POLICY_PATH_MAX];
    json_start(&j, stdout);
    json_open(&j, NULL, '{');
#define TEXT(key, field) \
    (snprintf(text, sizeof text, "%.*s", (int)sizeof h->field - 1, h->field), json_string(&j, key, *text ? text : NULL))
    TEXT("instance", name);
    TEXT("policy", policy);
    json_uint(&j, "since_ns", (uint64_t)(seconds * 1e9));
    json_string(&j, "by", by(h));
    TEXT("before", policy_was);
    TEXT("replaced_because", policy_why);
    TEXT("object", policy_path);
#undef TEXT
    json_uint(&j, "changes", atomic_load(&h->policy_gen));
    const struct gang_switches *s = switches_of(h);
    if (s) {
        json_open(&j, "slot_changes", '{');
        json_uint(&j, "count", s->count);
        json_uint(&j, "mean_ns", s->sum_ns / s->count);
        json_uint(&j, "longest_ns", s->longest_ns);
        json_uint(&j, "over_1ms", s->late);
        json_open(&j, "within_us", '{');        /* [less than so many us] = how many; "more": all longer ones */
        for (uint32_t k = 0; k < GANG_SWITCH_BUCKETS; k++) {
            snprintf(text, sizeof text, k + 1 < GANG_SWITCH_BUCKETS ? "%u" : "more", 1u << k);
            json_uint(&j, text, s->within[k]);
        }
        json_close(&j, '}');
        json_close(&j, '}');
    }
    json_close(&j, '}');
    json_end(&j);
}

int policy_show(int argc, char **argv, bool machine)
{
    static struct policy_words w;
    struct shm m;
    int code = policy_words(&w, argc, argv);
    if (code >= 0) return code;
    if (w.nr) return cli_usage("'%.60s' is one argument too many (which instance: -i NAME)", w.word[0]);
    if (shm_snapshot(NULL, w.args.config.s.instance, &m)) {
        usf_warn("%s", m.why);
        return CLI_FAILED;
    }
    uint64_t now = os_now();
    double seconds = now > m.h->policy_since ? (double)(now - m.h->policy_since) / 1e9 : 0;
    if (machine || w.machine) show_json(m.h, seconds);
    else show_text(m.h, seconds);
    shm_close(&m);
    return CLI_OK;
}
