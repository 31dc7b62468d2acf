/* src/shm/layout.h - what lies in an instance's segment.  SPDX-License-Identifier: Apache-2.0
 *
 * One file /dev/shm/usf-UID-NAME, mode 0600.  Typed tables of fixed-size records addressed by
 * index; no pointers.  The truth is in task and core records, each changed by single atomic stores;
 * the policy's queues are derived from them and can be rebuilt (sched_recover).
 *
 * Offsets: header at 0, then the tables at the offsets that the header names (page-aligned). The
 * file is sparse: processes, groups, threads and tasks are made real in chunks before they are
 * touched (proc_hwm, group_hwm, task_hwm), so that a full /dev/shm is an error code and not a
 * SIGBUS; all else is real from the start. No process reads records above these marks: reading a
 * hole of a shared mapping allocates, too.
 *
 * Changing anything here changes USF_LAYOUT_HASH by itself, so that programs of different builds
 * never meet in one segment.  Changing what a field *means* needs a new USF_SHM_ABI. */
#ifndef USF_SHM_LAYOUT_H
#define USF_SHM_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <usf/policy.h>

#define USF_SHM_MAGIC       0x316765732d667375ull /* "usf-seg1" */
#define USF_SHM_ABI         2u
#define USF_MAX_CORES       USF_CORES_MAX
#define USF_MAX_PROCS       1024u
#define USF_MAX_GROUPS      USF_GROUPS_MAX     /* one for each process, and as many further ones */
#ifndef USF_MAX_TASKS
#define USF_MAX_TASKS       32768u
#endif
#define USF_MAX_NAMESPACES  16u      /* pid namespaces whose programs share the instance */
#define USF_DAMAGED         (USF_MAX_PROCS + 2u)    /* usf_header.stalled: the records contradict each other */
#define USF_TASK_CHUNK      64u      /* tasks made real at a time */
#define USF_PROC_CHUNK      16u      /* processes made real at a time */
#define USF_GROUP_CHUNK     16u      /* groups made real at a time */
#define USF_NAME_MAX        48u      /* instance name, with NUL: [A-Za-z0-9._-]+ */
#define USF_POLICY_PATH_MAX 1024u
#define USF_CACHELINE       64u

/* What wakes the monitor of pid namespace s besides its own time: nothing; a task that runs or
 * waits; a task that waits. */
#define USF_MONITOR_ASLEEP(s) (1u << (s))
#define USF_MONITOR_NAPS(s)   (1u << 16 << (s))
#define USF_MONITORS_ASLEEP   0xffffu      /* any */

/* What places the instance's threads (src/sched/bind.c): the kernel, by their own masks, or the
 * scheduler, each on its core's CPU. */
enum usf_binding { USF_UNBOUND = 0, USF_BOUND };

enum usf_inst_state { USF_INST_EMPTY = 0, USF_INST_READY = 1, USF_INST_RETIRED = 2 };

/* FREE -> JOINING (shm_join_begin) -> ACTIVE (sched_proc_join) -> LEAVING -> FREE (shm_leave). */
enum usf_proc_state { USF_PROC_FREE = 0, USF_PROC_JOINING, USF_PROC_ACTIVE, USF_PROC_LEAVING };

/* FREE -> ACTIVE -> FREE, both under the scheduler lock. */
enum usf_group_state { USF_GROUP_FREE = 0, USF_GROUP_ACTIVE };

/* Task states.  Transitions: docs/design.md; asserted in src/sched/core.c. */
enum usf_task_state {
    USF_TASK_FREE = 0,   /* record unused */
    USF_TASK_NEW,        /* claimed by a thread that is attaching */
    USF_TASK_READY,      /* in the policy's queues, or leased to a core */
    USF_TASK_RUNNING,    /* a core's record names it (or: policy `linux`, the kernel schedules it) */
    USF_TASK_BLOCKED,    /* waits in user space (parked); has no core */
    USF_TASK_IN_KERNEL,  /* its core was taken: in a call, while it slept, or while it ran on */
    USF_TASK_BY_KERNEL,  /* kernel-scheduled: goes on without a core, between two system calls or in one */
    USF_TASK_GONE,       /* ended, record about to be freed */
    USF_TASK_STATES      /* how many there are */
};
/* The policy knows the task: its record is not just being filled in, or given back. */
static inline bool usf_task_is_known(uint32_t state)
{ return state != USF_TASK_FREE && state != USF_TASK_NEW && state != USF_TASK_GONE; }

/* Core word: state in bits 0-7, task id in bits 8-39, sequence in bits 40-63 (so that a CAS never
 * succeeds on an old visit). */
enum usf_core_state {
    USF_CORE_IDLE = 0,
    USF_CORE_RUNNING,    /* task runs here */
    USF_CORE_PROVISIONAL, /* as tools show it: RUNNING, released provisionally (usf_task.release); in no core's word */
    USF_CORE_RELEASED,   /* task is in a system call that blocks: as good as idle, but the task may
                            come back and take it by itself */
};
static inline bool usf_core_is_free(unsigned state) { return state == USF_CORE_IDLE || state == USF_CORE_RELEASED; }

