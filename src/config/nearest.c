/* src/config/nearest.c - "did you mean".  No libc.  SPDX-License-Identifier: Apache-2.0 */
#include "config/option.h"
#include <string.h>

#define WORD 64

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }
static unsigned word_length(const char *s)
{
    size_t n = strlen(s);
    return n < WORD ? (unsigned)n : WORD - 1;
}

/* Optimal string alignment: insertions, deletions, replacements, and swaps of neighbours cost
 * one. */
unsigned word_distance(const char *a, const char *b)
{
    unsigned na = word_length(a), nb = word_length(b);
    uint8_t rows[3][WORD];
    uint8_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (unsigned j = 0; j <= nb; j++) last[j] = (uint8_t)j;
    for (unsigned i = 1; i <= na; i++) {
        now[0] = (uint8_t)i;
        for (unsigned j = 1; j <= nb; j++) {
            unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);
            d = least(d, least(last[j], now[j - 1]) + 1u);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d = least(d, before[j - 2] + 1u);
            now[j] = (uint8_t)d;
        }
        uint8_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[nb];
}

const char *word_nearest(const char *word, const char *const *words, unsigned n)
{
    const char *best = 0;
    unsigned d = (word_length(word) + 1) / 3 + 1;   /* a third of the letters wrong, at most */
    for (unsigned i = 0; i < n; i++) {
        if (!words[i]) continue;
        unsigned x = word_distance(word, words[i]), n_typed = word_length(word);
        if (n_typed > 1 && !strncmp(word, words[i], n_typed)) x = 0;      /* the beginning of a longer one */
        if (x < d) {
            d = x;
            best = words[i];
        }
    }
    return best;
}
