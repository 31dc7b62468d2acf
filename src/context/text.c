/* src/context/text.c - see view.h.  SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "context/view.h"

bool text_add(struct text *t, const char *from, size_t n)
{
    if (t->n + n > t->room) {
        size_t room = 2 * (t->n + n) + 4096;
        char *more = realloc(t->at, room);
        if (!more) return false;
        t->at = more;
        t->room = room;
    }
    memcpy(t->at + t->n, from, n);
    t->n += n;
    return true;
}

bool text_add_number(struct text *t, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    return text_add(t, digits, (size_t)len);
}

bool text_read(const char *path, struct text *t)
{
    char piece[4096];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while ((n = read(fd, piece, sizeof piece)) > 0 && text_add(t, piece, (size_t)n)) continue;
    close(fd);
    return n == 0 && text_add(t, "", 1) && t->n--;
}

size_t text_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? (size_t)(end + 1 - text) : strlen(text);
}
