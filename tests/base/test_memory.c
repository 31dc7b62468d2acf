/* tests/base/test_memory.c - the memory functions of src/base/mem.c.  SPDX-License-Identifier: Apache-2.0
 * Reached through pointers that the compiler cannot see through, so that it is ours that run. */
#include "check.h"

static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void *(*volatile set)(void *, int, size_t) = memset;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static size_t (*volatile length)(const char *) = strlen;
static int (*volatile order)(const char *, const char *) = strcmp;
static int (*volatile order_n)(const char *, const char *, size_t) = strncmp;

enum { N = 64 };

static int sign(int v) { return (v > 0) - (v < 0); }

static void moves(void)
{
    for (int from = 0; from < 32; from++)
        for (int to = 0; to < 32; to++) {
            unsigned char a[N], b[N];
            for (int i = 0; i < N; i++) a[i] = b[i] = (unsigned char)i;
            int n = (int)check_below(33);
            EXPECT(move(a + to, a + from, (size_t)n) == a + to);
            for (int i = 0; i < N; i++) {
                int want = i >= to && i < to + n ? i - to + from : i;
                EXPECT(a[i] == want, "move %d bytes %d to %d: byte %d is %d", n, from, to, i, a[i]);
            }
            EXPECT(copy(b, a, N) == b && !compare(a, b, N));
            EXPECT(set(b + to, 0x1ff, (size_t)n) == b + to);
            for (int i = 0; i < N; i++) EXPECT(b[i] == (i >= to && i < to + n ? 0xff : a[i]));
        }
}

static void texts(void)
{
    EXPECT_EQ(length(""), 0);
    EXPECT_EQ(length("abc"), 3);
    EXPECT(order("", "") == 0 && order("a", "") > 0 && order("a", "b") < 0 && order("\xff", "a") > 0);
    EXPECT(order_n("abc", "abd", 2) == 0 && order_n("abc", "abd", 3) < 0 && order_n("a", "a\0b", 9) == 0);
    EXPECT(order_n("x", "y", 0) == 0);
    for (int i = 0; i < 2000; i++) {
        unsigned char a[4], b[4];
        int want = 0;
        for (int k = 0; k < 4; k++) a[k] = (unsigned char)check_below(3), b[k] = (unsigned char)check_below(3);
        for (int k = 0; k < 4 && !want; k++) want = a[k] - b[k];
        EXPECT(sign(compare(a, b, 4)) == sign(want));
    }
}

int main(void)
{
    check_begin(20);
    moves();
    texts();
    return check_end();
}
