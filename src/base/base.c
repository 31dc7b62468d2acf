/* src/base/base.c - messages and asserts.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

USF_EARLY int usf_verbose;
USF_EARLY bool usf_hushed;
void (*usf_on_bug)(void);
USF_EARLY bool (*usf_warned)(uint64_t what);

static char *put(char *p, char *end, char c)
{
    if (p < end) *p = c;
    return p + 1;
}

static char *put_uint(char *p, char *end, unsigned long v, unsigned base, int width, char pad)
{
    char tmp[24];
    int n = 0;
    do tmp[n++] = "0123456789abcdef"[v % base];
    while (v /= base);
    for (; width > n; width--) p = put(p, end, pad);
    while (n) p = put(p, end, tmp[--n]);
    return p;
}

static char *put_int(char *p, char *end, long v, int width, char pad)
{
    if (v >= 0) return put_uint(p, end, (unsigned long)v, 10, width, pad);
    unsigned long size = 0ul - (unsigned long)v;
    if (pad == '0') return put_uint(put(p, end, '-'), end, size, 10, width - 1, pad);
    /* blanks go before the sign */
    int digits = 1;
    for (unsigned long w = size; w >= 10; w /= 10) digits++;
    for (; width > digits + 1; width--) p = put(p, end, ' ');
    return put_uint(put(p, end, '-'), end, size, 10, 0, ' ');
}

int usf_vformat(char *buf, size_t cap, const char *fmt, va_list ap)
{
    char *p = buf, *end = cap ? buf + cap - 1 : buf;
    for (; *fmt; fmt++) {
        if (*fmt != '%') {
            p = put(p, end, *fmt);
            continue;
        }
        char pad = ' ';
        int width = 0, longs = 0;
        if (*++fmt == '0') pad = '0', fmt++;
        for (; *fmt >= '0' && *fmt <= '9'; fmt++) width = width * 10 + *fmt - '0';
        for (; *fmt == 'l' || *fmt == 'z'; fmt++) longs++;
        switch (*fmt) {
        case 's':
            for (const char *s = va_arg(ap, const char *); s && *s; s++) p = put(p, end, *s);
            break;
        case 'c': p = put(p, end, (char)va_arg(ap, int)); break;
        case 'd': {
            long v = longs ? va_arg(ap, long) : va_arg(ap, int);
            p = put_int(p, end, v, width, pad);
            break;
        }
        case 'u': p = put_uint(p, end, longs ? va_arg(ap, unsigned long) : va_arg(ap, unsigned), 10, width, pad); break;
        case 'x': p = put_uint(p, end, longs ? va_arg(ap, unsigned long) : va_arg(ap, unsigned), 16, width, pad); break;
        case '%': p = put(p, end, '%'); break;
        default: goto out;      /* not a format of ours: stop rather than guess */
        }
    }
out:
    if (cap) *(p < end ? p : end) = 0;
    return (int)(p - buf);
}

int usf_format(char *buf, size_t cap, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = usf_vformat(buf, cap, fmt, ap);
    va_end(ap);
    return n;
}

#define LINE_MAX 512

static int vline(char line[static LINE_MAX], const char *fmt, va_list ap)
{
    static const char start[] = "usf: ";
    int n = sizeof start - 1;
    for (int i = 0; i < n; i++) line[i] = start[i];
    n += usf_vformat(line + n, (size_t)(LINE_MAX - 1 - n), fmt, ap);
    if (n > LINE_MAX - 2) n = LINE_MAX - 2;
    /* names of programs, and what others have written into a segment: nothing for a terminal to
     * obey */
    for (int i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) line[i] = '?';
    line[n++] = '\n';
    return n;
}

/* What this process has told.  Children made by fork inherit it.  Who has filled the table has said
 * enough. */
#define TOLD 64u
static uint64_t told[TOLD];

static bool told_here(uint64_t what)
{
    for (unsigned i = 0; i < TOLD; i++) {
        uint64_t was = 0;
        if (__atomic_compare_exchange_n(&told[(what + i) % TOLD], &was, what, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return false;
        if (was == what) return true;
    }
    return true;
}

static bool is_repeated(const char *text, int n)
{
    uint64_t what = 0xcbf29ce484222325ull;
    if (!usf_warned) return false;
    for (int i = 0; n < 0 ? text[i] != 0 : i < n; i++) what = (what ^ (unsigned char)text[i]) * 0x100000001b3ull;
    if (!what) what = 1;
    return told_here(what) || usf_warned(what);
}

static bool is_heard(void) { return !usf_hushed || usf_verbose; }

void usf_warn(const char *fmt, ...)
{
    char line[LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vline(line, fmt, ap);
    va_end(ap);
    if (is_heard() && !is_repeated(line, n)) usf_put_line(line, (size_t)n);
}

void usf_warn_about(const char *what, const char *fmt, ...)
{
    char line[LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vline(line, fmt, ap);
    va_end(ap);
    if (is_heard() && !is_repeated(what, -1)) usf_put_line(line, (size_t)n);
}

void usf_say(const char *fmt, ...)
{
    char line[LINE_MAX];
    va_list ap;
    if (!usf_verbose) return;
    va_start(ap, fmt);
    int n = vline(line, fmt, ap);
    va_end(ap);
    usf_put_line(line, (size_t)n);
}

void usf_bug(const char *what, const char *file, int line)
{
    static char said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        usf_warn("bug: %s does not hold (%s:%d); please report it", what, file, line);
    if (usf_on_bug) usf_on_bug();
    else __builtin_trap();
}

#if USF_ASSERTS >= 2
static __thread uint32_t held;      /* bits: enum usf_rank */
static bool unchecked;

void usf_lock_unchecked(void) { __atomic_store_n(&unchecked, true, __ATOMIC_RELAXED); }
static bool is_checked(void) { return !__atomic_load_n(&unchecked, __ATOMIC_RELAXED); }

bool usf_lock_is_held(enum usf_rank rank) { return !is_checked() || held >> rank & 1; }

void usf_lock_wanted(enum usf_rank rank) { usf_assert(!is_checked() || held >> rank == 0); }

void usf_lock_taken(enum usf_rank rank)
{
    usf_lock_wanted(rank);
    held |= 1u << rank;
}

void usf_lock_released(enum usf_rank rank)
{
    usf_assert(usf_lock_is_held(rank));
    held &= ~(1u << rank);
}

void usf_lock_none_held(void) { held = 0; }
#endif
