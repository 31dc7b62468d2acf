/* src/gate/internal.h - shared by the files of the gate.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_GATE_INTERNAL_H
#define USF_GATE_INTERNAL_H

#include "gate/scan.h"

/* ---- code.c: executable memory and writing to it --------------------------------------------- */
/* Writes to mapped code.  fd < 0: /proc cannot be had, writes go through mprotect. */
struct gate_writer { int fd; };
bool gate_writer_is_held(void);            /* the library starts */
void gate_writer_open(struct gate_writer *w);
void gate_writer_close(struct gate_writer *w);
int  gate_writer_put(struct gate_writer *w, void *dst, const void *src, size_t len);

/* Executable memory that a jump reaches from every address in [lo, hi).  null: none. */
void *gate_alloc_code(uintptr_t lo, uintptr_t hi, size_t len);
/* The same, on new pages that hold nothing else, and without a look at a file where libraries
 * and new mappings lie together.  Not on a page's beginning: another thread was at it at the
 * same time. */
void *gate_new_code(uintptr_t lo, uintptr_t hi, size_t len);
/* At this address, if nothing is there.  Only while the process has one thread. */
void *gate_claim_code(uintptr_t at, size_t len);
/* The same from springboards of unloaded objects (holds the load lock). */
void *gate_reuse_code(uintptr_t lo, uintptr_t hi, size_t len);
/* Give it back; only for memory that no thread can be in any more. */
void gate_free_code(void *p, size_t len);
bool gate_in_stubs(uintptr_t pc);

/* ---- springboards, of the architecture (src/arch) -------------------------------------------- */
#define GATE_CHUNK_HEAD      32     /* addresses in the library, at the start of an object's springboards */
#define GATE_CHUNK_END       32     /* zeros: no springboard follows */
void gate_chunk_head(uint8_t *buf);
/* Where the springboards of an object are built and used. */
struct gate_chunk {
    uintptr_t base;             /* the object is loaded here */
    uintptr_t code;             /* the chunk's head is here */
    bool movable;               /* no instruction depends on where the library is: gate_chunk_rebase suffices for another process */
};
/* The most bytes that a springboard can have. */
size_t gate_springboard_room(const struct gate_rec *r);
/* Writes the springboard of a site into buf for execution at `addr`.  Its length (multiple of 8),
 * or 0: something is out of reach.  *enter: where the site has to jump to. */
size_t gate_springboard(const struct gate_rec *r, const struct gate_chunk *c, uint8_t *buf, uintptr_t addr, uintptr_t *enter);
/* Adds `delta` to the addresses in a movable chunk of `len` bytes: the object is loaded that much
 * higher.  The chunk gets this process's place in the thread storage, too. */
void gate_chunk_rebase(uint8_t *chunk, size_t len, uint64_t delta);

/* gate_original_pc for a pc in the chunk [code, code+len). */
uintptr_t gate_chunk_original(uintptr_t code, size_t len, uintptr_t pc);
/* gate_moved_pc for a pc in the object whose springboards are in [code, code+len). */
uintptr_t gate_chunk_moved(uintptr_t code, size_t len, uintptr_t pc);

/* ---- cache.c --------------------------------------------------------------------------------- */
#define GATE_KEY_MAX 48
struct gate_key { uint8_t bytes[GATE_KEY_MAX]; unsigned len; };     /* len 0: no identity, not cached */
void gate_cache_init(const char *dir);
void gate_cache_key(struct gate_key *k, const uint8_t *build_id, unsigned len, const char *path);
/* true: *l holds the sites, each verified against the image's bytes. */
bool gate_cache_get(const struct gate_key *k, const struct gate_image *im, struct gate_list *l);
void gate_cache_put(const struct gate_key *k, const struct gate_image *im, const struct gate_list *l);
/* Other files beside them: copies of an object's code, one for each `sum`. */
#define GATE_DIR_MAX  256
#define GATE_NAME_MAX (GATE_DIR_MAX + 2 * GATE_KEY_MAX + 32)
struct gate_draft { int fd; char name[GATE_NAME_MAX], temp[GATE_NAME_MAX]; };
struct gate_copy { uint64_t size; int64_t age; };                       /* age: seconds since it was made, or used */
bool gate_copy_is_safe(void);               /* on a file system where what is mapped stays when its name goes */
int  gate_copy_open(const struct gate_key *k, uint64_t sum);            /* to be read; -errno */
bool gate_copy_look(int fd, struct gate_copy *c);                       /* false: not a file of ours that no other user may write */
void gate_copy_touch(int fd, const struct gate_copy *c);                /* it is used */
bool gate_copy_failed(const struct gate_copy *c);                       /* a short while ago: not to be tried again yet */
/* Begin one.  false: another process is at it, or cannot be done. */
bool gate_copy_draft(struct gate_draft *d, const struct gate_key *k, uint64_t sum);
/* Drop what has not been used for long.  false: there are many, all in use. */
bool gate_copy_make_room(const struct gate_draft *d, const struct gate_key *k);
/* It gets its name; otherwise an empty file does, as a sign that it failed. */
void gate_copy_settle(struct gate_draft *d, bool good);
void gate_copy_abandon(struct gate_draft *d);                           /* it is not needed */
uint64_t gate_hash(uint64_t h, const void *p, size_t n);                /* n: a multiple of 8 */

