/* src/context/stub.h - stub libraries: what `usf shim` writes and libusf-context executes.  SPDX-License-Identifier: Apache-2.0
 *
 * A stub library stands in for another one and has its function symbols.  A call goes to the copy
 * in the thread's context, or to the program's own copy when the thread is in none:
 *
 *     mov  usf_context_stub_tables@gottpoff(%rip), %r11
 *     mov  %fs:(%r11), %r11       the tables of the thread's context: one for each stub library
 *     add  index(%rip), %r11      8 times the number of this stub library
 *     mov  (%r11), %r11           the table of this library in this context: the addresses of its functions
 *     jmp  *8*k(%r11)
 *
 * Only r11 changes.  A table begins with addresses of resolvers (`push k; jmp ...`), which lead to
 * stub_resolve.  That looks the function up, writes its address into the table, and goes there.
 * Tables are per context, so that all threads of a context share the work, and a thread enters a
 * context by writing one word.
 *
 * A stub library has this header in its read-only segment.  Offsets are in bytes from the
 * header. */
#ifndef USF_CONTEXT_STUB_H
#define USF_CONTEXT_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "context/stub_code.h"

#define STUB_MAGIC 0x3162757473667375ull    /* "usfstub1" */
#define STUB_NOTE_NAME "usf"                /* an ELF note: the path of the original, with a 0 at its end */
#define STUB_NOTE_TYPE 0x53545542u
#define STUB_MAX_FUNCTIONS (1u << 24)

struct stub_function { uint32_t name, version; };   /* offsets into the strings; version 0: it has none */

struct stub_header {
    uint64_t magic;
    uint32_t nr;                /* functions */
    uint32_t original, soname;  /* offsets into the strings: its path; its SONAME, or its file's name */
    uint32_t unused;
    int64_t index;              /* to the word that libusf-context writes */
    int64_t functions;          /* to nr struct stub_function */
    int64_t strings;
    int64_t resolvers;          /* to nr pieces of code */
};

#ifndef STUB_FORMAT_ONLY
#include "context/context.h"

/* context.h, context_set: what the stubs use in a thread. */
void stub_context_begins(struct usf_context *c);
void stub_context_ends(struct usf_context *c);      /* no thread is in it */
/* For stub libraries: their constructor, and the address of a function for which a resolver was
 * called.  usf_context_stub_resolve has no C interface. */
CONTEXT_API void usf_context_stub_add(const struct stub_header *h);
void *stub_resolve(const struct stub_header *h, uint64_t k);
extern bool stub_saves_all;     /* usf_context_stub_resolve can save more vector registers than those of SSE */
void stub_before_fork(void);
void stub_after_fork(void);
#endif

#endif
