/* sim/kernel.h - the simulated kernel's scheduler: what a model of one provides.  SPDX-License-Identifier: Apache-2.0
 *
 * The engine knows threads, CPUs, sleeping and waking, and keeps the time; a model decides who runs
 * where, and for how long.  Under usf a model works, too (`plain` by default): there threads are
 * bound to CPUs, with one that is runnable on each most of the time.
 *
 * Life of a thread, as the model sees it:
 *
 *   add ─► [ select ─► enqueue ─► pick ─► (put ─► pick)* ─► block ]* ─► remove
 *
 * A thread is in the model's queues from enqueue or put until pick, steal or dequeue.  Who runs is
 * in none. Time passes between calls only.  Before block, put and tick, and before preempts asks
 * for it, `charge` has said how long the running one ran.
 */
#ifndef USF_SIM_KERNEL_H
#define USF_SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/machine.h"

#define SIM_NONE UINT32_MAX
#define SIM_KTHREAD_DATA 64     /* bytes that a model has per thread, zero at first */
#define SIM_KCPU_DATA    256    /* ... per CPU */

struct sim;

enum sim_kclass { SIM_NORMAL, SIM_FIFO, SIM_RR };   /* SCHED_OTHER, SCHED_FIFO, SCHED_RR */

/* A kernel thread.  The engine owns all fields but data. */
struct sim_kthread {
    uint32_t id;                /* also the index of its fiber */
    uint32_t program;           /* index of its program: group of the fair schedulers, partition of static ones */
    uint32_t cpu;               /* where it runs, is queued, or ran last; SIM_NONE: nowhere yet */
    uint32_t bound;             /* CPU that it is bound to alone, or SIM_NONE: wherever `allowed` says */
    const uint64_t *allowed;    /* bit per CPU, of all its program; null: all */
    int32_t  nice;              /* -20 .. 19, of SIM_NORMAL */
    int32_t  priority;          /* 1 .. 99, of SIM_FIFO and SIM_RR */
    uint8_t  kclass;            /* enum sim_kclass */
    uint8_t  state;             /* enum sim_kstate */
    uint8_t  waits;             /* 1: it busy-waits at the moment, for models that lend (DLB) or look */
    uint8_t  pad;
    uint64_t runnable_since;    /* ns */
    uint64_t ran_ns;            /* so far */
    uint64_t data[SIM_KTHREAD_DATA / 8];
};
enum sim_kstate { SIM_K_NEW, SIM_K_QUEUED, SIM_K_RUNNING, SIM_K_ASLEEP, SIM_K_DEAD };

enum sim_kwhy { SIM_K_WAKE_NEW, SIM_K_WAKE, SIM_K_MOVED };  /* why it becomes runnable on a CPU */
enum sim_kput { SIM_K_YIELDED, SIM_K_PREEMPTED };           /* why it stops running and stays runnable */

/* What a model knows of threads that yield to each other: virtual times that only their differences
 * matter of. */
#define SIM_KSPINS 16
struct sim_kspin { struct { int64_t time, due; uint64_t ran; } t[SIM_KSPINS]; };

