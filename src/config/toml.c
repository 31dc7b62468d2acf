/* src/config/toml.c - see toml.h for what is accepted.  SPDX-License-Identifier: Apache-2.0 */
#include "config/toml.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct toml_doc *d;
    const char *p, *end;
    unsigned line, flags;
    char section[TOML_WORD];
    char (*sections)[TOML_WORD];    /* seen so far */
    size_t nr_sections;
};

__attribute__((format(printf, 2, 3)))
static int fail(struct parser *ps, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ps->d->error, sizeof ps->d->error, fmt, ap);
    va_end(ap);
    ps->d->error_line = ps->line;
    return -1;
}

static int peek(const struct parser *ps) { return ps->p < ps->end ? (unsigned char)*ps->p : -1; }
static bool bare(int c)
{ return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }
static void skip_blanks(struct parser *ps)
{ while (peek(ps) == ' ' || peek(ps) == '\t') ps->p++; }
static bool starts(const struct parser *ps, const char *s)
{ return (size_t)(ps->end - ps->p) >= strlen(s) && !memcmp(ps->p, s, strlen(s)); }

/* Behind a value or a section: blanks, a comment, the end of the line. */
static int end_of_line(struct parser *ps)
{
    skip_blanks(ps);
    if (peek(ps) == '#')
        for (; peek(ps) >= 0 && peek(ps) != '\n' && !starts(ps, "\r\n"); ps->p++)
            if ((peek(ps) < 0x20 && peek(ps) != '\t') || peek(ps) == 0x7f)
                return fail(ps, "control character in a comment");
    if (starts(ps, "\r\n")) ps->p++;
    if (peek(ps) < 0) return 0;
    if (peek(ps) != '\n') return fail(ps, "something stands behind the end of the entry");
    ps->p++;
    ps->line++;
    return 0;
}

static int word(struct parser *ps, const char *what, char out[TOML_WORD])
{
    size_t n = 0;
    if (peek(ps) == '"' || peek(ps) == '\'') return fail(ps, "a %s in quotes is not accepted here", what);
    for (; bare(peek(ps)); ps->p++) {
        if (n == TOML_WORD - 1) return fail(ps, "the %s is longer than %d characters", what, TOML_WORD - 1);
        out[n++] = *ps->p;
    }
    out[n] = 0;
    if (!n) return fail(ps, "a %s is expected here", what);
    skip_blanks(ps);
    return 0;
}

static int undotted(struct parser *ps, const char *what, char out[TOML_WORD])
{
    if (word(ps, what, out)) return -1;
    return peek(ps) == '.' ? fail(ps, "a %s with dots is not accepted here", what) : 0;
}

/* A key, before the first section also one with a dot. */
static int key(struct parser *ps, struct toml_entry *e)
{
    if (!(ps->flags & TOML_MORE) || *ps->section) return undotted(ps, "key", e->key);
    if (word(ps, "key", e->key)) return -1;
    if (peek(ps) != '.') return 0;
    ps->p++;
    skip_blanks(ps);
    memcpy(e->section, e->key, TOML_WORD);
    return undotted(ps, "key", e->key);
}

static int put_utf8(struct parser *ps, uint32_t c, char *out, size_t *n)
{
    unsigned len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c == 0) return fail(ps, "the escape names no character");
    if (*n + len >= TOML_TEXT) return fail(ps, "the string is longer than %d bytes", TOML_TEXT - 1);
    if (len == 1) {
        out[(*n)++] = (char)c;
        return 0;
    }
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = 0; i < len; i++) {
        unsigned shift = 6 * (len - 1 - i);
        out[(*n)++] = (char)(i ? 0x80 | ((c >> shift) & 0x3f) : lead[len] | (c >> shift));
    }
    return 0;
}

static int escape(struct parser *ps, char *out, size_t *n)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    int c = peek(ps);
    const char *at = c > 0 ? strchr(from, c) : 0;
    if (c >= 0) ps->p++;
    if (at) return put_utf8(ps, (unsigned char)to[at - from], out, n);
    if (c != 'u' && c != 'U') return fail(ps, "the escape in the string is unknown");
    uint32_t v = 0;
    for (int i = 0; i < (c == 'u' ? 4 : 8); i++, ps->p++) {
        int h = peek(ps), x = h >= '0' && h <= '9' ? h - '0' : (h | 32) >= 'a' && (h | 32) <= 'f' ? (h | 32) - 'a' + 10 : -1;
        if (h < 0 || x < 0) return fail(ps, "\\%c needs %d hexadecimal digits", c, c == 'u' ? 4 : 8);
        v = v << 4 | (uint32_t)x;
    }
    return put_utf8(ps, v, out, n);
}