/* Counters: plain stores, read by any process.  Those of a task are written by its own thread,
 * those marked (L) by the thread that gives it a core or takes one away, under the scheduler
 * lock or with the core's lease. */
struct usf_counters {
    uint64_t switches;     /* (L) times that it was put on a core */
    uint64_t busy_ns;      /* (L) time on a core */
    uint64_t migrations;   /* (L) dispatches onto another core than the last */
    uint64_t lost_in_calls; /* (L) cores taken from it, most often during a system call */
    uint64_t blocks;       /* waits that gave the core up */
    uint64_t wakes;        /* tasks that it made ready, or whose next wait it ended */
    uint64_t yields;       /* scheduling points by yield, spin-waits not counted */
    uint64_t preemptions;  /* times that it was to give way while it ran: P is over, or its core was taken */
    uint64_t spin_yields;  /* rounds of patched spin loops that reached the scheduler */
    uint64_t polls;        /* waits that ended while polling, without the kernel */
    /* Of a tasking runtime above, as the thread tells (usf_count_work): */
    uint64_t work;         /* executions of its tasks, */
    uint64_t work_pauses;  /* ... waits of tasks, */
    uint64_t work_steals;  /* ... executions of tasks from another CPU's queue, */
    uint64_t work_wait_ns; /* ... and times from ready to running, summed up; estimate */
};

/* What a thread has done after which it stays on its own kernel thread (docs/threads.md). */
enum usf_stays {
    USF_STAYS_NOT = 0,
    USF_STAYS_PI,               /* a lock with priority inheritance */
    USF_STAYS_SCHEDULING,       /* a nice value or scheduling policy of its own */
    USF_STAYS_USER,             /* a user, groups or capabilities of its own */
    USF_STAYS_NAMESPACE,        /* namespaces of its own */
    USF_STAYS_TIMER,            /* a timer that signals it, or on its CPU clock */
    USF_STAYS_RSEQ,             /* restartable sequences */
    USF_STAYS_IO_URING,
    USF_STAYS_SIGNALFD,
    USF_STAYS_PERF,             /* performance events, ptrace, seccomp */
    USF_STAYS_REGISTERS,        /* arch_prctl and the like */
    USF_STAYS_PRCTL,            /* another setting of the thread */
    USF_STAYS_MEMORY,           /* no memory for an alternate stack or an idle loop, or none that may be executed (the vDSO's copy) */
    USF_STAYS_KINDS
};

/* A kernel thread that can execute a task: where it sleeps, where it is bound.  A task names the
 * thread that executes it, or that is kept for it while it waits (sched/carrier.h). */
struct usf_thread {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t park;      /* USF_PARK_*: the word it sleeps on; shared futex */
    _Atomic uint32_t parked;    /* it sleeps on `park`; hint for the monitor */
    _Atomic uint32_t pinned;    /* core that it may be bound to; USF_NONE: to its own mask; USF_PINNED_* */
    _Atomic int32_t tid;        /* its id in its process's pid namespace; may be looked at when it has ended */
    _Atomic uint32_t bursts_seen;   /* `bursts` of its task when the monitor last looked */
    _Atomic uint32_t owner;     /* task + 1 that it executes, or that goes on here */
    _Atomic uint16_t claim;     /* process + 1 whose thread it is; 0: free */
    uint16_t reserved_0;
    _Atomic uint32_t stays;     /* enum usf_stays: why the thread that began here does not leave it */
    _Atomic uint32_t born;      /* task + 1 of the thread that began here; 0: none, or it has ended */
    uint32_t reserved;
    _Atomic uint64_t burst_cpu_ns;  /* its CPU time when the monitor asked for that in burst `bursts_seen`; 0: it has not */
    uint32_t reserved_2[4];
};

/* What is scheduled.  A dispatch touches lines 0, 1 and 3, and the thread's line. */
struct usf_task {
    /* line 0: dispatch */
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t thread;    /* index of the thread that executes it, or is kept for it */
    _Atomic uint32_t state;     /* enum usf_task_state; changed under the scheduler lock, or by the
                                   owner where docs/locking.md says so */
    _Atomic uint32_t core;      /* core it runs on, or USF_NONE */
    _Atomic uint32_t pending_wake; /* 1: a wake came while it was not blocked; the next block returns */
    _Atomic uint32_t proc;      /* index in the process table, once the record is filled in; may be looked at when the
                                   task has ended.  (Its group is pol.group.) */
    _Atomic uint16_t wait_kind; /* enum usf_wait_kind, for `usf ps` */
    _Atomic uint16_t waits;     /* how often its thread has begun to wait for a futex, by and by from 0 again; written by that thread */
    _Atomic uint64_t wait_addr; /* futex address, or usf_wait_call(): for `usf ps --why` */
    uint64_t start_ns;          /* when put on its core */
    _Atomic uint16_t why;       /* enum usf_why of the last time that it was queued; under the lock, or with
                                   the core's lease */
    _Atomic uint16_t claim;     /* process + 1 whose thread has taken the record, before any other word of it is
                                   written; 0: the record is FREE, and any thread may take it */
    _Atomic uint32_t bursts;    /* times that it became BY_KERNEL, and came back from a system call as that */
    _Atomic uint64_t since_ns;  /* when `state` last changed: for `usf ps --why`; estimate, relaxed */
    _Atomic uint64_t release;   /* USF_RELEASE_* | number << 2: by its own thread in a system call that may block */
    /* line 1-2 */
    struct usf_pol_task pol;    /* what the policy sees: 128 bytes */
    /* line 3-4 */
    struct usf_counters n;      /* 112 bytes; what a dispatch counts comes first */
    char     name[16];          /* thread name, for `usf ps` */
};
/* `pinned` of a thread whose mask in the kernel is not known: it is set when the thread next gets a
 * core. */
