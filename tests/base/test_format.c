/* tests/base/test_format.c - usf_format against snprintf.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "check.h"
#include <limits.h>

#define SAME(...) do { \
    char a[128], b[128]; \
    int m = usf_format(a, sizeof a, __VA_ARGS__), n = snprintf(b, sizeof b, __VA_ARGS__); \
    EXPECT(m == n && !strcmp(a, b), "`%s` (%d), not `%s` (%d)", a, m, b, n); \
} while (0)

static void numbers(void)
{
    SAME("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
    SAME("%u %u", 0u, UINT_MAX);
    SAME("%ld %ld %ld", 0l, LONG_MAX, LONG_MIN);
    SAME("%lu %lx %x", ULONG_MAX, ULONG_MAX, 0xdeadbeefu);
    SAME("%zu", sizeof(int));
    SAME("%5d|%05d|%2d|%08lx", 42, 42, 12345, 0xabcul);
    SAME("%5d|%05d", -42, -42);
}

static void texts(void)
{
    SAME("%s and %s%c", "one", "", 'x');
    SAME("100%% of %s", "it");
    char b[8];
    const char *volatile none = NULL;
    EXPECT_EQ(usf_format(b, sizeof b, "%s", none), 0);
    EXPECT(!*b);
}

/* Whatever fits is there, is terminated, and nothing behind it is touched; the length is the full one. */
static void cuts(void)
{
    char b[16];
    for (size_t cap = 0; cap < sizeof b; cap++) {
        memset(b, '#', sizeof b);
        EXPECT_EQ(usf_format(b, cap, "%s %d", "abcdef", 1234), 11);
        if (cap) EXPECT(strlen(b) == (cap < 12 ? cap - 1 : 11) && !strncmp(b, "abcdef 1234", cap - 1));
        for (size_t i = cap; i < sizeof b; i++) EXPECT(b[i] == '#');
    }
}

/* A message is one write with a newline, however long. */
static void messages(void)
{
    int p[2], keep = dup(2);
    char text[600], got[1024];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    if (pipe(p) || dup2(p[1], 2) < 0) exit(1);
    usf_warn("%s", text);
    ssize_t n = read(p[0], got, sizeof got);
    usf_say("not shown");
    usf_verbose = 1;
    usf_say("shown %d", 7);
    ssize_t m = read(p[0], got + n, sizeof got - (size_t)n);
    dup2(keep, 2);
    EXPECT(n > 500 && n <= 512 && !strncmp(got, "usf: yyy", 8) && got[n - 1] == '\n', "%zd", n);
    EXPECT(m == 13 && !strncmp(got + n, "usf: shown 7\n", 13), "%zd", m);
}

int main(void)
{
    check_begin(20);
    numbers();
    texts();
    cuts();
    messages();
    return check_end();
}
