/* src/tcm/tcm.h - how many threads the parallel runtimes of a process may use.
 * SPDX-License-Identifier: Apache-2.0
 *
 * libtcm.so.1 has the interface of a Thread Composability Manager (abi.h).  A runtime asks for a
 * permit of min to max threads, and is called back when its grant changes.  Rules:
 *
 * R1  The CPUs are divided among processes first, then among the ACTIVE permits of each process,
 *     each time evenly: the one that has the least gets the next CPU, up to what it asks for
 *     (share.c, grant.c).
 * R2  An ACTIVE permit has at least its minimum, whatever other processes do.  Within the process a
 *     request whose minimum does not fit beside the minima of the others is PENDING.  A request by
 *     a thread of another permit is never PENDING: that permit could not end.
 * R3  A permit with a minimum of 0 does not count the thread that asks for it; it is counted beside
 *     the grant.  The thread of another permit that asks is counted there already.
 * R4  The grant of a rigid permit does not change while it is ACTIVE, unless its client asks again.
 * R5  An IDLE permit keeps its grant until an ACTIVE or PENDING one, of any process, has too
 *     little.
 * R6  A rigid permit of one thread that no thread has registered with is released when the thread
 *     that asked for it asks for another one.  Intel OpenMP executes such a region without a team,
 *     forgets the permit, and asks anew at the next region.
 *
 * Permit:  INACTIVE ─request, activate─► PENDING ─its minimum fits─► ACTIVE ◄─activate─ IDLE
 *              ▲──────────── deactivate ────┴──────────────────────────┤──── idle ───────►│
 *              └───────────────────────────── another permit has too few threads ─────────┘
 *
 * The lock `tcm.lock` guards all that a process has.  It is not held in callbacks.  Of the table
 * that processes share, table.c has the rules; its lock is taken inside of tcm.lock. */
#ifndef USF_TCM_H
#define USF_TCM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/os.h"
#include "tcm/abi.h"

#define TCM_CLIENTS 256u
#define TCM_CHUNK 256u              /* permits that are allocated at once; they are never freed, but used again */
#define TCM_CHUNKS 256u

struct tcm_client {
    bool connected;
    tcm_callback_t callback;        /* may be null */
};

struct tcm_constraint {
    uint32_t min, max;              /* threads; max: not more than there are CPUs */
    struct os_cpuset cpus;
};

/* Invariants of an ACTIVE permit: min <= grant <= max.  Of an INACTIVE or PENDING one: grant 0. */
struct tcm_permit {
    _Atomic uint64_t handle;        /* place | generation, 0: free; registering threads read it without the lock */
    struct tcm_permit *next;        /* in the list of all, the last activated last, or of the free ones */
    uint32_t place, generation;     /* the parts of handles */
    uint32_t client;                /* place of its client */
    tcm_permit_state_t state;
    bool rigid, as_inactive;
    bool fixed;                     /* rigid, and has its grant */
    bool nested;                    /* asked for by a thread of another permit */
    bool counts_caller;             /* the thread that asks is one of the grant (R3) */
    atomic_bool used;               /* a thread has registered */
    pthread_t asker;                /* the thread that has asked first */
    int32_t priority;
    uint32_t min, max, grant;
    uint32_t told_grant;            /* of the last arbitration */
    tcm_permit_state_t told_state;
    uint32_t cost, most;             /* in arbitration: CPUs, with the thread that R3 speaks of */
    void *arg;
    uint32_t constraints;           /* their number; 0: none */
    struct tcm_constraint *constraint;
    uint8_t news;                   /* TCM_NEW_...: its client is to be called */
    bool calling;                   /* the callback of this permit is under way in `caller` */
    pthread_t caller;
};
enum { TCM_NEW_CONCURRENCY = 1, TCM_NEW_STATE = 2 };

/* What a process asks for, in CPUs. */
struct tcm_demand { uint32_t min, max, idle; };

struct tcm {
    pthread_mutex_t lock;
    pthread_cond_t called;          /* a callback has ended, or the listener has started */
    struct tcm_client client[TCM_CLIENTS];
    _Atomic(struct tcm_permit *) chunk[TCM_CHUNKS];
    uint32_t chunks;
    struct tcm_permit *permits, *free;
    uint32_t waiting_news;          /* permits with news */
    struct os_cpuset cpus;          /* that the process may use */
    uint32_t ncpus;                 /* of them, as its cgroup's quota allows */
    enum { TCM_ALONE, TCM_STARTING, TCM_SHARING, TCM_NO_TABLE } listening;
    struct tcm_row *row;            /* while SHARING */
    struct tcm_demand published;
    uint64_t lower_at;              /* when the demand is published that is not yet, 0: it is */
    bool short_of;                  /* some permit has less than it asks for */
    bool watching;                  /* the listener wakes up by itself */
};
extern struct tcm tcm;

/* permit.c: records of permits, and what threads have registered with.  Hold the lock, except for
 * the last two. */
struct tcm_permit *tcm_permit_of(tcm_permit_handle_t handle);   /* null: there is none */
struct tcm_permit *tcm_permit_new(void);                        /* INACTIVE; null: no memory */
void tcm_permit_free(struct tcm_permit *p);
void tcm_permit_last(struct tcm_permit *p);                     /* to the end of the list */
void tcm_permit_show(const struct tcm_permit *p, tcm_permit_t *to);
bool tcm_in_another(const struct tcm_permit *p);                /* the caller is a thread of another permit that has threads */
tcm_result_t tcm_thread_in(tcm_permit_handle_t handle);
tcm_result_t tcm_thread_out(void);

/* grant.c: give every permit its grant.  The client of `by` knows and is not called for it.  Hold
 * the lock. */
void tcm_arbitrate(const struct tcm_permit *by);
/* call.c: call the clients whose permits have news.  Releases the lock meanwhile. */
void tcm_note(struct tcm_permit *p, uint8_t news);
void tcm_tell(void);
void tcm_wait_for_calls(const struct tcm_permit *p);    /* until no other thread calls for it */

/* cpus.c */
void tcm_look_at_cpus(void);
tcm_result_t tcm_constrain(const tcm_permit_request_t *request, struct tcm_constraint **out);
void tcm_write_mask(tcm_cpu_mask_t mask, const struct os_cpuset *cpus);

/* listen.c: take part in the table that processes share.  Hold the lock, which may be released
 * meanwhile. */
void tcm_listen(void);
void tcm_poke(void);                /* the listener looks again */

/* table.c.  The word of a row says what its process may use, and wakes its listener. */
#define TCM_POKED 0x80000000u       /* by its own process */
#define TCM_OTHERS 0x40000000u      /* other processes ask for CPUs */
#define TCM_SHARE 0x0000ffffu
struct tcm_row *tcm_row_claim(const struct os_cpuset *cpus);    /* by the listener, whose life stands for the process's */
_Atomic uint32_t *tcm_row_word(struct tcm_row *row);
bool tcm_row_set(struct tcm_row *row, const struct tcm_demand *demand);     /* false: the table does not answer */
void tcm_row_forget(void);                                          /* in a forked child: it is the parent's */

/* share.c: divide CPUs among processes (R1).  give is set. */
struct tcm_asker { struct os_cpuset cpus; struct tcm_demand demand; uint32_t give; };
void tcm_share(struct tcm_asker *asker, uint32_t n);

#endif