static int string(struct parser *ps, struct toml_entry *e)
{
    int quote = *ps->p++;
    size_t n = 0;
    e->type = TOML_STRING;
    if (peek(ps) == quote && ps->p + 1 < ps->end && ps->p[1] == quote)
        return fail(ps, "strings of several lines are not accepted here");
    for (;;) {
        int c = peek(ps);
        if (c < 0 || c == '\n') return fail(ps, "the string does not end");
        ps->p++;
        if (c == quote) break;
        if ((c < 0x20 && c != '\t') || c == 0x7f) return fail(ps, "control character in a string");
        if (c == '\\' && quote == '"') {
            if (escape(ps, e->text, &n)) return -1;
            continue;
        }
        if (n + 1 >= TOML_TEXT) return fail(ps, "the string is longer than %d bytes", TOML_TEXT - 1);
        e->text[n++] = (char)c;
    }
    e->text[n] = 0;
    return 0;
}

static int digit_of(int c, int base)
{
    int v = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' && c > 0 ? (c | 32) - 'a' + 10 : 99;
    return v < base ? v : -1;
}

static bool digits(struct parser *ps)
{
    const char *start = ps->p;
    while (digit_of(peek(ps), 10) >= 0) ps->p++;
    return ps->p > start;
}

/* Behind the whole part of a number that begins at `begin`: a point and digits, an exponent, or
 * both. */
static int fraction(struct parser *ps, struct toml_entry *e, const char *begin)
{
    bool good = true;
    if (peek(ps) == '.') ps->p++, good = digits(ps);
    if (good && (peek(ps) | 32) == 'e') {
        ps->p++;
        ps->p += peek(ps) == '-' || peek(ps) == '+';
        good = digits(ps);
    }
    if (!good) return fail(ps, "the fraction lacks digits");
    size_t len = (size_t)(ps->p - begin);
    if (len >= TOML_TEXT) return fail(ps, "the number is too long");
    memcpy(e->text, begin, len);
    e->text[len] = 0;
    e->type = TOML_FRACTION;
    return 0;
}

static int number(struct parser *ps, struct toml_entry *e)
{
    const char *begin = ps->p;
    bool minus = peek(ps) == '-', sign = minus || peek(ps) == '+';
    ps->p += sign;
    int base = starts(ps, "0x") ? 16 : starts(ps, "0o") ? 8 : starts(ps, "0b") ? 2 : 10;
    if (base != 10 && sign) return fail(ps, "a number with 0x, 0o or 0b has no sign");
    if (base != 10) ps->p += 2;
    const char *start = ps->p;
    uint64_t v = 0;
    for (;; ps->p++) {
        int c = peek(ps), x = digit_of(c, base);
        if (c == '_' && ps->p > start && ps->p[-1] != '_' && ps->p + 1 < ps->end && digit_of((unsigned char)ps->p[1], base) >= 0)
            continue;
        if (x < 0) break;
        if (v > ((uint64_t)INT64_MAX - (uint64_t)x) / (uint64_t)base) return fail(ps, "the number is too large");
        v = v * (uint64_t)base + (uint64_t)x;
    }
    if (ps->p == start) return fail(ps, "a value is expected here: a string in quotes, a whole number, true or false");
    if (base == 10 && *start == '0' && ps->p > start + 1) return fail(ps, "a number does not start with 0");
    int c = peek(ps);
    bool point = c == '.' || c == 'e' || c == 'E';
    if (point && base == 10 && ps->flags & TOML_FRACTIONS) return fraction(ps, e, begin);
    if (point) return fail(ps, "fractions are not accepted here");
    if (c == '-' || c == ':') return fail(ps, "dates and times are not accepted here");
    e->type = TOML_INTEGER;
    snprintf(e->text, sizeof e->text, "%s%" PRIu64, minus && v ? "-" : "", v);
    return 0;
}

/* Blanks, comments and line ends between the elements of an array. */
static int between(struct parser *ps)
{
    for (;;) {
        skip_blanks(ps);
        int c = peek(ps);
        if (c != '#' && c != '\n' && c != '\r') return 0;
        if (end_of_line(ps)) return -1;
    }
}

static int strings(struct parser *ps, struct toml_entry *e)
{
    struct toml_entry one = {0};
    size_t n = 0;
    ps->p++;
    for (;;) {
        if (between(ps)) return -1;
        if (peek(ps) == ']') break;
        if (peek(ps) != '"' && peek(ps) != '\'') return fail(ps, "an array holds strings here");
        if (string(ps, &one)) return -1;
        size_t len = strlen(one.text);
        if (n + len + 2 > TOML_TEXT) return fail(ps, "the array is longer than %d bytes", TOML_TEXT - 1);
        memcpy(e->text + n, one.text, len);
        n += len;
        e->text[n++] = '\n';
        if (between(ps)) return -1;
        if (peek(ps) == ',') ps->p++;
        else if (peek(ps) != ']') return fail(ps, "a comma or the array's end is expected here");
    }
    ps->p++;
    e->text[n] = 0;
    e->type = TOML_STRINGS;
    return 0;
}

