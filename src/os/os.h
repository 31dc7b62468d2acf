/* src/os/os.h - the only place that talks to the kernel.  SPDX-License-Identifier: Apache-2.0
 *
 * Every function is async-signal-safe, makes no libc call and returns -errno on error unless said
 * otherwise.  The simulator links another implementation of the part marked [sim].
 */
#ifndef USF_OS_H
#define USF_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* ---- time and waiting [sim] ------------------------------------------------------------------ */
uint64_t os_now(void);                       /* CLOCK_MONOTONIC, ns (through the vDSO, ~25 ns) */
uint64_t os_clock_ns(int clock);              /* another clock, by a system call; 0: there is none */
#define OS_CLOCK_OWN_CPU 3      /* CLOCK_THREAD_CPUTIME_ID: that of the calling kernel thread */
void os_init_time(void);                     /* find the vDSO now rather than in the first os_now */
/* Wait on a futex word that lies in shared memory while it holds val.  deadline: absolute
 * CLOCK_MONOTONIC ns, 0 = none.  0, -EAGAIN, -EINTR, -ETIMEDOUT. */
int  os_futex_wait(const void *word, uint32_t val, uint64_t deadline);
int  os_futex_wake(const void *word, int n);
/* Wake one waiter when the calling thread ends, however it does, and not before it has left user
 * space for good: while it has a few instructions to go the kernel may prefer the one that is
 * woken.  (A kernel with full preemption may do so on its way out, too.) It must not execute
 * anything of its program any more, signal handlers included.  The word, which must have the value
 * `from`, gets one with the bit OS_FUTEX_AT_END, and keeps that bit when the wake-up has come; if
 * it has another value by then, its waiter is not woken, or for nothing.  False: that cannot be
 * done here, and nothing is changed. */
#define OS_FUTEX_AT_END 0x80000000u     /* the kernel's FUTEX_WAITERS */
bool os_futex_wake_at_end(void *word, uint32_t from);
void os_sched_yield(void);
/* Bind kernel thread tid (0: caller) to one Linux CPU. */
int  os_pin(int32_t tid, uint32_t cpu);
#ifdef USF_SIM
void os_pause(void);                         /* as below, of a virtual CPU */
uint64_t os_cycles(void);
uint32_t os_cpu(void);
#else
static inline void os_pause(void) { arch_pause(); }
/* Cycles of this CPU: for short times between two looks on the same CPU, where os_now would cost
 * too much. */
static inline uint64_t os_cycles(void) { return arch_cycles(); }
/* The CPU that the caller runs on, at this moment. */
static inline uint32_t os_cpu(void) { return arch_cpu(); }
#endif

/* ---- CPU sets: 1024 bits, Linux CPU numbers -------------------------------------------------- */
#ifndef OS_CPUSET_WORDS      /* the simulator's machines may have more */
#define OS_CPUSET_WORDS 16
#endif
struct os_cpuset { uint64_t w[OS_CPUSET_WORDS]; };
static inline bool os_cpu_isset(const struct os_cpuset *s, unsigned c)
{ return c < OS_CPUSET_WORDS * 64 && (s->w[c / 64] >> (c % 64) & 1); }
static inline void os_cpu_set(struct os_cpuset *s, unsigned c)
{ if (c < OS_CPUSET_WORDS * 64) s->w[c / 64] |= 1ull << (c % 64); }
unsigned os_cpu_count(const struct os_cpuset *s);
void os_cpu_and(struct os_cpuset *s, const struct os_cpuset *with);
/* Linux cpulist ("0-3,8,10-14:2").  0, or -EINVAL with *bad = offset of the first wrong
 * character. */
int  os_cpulist_parse(const char *text, struct os_cpuset *out, size_t *bad);
/* The shortest cpulist, NUL-terminated, cut at cap; returns the length that it needs (as
 * snprintf). */
int  os_cpulist_format(const struct os_cpuset *s, char *buf, size_t cap);
/* CPUs that the caller may ask for: what its cpuset allows, which its affinity may be a part of. */
int  os_cpuset_allowed(struct os_cpuset *out);
int  os_getaffinity(int32_t tid, struct os_cpuset *out);
int  os_setaffinity(int32_t tid, const struct os_cpuset *s);

/* ---- machine --------------------------------------------------------------------------------- */
/* Dense indices, 0..; phys: hardware threads of one core share it; node_id: the node as Linux
 * numbers it. */
struct os_cpu_place { uint32_t node, llc, package, phys, node_id; };
/* Place of each CPU in `cpus` from sysfs (sysroot "" = the real one; tests give a directory).  CPUs
 * without information share place 0. */