/* ---- patch.c --------------------------------------------------------------------------------- */
struct gate_patched { void *code; size_t len; };    /* springboards of an object */
/* Is the site to be patched in this object? */
bool gate_to_patch(const struct gate_image *im, const struct gate_rec *r);
/* The jump from `at`, the start of the site's window, to its springboard: ARCH_JUMP_LEN bytes. */
void gate_encode_jump(uint8_t *p, const struct gate_rec *r, uintptr_t at, uintptr_t to);
struct gate_shared;
/* Patch the sites of an object loaded at base; share: leave a copy for others if it is worth it, or
 * null.  Counts into usf_gate_stats. */
struct gate_patched gate_patch_object(const struct gate_image *im, uintptr_t base, const struct gate_list *l,
                                      struct gate_shared *share, const char *path);
void gate_stats_add(const struct gate_stats *s);
/* Messages about the calls that stay as they are. */
void gate_say_unpatched(const struct gate_image *im, const struct gate_list *l, const char *path);

/* ---- hook.c, and of the architecture --------------------------------------------------------- */
#define GATE_STUB     192u      /* multiple of 16 */
#define GATE_HOOK_MAX 5u        /* instructions that are moved */
/* What is moved: link-time addresses. */
struct gate_hook_window {
    const uint8_t *code;
    uint64_t start;
    unsigned len, nr;
    uint8_t at[GATE_HOOK_MAX], size[GATE_HOOK_MAX];
};
extern const char gate_hook_undecodable[];
/* The function's first instructions, enough for a jump.  Null, or why they cannot be moved. */
const char *gate_hook_choose(const struct gate_function *f, struct gate_hook_window *w);
/* Could anything be a jump into the middle of the window, wherever instructions begin?  (To decode
 * functions of libomp takes a millisecond.) */
bool gate_hook_may_branch(const struct gate_function *f, const struct gate_hook_window *w);
/* Writes the stub that will lie at addr, for an object that is loaded at base.  false: something is
 * out of reach, or there is no room. */
bool gate_hook_build(const struct gate_hook_window *w, uintptr_t base, uint64_t data, uintptr_t enter, uint8_t buf[GATE_STUB],
                     uintptr_t addr);
/* gate_original_pc for a pc in the stubs [code, code+len). */
uintptr_t gate_hook_original(uintptr_t code, size_t len, uintptr_t pc);
/* gate_moved_pc for a pc in the object whose stubs are in [code, code+len). */
uintptr_t gate_hook_moved(uintptr_t code, size_t len, uintptr_t pc);

/* ---- share.c --------------------------------------------------------------------------------- */
struct gate_origin { uint64_t dev, ino, size, mtime, ctime; };          /* which file an object was loaded from */
struct gate_shared {
    const struct gate_key *key;
    const char *path;
    uintptr_t base, text, code; /* the object, its code, its springboards */
    size_t len;                 /* of the text */
    uint64_t off;               /* of the text in the file */
    uint64_t sum;               /* over all that the copy depends on */
    struct gate_origin origin;
    bool settled;               /* the copy exists, whether or not it can be mapped; or it could not be made a short while ago */
};
/* May the object's code be shared? */
bool gate_share_begin(struct gate_shared *s, const struct gate_image *im, uintptr_t base, const struct gate_key *key, const char *path);
/* Map springboards, and code that has the jumps already.  false: they are to be written. */
bool gate_share_use(struct gate_shared *s, struct gate_patched *out);
/* Room for springboards that a copy can be made of; null: none is made. */
void *gate_share_claim(const struct gate_shared *s, const struct gate_image *im, const struct gate_list *l, size_t room);
/* All has been written, `code` of `len` bytes at s->code: keep it for others, if all jumps are
 * there and nothing else is. */
struct gate_made { const struct gate_list *l; const uintptr_t *enter; uint8_t *code; size_t len, room; struct gate_stats stats; };
void gate_share_make(const struct gate_shared *s, const struct gate_made *m);

/* ---- load.c ---------------------------------------------------------------------------------- */
extern uint8_t gate_self_id[32];            /* the library's build-id; 0: it has none */
void gate_notify(void);                     /* stands for the dynamic linker's _dl_debug_state */

/* ---- gate.c ---------------------------------------------------------------------------------- */
void gate_take_over_clone(void);

/* ---- entry.S, of the architecture ------------------------------------------------------------ */
extern const char usf_gate_entry[] __attribute__((visibility("hidden")));
extern const char usf_gate_entry_end[] __attribute__((visibility("hidden")));
extern const char usf_gate_cancel_entry[] __attribute__((visibility("hidden")));
#endif
