/* src/cli/text.c - terminals and strings.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool colours(void)
{
    static int known = -1;
    if (known < 0) {
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
        known = !(no && *no) && term && strcmp(term, "dumb") && isatty(STDOUT_FILENO);
    }
    return known;
}

const char *text_on(enum text_style s)
{
    static const char *const codes[] = {"", "\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[1m"};
    return colours() ? codes[s] : "";
}
const char *text_off(void) { return colours() ? "\033[0m" : ""; }

/* Nothing that a terminal acts upon (the codes below blank, and those of C1), and whole characters only. */
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
        exit(CLI_USAGE);
    }
    va_end(ap);
    return s;
}
