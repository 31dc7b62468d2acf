/* src/os/text.h - reading the kernel's text files (internal to src/os).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_OS_TEXT_H
#define USF_OS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal number at *s; *s moves behind it.  False: no digit there, or it does not fit 64 bits. */
static inline bool text_number(const char **s, uint64_t *out)
{
    const char *p = *s;
    uint64_t v = 0;
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) return false;
    *s = p;
    *out = v;
    return true;
}

static inline bool text_hex(const char **s, uint64_t *out)
{
    const char *p = *s;
    uint64_t v = 0;
    for (;; p++) {
        unsigned d = *p >= '0' && *p <= '9' ? (unsigned)(*p - '0') : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a' + 10) : 16;
        if (d == 16) break;
        v = v << 4 | d;
    }
    if (p == *s) return false;
    *s = p;
    *out = v;
    return true;
}

/* Lines of a file that may be longer than any buffer of ours (/proc/PID/mountinfo). */
struct text_lines {
    int fd;
    int len, pos;
    char buf[1024];
};
bool text_open(struct text_lines *t, const char *path);
/* The next line without its newline.  One longer than cap is cut.  False: no more. */
bool text_next(struct text_lines *t, char *line, int cap);
void text_close(struct text_lines *t);

#endif
