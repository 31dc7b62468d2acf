/* src/gate/gate.h - intercept system calls inside the process.  SPDX-License-Identifier: Apache-2.0
 *
 * The gate finds the system call instructions of loaded objects and turns each into a jump to a
 * springboard, which enters usf_gate_entry (entry.S) and from there the handler of the call's
 * number.  It knows nothing of scheduling: the runtime fills in the table of handlers.
 */
#ifndef USF_GATE_H
#define USF_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate/entry.h"             /* USF_NR_SYSCALLS */

/* The call at the patched instruction.  Layout known to entry.S.  The argument registers are loaded
 * from here on return, so a handler may change them (system calls do not: use with care). */
struct gate_frame {
    uint64_t nr;                /* of the call */
    uint64_t arg[6];
    uint64_t sp;                /* the caller's, red zone below it */
    uint64_t pc;                /* address after the patched instruction */
    uint32_t action;            /* enum gate_action; 0 when the handler is called */
    uint32_t kept;              /* with GATE_ENTRY_CALLS: what the handler leaves for usf_gate_after */
    uint64_t cancel;            /* glibc >= 2.41, cancellable call: the thread's cancellation word, else 0 */
    union {
        uint64_t cancel_arch;   /* ... and glibc's __syscall_cancel_arch */
        uint64_t kept_more;     /* with GATE_ENTRY_CALLS, as `kept` */
    };
};
enum gate_action {
    GATE_DONE = 0,              /* the handler's result is the call's */
    GATE_SITE_CALLS,            /* the site makes the call `nr` itself, from its springboard, with no frame of ours on the stack;
                                   the handler's result is ignored */
    GATE_ENTRY_CALLS,           /* entry.S makes the call, and then calls usf_gate_after: nothing that was called before the system call
                                   returns after it, which a processor mispredicts.  Not with `cancel` set. */
};
static inline long gate_arg(const struct gate_frame *f, int i)
{ return (long)f->arg[i]; }

/* A handler returns what the system call would have returned (-errno on error).  It runs on the
 * caller's stack, with signals as the caller had them, and may make the call itself (os/syscall.h).
 * Compiled without vector registers. */
typedef long (*gate_handler)(struct gate_frame *f);

/* After a call that the entry made for a handler (GATE_ENTRY_CALLS): from its result to what the
 * program gets. */
extern long (*usf_gate_after)(struct gate_frame *f, long result);

/* Make a call on behalf of the frame.  Where the site is one of glibc's cancellable calls (>=
 * 2.41), it goes through glibc's own cancellation window: pthread_cancel may then unwind through
 * the handler, as it does for older glibc wherever the signal finds the thread.  Handlers that
 * block in the kernel use this for it. */
long gate_syscall(const struct gate_frame *f, long nr, long a, long b, long c, long d, long e, long g);
/* The frame's own call. */
long gate_call(const struct gate_frame *f);

/* null = pass through (the entry makes the call without leaving assembly).  Filled before the first
 * gate_patch_*; entries may be changed later with single stores, but for those of rt_sigreturn,
 * clone, clone3 and vfork, which the gate takes over then (a handler set before it is called for
 * clone and clone3 that make a process on a copy of the stack, as fork does).  Larger than it
 * seems: entry.S indexes it with 16 bits; entries from USF_NR_SYSCALLS on stay null. */
extern gate_handler usf_gate_handlers[GATE_TABLE];

/* vfork, and clone and clone3 that share memory or give the child a stack, are made by the
 * springboard itself (no frame may lie on the stack): this hook runs before the call, with its
 * registers; the springboard then makes the call, and in the parent (result != 0) takes away what
 * the hook has put on (usf_gate_push_vforked).  A child that shares memory but has no thread
 * storage of its own (vfork, posix_spawn) runs with the parent's word: what the hook puts there,
 * the child sees.  It may vfork in its turn, so the word is a stack: a byte for each of up to four
 * generations, the youngest lowest.  The upper half stays 0. */
extern void (*usf_gate_before_clone)(struct gate_frame *f);
extern __thread uint64_t usf_gate_vforked __attribute__((tls_model("initial-exec")));
static inline void usf_gate_push_vforked(uint8_t what) { usf_gate_vforked = (uint32_t)(usf_gate_vforked << 8 | what); }

/* Sites whose number is known from the code and has no handler are left as they are: they cost
 * nothing, and their pages stay shared.  true (set before patching): patch them as well, so that
 * handlers for them may be set later. */
extern bool usf_gate_patch_all;
/* Calls that are left alone in the dynamic linker although they have a handler: it reads files when
 * it loads an object, and the first thread has started before we see it.  Set before patching. */
extern bool usf_gate_minor[];

/* Map the code of objects with many sites from copies in the cache (share.c).  Set before
 * patching. */
extern bool usf_gate_share;

struct gate_stats {
    uint64_t met;               /* link maps that were looked at: each once */
    uint64_t objects, sites, patched;
    uint64_t unneeded;          /* no handler for their number */
    uint64_t unpatched;         /* could not be; signal returns, which must not be, do not count */
    uint64_t cache_hits;        /* objects whose sites came from the site cache */
    uint64_t shared;            /* objects whose code came from there, too */
};
extern struct gate_stats usf_gate_stats;

/* Once, before any patching.  cache_dir: where site lists are kept by build-id (created 0700), or
 * null.  Returns 0 or -errno. */
int gate_init(const char *cache_dir);

