/* src/shm/layout.h - what lies in an instance's segment.  SPDX-License-Identifier: Apache-2.0
 *
 * One file /dev/shm/usf-UID-NAME, mode 0600.  Typed tables of fixed-size records addressed by index;
 * no pointers.  The truth is in task and core records, each changed by single atomic stores; the
 * policy's queues are derived from them and can be rebuilt (sched_rebuild).
 *
 * Offsets: header at 0, then the tables at the offsets that the header names.  The file is sparse;
 * `usf_shm_reserve_tasks` makes the pages of a task chunk real before they are touched, so that a
 * full /dev/shm is an error code and not a SIGBUS.
 */
#ifndef USF_SHM_LAYOUT_H
#define USF_SHM_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>
#include <usf/policy.h>

#define USF_SHM_MAGIC       0x316765732d667375ull /* "usf-seg1" */
#define USF_SHM_ABI         1u
#define USF_MAX_CORES       256u
#define USF_MAX_PROCS       1024u
#define USF_MAX_TASKS       32768u
#define USF_TASK_CHUNK      64u      /* tasks made real at a time */
#define USF_NAME_MAX        48u      /* instance name, with NUL: [A-Za-z0-9._-]+ */
#define USF_POLICY_PATH_MAX 1024u
#define USF_CACHELINE       64u

enum usf_inst_state { USF_INST_EMPTY = 0, USF_INST_READY = 1, USF_INST_RETIRED = 2 };

/* Task states.  Transitions: docs/design.md; asserted in src/sched/task.c. */
enum usf_task_state {
    USF_TASK_FREE = 0,   /* record unused */
    USF_TASK_NEW,        /* claimed by a thread that is attaching */
    USF_TASK_READY,      /* in the policy's queues */
    USF_TASK_RUNNING,    /* a core's record names it (or: policy `linux`, the kernel schedules it) */
    USF_TASK_BLOCKED,    /* waits in user space (parked); has no core */
    USF_TASK_IN_KERNEL,  /* waits in a system call; its core was released or taken */
    USF_TASK_GONE,       /* ended, record about to be freed */
};

/* Core word: state in bits 0-7, task id in bits 8-39, sequence in bits 40-63 (so that a CAS never
 * succeeds on an old visit). */
enum usf_core_state {
    USF_CORE_IDLE = 0,
    USF_CORE_RUNNING,    /* task runs here */
    USF_CORE_LENT,       /* task is in a system call that may block; others may take the core */
    USF_CORE_OFF,        /* not usable (taken from the instance's CPU set) */
};

/* Counters: written by their owner alone (plain stores), read by anybody. */
struct usf_counters {
    uint64_t switches;     /* dispatches of another task onto the core it had */
    uint64_t blocks;       /* waits that gave the core up */
    uint64_t wakes;        /* tasks it made ready */
    uint64_t yields;       /* scheduling points by yield, spin-waits not counted */
    uint64_t spin_yields;  /* rounds of patched spin loops that reached the scheduler */
    uint64_t preemptions;  /* times the progress guarantee took its core */
    uint64_t lends;        /* cores lost during a system call */
    uint64_t migrations;   /* dispatches onto another core than the last */
    uint64_t busy_ns;      /* time on a core */
    uint64_t polls;        /* waits that ended while polling, without the kernel */
};

struct usf_task {
    /* line 0-1: dispatch */
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t park;      /* USF_PARK_*: the word its thread sleeps on; shared futex */
    _Atomic uint32_t state;     /* enum usf_task_state; changed under the scheduler lock, or by the
                                   owner where docs/locking.md says so */
    _Atomic uint32_t core;      /* core it runs on, or USF_NONE */
    _Atomic uint32_t pinned;    /* core its kernel thread is bound to, or USF_NONE */
    _Atomic uint32_t token;     /* 1: a wake came while it was not blocked; the next block returns */
    int32_t  tid;               /* kernel thread id in the creator's pid namespace */
    uint32_t proc;              /* index in the process table */
    _Atomic uint32_t wait_kind; /* enum usf_wait_kind, for `usf ps` */
    _Atomic uint64_t wait_addr; /* futex address or system call number, for `usf ps` */
    uint64_t start_ns;          /* when put on its core */
    uint64_t reserved0[2];
    /* line 1 */
    struct usf_pol_task pol;    /* what the policy sees: 96 bytes */
    char     name[16];          /* thread name, for `usf ps` */
    uint64_t reserved1[2];
    /* line 3-4 */
    struct usf_counters n;      /* 80 bytes; writer: the task's own thread */
    uint64_t affinity[6];       /* unused tail, keeps the record a multiple of the line */
};
enum usf_park { USF_PARK_NONE = 0, USF_PARK_GO = 1, USF_PARK_ASLEEP = 2 };
enum usf_wait_kind { USF_WAIT_NONE = 0, USF_WAIT_FUTEX, USF_WAIT_SYSCALL, USF_WAIT_CORE };

