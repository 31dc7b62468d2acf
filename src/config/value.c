/* src/config/value.c - from text to a setting.  No libc: the preloaded library reads its
 * environment with this.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "config/option.h"
#include "shm/shm.h"
#include <string.h>

#define SHOWN 40    /* characters of a wrong value that a message repeats */

/* The value as a message shows it: cut, and without control characters that would garble a
 * terminal. */
static const char *shown(const char *text, char buf[SHOWN + 4])
{
    unsigned n = 0;
    for (; text[n] && n < SHOWN; n++)
        buf[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? '?' : text[n];
    const char *tail = text[n] ? "..." : "";
    memcpy(buf + n, tail, strlen(tail) + 1);
    return buf;
}

static bool copy_text(char *dst, size_t cap, const char *src)
{
    size_t n = strlen(src);
    if (n >= cap) return false;
    memcpy(dst, src, n + 1);
    return true;
}

/* Nanoseconds of a unit of time; 0: there is no such unit. */
static uint64_t unit_ns(const char *unit)
{
    static const struct { const char *word; uint64_t ns; } units[] = {
        {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].word)) return units[i].ns;
    return 0;
}

bool option_time(const char *text, const char *unit, uint64_t *ns)
{
    uint64_t whole = 0, part = 0, parts = 1;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && whole < 1000000000; p++) whole = whole * 10 + (uint64_t)(*p - '0');
    if (p == text) return false;
    if (*p == '.' && p[1] >= '0' && p[1] <= '9')
        for (p++; *p >= '0' && *p <= '9' && parts < 1000000; p++, parts *= 10) part = part * 10 + (uint64_t)(*p - '0');
    uint64_t factor = unit_ns(*p ? p : unit);
    if (!factor || whole > UINT64_MAX / 2 / factor) return false;
    *ns = whole * factor + part * factor / parts;
    return true;
}

static bool whole_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;
    if (!*text) return false;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        if (v <= max) v = v * 10 + (uint64_t)(*p - '0');
    }
    *out = v;
    return true;
}

static int parse_number(const struct usf_option *o, const char *text, uint64_t *out, char *why, size_t cap)
{
    char buf[SHOWN + 4];
    uint64_t v = 0;
    bool ok = o->unit ? option_time(text, o->unit, &v) : whole_number(text, o->max, &v);
    if (!o->unit) v *= o->scale;
    if (ok && v >= o->min * o->scale && v <= o->max * o->scale) {
        *out = v ? v : o->zero;
        return 0;
    }
    if (o->unit)
        usf_format(why, cap, "'%s' is not a whole number from %lu to %lu, in %s, nor such a time with a unit (like %s%s)", shown(text, buf), o->min,
                   o->max, o->unit, o->def, o->unit);
    else usf_format(why, cap, "'%s' is not a whole number from %lu to %lu", shown(text, buf), o->min, o->max);
    return -1;
}

static int parse_level(const struct usf_option *o, const char *text, int64_t *out, char *why, size_t cap)
{
    char buf[SHOWN + 4];
    bool below = *text == '-';
    uint64_t v = 0;
    bool ok = text[below] != 0;
    for (const char *p = text + below; *p && ok; p++) {
        ok = *p >= '0' && *p <= '9';
        if (v <= o->max) v = v * 10 + (uint64_t)(*p - '0');
    }
    if (!ok || v > o->max) {
        usf_format(why, cap, "'%s' is not a whole number from -%lu to %lu", shown(text, buf), o->max, o->max);
        return -1;
    }
    *out = below ? -(int64_t)v : (int64_t)v;
    return 0;
}

/* Words of "a|b|c", one after the other. */
static bool next_choice(const char **p, char word[32])
{
    if (!**p) return false;
    unsigned n = 0;
    for (; **p && **p != '|'; ++*p)
        if (n < 31) word[n++] = **p;
    if (**p) ++*p;
    word[n] = 0;
    return true;
}

static int parse_choice(const struct usf_option *o, const char *text, uint32_t *out, char *why, size_t cap)
{
    char word[32], best[32] = "", buf[SHOWN + 4];
    const char *one = word;
    unsigned least = ~0u, i = 0;
    for (const char *p = o->choices; next_choice(&p, word); i++) {
        if (!strcmp(word, text)) {
            *out = i;
            return 0;
        }
        unsigned d = word_distance(text, word);
        if (d < least && word_nearest(text, &one, 1)) {
            least = d;
            memcpy(best, word, sizeof best);
        }
    }
    usf_format(why, cap, "'%s' is none of %s%s%s%s", shown(text, buf), o->choices, *best ? "; the nearest is '" : "", best, *best ? "'" : "");
    return -1;
}

static int parse_cpus(const char *text, struct os_cpuset *out, char *why, size_t cap)
{
    char buf[SHOWN + 4];
    size_t bad = 0;
    memset(out, 0, sizeof *out);
    if (!*text) return 0;
    if (os_cpulist_parse(text, out, &bad) == 0 && os_cpu_count(out)) return 0;
    usf_format(why, cap, "'%s' is not a CPU list (like 0-3,8; at most %u): wrong at character %lu", shown(text, buf),
               OS_CPUSET_WORDS * 64u - 1, bad + 1);
    return -1;
}