/* Patch every object loaded now that has not been patched (also vdso excluded, ourselves excluded).
 * Called at start and from the dynamic linker's notification.  Thread-safe through ld.so's own
 * load lock. */
void gate_patch_loaded(void);
/* See the vDSO's calls too: it makes them for clocks that it cannot read itself.  Once, at any
 * time: a copy with the jumps in it takes its place.  Takes more stack than a program's thread may
 * have.  False: that cannot be done. */
bool gate_patch_vdso(void);
/* The code of the object that is loaded at this address was mapped anew: as if it had just been
 * loaded.  Under the dynamic linker's load lock.  False: there is none. */
bool gate_renewed(uintptr_t base);

/* Patch _dl_debug_state so that objects loaded later are patched before their constructors run.
 * `loaded` is called for each new object once it is patched (may be null), while the dynamic linker
 * is in the middle of a change: it calls nothing of the dynamic linker's. */
struct gate_object {
    uintptr_t base;             /* load address (l_addr) */
    uintptr_t text, text_end;   /* executable range(s): lowest and highest address */
    const char *path;
    const uint8_t *build_id; size_t build_id_len;
    const void *eh_frame_hdr;   /* or null */
    uint32_t index;             /* the gate's own */
};
void gate_on_load(void (*loaded)(const struct gate_object *));
void gate_for_each_object(void (*fn)(const struct gate_object *, void *), void *arg);

/* Function bounds from the object's .eh_frame: the FDE that covers pc.  false: none. */
bool gate_function_bounds(const struct gate_object *o, uintptr_t pc, uintptr_t *start, uintptr_t *end);
/* A function of that name in the object's dynamic symbol table, of any version; 0: it defines
 * none. */
uintptr_t gate_find_function(const struct gate_object *o, const char *name);
uintptr_t gate_find_variable(const struct gate_object *o, const char *name);
/* The object that has pc in its text; false: none.  Async-signal-safe (own table, no ld.so
 * lock). */
bool gate_find_object(uintptr_t pc, struct gate_object *out);

/* ---- hook.c: functions that are to pass through one of ours first ---------------------------- */
/* What the entry is given in a register that no caller uses, with everything else as the function's
 * caller left it.  It goes on at `resume`, where the function's first instructions have been moved
 * to; `resume` may also be called as the function without the hook.  Offsets known to teams/entry.S
 * of the architecture (src/arch). */
struct gate_hook_site {
    uint64_t resume;
    uint64_t data;              /* as given */
    uint64_t enter;
    uint64_t start;             /* the instructions that were moved */
    uint8_t len, nr;            /* bytes, instructions */
    uint8_t code_at, resume_at; /* offsets in the stub, of which this is the head */
    struct { uint8_t from, to; } insn[6];   /* offsets from start, in the stub; insn[nr]: of what follows them, of the jump there */
};
struct gate_hook {
    uintptr_t at;               /* the function */
    uint64_t data;
    uintptr_t resume;           /* set */
};
/* All or none, but for memory that cannot be written.  Before the object's code runs, once for
 * each.  Null, or why not. */
const char *gate_hook_functions(const struct gate_object *o, struct gate_hook *h, unsigned n, void (*enter)(void));

/* Executable memory that a jump at `near` reaches, for stubs: `len` bytes, r-x, private.
 * Async-signal-safe.  null: none left. */
void *gate_alloc_stub(uintptr_t near, size_t len);
/* Write code that is mapped r-x (through /proc/self/mem, else mprotect).  Async-signal-safe.
 * 0/-errno. */
int gate_write_code(void *dst, const void *src, size_t len);

/* Keep /proc/thread-self/mem open between writes, or no longer.  Only while the process has one
 * thread. */
void gate_hold_writer(bool hold);

/* No object is being loaded or unloaded just now.  Async-signal-safe, also before gate_init. */
bool gate_loader_is_idle(void);

/* Does pc lie inside gate code (entry, springboards, the library's own text)? */
bool gate_contains_pc(uintptr_t pc);

/* If pc lies in a springboard: the address in the patched object that stands for it, else pc
 * itself.  Springboards have no unwind information.  The code that wraps a signal handler that may
 * unwind (glibc <= 2.40 cancels threads from one, C++ handlers may throw) puts this into the
 * context's pc before it calls the handler, and puts the true pc back if the handler returns.
 * Async-signal-safe. */
uintptr_t gate_original_pc(uintptr_t pc);

/* A thread was interrupted at pc before the code there was patched: where it has to go on.  That is
 * another place only inside of what a jump has overwritten.  Async-signal-safe. */
uintptr_t gate_moved_pc(uintptr_t pc);

/* After gate_init: is there a directory to keep things in? */
bool gate_has_cache(void);

/* Why this library keeps nothing in this directory, for a user to read; null: it can, or makes
 * it. */
const char *gate_cache_flaw(const char *path);

/* Offline: the sites of an ELF file image, for `usf doctor --program`, tests and the cache. */
enum gate_site_class { GATE_SITE_PATCHABLE, GATE_SITE_CLONE, GATE_SITE_CANCEL, GATE_SITE_LEFT,
                       GATE_SITE_NOTIFY /* no call: the dynamic linker's notification, added when it is patched (load.c) */ };
struct gate_site { uint64_t vaddr; uint8_t cls; uint8_t window_before, window_len; const char *why; };
/* Calls fn for each real site.  Returns their number or -errno (-ENOEXEC: not an ELF object of this
 * processor). */
int gate_scan_image(const void *image, size_t size, void (*fn)(const struct gate_site *, void *), void *arg);

#endif
