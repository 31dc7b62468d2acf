/* src/os/cpuset.c - sets of CPUs and affinity.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"
#include "os/text.h"
#include <errno.h>
#include <string.h>

#define NR_BITS (OS_CPUSET_WORDS * 64u)

unsigned os_cpu_count(const struct os_cpuset *s)
{
    unsigned n = 0;
    /* Kernighan's loop: __builtin_popcountll would call libgcc on the baseline instruction set */
    for (int i = 0; i < OS_CPUSET_WORDS; i++)
        for (uint64_t w = s->w[i]; w; w &= w - 1) n++;
    return n;
}

void os_cpu_and(struct os_cpuset *s, const struct os_cpuset *with)
{
    for (int i = 0; i < OS_CPUSET_WORDS; i++) s->w[i] &= with->w[i];
}

static bool cpu_number(const char **s, unsigned *out)
{
    uint64_t v;
    const char *p = *s;
    if (!text_number(&p, &v) || v >= NR_BITS) return false;
    *s = p;
    *out = (unsigned)v;
    return true;
}

/* One of "3", "3-7", "3-7:2".  On an error *s is left at the wrong character. */
static bool parse_range(const char **s, struct os_cpuset *out)
{
    unsigned from, to, step = 1;
    if (!cpu_number(s, &from)) return false;
    to = from;
    if (**s == '-') {
        const char *second = *s + 1;
        *s = second;
        if (!cpu_number(s, &to)) return false;
        if (to < from) {
            *s = second;
            return false;
        }
        if (**s == ':') {
            const char *third = *s + 1;
            *s = third;
            if (!cpu_number(s, &step)) return false;
            if (!step) {
                *s = third;
                return false;
            }
        }
    }
    for (unsigned c = from; c <= to; c += step) os_cpu_set(out, c);
    return true;
}

int os_cpulist_parse(const char *text, struct os_cpuset *out, size_t *bad)
{
    const char *s = text;
    memset(out, 0, sizeof *out);
    for (;;) {
        if (!parse_range(&s, out)) break;
        if (!*s) return 0;
        if (*s != ',') break;
        s++;
    }
    if (bad) *bad = (size_t)(s - text);
    return -EINVAL;
}

int os_cpulist_format(const struct os_cpuset *s, char *buf, size_t cap)
{
    int n = 0;
    if (cap) buf[0] = 0;
    for (unsigned c = 0; c < NR_BITS; c++) {
        if (!os_cpu_isset(s, c)) continue;
        unsigned last = c;
        while (os_cpu_isset(s, last + 1)) last++;
        size_t at = (size_t)n < cap ? (size_t)n : cap;
        n += usf_format(buf + at, cap - at, last > c ? "%s%u-%u" : "%s%u", n ? "," : "", c, last);
        c = last;
    }
    return n;
}

int os_getaffinity(int32_t tid, struct os_cpuset *out)
{
    memset(out, 0, sizeof *out);
    long n = usf_syscall(__NR_sched_getaffinity, tid, sizeof *out, out);
    return n < 0 ? (int)n : 0;
}

int os_setaffinity(int32_t tid, const struct os_cpuset *s)
{
    return (int)usf_syscall(__NR_sched_setaffinity, tid, sizeof *s, s);
}

int os_pin(int32_t tid, uint32_t cpu)
{
    struct os_cpuset s;
    memset(&s, 0, sizeof s);
    os_cpu_set(&s, cpu);
    return os_setaffinity(tid, &s);
}

/* Asking for all CPUs gives all that the cpuset has; the affinity is put back at once. */
int os_cpuset_allowed(struct os_cpuset *out)
{
    struct os_cpuset before, all;
    int r = os_getaffinity(0, &before);
    if (r) return r;
    memset(&all, 0xff, sizeof all);
    r = os_setaffinity(0, &all);
    if (!r) r = os_getaffinity(0, out);
    int back = os_setaffinity(0, &before);
    return r ? r : back;
}