#define USF_PINNED_UNKNOWN (USF_NONE - 1)
/* ... of one whose mask a call of its process sets or reads: no other thread binds it
 * (sched_hold_place). */
#define USF_PINNED_HELD (USF_NONE - 2)
/* A provisional release: a thread keeps its core in a system call, but others may take it after
 * `lend`. Only the owner writes this word while both bits are 0, so a plain store begins the
 * release.  The owner ends it by a compare-and-swap of PROVISIONAL alone, or under the scheduler
 * lock if it is TAKEN.  A taker swaps in TAKEN, under that lock, before it takes the core.
 * (The monitor does without where a core is RUNNING.) */
#define USF_RELEASE_PROVISIONAL 1u
#define USF_RELEASE_TAKEN 2u     /* with PROVISIONAL: ask under the lock whether the core was taken */
#define USF_RELEASE_BITS 3u
#define USF_MAIL 0x80000000u
enum usf_park {
    USF_PARK_NONE = 0,
    USF_PARK_GO,         /* woken */
    USF_PARK_ASLEEP,     /* its thread sleeps in the kernel, or is about to */
    USF_PARK_PINNING,    /* the waker binds it to its core before it wakes it */
    USF_PARK_IDLE,       /* it sleeps, kept for a thread that floats (`owner`) */
    USF_PARK_CLAIMED,    /* one thread has it: it will execute the owner elsewhere, publish it again, or wake this one */
    USF_PARK_LOOK,       /* IDLE, and it must look anew until when it may sleep */
};
static inline bool usf_park_is_kept(uint32_t park) { return park == USF_PARK_IDLE || park == USF_PARK_LOOK; }
#define USF_PARK_AT_END 0x80000000u /* this bit: it sleeps, and the kernel wakes it when its waker has ended, or has done so */
enum usf_wait_kind { USF_WAIT_NONE = 0, USF_WAIT_FUTEX, USF_WAIT_SYSCALL, USF_WAIT_CORE };
/* What a USF_WAIT_SYSCALL waits in: the call's number, and its first argument as an int (a
 * descriptor, a pid, ...). */
static inline uint64_t usf_wait_call(uint64_t nr, uint64_t arg) { return (uint32_t)nr | arg << 32; }
static inline uint32_t usf_wait_nr(uint64_t what) { return (uint32_t)what; }
static inline int32_t  usf_wait_arg(uint64_t what) { return (int32_t)(what >> 32); }

/* Ready tasks that take turns on a core without the scheduler lock (sched/lease.c). */
#define USF_LEASE_TASKS 38
struct usf_lease {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t word;      /* USF_LEASE_*, or the name (sched/owner.h) of the thread that gives way just now */
    uint32_t nr_tasks, next;    /* how many wait; the next of them */
    uint32_t given, turns;      /* so many turns without the lock, and so many are left */
    uint64_t until_ns;          /* and none after that */
    uint64_t ran_ns;            /* what its group has run meanwhile */
    uint32_t pause, paused;     /* so many yields from lease to lease, and so many are still to come */
    uint32_t yields;            /* yields that took the lock */
    uint16_t task[USF_LEASE_TASKS];
};
#define USF_LEASE_NONE 0u
#define USF_LEASE_OPEN 0x80000000u
#define USF_LEASE_DEAD 0x80000001u  /* the thread that gave way has died; some monitor mends the instance */

/* Written under the scheduler lock where nothing else is said; `pol` and `busy_ns` also with the
 * core's lease. */
struct usf_core {
    _Alignas(USF_CACHELINE)
    _Atomic uint64_t word;      /* state | task << 8 | seq << 40; docs/design.md, section 3 */
    _Atomic uint32_t poller;    /* task id + 1 of the thread that polls this idle core, 0 = none;
                                   USF_MAIL | task id + 1: dispatched here, the poller wakes it */
    _Atomic uint32_t at;        /* CPU + 1 that its thread was on when it last began to poll; estimate, relaxed */
    uint64_t busy_ns, idle_ns;
    _Atomic uint64_t progress;  /* grows at scheduling points that may leave `word` and `release` as they are */
    _Atomic uint64_t poll_ns;   /* governor: how long to poll next time */
    _Atomic uint64_t poll_avg;  /* ... moving average of looks before a block, ns; a lost update does no harm */
    uint64_t idle_since;        /* ns */
    struct usf_pol_core pol;    /* 184 bytes */
    uint64_t release_seen;      /* the release that was seen, while tasks waited, */
    uint64_t release_since;     /* ... when first, ns, */
    uint64_t release_word;      /* ... and the word then; all three under the lock */
    _Atomic uint64_t at_when;   /* cycles: when `at` was noted */
    uint64_t reserved[4];
    _Atomic uint64_t contended; /* until when other programs are believed to keep its CPU busy (sched/contend.c) */
    struct usf_lease lease;
};

