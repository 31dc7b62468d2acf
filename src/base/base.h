/* src/base/base.h - what every room may use.  SPDX-License-Identifier: Apache-2.0
 *
 * Three levels of assert (meson option `asserts`):
 *   usf_assert   always      cheap checks of invariants whose violation would corrupt others
 *   usf_dassert  debug       whatever costs a few loads: x_is_valid of one record, preconditions
 *   usf_xassert  expensive   walks of a whole structure, system calls, locks held
 * An assert is a bug of ours.  In a user's program it must not kill: the runtime installs
 * usf_on_bug, which condemns the instance and lets the process, as all others, run on unscheduled.
 */
#ifndef USF_BASE_H
#define USF_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Variables that each start writes: in the page that the dynamic linker has written already. */
#define USF_EARLY __attribute__((section(".data")))
#define USF_LIKELY(x)   __builtin_expect(!!(x), 1)
#define USF_UNLIKELY(x) __builtin_expect(!!(x), 0)

#ifndef USF_ASSERTS
#define USF_ASSERTS 0
#endif
void usf_bug(const char *what, const char *file, int line);   /* says it once, calls usf_on_bug */
extern void (*usf_on_bug)(void);                               /* null: abort (tools and tests) */
#define usf_assert(c)  do { if (USF_UNLIKELY(!(c))) usf_bug(#c, __FILE__, __LINE__); } while (0)
/* A level that is not compiled in is checked by the compiler all the same, and leaves no code. */
#define usf_assert_at(level, c) do { if (USF_ASSERTS >= (level) && USF_UNLIKELY(!(c))) usf_bug(#c, __FILE__, __LINE__); } while (0)
#define usf_dassert(c) usf_assert_at(1, c)
#define usf_xassert(c) usf_assert_at(2, c)

/* The locks of docs/locking.md, in their order.  A thread that holds one takes only later ones.
 * The expensive level keeps a record of what each thread holds, and asserts the order before a
 * thread waits for a lock. */
enum usf_rank {
    USF_RANK_CACHE, USF_RANK_ACTIONS, USF_RANK_PATCH, USF_RANK_LIST, USF_RANK_MONITOR, USF_RANK_BUCKET, USF_RANK_BUCKET_2,
    USF_RANK_ALARM, USF_RANK_SPARE, USF_RANK_SCHED
};
#if USF_ASSERTS >= 2
void usf_lock_wanted(enum usf_rank rank);       /* before this thread waits for it, */
void usf_lock_taken(enum usf_rank rank);        /* ... after it has got it, */
void usf_lock_released(enum usf_rank rank);     /* ... and before another thread may have it */
bool usf_lock_is_held(enum usf_rank rank);      /* by this thread; also true where that is not known */
void usf_lock_none_held(void);                  /* forget the locks of the thread that used this storage before, as in a fork's child */
void usf_lock_unchecked(void);                  /* No checks from now on: kernel threads share a thread's storage, which has the record. */
#else
static inline void usf_lock_wanted(enum usf_rank rank) {}
static inline void usf_lock_taken(enum usf_rank rank) {}
static inline void usf_lock_released(enum usf_rank rank) {}
static inline bool usf_lock_is_held(enum usf_rank rank) { return true; }
static inline void usf_lock_none_held(void) {}
static inline void usf_lock_unchecked(void) {}
#endif

/* Messages go to fd 2 as one write, "usf: ..." ; no libc, no allocation, async-signal-safe.
 * Formats: %s %d %u %ld %lu %lx %x %c %%. */
int  usf_format(char *buf, size_t cap, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int  usf_vformat(char *buf, size_t cap, const char *fmt, va_list ap);
void usf_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));      /* without -v, too */
/* ... which counts as the same as every other about `what`, whatever names and numbers it has. */
void usf_warn_about(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Set in programs (the tool leaves it null): each warning is told once per process, and only if
 * this answers false: has it been told elsewhere?  Asked once, and notes that it is told now. */
extern bool (*usf_warned)(uint64_t what);
void usf_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));       /* with -v */
extern int usf_verbose;
extern bool usf_hushed;     /* warnings are told with -v only */
/* The only thing that this room asks of another one: src/os/message.c writes the line. */
void usf_put_line(const char *line, size_t n);
/* warn once per call site */
#define usf_warn_once(...) do { static char warned_; \
    if (!__atomic_exchange_n(&warned_, 1, __ATOMIC_RELAXED)) usf_warn(__VA_ARGS__); } while (0)

#endif
