/* src/text/json.h - write JSON.  SPDX-License-Identifier: Apache-2.0
 * key null: an element of an array.  Bytes that are not UTF-8 become U+FFFD, so that the output is
 * always JSON, whatever a thread calls itself. */
#ifndef USF_TEXT_JSON_H
#define USF_TEXT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json { FILE *f; unsigned depth; bool filled[16]; };

void json_start(struct json *j, FILE *f);
void json_open(struct json *j, const char *key, char bracket);  /* '{' or '[' */
void json_close(struct json *j, char bracket);                  /* '}' or ']' */
void json_string(struct json *j, const char *key, const char *value);   /* null: null */
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_fraction(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
void json_end(struct json *j);                                  /* newline, flush */

#endif