struct usf_proc {
    _Alignas(USF_CACHELINE)
    union {
        _Atomic uint64_t claim; /* all below, claimed by one compare-and-swap: a process that
                                   dies right after it has left its pid */
        struct {
            _Atomic uint16_t state; /* enum usf_proc_state */
            uint16_t namespace; /* whose pids these are: index in usf_header.namespace */
            int32_t pid;
        };
    };
    uint64_t start_time;        /* field 22 of /proc/PID/stat: with pid, the identity; 0: not yet known */
    uint32_t run;               /* index + 1 in the run table, or 0 */
    _Atomic uint32_t deserted;  /* it has left without the lock; the monitor takes its records off */
    _Atomic uint64_t unpatched; /* system call sites that could not be patched */
    _Atomic uint64_t spin_sites;    /* spin loops patched in this process */
    char     comm[32];
    _Atomic uint32_t replaced;  /* its threads are gone, though the pid lives: by an exec that the gate did not see */
    /* All below: under the scheduler lock. */
    uint32_t group;             /* its first group; USF_NONE: it has none yet, or any more.  Read without the lock */
    uint32_t nr_groups;         /* groups that it has, the first included */
    uint64_t may[USF_CORE_WORDS];            /* cores whose CPUs it may use, */
    uint64_t cores[USF_CORE_WORDS];          /* ... and those that it gets: all of them, or as many as its quota allows */
    _Atomic uint32_t quota;     /* so many cores at once; USF_NONE: no bound, 0: the monitor must look */
    uint32_t quota_group;       /* the control group whose quota that is: its processes share the cores */
    uint32_t nr_exclusive;      /* of its groups: USF_GROUP_EXCLUSIVE */
    _Atomic uint32_t stays_why; /* why threads of it stay on their own kernel threads: a bit for each enum usf_stays */
    _Atomic uint64_t stays;     /* how many did so */
};

/* The cores that a group wants are */
enum usf_group_kind {
    USF_GROUP_LIMITED = 0,      /* those that it uses: others use them as well; */
    USF_GROUP_BORROWING,          /* its own: it borrows idle cores of the process's other groups, and they borrow its idle ones; */
    USF_GROUP_EXCLUSIVE,        /* its own: it uses no others, and no other group of the process uses them */
};

/* What policies account for: some threads of one process, with a weight, a priority and cores of their own.  A process has one
 * group from its join until it leaves, and may have further ones (sched_group_make).
 *
 * Invariants, whenever the scheduler lock is released
 *   L1  an ACTIVE group is of an ACTIVE process;  an ACTIVE process has nr_groups of them, nr_exclusive of that kind, and `group` is one;
 *   L2  a task that is READY, RUNNING, BLOCKED, IN_KERNEL or BY_KERNEL has an ACTIVE group, of its own process;
 *   L3  pol.nr_tasks == such tasks of the group;  pol.nr_ready == those that are READY;
 *   L4  pol.cores and pol.own follow from the process's cores, from wants and kind, and from those of the process's other groups
 *       (core_cores_of);
 *   L5  pol.id is the group's index, pol.proc == proc.
 * Written under the scheduler lock, except pol.progress, pol.width and pol.work: those are the
 * process's own, without a lock. */
struct usf_group {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t state;     /* enum usf_group_state */
    _Atomic uint32_t proc;      /* index of its process */
    char     name[32];          /* for `usf ps`; "": a process's first */
    uint32_t kind;              /* enum usf_group_kind: what `wants` means */
    uint32_t reserved0;
    uint64_t borrowed;          /* times that one of its tasks was put on a core that it borrows (usf_borrows), */
    uint64_t reclaimed;         /* ... and that it had to give the core back to a task of the group that owns it */
    struct usf_pol_group pol;   /* what a dispatch changes is in its first line */
    uint64_t wants[USF_CORE_WORDS];          /* all bits set: whatever its process may use */
    struct usf_counters gone;   /* sums of its ended tasks */
};

/* One `usf run` with --stats: sums over all its processes. */
struct usf_run {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t state;     /* for display: 0 free, 1 in use */
    uint32_t reserved0;
    union {
        _Atomic uint64_t owner; /* all below: claimed by one compare-and-swap; 0: free */
        struct {
            int32_t pid;        /* of the `usf run` that reads it */
            uint16_t namespace; /* whose pid that is */
            uint16_t start;     /* end of its start time, as the pid may be another process's later; 0: not known */
        };
    };
    _Atomic uint64_t nr_procs, spin_sites, unpatched, stays, stays_why;    /* of its processes that have ended, summed up */
    _Atomic uint64_t n[sizeof(struct usf_counters) / 8];
    uint64_t tail[3];
};
#define USF_MAX_RUNS 64u

/* Scheduler lock: see src/sched/lock.h.  Lies in the segment, recovered by the monitor.  Zeroed:
 * free. */
struct usf_lock {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t word;      /* 0 free, else the owner's name; bit 31: a waiter may sleep on it */
    _Atomic uint32_t epoch;     /* recoveries so far; written by the owner */
    uint32_t had_by;            /* process + 1 that had it last, 0: a monitor, or none; written by the owner */
    uint64_t leases[USF_CORE_WORDS];    /* bit c: core c has a lease, or what one had is to be given back; written by the owner */
};

