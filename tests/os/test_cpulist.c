/* tests/os/test_cpulist.c - CPU lists and affinity.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "os/os.h"
#include <sched.h>

static void good(const char *text, const char *same_as)
{
    struct os_cpuset s;
    char out[256];
    size_t bad = 99;
    EXPECT(os_cpulist_parse(text, &s, &bad) == 0, "%s: wrong at %zu", text, bad);
    int n = os_cpulist_format(&s, out, sizeof out);
    EXPECT(!strcmp(out, same_as) && n == (int)strlen(out), "%s gives %s, not %s", text, out, same_as);
}

static void wrong(const char *text, size_t at)
{
    struct os_cpuset s;
    size_t bad = 99;
    EXPECT(os_cpulist_parse(text, &s, &bad) == -EINVAL && bad == at, "%s: wrong at %zu, not %zu", text, bad, at);
    EXPECT_EQ(os_cpulist_parse(text, &s, NULL), -EINVAL);
}

static void cases(void)
{
    good("0", "0");
    good("1023", "1023");
    good("0-3,8,10-14:2", "0-3,8,10,12,14");
    good("3,2,1,0", "0-3");
    good("0-1023", "0-1023");
    good("5-5", "5");
    good("63-65", "63-65");
    good("0-7:3", "0,3,6");
    good("007", "7");
    wrong("", 0);
    wrong("x", 0);
    wrong("1,", 2);
    wrong(",1", 0);
    wrong("1-", 2);
    wrong("3-1", 2);
    wrong("1024", 0);
    wrong("0-1024", 2);
    wrong("0-4:0", 4);
    wrong("0-4:", 4);
    wrong("4:2", 1);
    wrong("1 ,2", 1);
    wrong("1\n", 1);
    wrong("0x3", 1);
    wrong("-1", 0);
    wrong("99999999999999999999999", 0);
}

static void format_cut(void)
{
    struct os_cpuset s;
    char out[8];
    os_cpulist_parse("0,2,4,6,8,10", &s, NULL);
    for (size_t cap = 0; cap <= sizeof out; cap++) {
        memset(out, '#', sizeof out);
        EXPECT_EQ(os_cpulist_format(&s, out, cap), 12);
        if (cap) EXPECT(strlen(out) == cap - 1 && !strncmp(out, "0,2,4,6,8,10", cap - 1), "%s", out);
        for (size_t i = cap; i < sizeof out; i++) EXPECT(out[i] == '#');
    }
}

/* The same grammar, written the slow way. */
static bool reference(const char *text, bool set[1024])
{
    char copy[64], *save = NULL;
    size_t n = strlen(text);
    memset(set, 0, 1024);
    if (!n || text[0] == ',' || text[n - 1] == ',' || strstr(text, ",,")) return false;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        unsigned long v[3] = {0, 0, 1};
        int k = 0;
        for (char *s = p;; k++) {
            if (k == 3 || *s < '0' || *s > '9') return false;
            errno = 0;
            v[k] = strtoul(s, &s, 10);
            if (errno || v[k] > 1023) return false;
            if (k == 0) v[1] = v[0];
            if (!*s) break;
            if (*s != (k ? ':' : '-')) return false;
            s++;
        }
        if (v[1] < v[0] || !v[2]) return false;
        for (unsigned long c = v[0]; c <= v[1]; c += v[2]) set[c] = true;
    }
    return true;
}

static void fuzz(void)
{
    static const char letters[] = "0123456789,,--::0123x \n";
    for (int i = 0; i < 200000; i++) {
        char text[20];
        bool set[1024];
        struct os_cpuset s;
        size_t n = check_below(sizeof text), bad = 999;
        for (size_t k = 0; k < n; k++) text[k] = letters[check_below(sizeof letters - 1)];
        text[n < sizeof text ? n : sizeof text - 1] = 0;
        bool want = reference(text, set), is = os_cpulist_parse(text, &s, &bad) == 0;
        EXPECT(is == want, "`%s`: %d, not %d", text, is, want);
        if (!is) EXPECT(bad <= strlen(text), "`%s`: wrong at %zu", text, bad);
        for (unsigned c = 0; is && c < 1024; c++)
            if (!EXPECT(os_cpu_isset(&s, c) == set[c], "`%s`: CPU %u", text, c)) break;
        if (*check_failures > 10) return;
    }
}

static void round_trip(void)
{
    for (int i = 0; i < 2000; i++) {
        struct os_cpuset s, back;
        char text[8192];
        unsigned count = 0;
        for (int w = 0; w < OS_CPUSET_WORDS; w++) {
            s.w[w] = check_random() & check_random() & (check_below(2) ? check_random() : 0);
            count += (unsigned)__builtin_popcountll(s.w[w]);
        }
        if (!count) continue;
        EXPECT_EQ(os_cpu_count(&s), count);
        os_cpulist_format(&s, text, sizeof text);
        EXPECT(os_cpulist_parse(text, &back, NULL) == 0 && !memcmp(&s, &back, sizeof s), "%s", text);
    }
}

static void affinity(void)
{
    struct os_cpuset before, allowed, one, now;
    EXPECT_EQ(os_getaffinity(0, &before), 0);
    EXPECT_EQ(os_cpuset_allowed(&allowed), 0);
    EXPECT_EQ(os_getaffinity(0, &now), 0);
    EXPECT(!memcmp(&before, &now, sizeof now), "the affinity was not put back");
    unsigned cpu = 0;
    while (!os_cpu_isset(&before, cpu)) cpu++;
    EXPECT_EQ(os_pin(0, cpu), 0);
    EXPECT_EQ(os_getaffinity(0, &one), 0);
    EXPECT(os_cpu_count(&one) == 1 && os_cpu_isset(&one, cpu));
    EXPECT_EQ(sched_getcpu(), cpu);
    EXPECT_EQ(os_cpuset_allowed(&now), 0);
    EXPECT(!memcmp(&allowed, &now, sizeof now), "a narrow mask hides CPUs");
    EXPECT_EQ(os_setaffinity(0, &before), 0);
    EXPECT_EQ(os_pin(0, 4096), -EINVAL);
}

int main(void)
{
    check_begin(50);
    cases();
    format_cut();
    fuzz();
    round_trip();
    affinity();
    return check_end();
}
