/* src/trace/chrome.h - write Chrome's JSON, which ui.perfetto.dev opens.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One writer for recordings and for the simulator.  Lanes are "threads" (tid) of "processes" (pid);
 * times are ns. */
#ifndef USF_TRACE_CHROME_H
#define USF_TRACE_CHROME_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct chrome { FILE *f; bool more; };

static inline void chrome_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', f);
        fputc((unsigned char)*s < 0x20 ? '?' : *s, f);
    }
}
static inline void chrome_us(FILE *f, uint64_t ns) { fprintf(f, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000)); }

static inline void chrome_comma(struct chrome *c)
{
    fputs(c->more ? ",\n" : "\n", c->f);
    c->more = true;
}

static inline void chrome_begin(struct chrome *c, FILE *f)
{
    *c = (struct chrome){.f = f};
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", f);
}
static inline void chrome_end(struct chrome *c) { fputs("\n]}\n", c->f); }

/* what: process_name or thread_name */
static inline void chrome_name(struct chrome *c, const char *what, uint32_t pid, uint32_t tid, const char *value)
{
    chrome_comma(c);
    fprintf(c->f, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"", what, pid, tid);
    chrome_text(c->f, value);
    fputs("\"}}", c->f);
}

/* A slice, up to its closing brace: the caller may add ",\"args\":{...}", and closes it. */
static inline void chrome_slice(struct chrome *c, uint32_t pid, uint32_t tid, uint64_t from, uint64_t to, const char *what)
{
    chrome_comma(c);
    fprintf(c->f, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", pid, tid);
    chrome_us(c->f, from);
    fputs(",\"dur\":", c->f);
    chrome_us(c->f, to - from);
    fputs(",\"name\":\"", c->f);
    chrome_text(c->f, what);
    fputc('"', c->f);
}

/* A slice that begins, up to its closing brace as above; it ends with the next chrome_end_slice of
 * its lane that has not ended another one. */
static inline void chrome_begin_slice(struct chrome *c, uint32_t pid, uint32_t tid, uint64_t at, const char *what)
{
    chrome_comma(c);
    fprintf(c->f, "{\"ph\":\"B\",\"pid\":%u,\"tid\":%u,\"ts\":", pid, tid);
    chrome_us(c->f, at);
    fputs(",\"name\":\"", c->f);
    chrome_text(c->f, what);
    fputc('"', c->f);
}
static inline void chrome_end_slice(struct chrome *c, uint32_t pid, uint32_t tid, uint64_t at)
{
    chrome_comma(c);
    fprintf(c->f, "{\"ph\":\"E\",\"pid\":%u,\"tid\":%u,\"ts\":", pid, tid);
    chrome_us(c->f, at);
    fputc('}', c->f);
}

/* An arrow from the slice at one place to that at another: begin true, then false, with the same
 * number. */
static inline void chrome_arrow(struct chrome *c, bool begin, uint64_t id, uint32_t pid, uint32_t tid, uint64_t at, const char *what)
{
    chrome_comma(c);
    fprintf(c->f, "{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64 ",\"pid\":%u,\"tid\":%u,\"ts\":", begin ? "s" : "f\",\"bp\":\"e", what, what,
            id, pid, tid);
    chrome_us(c->f, at);
    fputc('}', c->f);
}

#endif