struct usf_core {
    _Alignas(USF_CACHELINE)
    _Atomic uint64_t word;      /* state | task << 8 | seq << 40 */
    _Atomic uint32_t poller;    /* task id + 1 of the thread that polls this idle core, else 0 */
    _Atomic uint32_t mail;      /* task id + 1 dispatched here for the poller to wake, else 0 */
    _Atomic uint32_t lent_seen; /* monitor: sequence it saw LENT last */
    _Atomic uint32_t soft;      /* yielders of this core that stay runnable (docs/design.md, yield) */
    _Atomic uint64_t progress;  /* bumped at each scheduling point on this core */
    uint64_t poll_ns;           /* governor: how long to poll next time */
    uint64_t idle_since;        /* ns */
    uint64_t reserved0[2];
    struct usf_pol_core pol;    /* 160 bytes */
    uint64_t busy_ns, idle_ns;
    uint64_t reserved1[2];
};

struct usf_proc {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t state;     /* 0 free, 1 joining, 2 active, 3 leaving */
    int32_t  pid;               /* in the creator's pid namespace */
    uint64_t start_time;        /* field 22 of /proc/PID/stat: with pid, the identity */
    uint32_t run;               /* index + 1 in the run table, or 0 */
    uint32_t flags;
    uint64_t unpatched;         /* system call sites that could not be patched */
    uint64_t spin_sites;        /* spin loops patched in this process */
    char     comm[32];
    _Atomic uint32_t nr_threads;
    uint32_t reserved0[3];
    struct usf_pol_proc pol;
    struct usf_counters gone;   /* sums of its ended tasks */
};

/* One `usf run` with --stats: sums over all its processes. */
struct usf_run {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t state;     /* 0 free, 1 in use */
    int32_t pid;                /* of the `usf run` that reads it */
    _Atomic uint64_t nr_procs, spin_sites, unpatched;
    _Atomic uint64_t n[sizeof(struct usf_counters) / 8];
};
#define USF_MAX_RUNS 64u

/* Scheduler lock: see src/sched/lock.h.  Lies in the segment, recovered by the monitor. */
struct usf_lock {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t word;      /* 0 free, else owner task id + 1, bit 31: waiters */
    _Atomic uint32_t epoch;     /* bumped by recovery */
    _Alignas(USF_CACHELINE) _Atomic uint64_t next;    /* dtlock: next ticket */
    _Alignas(USF_CACHELINE) _Atomic uint64_t serving; /* dtlock: ticket served */
    struct { _Alignas(USF_CACHELINE) _Atomic uint64_t ticket; _Atomic uint64_t item; } slot[64];
};

struct usf_header {
    uint64_t magic;
    uint32_t abi;
    uint32_t header_size;
    uint64_t layout_hash;       /* of sizes and offsets of every record: USF_LAYOUT_HASH */
    char     build_id[64];      /* of the library that created it, hex */
    _Atomic uint32_t state;     /* enum usf_inst_state */
    uint32_t uid;
    uint64_t total_size;
    uint64_t off_cores, off_procs, off_tasks, off_runs;
    uint32_t max_cores, max_procs, max_tasks, max_runs;
    char     name[USF_NAME_MAX];

    /* configuration, fixed at creation unless said otherwise */
    uint32_t nr_cores;          /* cores 0..nr_cores-1 are in use */
    uint32_t lock_kind;         /* 0 plain, 1 dtlock */
    uint64_t quantum_ns;
    uint64_t poll_max_ns;       /* idle-core governor's upper bound */
    uint64_t progress_ns;       /* progress guarantee */
    uint64_t lend_ns;           /* core lending: taken after this long */
    char     policy[32];        /* name in force */
    char     policy_path[USF_POLICY_PATH_MAX]; /* user's object, or "" */
    _Atomic uint32_t policy_gen;   /* bumped when the policy is replaced */
    char     policy_why[128];      /* why it was replaced, or "" */
    uint32_t init_tgid;         /* pid of the creator */
    uint64_t pidns;             /* inode of the creator's pid namespace */
    uint64_t created_ns;

    /* monitor */
    _Alignas(USF_CACHELINE)
    _Atomic int32_t  monitor_pid;      /* 0: none */
    uint64_t         monitor_start;
    _Atomic uint32_t monitor_event;    /* futex: bumped to wake it */
    _Atomic uint32_t monitor_asleep;   /* 1: it waits on monitor_event */
    _Atomic uint64_t monitor_beat;     /* bumped on each tick */

    /* scheduling state read on fast paths */
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t nr_ready;         /* tasks in the policy's queues */
    _Atomic uint32_t nr_lent;          /* hint */
    _Alignas(USF_CACHELINE)
    _Atomic uint64_t idle[4];          /* bit c: core c is IDLE; under the lock, or cleared by CAS */
    _Atomic uint32_t task_hwm;         /* tasks below are backed by real pages */
    _Atomic uint32_t nr_procs_active;
    _Alignas(USF_CACHELINE)
    struct usf_lock lock;
    uint8_t  pol_data[USF_POL_DATA];
};
#endif
