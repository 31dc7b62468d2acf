/* tests/soak/load.h - what loads, and whoever kills them, share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef SOAK_LOAD_H
#define SOAK_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A file that all map: a page for the killer, then one record per load.  kill.py knows the offsets. */
enum { LOAD_THREADS = 10, LOAD_SLOT = 512, LOAD_PAGE = 4096 };

struct load_head {
    _Atomic uint64_t epoch;         /* bumped with each kill: who goes on after it notes when */
    _Atomic uint64_t stop;          /* finish, check and exit */
};
struct load_thread {
    _Atomic uint64_t count;         /* rounds done */
    _Atomic uint64_t epoch;         /* the last that it has seen, */
    _Atomic uint64_t first_ns;      /* ... and when (CLOCK_MONOTONIC) */
};
struct load_slot {
    _Atomic uint64_t pid, threads;  /* how many of the threads below are to go on */
    _Atomic uint64_t bad;           /* line of the check that failed */
    _Atomic uint64_t execs;         /* images that this process has had */
    _Atomic uint64_t cpus;          /* that its threads have run on since the killer cleared it */
    struct load_thread t[LOAD_THREADS];
};
_Static_assert(sizeof(struct load_slot) <= LOAD_SLOT, "a slot's size");

extern struct load_head *head;
extern struct load_slot *slot;

/* A system call that nobody can have patched. */
extern long (*load_unseen)(long nr, const void *a, const void *b, const void *c);
void load_bad(int line);
#define LOAD_CHECK(c) do { if (!(c)) load_bad(__LINE__); } while (0)
/* Thread i has done a round.  False: stop. */
bool load_round(unsigned i);
/* It, or its child in its place, has come further within a round that waits for a core many times. */
void load_step(unsigned i);

/* One per kind: runs until load_round says stop. */
struct load_kind { const char *name; void (*run)(unsigned threads); };
extern const struct load_kind load_kinds[];

#endif
