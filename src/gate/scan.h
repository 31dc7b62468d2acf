/* src/gate/scan.h - system call sites of an object and how each is to be patched.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure over a struct gate_image: the same code serves loaded objects, files and tests. */
#ifndef USF_GATE_SCAN_H
#define USF_GATE_SCAN_H

#include "gate/gate.h"
#include "gate/image.h"

#define GATE_WINDOW_MAX 32
#define GATE_NO_RIP     0xff

/* Why a site is left alone. */
enum gate_why { GATE_WHY_NONE, GATE_WHY_SIGRETURN, GATE_WHY_DECODE, GATE_WHY_ROOM, GATE_WHY_INDIRECT, GATE_WHY_PADS,
                GATE_WHY_CANCEL, GATE_NR_WHY };
extern const char *const gate_why_text[GATE_NR_WHY];

/* A site.  The window [at-before, at-before+len) is replaced: the instructions before `at` and
 * after at+insn move to the springboard.  Also the format of the site cache: fixed layout, no
 * pointers. Invariants (cls != LEFT): ARCH_JUMP_LEN <= len <= GATE_WINDOW_MAX, before + insn <=
 * len, rip_at == GATE_NO_RIP or rip_at + 4 <= rip_end <= len, rip operand not inside [before,
 * before+insn). */
struct gate_rec {
    uint64_t at;            /* the syscall instruction; class CANCEL: the call that leads to it */
    int32_t  nr;            /* call number where the code before says it, else -1 */
    uint8_t  cls;           /* enum gate_site_class */
    uint8_t  why;           /* enum gate_why, class LEFT */
    uint8_t  before, insn, len;
    uint8_t  rip_at;        /* offset in the window of a displacement relative to the pc */
    uint8_t  rip_end;       /* ... and of the end of its instruction */
    uint8_t  reserved[5];
    uint8_t  bytes[GATE_WINDOW_MAX];    /* the window as it was */
};

/* Growing array in memory of its own. */
struct gate_list { struct gate_rec *rec; uint32_t nr, cap; };
void gate_list_free(struct gate_list *l);

/* A new record at the end; null: no memory. */
struct gate_rec *gate_list_add(struct gate_list *l);
/* Appends the real sites in ascending order of windows.  0 or -errno (-ENOMEM). */
int gate_scan(const struct gate_image *im, struct gate_list *out);

/* Is the record well-formed and does the image hold the bytes it names? */
bool gate_rec_matches(const struct gate_image *im, const struct gate_rec *r);

/* ---- one function, decoded from its start ------------------------------------------------------- */
enum { MARK_LEN = 0x0f,     /* length of the instruction that starts here, 0 = none */
       MARK_TARGET = 0x10,  /* something may jump here */
       MARK_FIXED = 0x20,   /* control flow: cannot move */
       MARK_RIP = 0x40,     /* has an operand relative to the pc */
       MARK_SYSCALL = 0x80 };
struct gate_function {
    const struct gate_image *im;
    struct gate_fde fde;
    const uint8_t *code;    /* bytes of [fde.start, fde.end) */
    uint8_t *mark;          /* a byte of MARK_ per byte of code */
    uint64_t len;
    bool undecodable;       /* some instruction is not known: targets may be missing */
    bool unsure;            /* an indirect jump or a table of landing pads was not understood */
};
/* Offset of the instruction that ends at offset i; i itself if there is none. */
static inline uint64_t gate_insn_before(const struct gate_function *f, uint64_t i)
{
    for (uint64_t n = 1; n <= MARK_LEN && n <= i; n++)
        if ((f->mark[i - n] & MARK_LEN) == n) return i - n;
    return i;
}

/* Of the architecture (src/arch): */
void gate_decode(struct gate_function *f);
/* The call's number at the site, if straight code before it sets one; else -1. */
int32_t gate_static_nr(const struct gate_function *f, uint64_t at);
/* May the instruction at `at`, after a system call, be executed in the springboard instead?  (It
 * must not read registers that the kernel changes.) */
bool gate_may_follow(const struct gate_function *f, uint64_t at);
/* Where in the instruction its displacement relative to the pc lies; 0 = none. */
unsigned gate_rip_offset(const struct gate_function *f, uint64_t at);
/* glibc >= 2.41 makes cancellable calls in one function whose addresses the cancellation signal's
 * handler compares with the pc. Is the system call at offset `at` that function's? */
bool gate_is_cancel_arch(const struct gate_function *f, uint64_t at);

/* ---- hook.c ------------------------------------------------------------------------------------- */
/* May the function's first instructions be moved to a stub?  Null, or why not.  Pure over the
 * image. */
const char *gate_hook_refuses(const struct gate_image *im, uint64_t function);
#endif
