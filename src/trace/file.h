/* src/trace/file.h - recordings as files, and what is made of them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For tools: uses libc.  A recording is a head, then blocks (struct trace_block, each followed by
 * its events) as they were taken out of the rings, then a block of the kind TRACE_TAIL, which is
 * missing if the recorder was killed or the disk was full.  Each ring's events are in order; those
 * of different rings are put in order when it is read.
 */
#ifndef USF_TRACE_FILE_H
#define USF_TRACE_FILE_H

#include <stdio.h>

#include "shm/shm.h"
#include "trace/trace.h"

#define TRACE_FILE_MAGIC "usftrace"
#define TRACE_FILE_VERSION 4u
#define TRACE_TAIL 0xffffffffu
#define TRACE_RECORDER 0xfffffffeu      /* a block of the recorder's own events */

struct trace_head {
    char magic[8];
    uint32_t version, size;     /* size: of this struct */
    uint32_t event_size, nr_cores;
    uint64_t start_ns;          /* CLOCK_MONOTONIC */
    uint64_t start_real_ns;     /* the same moment, since 1970 */
    uint64_t cycles_per_second; /* of TRACE_CALL's b */
    uint64_t call_ns;           /* shorter calls are not told */
    char instance[USF_NAME_MAX], policy[32], command[160];
    uint16_t cpu[USF_MAX_CORES], node[USF_MAX_CORES], llc[USF_MAX_CORES];
};
struct trace_block { uint32_t ring, nr; };      /* ring: 0 the lock's, task + 1, or one of the above */
struct trace_tail { uint64_t end_ns, lost, events; uint32_t unrecorded; uint32_t reserved; };

/* ---- record.c -------------------------------------------------------------------------------- */
struct trace_recorder;
/* Begin to record the instance into the file.  anew: it must not be there yet.  Null with a reason,
 * and the file is as it was: it is recorded already, another recorder writes that file, no room,
 * ... */
struct trace_recorder *trace_record(struct shm *m, const char *path, bool anew, const char *command, char *why, size_t cap);
/* End it: 0, or -1 with a reason; what was written until then stays.  out: what it came to. */
int trace_record_end(struct trace_recorder *r, struct trace_tail *out, char *why, size_t cap);
/* True: it cannot go on (the disk is full), or has been ended. */
bool trace_record_failed(const struct trace_recorder *r);
/* A file to write, emptied, that no other recorder writes meanwhile.  Null with a reason, and it is
 * as it was.  *made: it was not there. */
FILE *trace_open(const char *path, bool anew, bool *made, char *why, size_t cap);

/* ---- load.c ---------------------------------------------------------------------------------- */
/* A thread's life in the instance: one use of a task's record. */
struct trace_thread {
    uint32_t task, program;     /* index of the latter */
    int32_t tid;
    char name[17];
    uint32_t maker;             /* index of the thread that made it; USF_NONE: not known */
    uint64_t born_ns;           /* when; 0: not known */
    uint64_t first_ns, end_ns;  /* attached, ended; those of the recording if it was there before, or after */
    bool was_there, stayed;
};
struct trace_program { int32_t pid, priority; char name[33]; uint64_t first_ns, end_ns; uint32_t nr_threads, weight; bool was_there; };

/* An event as the converters take it: calls have become two, and `thread` is an index. */
struct trace_step {
    uint64_t ns;
    uint32_t thread, order;
    uint16_t kind, aux;         /* TRACE_*, TRACE_CALLED */
    uint64_t a, b;              /* TRACE_WOKE, TRACE_BORN: a: index of the thread that is woken, or made */
};
#define TRACE_CALLED TRACE_KINDS        /* a system call begins: aux, a as in TRACE_CALL; which is its end, b: ns */

struct trace {
    struct trace_head head;
    struct trace_thread *thread;
    struct trace_program *program;
    struct trace_step *step;            /* in order of time; all of them belong to threads */
    uint32_t nr_threads, nr_programs;
    size_t nr_steps;
    uint64_t end_ns, lost, strange;     /* strange: events that could not be understood */
    uint32_t unrecorded;                /* processes that took part and told nothing */
    bool cut;                           /* the file ends before the recording did */
};
int  trace_load(const char *path, struct trace *t, char *why, size_t cap);     /* 0 or -1 */
void trace_free(struct trace *t);

/* ---- follow a thread's states, event by event ------------------------------------------------ */
struct trace_state {
    uint32_t state, core;       /* enum usf_task_state */
    bool waits, called;
    bool back;                  /* from a call, and its state has not changed since: one that is BY_KERNEL computes (src/sched/call.c) */
    uint64_t since;             /* when the state began */
};
/* Computing: it has a core, or is kernel-scheduled, and is in no wait or call. */
static inline bool trace_computes(const struct trace_state *s)
{ return (s->state == USF_TASK_RUNNING || (s->state == USF_TASK_BY_KERNEL && s->back)) && !s->waits && !s->called; }
void trace_advance(struct trace_state *s, const struct trace_step *e);
/* As its first step finds it. */
void trace_begin(struct trace_state *s, const struct trace *t, const struct trace_step *first);

/* ---- table.c: a number for each pair of numbers ---------------------------------------------- */
/* All zero to begin with. */
struct trace_entry { uint64_t a, b; uint32_t value; bool used; };
struct trace_table { struct trace_entry *at; size_t nr, room; };
/* Its number, until the next that is put; null: there is none. */
uint32_t *trace_table_get(struct trace_table *t, uint64_t a, uint64_t b);
uint32_t *trace_table_put(struct trace_table *t, uint64_t a, uint64_t b);       /* ... a new one is USF_NONE; null: out of memory */
void trace_table_free(struct trace_table *t);

/* ---- work.c: tasks of runtimes above, by program and label ----------------------------------- */
struct trace_work_kind {
    uint32_t program;
    char label[17];
    uint64_t executions, ns, longest_ns;        /* ns: from begin to end, waits included */
    uint64_t pauses;
    uint64_t waits, waited_ns, longest_wait_ns; /* ready, until its begin, or until it went on after a pause; of those whose two events are known */
};
struct trace_work { struct trace_work_kind *kind; uint32_t nr; };       /* most time first */
bool trace_work_of(const struct trace *t, struct trace_work *w);        /* false: out of memory; else the caller frees `kind` */

/* Tasks that are ready, while events are gone through in their order.  All zero to begin with. */
struct trace_ready { struct trace_table task; uint64_t *since; uint32_t nr, room; };    /* since: by the table's value; ns, 0: it is not ready */
bool trace_ready_put(struct trace_ready *r, const struct trace *t, const struct trace_step *e);         /* TRACE_READY; false: out of memory */
/* TRACE_TAKEN: the time at which the task became ready, in ns; 0: not known. */
uint64_t trace_ready_take(struct trace_ready *r, const struct trace *t, const struct trace_step *e);
void trace_ready_free(struct trace_ready *r);

/* ---- what is made of it ---------------------------------------------------------------------- */
int trace_info(const struct trace *t, bool json, FILE *f);                 /* a summary; all: 0, or -1 if it cannot be written or memory is short */
int trace_text(const struct trace *t, FILE *f);                 /* a line for each event */
int trace_perfetto(const struct trace *t, FILE *f);             /* Chrome's JSON, for ui.perfetto.dev */
int trace_workload(const struct trace *t, FILE *f, const char *from);   /* for the simulator */
const char *trace_state_name(uint32_t state);
void trace_label(const struct trace_step *e, char label[17]);           /* of TRACE_WORK; "task": it has none */

#endif
