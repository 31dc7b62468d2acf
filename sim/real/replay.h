/* sim/real/replay.h - executes a workload of the simulator for real.  SPDX-License-Identifier: Apache-2.0
 *
 * Each program is a process of its own, with real threads, which do what the simulator's engine
 * does in sim/run.c and sim/sync.c: the same operations (sim/program.h), made by the same parser
 * and lowering.  It is an ordinary program: it knows nothing of usf, and runs bare or under `usf
 * run`.
 *
 *   usf-replay FILE ─maps what all share, starts─► usf-replay --part I ... (one for each program) ─ready─► all sleep until their arrival
 *
 * Time is counted from the moment `go_ns`, at which all are there; what it takes to start a process
 * is not measured, as the simulator has none of that.
 */
#ifndef USF_SIM_REAL_REPLAY_H
#define USF_SIM_REAL_REPLAY_H

#include "sim/lang/lower.h"
#include <pthread.h>
#include <stdatomic.h>

/* ---- work.c: how fast this machine computes ------------------------------------------------------- */
struct rp_speed {
    double rounds;              /* of the loop per ns, when the core is its own and its working set in the cache */
    double mbps;                /* MB/s that one thread can read from memory */
    double chain;               /* steps of the multiplying chain per ns */
};
void rp_measure(struct rp_speed *s);
struct rp_thread;
bool rp_work_begin(struct rp_thread *t);                /* its working set; false: no memory */
void rp_work_end(struct rp_thread *t);
bool rp_work_prepare(uint32_t percent, unsigned threads, bool memory);     /* of this process, before time counts; memory: it has work in memory */
uint64_t rp_divided(const struct sim_program *p, uint64_t ns, uint32_t width);         /* the part of one of a team */
void rp_compute(struct rp_thread *t, const struct sim_op *op, uint64_t ns);
uint64_t rp_now(void);

/* ---- wait.c: what threads wait for ------------------------------------------------------------------ */
/* A word that changes when the wait is over, and how many sleep on it.  A waker makes a system call
 * only if somebody does. */
struct rp_word { atomic_uint word, sleepers; bool shared; } __attribute__((aligned(64)));
struct rp_lock { atomic_uint word, sleepers, next, serving, owner; } __attribute__((aligned(64)));
struct rp_barrier { atomic_uint arrived; struct rp_word over; };
struct rp_stamp { atomic_ullong turn; uint64_t stamp; };    /* turn: the message's number + 1 once it is written */
struct rp_channel {
    struct rp_word messages, room;      /* as semaphores; room: only if capacity */
    uint32_t capacity, ring;            /* ring: entries of stamp[], 0: stamps are not kept */
    atomic_ullong sent, received;
    uint64_t stamps;                    /* offset of the ring from here */
};

void rp_wait(const struct rp_word *w, unsigned old, enum sim_wait how, uint64_t spin_ns);  /* until it is no longer `old` */
void rp_wake(struct rp_word *w, unsigned n);
void rp_take(struct rp_word *w, enum sim_wait how, uint64_t spin_ns);  /* one of a semaphore */
void rp_give(struct rp_word *w);
void rp_lock(struct rp_lock *l, uint32_t me, enum sim_wait how, uint64_t spin_ns);
bool rp_unlock(struct rp_lock *l, uint32_t me, enum sim_wait how);     /* false: it is not mine */
void rp_barrier(struct rp_barrier *b, uint32_t parties, enum sim_wait how, uint64_t spin_ns);

/* ---- run.c: what threads execute --------------------------------------------------------------------- */
struct rp_team;
struct rp_thread {
    struct rp_team *team, *own;         /* the one it is a member of; the last that it is the master of */
    struct rp_thread *parent, *next;    /* next: of all in this process */
    struct rp_word children;            /* spawned and not ended */
    struct rp_word dock;                /* rounds that it is to take part in */
    uint32_t number, team_number, code;
    uint64_t random, stamp;
    unsigned char *set;                 /* its working set */
    size_t set_size, at;
    uint64_t sum;
    uint64_t ops[SIM_NR_OPS];           /* executed, by kind */
};

struct rp_graph {
    pthread_mutex_t lock;               /* protects all but event */
    uint32_t *deps, *ready, first, nr, done, left;
    bool begun;
    struct rp_word event;
};

struct rp_process {
    const struct sim_program *p;
    uint32_t index;
    uint64_t seed;
    struct rp_speed speed;
    struct rp_lock *lock;
    struct rp_barrier *barrier;
    struct rp_graph *graph;
    struct rp_channel **channel;
    struct rp_result *result;
    pthread_mutex_t all_lock;           /* protects all, numbers */
    struct rp_thread *all;
    uint32_t numbers;
};
extern struct rp_process rp;            /* this one */

int  rp_prepare(const struct sim_workload *w);      /* rp.p's objects; 0, or -1: no memory */
void rp_run(void);                      /* the program, from its first operation to its last */
void rp_die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The first thing in it that cannot be executed here (the caller's to free), or null. */
char *rp_cannot(const struct sim_workload *w, const struct rp_speed *s, bool under_usf);

/* ---- shared between the processes (memory of the launcher's) -------------------------------------------- */
#define RP_REQUESTS 65536u
struct rp_result {
    uint64_t start_ns, end_ns;          /* CLOCK_MONOTONIC */
    uint64_t cpu_ns, switches, preemptions;     /* of the kernel's */
    uint64_t threads, ops[SIM_NR_OPS];
    atomic_ullong requests;             /* answered; the times of the first RP_REQUESTS are kept */
    uint64_t times;                     /* offset of them from the area's beginning */
};
struct rp_area {
    atomic_uint ready;                  /* processes that are */
    struct rp_word go;                  /* 1: go_ns holds */
    uint64_t go_ns;
    uint64_t results, channels;         /* offsets: rp_result[programs], the first program's channels */
    uint64_t size;
    struct rp_speed speed;
};
extern struct rp_area *rp_area;
static inline void *rp_at(uint64_t offset) { return (char *)rp_area + offset; }

/* ---- area.c ------------------------------------------------------------------------------------------------ */
int rp_area_make(const struct sim_workload *w);         /* a descriptor of it, which children inherit; -1, errno */
int rp_area_map(int fd);
bool rp_channels(const struct sim_workload *w);         /* rp.channel: of this program; false: no memory */

#endif