/* When the monitor was last found without a new sign of life although there was work
 * (src/monitor/hung.c). */
struct usf_missed {
    _Atomic uint64_t beat, since;      /* its count then; ns, 0: begin anew */
    _Atomic uint64_t last;             /* look, ns */
    _Atomic uint32_t looks;            /* since then */
    _Atomic uint32_t cpu_us;           /* CPU time of its threads at `since`, modulo 2^32; 0: the look then could not tell */
};

/* A pid namespace: its programs, which alone know what their pids mean, and their monitor.  Most
 * instances have only record 0, which is that of the maker's namespace. */
struct usf_namespace {
    _Alignas(USF_CACHELINE)
    _Atomic uint64_t ns;        /* os_pidns, USF_NS_UNKNOWN; 0: never used */
    union {
        _Atomic uint64_t monitor;      /* both words below, taken over by one compare-and-swap */
        struct {
            _Atomic int32_t monitor_pid;   /* 0: none */
            uint32_t monitor_start;    /* low half of its start time */
        };
    };
    _Atomic uint64_t beat;      /* bumped on each look of the monitor */
    _Atomic uint64_t tried;     /* ns: when a process last tried to start one */
    struct usf_missed missed;
    /* A line of its own: read at each entry into the scheduler, written once in many. */
    _Atomic uint64_t looked;    /* ns: when one of its processes last looked whether it has a monitor */
    _Atomic uint32_t object;    /* enum usf_object: has its monitor the instance's policy object? */
    _Atomic int32_t monitor_tid;       /* its thread that looks at the cores; the other is monitor_pid */
    _Atomic uint32_t looped;    /* 1: a monitor was ended because it did not come back from an operation of the policy */
    uint32_t reserved0;
    uint64_t tail[4];
};
enum usf_object { USF_OBJECT_UNKNOWN = 0, USF_OBJECT_LOADED, USF_OBJECT_LACKED };
#define USF_NS_UNKNOWN UINT64_MAX

/* How a policy came to be in force. */
enum usf_policy_by { USF_POLICY_BY_MAKER = 0, USF_POLICY_BY_REQUEST, USF_POLICY_BY_FAULT };

/* A change of policy that is under way.  It is written before the change begins, so that recovery
 * can complete it if the lock's owner dies. */
struct usf_policy_switch {
    _Atomic uint32_t under_way;    /* 1: what follows is whole, and comes into force */
    uint32_t by;                   /* enum usf_policy_by */
    char policy[32], was[32], why[128];
};

/* What a tool asks the monitor for: `usf policy set`, `weight`, `priority`.  The tool that writes
 * it has SHARING_ASK_BYTE of the file locked, and the kernel drops that lock when the tool dies.  A
 * request that was not published (`asked` raised) does not exist. */
enum usf_ask { USF_ASK_POLICY = 1, USF_ASK_WEIGHT, USF_ASK_PRIORITY };
struct usf_policy_ask {
    _Atomic uint32_t asked;        /* number of the latest request, */
    _Atomic uint32_t answered;     /* ... and of the latest answer: written last, under the scheduler lock */
    uint32_t refused;              /* that answer: 1, with why; 0: done */
    uint32_t kind;                 /* enum usf_ask */
    uint32_t namespace;            /* the pid namespace of the pid, whose monitor answers */
    int32_t  pid;
    int64_t  value;                /* ... and the value to set */
    char policy[32], why[160];
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
    uint64_t off_cores, off_procs, off_groups, off_threads, off_tasks, off_runs;
    uint32_t max_cores, max_procs, max_groups, max_tasks, max_runs;
    char     name[USF_NAME_MAX];

    /* configuration, fixed at creation unless said otherwise */
    uint32_t nr_cores;          /* cores 0..nr_cores-1 are in use */
    uint64_t quantum_ns;
    uint64_t poll_max_ns;       /* idle-core governor's upper bound */
    uint64_t progress_ns;       /* progress guarantee */
    uint64_t lend_ns;           /* core lending: taken after this long */
    uint64_t slice_ns;          /* time slice of policies that have one */
    uint32_t blind;             /* 1: policies are not to look at nodes and caches (topology-blind) */
    uint32_t policy_by;         /* enum usf_policy_by: how the policy in force came to be so */
    uint64_t policy_since;      /* ns: since when it is */
    char     policy[32];        /* name in force */
    char     policy_was[32];    /* ... and before, "": none */
    char     policy_path[USF_POLICY_PATH_MAX]; /* the object that all who take part have loaded at their start, or ""; in force if `policy`
                                                  is no built-in one's name */
    _Atomic uint64_t policy_hash;  /* of that object, 0: no process has loaded it yet */
    _Atomic uint32_t policy_gen;   /* bumped when the policy is replaced */
    _Atomic uint32_t trace;        /* number of the recording that is under way (src/trace/trace.h), 0: none */
    char     policy_why[128];      /* why it was replaced, or "" */
    struct usf_policy_switch policy_next;  /* under the scheduler lock */
    struct usf_policy_ask policy_ask;
    uint32_t init_tgid;         /* pid of the creator */
    uint64_t pidns;             /* the creator's pid and time namespaces (os_pidns), 0 unknown; the latter is that of all */
    uint64_t created_ns;
    uint64_t file_dev, file_ino; /* this file: whether a path still names it */
    uint64_t monitor_linger_ns; /* how long an instance without processes is kept */
    char     usf_exe[256];      /* the tool that made it: starts the monitor anew if it is killed; "" unknown */