struct sim_kernel_ops {
    const char *name;
    const char *description;
    /* The machine is there, no thread yet.  0, or -errno with a reason. */
    int  (*init)(struct sim *s, char *why, unsigned cap);
    void (*fini)(struct sim *s);                            /* may be null */
    void (*add)(struct sim *s, struct sim_kthread *t);      /* may be null */
    void (*remove)(struct sim *s, struct sim_kthread *t);   /* may be null */
    /* On which CPU does a waking (or new) thread go?  waker: the CPU that wakes it, SIM_NONE: a
     * timer or a device.  Only called of threads that are not bound; the answer must be allowed. */
    uint32_t (*select)(struct sim *s, struct sim_kthread *t, uint32_t waker, enum sim_kwhy why);
    void (*enqueue)(struct sim *s, uint32_t cpu, struct sim_kthread *t, enum sim_kwhy why);
    void (*dequeue)(struct sim *s, uint32_t cpu, struct sim_kthread *t);   /* it is queued there, and is moved, or bound elsewhere */
    /* The CPU is free: take the next one out of its queue (or, to balance, another's), SIM_NONE:
     * none. */
    uint32_t (*pick)(struct sim *s, uint32_t cpu);
    void (*put)(struct sim *s, uint32_t cpu, struct sim_kthread *t, enum sim_kput why);
    void (*block)(struct sim *s, uint32_t cpu, struct sim_kthread *t);      /* it sleeps, or ends; may be null */
    void (*renamed)(struct sim *s, struct sim_kthread *t);  /* it runs or sleeps, and has another id, as cpu.c's exchange has it; may be null */
    /* `t` has become runnable there: is it to run instead of the current one, at once? */
    bool (*preempts)(struct sim *s, uint32_t cpu, struct sim_kthread *t);
    /* How long until the engine is to call tick, while `t` runs there; UINT64_MAX: never.  Asked
     * anew at pick, after tick, and when another is enqueued there. */
    uint64_t (*slice)(struct sim *s, uint32_t cpu, struct sim_kthread *t);
    bool (*tick)(struct sim *s, uint32_t cpu);              /* true: the current one is preempted */
    void (*charge)(struct sim *s, uint32_t cpu, struct sim_kthread *t, uint64_t ns);    /* it ran; may be null */
    /* Every `balance_ns`, for the whole machine; 0 or null: never.  Moves queued threads with
     * sim_kmove. */
    void (*balance)(struct sim *s);
    uint64_t balance_ns;
    /* To take many yields in one step (unproductive.c); may be null, all four.
     * unproductive: the threads that run or are queued there and do nothing but yield (sim_kyields;
     * it lowers `until`), nr = 0: none runs.  Answers with the ns from now on in which surely no
     * other thread is chosen there, if none comes. unproductive_look: their times.
     * unproductive_most: if the period from a to b is repeated n times, how many of these are
     * surely alike? unproductive_skip: it was repeated n times, in ns. */
    uint64_t (*unproductive)(struct sim *s, uint32_t cpu, uint32_t *id, uint32_t cap, uint32_t *nr, uint64_t *until);
    void (*unproductive_look)(struct sim *s, uint32_t cpu, const uint32_t *id, uint32_t nr, struct sim_kspin *out);
    uint64_t (*unproductive_most)(struct sim *s, uint32_t cpu, const uint32_t *id, uint32_t nr, const struct sim_kspin *a, const struct sim_kspin *b, uint64_t n);
    void (*unproductive_skip)(struct sim *s, uint32_t cpu, const uint32_t *id, uint32_t nr, const struct sim_kspin *a, const struct sim_kspin *b, uint64_t n,
                      uint64_t ns);
    size_t inst_size;           /* bytes of the model's own, zero at first: sim_kdata */
};

/* What the engine gives a model. */
uint64_t sim_now(const struct sim *s);
const struct sim_machine *sim_machine_of(const struct sim *s);
void *sim_kdata(struct sim *s);
struct sim_kthread *sim_kthread(struct sim *s, uint32_t id);
uint32_t sim_nr_programs(const struct sim *s);
uint32_t sim_kcurrent(const struct sim *s, uint32_t cpu);       /* who runs there, SIM_NONE: idle */
void *sim_kcpu_data(struct sim *s, uint32_t cpu);               /* SIM_KCPU_DATA bytes, aligned to 8, zero at first */
bool sim_kallowed(const struct sim *s, const struct sim_kthread *t, uint32_t cpu);
/* A thread that is queued somewhere goes to another CPU's queue (dequeue, enqueue with SIM_K_MOVED,
 * and preempts as for a wake). */
void sim_kmove(struct sim *s, struct sim_kthread *t, uint32_t to);
/* Does it yield whenever it runs, until something happens to it?  If not for longer than until some
 * time: *until is lowered to that. */
bool sim_kyields(const struct sim *s, const struct sim_kthread *t, uint64_t *until);
/* A CPU may have been left alone for a while: before its queue is looked into for anything but
 * sums. */
void sim_ksettle(struct sim *s, uint32_t cpu);
/* Preempt who runs there at the engine's next step (partitions that change, lending). */
void sim_kresched(struct sim *s, uint32_t cpu);

/* The simplest model; sim/linux/kernel.h has the others. */
extern const struct sim_kernel_ops sim_kernel_plain;

#endif