static int value(struct parser *ps, struct toml_entry *e)
{
    int c = peek(ps);
    if (c == '"' || c == '\'') return string(ps, e);
    if (c == '[' && ps->flags & TOML_MORE) return strings(ps, e);
    if (c == '[') return fail(ps, "arrays are not accepted here");
    if (c == '{') return fail(ps, "inline tables are not accepted here");
    for (int b = 0; b < 2; b++) {
        const char *name = b ? "true" : "false";
        if (!starts(ps, name)) continue;
        ps->p += strlen(name);
        if (bare(peek(ps))) return fail(ps, "text needs quotes");
        e->type = TOML_BOOLEAN;
        strcpy(e->text, name);
        return 0;
    }
    if (starts(ps, "inf") || starts(ps, "nan") || starts(ps, "+inf") || starts(ps, "-inf") || starts(ps, "+nan") || starts(ps, "-nan"))
        return fail(ps, "fractions are not accepted here");
    if ((c | 32) >= 'a' && (c | 32) <= 'z') return fail(ps, "text needs quotes");
    return number(ps, e);
}

static int section(struct parser *ps)
{
    ps->p++;
    if (peek(ps) == '[') return fail(ps, "arrays of tables ([[...]]) are not accepted here");
    skip_blanks(ps);
    if (undotted(ps, "section name", ps->section)) return -1;
    if (peek(ps) != ']') return fail(ps, "the section name does not end with ]");
    ps->p++;
    for (size_t i = 0; i < ps->nr_sections; i++)
        if (!strcmp(ps->sections[i], ps->section)) return fail(ps, "section [%s] comes twice", ps->section);
    for (size_t i = 0; i < ps->d->nr; i++)
        if (!*ps->d->entries[i].section && !strcmp(ps->d->entries[i].key, ps->section))
            return fail(ps, "[%s] is a key already", ps->section);
    void *more = realloc(ps->sections, (ps->nr_sections + 1) * sizeof *ps->sections);
    if (!more) return fail(ps, "out of memory");
    ps->sections = more;
    memcpy(ps->sections[ps->nr_sections++], ps->section, TOML_WORD);
    return end_of_line(ps);
}

static int entry(struct parser *ps)
{
    struct toml_doc *d = ps->d;
    struct toml_entry *more = realloc(d->entries, (d->nr + 1) * sizeof *more);
    if (!more) return fail(ps, "out of memory");
    d->entries = more;
    struct toml_entry *e = &d->entries[d->nr];
    memset(e, 0, sizeof *e);
    memcpy(e->section, ps->section, TOML_WORD);
    e->line = ps->line;
    if (key(ps, e)) return -1;
    if (peek(ps) != '=') return fail(ps, "'=' is expected behind the key '%s'", e->key);
    ps->p++;
    skip_blanks(ps);
    for (size_t i = 0; i < d->nr; i++)
        if (!strcmp(d->entries[i].key, e->key) && !strcmp(d->entries[i].section, e->section))
            return fail(ps, "key '%s' comes twice", e->key);
    if (value(ps, e)) return -1;
    d->nr++;
    return end_of_line(ps);
}

/* Bytes of the UTF-8 character at p, 0: none is there. */
static unsigned character(const unsigned char *p, const unsigned char *end)
{
    unsigned n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : (*p & 0xf0) == 0xe0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    if ((size_t)(end - p) < n) return 0;
    for (unsigned i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    /* overlong forms, surrogates, beyond U+10FFFF */
    if (n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0))) return 0;
    if (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))) return 0;
    return n;
}

static int check_text(struct parser *ps)
{
    unsigned n;
    for (const char *p = ps->p; p < ps->end; p += n) {
        n = character((const unsigned char *)p, (const unsigned char *)ps->end);
        if (!n) return fail(ps, "the file is not text in UTF-8");
        if (!*p) return fail(ps, "the file is not text: it has NUL bytes");
        ps->line += *p == '\n';
    }
    ps->line = 1;
    return 0;
}

static int document(struct parser *ps)
{
    if (check_text(ps)) return -1;
    while (ps->p < ps->end) {
        skip_blanks(ps);
        int c = peek(ps);
        int bad = c == '[' ? section(ps) : c < 0 || c == '#' || c == '\n' || c == '\r' ? end_of_line(ps) : entry(ps);
        if (bad) return -1;
    }
    return 0;
}

int toml_parse_as(struct toml_doc *d, const char *text, size_t len, unsigned flags)
{
    memset(d, 0, sizeof *d);
    struct parser ps = {.d = d, .p = text, .end = text + len, .line = 1, .flags = flags};
    int r = document(&ps);
    free(ps.sections);
    if (r) {
        free(d->entries);
        d->entries = 0;
        d->nr = 0;
    }
    return r;
}

void toml_free(struct toml_doc *d)
{
    free(d->entries);
    d->entries = 0;
    d->nr = 0;
}