    /* monitors */
    struct usf_namespace namespace[USF_MAX_NAMESPACES];
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t monitor_event;    /* futex: bumped to wake them */
    _Atomic uint32_t monitor_asleep;   /* USF_MONITOR_ASLEEP, USF_MONITOR_NAPS */
    _Atomic uint32_t helper_event;     /* futex: the monitor bumps it to wake other users' helpers */
    _Atomic uint32_t helper_asleep;    /* 1: one waits on it for tasks to wait */
    _Atomic uint32_t lock_stuck;       /* bit s: a thread has waited long for the scheduler lock, and monitor s has not looked yet */
    _Atomic uint32_t lock_waits;       /* 1: a thread has, and the lock may not have moved since: no kernel-scheduled threads meanwhile */
    _Atomic uint32_t stalled;          /* process + 1 that holds it and does not run: leave the instance;
                                           USF_MAX_PROCS + 1: a monitor does; or USF_DAMAGED */
    _Atomic uint32_t liveness_unknown; /* bit i: pid namespace i has no liveness lock (sharing/namespaces.c) */
    uint32_t ticker;                   /* the pid namespace whose monitor calls the policy's tick, */
    uint64_t ticked_ns;                /* ... and when it last did; both under the lock */

    /* scheduling state read on fast paths */
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t nr_ready;         /* READY tasks: in the policy's queues, or leased */
    _Alignas(USF_CACHELINE)
    _Atomic uint64_t idle[USF_CORE_WORDS];          /* bit c: core c is IDLE or RELEASED; a hint (sched/core.c) */
    _Atomic uint64_t contended[USF_CORE_WORDS];     /* bit c: core c may be contended (sched/contend.c) */
    _Atomic uint32_t task_hwm;         /* tasks below, and threads, are backed by real pages */
    _Atomic uint32_t group_hwm;        /* groups below are; nothing above was ever in use */
    _Atomic uint32_t proc_hwm;         /* the same of processes */
    _Atomic uint32_t binding;          /* enum usf_binding; under the lock, read without it */
    _Atomic uint64_t waited_ns;        /* when a task last was READY at a release of the lock; under the lock, while BOUND */
    uint64_t moved_ns;                 /* when the lock was last had, to some 40 ms: a sign of its life; under the lock */
    uint64_t release_looked;           /* ns: when core_take_provisional last looked at all cores; under the lock */
    _Atomic uint32_t nr_procs_active;  /* for display: process records that are not FREE */
    _Alignas(USF_CACHELINE)
    struct usf_lock lock;
    uint8_t  pol_data[USF_POL_DATA];
    uint32_t policy_begun;             /* 1: its init was called; under the lock */
};

/* ---- the layout's fingerprint ------------------------------------------------------------------ */

