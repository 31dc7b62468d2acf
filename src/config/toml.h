/* src/config/toml.h - the flat part of TOML, for configuration files.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Own code because Debian packages TOML parsers for C++ only, and what is needed here is `key =
 * value`.
 *
 * Accepted: comments; [section] with a bare name; bare keys; values that are strings on one line
 * ("..." with the escapes of TOML, '...' without), whole numbers (decimal, with _ between digits;
 * 0x, 0o, 0b) and true/false.  A section or key that comes twice is an error.  With TOML_MORE also
 * arrays of such strings, and keys with one dot before the first [section] (`a.b = 1` is b of [a]);
 * with TOML_FRACTIONS also 1.5 and 1e-3.  Everything else that TOML has (other arrays, inline
 * tables, dates, fractions, quoted keys, strings of several lines, [[...]]) is refused by name: a
 * file means what TOML says it means, or it is not read. */
#ifndef USF_CONFIG_TOML_H
#define USF_CONFIG_TOML_H

#include <stddef.h>
#include <stdint.h>

#define TOML_WORD 64        /* bytes of a key or section name, with NUL */
#define TOML_TEXT 2048      /* ... of a string */

enum toml_type { TOML_STRING, TOML_INTEGER, TOML_BOOLEAN, TOML_STRINGS, TOML_FRACTION };
struct toml_entry {
    char section[TOML_WORD];    /* "" before the first [section] */
    char key[TOML_WORD];
    enum toml_type type;
    char text[TOML_TEXT];       /* the string; or the number or boolean in its plain form, a fraction as it is written; or the strings, a newline behind each */
    unsigned line;
};
struct toml_doc {
    struct toml_entry *entries;
    size_t nr;
    unsigned error_line;
    char error[160];
};

/* Parse text[0..len).  0, or -1 with error and error_line set (entries is then empty).  toml_free
 * either way. */
#define TOML_MORE 1u
#define TOML_FRACTIONS 2u
int toml_parse_as(struct toml_doc *d, const char *text, size_t len, unsigned flags);
static inline int toml_parse(struct toml_doc *d, const char *text, size_t len) { return toml_parse_as(d, text, len, 0); }
void toml_free(struct toml_doc *d);

#endif
