/* src/text/json.c - write JSON.  SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"
#include "base/base.h"
#include "text/text.h"
#include <inttypes.h>

static void quoted(FILE *f, const char *text)
{
    putc('"', f);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        unsigned n = utf8_length(s);
        if (!n) {
            fputs("\\ufffd", f);
            s++;
        } else if (*s == '"' || *s == '\\') {
            fprintf(f, "\\%c", *s++);
        } else if (*s < 0x20 || *s == 0x7f) {
            fprintf(f, "\\u%04x", *s++);
        } else {
            s += fwrite(s, 1, n, f) == n ? n : 1;
        }
    }
    putc('"', f);
}

static void before(struct json *j, const char *key)
{
    if (j->filled[j->depth]) putc(',', j->f);
    j->filled[j->depth] = true;
    if (j->depth) fprintf(j->f, "\n%*s", (int)(2 * j->depth), "");
    if (!key) return;
    quoted(j->f, key);
    fputs(": ", j->f);
}

void json_start(struct json *j, FILE *f) { *j = (struct json){.f = f}; }

void json_open(struct json *j, const char *key, char bracket)
{
    before(j, key);
    putc(bracket, j->f);
    usf_assert(j->depth + 1 < sizeof j->filled);
    j->filled[++j->depth] = false;
}

void json_close(struct json *j, char bracket)
{
    bool filled = j->filled[j->depth--];
    if (filled) fprintf(j->f, "\n%*s", (int)(2 * j->depth), "");
    putc(bracket, j->f);
}

void json_string(struct json *j, const char *key, const char *value)
{
    before(j, key);
    if (value) quoted(j->f, value);
    else fputs("null", j->f);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
    before(j, key);
    fprintf(j->f, "%" PRIu64, value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
    before(j, key);
    fprintf(j->f, "%" PRId64, value);
}

void json_fraction(struct json *j, const char *key, double value)
{
    before(j, key);
    fprintf(j->f, "%.6f", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    before(j, key);
    fputs(value ? "true" : "false", j->f);
}

void json_end(struct json *j)
{
    putc('\n', j->f);
    fflush(j->f);
}
