/* src/config/contexts.c - see contexts.h.  No libc.  SPDX-License-Identifier: Apache-2.0 */
#include "config/contexts.h"
#include "base/base.h"
#include "os/os.h"
#include <string.h>

#define NAME_MAX_LENGTH 63u

struct span { const char *at; size_t n; };
struct entry { struct span whole, name, cpus; };

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

static struct span trim(const char *at, const char *end)
{
    while (at < end && blank(*at)) at++;
    while (at < end && blank(end[-1])) end--;
    return (struct span){at, (size_t)(end - at)};
}

static bool same(struct span a, struct span b) { return a.n == b.n && !memcmp(a.at, b.at, a.n); }

static void copy(char *to, struct span s)
{
    memcpy(to, s.at, s.n);
    to[s.n] = 0;
}

/* The next entry that is not blank.  Without '=', `cpus` is empty, and lies behind the name. */
static bool next(const char **text, struct entry *e)
{
    for (const char *p = *text; *p;) {
        const char *end = p, *equals;
        while (*end && *end != ';') end++;
        e->whole = trim(p, end);
        for (equals = p; equals < end && *equals != '=';) equals++;
        e->name = trim(p, equals);
        e->cpus = trim(equals < end ? equals + 1 : end, end);
        p = *end ? end + 1 : end;
        *text = p;
        if (e->whole.n) return true;
    }
    return false;
}

/* The entry as a message shows it: cut, and without control characters. */
static const char *shown(struct span s, char buf[48])
{
    size_t n = 0;
    for (; n < s.n && n < 40; n++) buf[n] = (unsigned char)s.at[n] < 0x20 || s.at[n] == 0x7f ? '?' : s.at[n];
    const char *tail = n < s.n ? "..." : "";
    memcpy(buf + n, tail, strlen(tail) + 1);
    return buf;
}

static bool comes_before(const char *text, const struct entry *e)
{
    struct entry other;
    while (next(&text, &other) && other.whole.at < e->whole.at)
        if (same(other.name, e->name)) return true;
    return false;
}

int contexts_check(const char *text, char *why, size_t cap)
{
    char buf[48], list[USF_CONTEXTS_MAX];
    const char *p = text;
    struct os_cpuset cpus;
    struct entry e;
    size_t bad;
    if (strlen(text) >= USF_CONTEXTS_MAX) {
        usf_format(why, cap, "'%s' is longer than %u characters", shown((struct span){text, strlen(text)}, buf), USF_CONTEXTS_MAX - 1);
        return -1;
    }
    while (next(&p, &e)) {
        copy(list, e.cpus);
        memset(&cpus, 0, sizeof cpus);
        if (!e.name.n || !e.cpus.n || e.name.n > NAME_MAX_LENGTH || os_cpulist_parse(list, &cpus, &bad) || !os_cpu_count(&cpus))
            usf_format(why, cap, "'%s' is not a context's name and its CPUs, like small=0-3,8", shown(e.whole, buf));
        else if (comes_before(text, &e)) usf_format(why, cap, "'%s' comes twice", shown(e.name, buf));
        else continue;
        return -1;
    }
    return 0;
}

bool contexts_find(const char *text, const char *name, char list[USF_CONTEXTS_MAX])
{
    struct entry e;
    while (next(&text, &e))
        if (same(e.name, (struct span){name, strlen(name)})) {
            copy(list, e.cpus);
            return true;
        }
    return false;
}