/* Every field, in a fixed order. */
#define USF_LAYOUT_FIELDS(F) \
    F(usf_header, magic) F(usf_header, abi) F(usf_header, header_size) F(usf_header, layout_hash) \
    F(usf_header, build_id) F(usf_header, state) F(usf_header, uid) F(usf_header, total_size) \
    F(usf_header, off_cores) F(usf_header, off_procs) F(usf_header, off_groups) F(usf_header, off_threads) F(usf_header, off_tasks) F(usf_header, off_runs) \
    F(usf_header, max_cores) F(usf_header, max_procs) F(usf_header, max_groups) F(usf_header, max_tasks) F(usf_header, max_runs) \
    F(usf_header, name) F(usf_header, nr_cores) F(usf_header, quantum_ns) \
    F(usf_header, poll_max_ns) F(usf_header, progress_ns) F(usf_header, lend_ns) F(usf_header, slice_ns) F(usf_header, blind) \
    F(usf_header, policy_by) F(usf_header, policy_since) F(usf_header, policy) F(usf_header, policy_was) F(usf_header, policy_next) \
    F(usf_header, policy_ask) F(usf_policy_switch, by) F(usf_policy_switch, policy) F(usf_policy_switch, was) F(usf_policy_switch, why) \
    F(usf_policy_ask, answered) F(usf_policy_ask, refused) F(usf_policy_ask, kind) F(usf_policy_ask, pid) \
    F(usf_policy_ask, value) F(usf_policy_ask, policy) F(usf_policy_ask, why) \
    F(usf_header, policy_path) F(usf_header, policy_hash) F(usf_header, policy_gen) F(usf_header, trace) F(usf_header, policy_why) \
    F(usf_header, init_tgid) \
    F(usf_header, pidns) F(usf_header, created_ns) F(usf_header, file_dev) F(usf_header, file_ino) \
    F(usf_header, monitor_linger_ns) F(usf_header, usf_exe) F(usf_header, namespace) \
    F(usf_header, monitor_event) F(usf_header, monitor_asleep) F(usf_header, helper_event) F(usf_header, helper_asleep) \
    F(usf_header, lock_stuck) F(usf_header, lock_waits) F(usf_header, stalled) F(usf_header, liveness_unknown) \
    F(usf_header, ticker) F(usf_header, ticked_ns) F(usf_namespace, ns) F(usf_namespace, monitor_pid) F(usf_namespace, monitor_start) \
    F(usf_namespace, beat) F(usf_namespace, tried) F(usf_namespace, missed) F(usf_namespace, looked) F(usf_namespace, object) \
    F(usf_namespace, monitor_tid) F(usf_namespace, looped) F(usf_namespace, tail) \
    F(usf_header, nr_ready) F(usf_header, idle) F(usf_header, contended) F(usf_header, task_hwm) F(usf_header, proc_hwm) F(usf_header, group_hwm) F(usf_header, nr_procs_active) \
    F(usf_header, binding) F(usf_header, waited_ns) F(usf_header, moved_ns) F(usf_header, release_looked) \
    F(usf_header, lock) F(usf_header, pol_data) F(usf_header, policy_begun) \
    F(usf_lock, word) F(usf_lock, epoch) F(usf_lock, had_by) F(usf_lock, leases) \
    F(usf_core, word) F(usf_core, poller) F(usf_core, at) F(usf_core, progress) \
    F(usf_core, poll_ns) F(usf_core, poll_avg) F(usf_core, idle_since) F(usf_core, pol) F(usf_core, busy_ns) \
    F(usf_core, idle_ns) \
    F(usf_core, release_seen) F(usf_core, release_since) F(usf_core, release_word) F(usf_core, contended) F(usf_core, lease) \
    F(usf_lease, word) F(usf_lease, nr_tasks) F(usf_lease, next) F(usf_lease, given) F(usf_lease, turns) F(usf_lease, until_ns) F(usf_lease, ran_ns) \
    F(usf_lease, pause) F(usf_lease, paused) F(usf_lease, yields) F(usf_lease, task) \
    F(usf_proc, state) F(usf_proc, namespace) F(usf_proc, pid) F(usf_proc, start_time) F(usf_proc, run) F(usf_proc, deserted) \
    F(usf_proc, unpatched) F(usf_proc, spin_sites) F(usf_proc, comm) F(usf_proc, replaced) F(usf_proc, group) \
    F(usf_proc, nr_groups) F(usf_proc, may) F(usf_proc, cores) F(usf_proc, quota) F(usf_proc, quota_group) F(usf_proc, nr_exclusive) F(usf_proc, stays_why) F(usf_proc, stays) \
    F(usf_group, state) F(usf_group, proc) F(usf_group, name) F(usf_group, kind) F(usf_group, borrowed) F(usf_group, reclaimed) F(usf_group, pol) F(usf_group, wants) F(usf_group, gone) \
    F(usf_thread, park) F(usf_thread, parked) F(usf_thread, pinned) F(usf_thread, tid) F(usf_thread, bursts_seen) F(usf_thread, burst_cpu_ns) F(usf_thread, owner) F(usf_thread, claim) F(usf_thread, stays) F(usf_thread, born) \
    F(usf_task, thread) F(usf_task, state) F(usf_task, core) F(usf_task, pending_wake) F(usf_task, proc) F(usf_task, wait_kind) F(usf_task, waits) F(usf_task, wait_addr) F(usf_task, start_ns) \
    F(usf_task, why) F(usf_task, claim) F(usf_task, since_ns) \
    F(usf_task, pol) F(usf_task, name) F(usf_task, n) F(usf_task, bursts) F(usf_task, release) \
    F(usf_run, state) F(usf_run, pid) F(usf_run, namespace) F(usf_run, start) F(usf_run, nr_procs) F(usf_run, spin_sites) F(usf_run, unpatched) F(usf_run, stays) F(usf_run, stays_why) \
    F(usf_run, n) F(usf_run, tail) \
    F(usf_counters, switches) F(usf_counters, blocks) F(usf_counters, wakes) F(usf_counters, yields) \
    F(usf_counters, spin_yields) F(usf_counters, preemptions) F(usf_counters, lost_in_calls) \
    F(usf_counters, migrations) F(usf_counters, busy_ns) F(usf_counters, polls) \
    F(usf_counters, work) F(usf_counters, work_pauses) F(usf_counters, work_steals) F(usf_counters, work_wait_ns) \
    F(usf_pol_task, priority) F(usf_pol_task, next) F(usf_pol_task, queued) F(usf_pol_task, ready_since) F(usf_pol_task, deadline) \
    F(usf_pol_task, affinity_id) F(usf_pol_task, affinity) F(usf_pol_task, strict) F(usf_pol_task, mask) F(usf_pol_core, give_way_at) F(usf_pol_core, keeps_until) F(usf_pol_core, phys) \
    F(usf_pol_group, priority) F(usf_pol_group, flags) F(usf_pol_group, busy_ns) F(usf_pol_group, progress) F(usf_pol_group, share) \
    F(usf_pol_group, share_gen) F(usf_pol_group, width) F(usf_pol_group, proc) F(usf_pol_group, work) \
    F(usf_pol_task, data) F(usf_pol_core, cpu) F(usf_pol_core, current) F(usf_pol_core, since) \
    F(usf_pol_core, data) F(usf_pol_group, nr_ready) F(usf_pol_group, weight) F(usf_pol_group, cores) \
    F(usf_pol_group, data) F(usf_pol_group, own)