void os_topology(const char *sysroot, const struct os_cpuset *cpus, struct os_cpu_place *place /* [1024] */);
/* Bound by the cgroup cpu quota, v1 and v2, walking up: number of CPUs (>= 1), or 0 for none, and
 * which group's it is (a number that all containers have for it; null: never mind).  pid 0: the
 * caller's.  Unreadable or garbled files mean no bound. */
unsigned os_cgroup_quota(const char *sysroot, int32_t pid, uint32_t *group);
/* In which groups a process is, as a hash; 0: that cannot be seen. */
uint32_t os_cgroup_key(int32_t pid);
bool os_cgroup_frozen(const char *sysroot, int32_t pid);    /* v1 and v2; false if it cannot be found out */

/* ---- processes ------------------------------------------------------------------------------- */
int32_t os_getpid(void);
int32_t os_gettid(void);
uint32_t os_geteuid(void);
uint32_t os_getegid(void);
bool os_in_group(uint32_t gid);              /* its effective group, or one of the others */
bool os_has_user(uint32_t uid);              /* as its real, effective or saved user */
bool os_is_privileged(void);                 /* it is root in one of them, or has capabilities */
bool os_sees_others(void);                   /* /proc tells of other users' processes (no hidepid) */
/* False: /proc is another pid namespace's (`unshare -p` alone leaves the outer one's), and its
 * numbers are not ours.  All that asks /proc about a number then answers as where there is none. */
bool os_proc_is_ours(void);
/* Of the program or library that this is linked into, as hex; "": it has none. */
void os_build_id(char *hex, size_t cap);
bool os_process_ended(int32_t pid);          /* no such process, or a zombie without threads */
int32_t os_file_user(uint64_t dev, uint64_t ino);   /* a process that has this file mapped, 0 = none seen */
bool os_process_maps(int32_t pid, uint64_t dev, uint64_t ino);      /* ... or this cannot be seen */
bool os_process_surely_maps(int32_t pid, uint64_t dev, uint64_t ino);
/* Has the calling process writable memory that others may have as well, outside of this range?
 * True also if that cannot be seen. */
bool os_shares_memory(const void *except, size_t size);
uint64_t os_start_time(int32_t pid);         /* field 22 of /proc/PID/stat, 0 = no such process */
/* A field of the text of /proc/PID/stat: 3, the state, or a later one.  null: there is none.
 * os_stat_number: as a number, 0 if it is none. */
const char *os_stat_field(const char *stat, long len, int field);
uint64_t os_stat_number(const char *stat, long len, int field);
uint64_t os_own_threads(void);      /* kernel threads of the own process; 0: unknown */
uint64_t os_start_time_in(const char *stat, long len);   /* ... of the text of such a file, 0 = damaged */
bool os_thread_ended(int32_t pid, int32_t tid);   /* no such thread, or a process's first one that has ended before the others */
/* The path of the file `name` of a thread, of whatever process; name: at most 10 bytes. */
#define OS_THREAD_FILE_MAX 64
void os_thread_file(char path[OS_THREAD_FILE_MAX], int32_t tid, const char *name);
char os_thread_state(int32_t pid, int32_t tid);   /* 'R','S','D','T','t','Z','X' or 0 */
/* For threads that are looked at again and again: their files in /proc stay open, which makes a
 * look three times as fast.  Zeroed: none is open.  Not for use by several threads at a time. */
#define OS_KEPT_LOOKS 64u
struct os_looks { struct os_kept_look { int32_t pid, tid; int fd; } at[OS_KEPT_LOOKS]; };
struct os_look { char state; uint64_t blocked; };       /* as os_thread_state; bit n-1: signal n < 32 is blocked */
struct os_look os_look_at_thread(struct os_looks *looks, int32_t pid, int32_t tid);
void os_forget_looks(struct os_looks *looks);           /* close the files */
uint64_t os_thread_slices(int32_t pid, int32_t tid);    /* how often it has been given a CPU; 0: unknown */
uint64_t os_thread_cpu_ns(int32_t pid, int32_t tid);    /* ... and for how long altogether */
uint64_t os_process_cpu_ns(int32_t pid);     /* time of all its threads on CPUs, found out without a descriptor; 0: unknown */
uint64_t os_thread_clock_ns(int32_t tid);    /* the same of a thread of this process */
void os_own_waits(uint64_t *waits, uint64_t *cpu_ns);   /* how often the caller has slept so far, and its time on CPUs */
bool os_thread_blocks(int32_t pid, int32_t tid, int sig);   /* sig < 32; false if it cannot be found out */
/* In which pids and start times (and the monotonic clock) mean the same to all: inode of
 * /proc/self/ns/pid, and above it that of ns/time.  0: unknown. */