static int parse_policy(const char *text, struct usf_policy_choice *out, char *why, size_t cap)
{
    char buf[SHOWN + 4];
    out->name[0] = out->path[0] = 0;
    for (const char *p = text; *p; p++)
        if (*p == '/') {
            if (copy_text(out->path, sizeof out->path, text)) return 0;
            usf_format(why, cap, "'%s' is longer than %u characters", shown(text, buf), USF_POLICY_PATH_MAX - 1);
            return -1;
        }
    bool ok = *text && copy_text(out->name, sizeof out->name, text);
    for (const char *p = text; *p && ok; p++)
        ok = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_' || *p == '-';
    if (ok) return 0;
    usf_format(why, cap, "'%s' is neither a policy's name nor a path with a '/'", shown(text, buf));
    return -1;
}

static int parse_file(const char *text, char *out, char *why, size_t cap)
{
    char buf[SHOWN + 4];
    if (copy_text(out, USF_PATH_MAX, text)) return 0;
    usf_format(why, cap, "'%s' is longer than %u characters", shown(text, buf), USF_PATH_MAX - 1);
    return -1;
}

static int parse_contexts(const char *text, char *out, char *why, size_t cap)
{
    return contexts_check(text, why, cap) || !copy_text(out, USF_CONTEXTS_MAX, text) ? -1 : 0;
}

static int parse_report(const char *text, char *out, char *why, size_t cap)
{
    return parse_file(!strcmp(text, "off") ? "" : !strcmp(text, "on") ? "-" : text, out, why, cap);
}

static int parse_path(const char *text, char *out, char *why, size_t cap)
{
    char buf[SHOWN + 4];
    if ((!*text || *text == '/') && copy_text(out, USF_PATH_MAX, text)) return 0;
    usf_format(why, cap, "'%s' is not an absolute path shorter than %u characters", shown(text, buf), USF_PATH_MAX);
    return -1;
}

static int parse_name(const char *text, char *out, char *why, size_t cap)
{
    char buf[SHOWN + 4];
    if (shm_name_is_valid(text) && copy_text(out, USF_NAME_MAX, text)) return 0;
    usf_format(why, cap, "'%s' is not an instance name: 1 to %u letters, digits, '.', '_' or '-'", shown(text, buf),
               USF_NAME_MAX - 1);
    return -1;
}

static int parse_share(const struct usf_option *o, const char *text, struct usf_share_choice *out, char *why, size_t cap)
{
    static const char group[] = "group:";
    size_t n = sizeof group - 1;
    out->group[0] = 0;
    if (strncmp(text, group, n) || !text[n]) return parse_choice(o, text, &out->with, why, cap);
    out->with = USF_SHARE_GROUP;
    if (copy_text(out->group, sizeof out->group, text + n)) return 0;
    usf_format(why, cap, "the group's name is longer than %u characters", (unsigned)sizeof out->group - 1);
    return -1;
}

#define COMM_LEN 15u     /* of a kernel thread's name */

static int parse_float(const struct usf_option *o, const char *text, struct usf_float_choice *out, char *why, size_t cap)
{
    static const char off[] = "off:";
    size_t n = sizeof off - 1;
    out->off_for[0] = 0;
    if (strncmp(text, off, n) || !text[n]) return parse_choice(o, text, &out->on, why, cap);
    out->on = 1;
    if (copy_text(out->off_for, sizeof out->off_for, text + n)) return 0;
    usf_format(why, cap, "the list of programs is longer than %u characters", (unsigned)sizeof out->off_for - 1);
    return -1;
}

bool float_is_off_for(const struct usf_float_choice *choice, const char *program)
{
    for (const char *p = choice->off_for; *p; p += *p == ',') {
        const char *name = p;
        while (*p && *p != ',') p++;
        size_t n = (size_t)(p - name);
        if (n > COMM_LEN) n = COMM_LEN;
        if (n && !strncmp(name, program, n) && !program[n]) return true;
    }
    return false;
}

int option_parse(const struct usf_option *o, const char *text, struct usf_settings *s, char *why, size_t cap)
{
    void *field = (char *)s + o->field;
    switch ((enum opt_type)o->type) {
    case OPT_NAME: return parse_name(text, field, why, cap);
    case OPT_CPULIST: return parse_cpus(text, field, why, cap);
    case OPT_POLICY: return parse_policy(text, field, why, cap);
    case OPT_NUMBER: return parse_number(o, text, field, why, cap);
    case OPT_LEVEL: return parse_level(o, text, field, why, cap);
    case OPT_CHOICE: return parse_choice(o, text, field, why, cap);
    case OPT_SHARE: return parse_share(o, text, field, why, cap);
    case OPT_FLOAT: return parse_float(o, text, field, why, cap);
    case OPT_PATH: return parse_path(text, field, why, cap);
    case OPT_FILE: return parse_file(text, field, why, cap);
    case OPT_CONTEXTS: return parse_contexts(text, field, why, cap);
    case OPT_REPORT: return parse_report(text, field, why, cap);
    }
    return -1;
}

static bool same_word(const char *row, const char *name, long len)
{
    if (len < 0) return !strcmp(row, name);
    return strlen(row) == (size_t)len && !memcmp(row, name, (size_t)len);
}

const struct usf_option *option_by_name(const char *name, long len)
{
    for (unsigned i = 0; i < usf_nr_options; i++)
        if (same_word(usf_options[i].name, name, len)) return &usf_options[i];
    return 0;
}

const struct usf_option *option_by_env(const char *name, long len)
{
    for (unsigned i = 0; i < usf_nr_options; i++)
        if (same_word(usf_options[i].env, name, len)) return &usf_options[i];
    return 0;
}

const struct usf_option *option_by_letter(char letter)
{
    for (unsigned i = 0; i < usf_nr_options; i++)
        if (letter && usf_options[i].letter == letter) return &usf_options[i];
    return 0;
}