/* A polynomial over (offset, size) of all of them: x1 + P*(x2 + P*(x3 + ... )), a constant
 * expression. */
#define USF_LAYOUT_OPEN(s, f) \
    (offsetof(struct s, f) << 20) + sizeof(((struct s *)0)->f) + 0x9e3779b97f4a7c15ull * (
#define USF_LAYOUT_CLOSE(s, f) )
#define USF_LAYOUT_HASH \
    (USF_LAYOUT_FIELDS(USF_LAYOUT_OPEN) \
     (((uint64_t)USF_POLICY_API_VERSION << 32) + sizeof(struct usf_header)) \
     USF_LAYOUT_FIELDS(USF_LAYOUT_CLOSE))

/* ---- sizes, offsets, alignments that the code relies on ---------------------------------------- */
#define USF_LAYOUT_RECORD(type, size) \
    _Static_assert(sizeof(struct type) == (size) || USF_CORES_MAX != 256, "size of struct " #type); \
    _Static_assert(_Alignof(struct type) == USF_CACHELINE, "alignment of struct " #type)
#define USF_LAYOUT_AT(type, field, offset) \
    _Static_assert(offsetof(struct type, field) == (offset) || USF_CORES_MAX != 256, "offset of " #type "." #field)

USF_LAYOUT_RECORD(usf_thread, 64);
USF_LAYOUT_RECORD(usf_task, 320);
USF_LAYOUT_AT(usf_task, release, 56);
USF_LAYOUT_AT(usf_task, pol, 64);
USF_LAYOUT_AT(usf_task, n, 192);
USF_LAYOUT_AT(usf_task, name, 304);
USF_LAYOUT_RECORD(usf_core, 448);
USF_LAYOUT_RECORD(usf_lease, 128);
USF_LAYOUT_AT(usf_core, pol, 64);
USF_LAYOUT_AT(usf_core, contended, 312);
USF_LAYOUT_AT(usf_core, lease, 320);
USF_LAYOUT_RECORD(usf_proc, 192);
USF_LAYOUT_AT(usf_proc, namespace, 2);
USF_LAYOUT_AT(usf_proc, pid, 4);
USF_LAYOUT_AT(usf_proc, start_time, 8);
USF_LAYOUT_AT(usf_proc, may, 88);
USF_LAYOUT_RECORD(usf_group, 4544);
USF_LAYOUT_AT(usf_group, pol, 64);
USF_LAYOUT_AT(usf_group, pol.work, 192);
USF_LAYOUT_AT(usf_group, wants, 4384);
USF_LAYOUT_RECORD(usf_run, 192);
USF_LAYOUT_AT(usf_run, tail, 168);
USF_LAYOUT_RECORD(usf_namespace, 128);
USF_LAYOUT_AT(usf_namespace, looked, 64);
USF_LAYOUT_RECORD(usf_lock, 64);
USF_LAYOUT_RECORD(usf_header, 8768);
/* read before the version is known: these never move, in any version */
USF_LAYOUT_AT(usf_header, magic, 0);
USF_LAYOUT_AT(usf_header, abi, 8);
USF_LAYOUT_AT(usf_header, header_size, 12);
USF_LAYOUT_AT(usf_header, layout_hash, 16);
USF_LAYOUT_AT(usf_header, build_id, 24);
_Static_assert(offsetof(struct usf_header, monitor_event) % USF_CACHELINE == 0, "monitors' words on a line of their own");
_Static_assert(offsetof(struct usf_header, nr_ready) % USF_CACHELINE == 0, "nr_ready on a line of its own");
_Static_assert(offsetof(struct usf_header, idle) % USF_CACHELINE == 0, "idle bits on a line of their own");
_Static_assert(sizeof(struct usf_counters) == 112, "size of struct usf_counters");
_Static_assert(USF_CORES_MAX != 256 || (sizeof(struct usf_pol_task) == 128 && sizeof(struct usf_pol_core) == 184 &&
               sizeof(struct usf_pol_group) == 4320), "sizes of the policy's records");
_Static_assert(USF_MAX_PROCS < UINT16_MAX, "usf_task.claim and usf_thread.claim");
_Static_assert(USF_MAX_NAMESPACES <= 16, "bit sets of pid namespaces are one word, or half of one");
_Static_assert(USF_MAX_CORES % 64 == 0, "bit sets of cores have whole words");
_Static_assert(USF_CORES_MAX != 256 || USF_MAX_TASKS <= 1u << 16, "usf_lease names them by 16 bits; the simulator makes no leases");
_Static_assert(USF_MAX_TASKS % USF_TASK_CHUNK == 0 && USF_MAX_PROCS % USF_PROC_CHUNK == 0
               && USF_MAX_GROUPS % USF_GROUP_CHUNK == 0, "whole chunks");
_Static_assert(USF_MAX_GROUPS >= 2 * USF_MAX_PROCS, "each process has a group, however many groups others have");
#endif