uint64_t os_pidns(void);
/* Does a pid that a child of ours gets mean the same to us?  Not after unshare(CLONE_NEWPID). */
bool os_knows_childrens_pids(void);
static inline uint32_t os_pidns_inode(uint64_t ns) { return (uint32_t)ns; }
/* Signals that are pending for the calling thread alone; 0 also if it cannot be found out. */
uint64_t os_own_pending(void);
int  os_kill(int32_t pid, int sig);          /* as kill: sig 0 only looks, -ESRCH: no such process */
/* Send sig to a thread with si_code SI_QUEUE and a value. */
int  os_signal_thread(int32_t pid, int32_t tid, int sig, uint64_t value);

/* ---- files ----------------------------------------------------------------------------------- */
int  os_open(const char *path, int flags, unsigned mode);
int  os_close(int fd);
/* Whole, NUL-terminated; bytes or -errno.  -EFBIG: it has more than cap-1 bytes, buf holds the
 * first. */
long os_read_file(const char *path, char *buf, size_t cap);
long os_write(int fd, const void *buf, size_t n);
void *os_map(size_t len, int prot, int flags, int fd, uint64_t off);  /* or (void *)-errno */
void *os_map_at(void *at, size_t len, int prot, int flags, int fd, uint64_t off);      /* ... with MAP_FIXED among the flags */
static inline bool os_is_error(const void *p) { return (uintptr_t)p > (uintptr_t)-4096; }
int  os_unmap(void *p, size_t len);
bool os_can_read(const void *p);        /* eight bytes there.  False also where the kernel does not say */
uint64_t os_random(void);                    /* it cannot be guessed, where the kernel lets us ask */
/* A mapping goes to another place, instead of what lies there, in one step: others may be using
 * that.  0 or -errno, and all is as it was. */
int  os_move(void *from, size_t len, void *to);
/* Fresh memory of the process's own lies there, in one step.  It costs nothing until it is written,
 * not even where all new memory is locked (mlockall).  0 or -errno, and all is as it was. */
int  os_renew(void *at, size_t len);

struct os_stat { uint64_t dev, ino, size; uint32_t uid, gid, mode; };
int  os_fstat(int fd, struct os_stat *out);
int  os_lstat(const char *path, struct os_stat *out);
long os_pread(int fd, void *buf, size_t n, uint64_t off);    /* fewer than n only at the end of the file */
/* Does the limit allow a file of this size?  Where it does not, making one raises a signal that
 * ends the program. */
bool os_file_may_be(uint64_t size);
int  os_truncate(int fd, uint64_t size);
int  os_chmod(int fd, unsigned mode);
int  os_chgrp(int fd, uint32_t gid);
int  os_unlink(const char *path);
/* Give an open file without a name (O_TMPFILE) this name.  -EEXIST: taken. */
int  os_link_fd(int fd, const char *path);
int  os_link(const char *from, const char *to);
/* flock.  kind: LOCK_EX, LOCK_SH, LOCK_UN; waits until deadline (0: not at all), else
 * -EWOULDBLOCK. */
int  os_flock(int fd, int kind, uint64_t deadline);
/* A lock of some bytes that belongs to the open file.  type: F_WRLCK, F_RDLCK, F_UNLCK.  -EAGAIN,
 * -EACCES: others have one. */
int  os_lock_bytes(int fd, short type, int64_t first, int64_t count);
bool os_byte_is_read(int fd, int64_t byte);         /* another open file has a read lock there */
/* Calls fn with each name but "." and ".."; false from it ends the walk.  0 or -errno. */
int  os_list_dir(const char *path, bool (*fn)(const char *name, void *arg), void *arg);
/* Storage behind [off, off+len) of a file whose bytes there were never written: 0 or -ENOSPC,
 * ... */
int  os_allocate(int fd, uint64_t off, uint64_t len);
/* Storage behind mapped pages.  -ENOSPC: none left; -EINVAL: the kernel cannot (before 5.14). */
int  os_populate(void *p, size_t len);
void os_sleep(uint64_t ns);

/* ---- perturbation points --------------------------------------------------------------------- */
/* USF_POINT("name") delays, yields or kills by a seeded plan (env USF_POINTS, e.g.
 * "seed=7,delay=20" or "kill=sched.block.locked:3"; the monitor's is USF_TEST_MONITOR_POINTS in the
 * environment of `usf run`).  Compiled out in release.  The section usf_points has the names of all
 * points. */
#ifdef USF_POINTS
void usf_point(const char *name);
void usf_points_again(void);    /* read the plan again: a forked child has its parent's */
#define USF_POINT(name) do { static const char point_[] __attribute__((section("usf_points"), used)) = name; usf_point(point_); } while (0)
#else
#define USF_POINT(name) ((void)0)
#endif
#endif
