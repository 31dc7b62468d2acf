/* src/text/text.c - strings from elsewhere.  SPDX-License-Identifier: Apache-2.0 */
#include "text/text.h"
#include "base/base.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned utf8_length(const unsigned char *s)
{
    unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0;
    return n;
}

/* Nothing that a terminal acts upon (the codes below blank, and those of C1), and whole characters
 * only. */
const char *text_clean(const char *s, char *buf, size_t cap)
{
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)s; *p && n + 1 < cap;) {
        unsigned len = utf8_length(p);
        bool control = *p < 0x20 || *p == 0x7f || (len == 2 && p[0] == 0xc2 && p[1] < 0xa0);
        if (len > cap - 1 - n) break;
        if (!len || control) buf[n++] = '?';
        else memcpy(buf + n, p, len), n += len;
        p += len ? len : 1;
    }
    buf[n] = 0;
    return buf;
}

char *xasprintf(const char *fmt, ...)
{
    char *s;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0) {
        usf_warn("out of memory");
        exit(TEXT_NO_MEMORY);
    }
    va_end(ap);
    return s;
}
