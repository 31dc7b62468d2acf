/* src/threads/note.c - system calls by which a thread becomes unlike a fresh one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Called by the interposers: no libc call, no vector register, async-signal-safe.
 *
 * A reused thread keeps its kernel id, and programs tell threads apart by that id even when they
 * have ended (CPython's tests count distinct ones).  So a thread that has asked for its id really
 * ends: no code can tell the others. */
#include "threads/real.h"
#include "threads/record.h"
#include "threads/threads.h"
#include "usf/usf.h"

#include <sys/syscall.h>

enum { LANDLOCK_RESTRICT_SELF = 446, LSM_SET_SELF_ATTR = 460 };      /* older headers lack them */

/* Attributes that clone copies: neither this thread nor its descendants may take part in reuse. */
BARE static void odd(void) { threads_self.odd = threads_self.spent = true; }

/* Something happened to a thread that we do not look up. */
BARE static void anyone(void)
{
    __atomic_store_n((bool *)&threads_flags.closed, true, __ATOMIC_RELAXED);
}

BARE void threads_no_room(void) { anyone(); }
BARE void threads_are_watched(void) { anyone(); }

BARE static void set_flag(_Atomic bool *flag)
{
    if (!__atomic_load_n((bool *)flag, __ATOMIC_RELAXED))
        __atomic_store_n((bool *)flag, true, __ATOMIC_RELAXED);
}

BARE static void note_prctl(long op)
{
    switch (op) {
    case PR_SET_NAME:
        set_flag(&threads_flags.names);
        break;
    case PR_SET_PDEATHSIG:                   /* not inherited */
    case USF_PRCTL:
        threads_self.spent = true;
        break;
    case PR_GET_PDEATHSIG: case PR_GET_DUMPABLE: case PR_SET_DUMPABLE: case PR_GET_KEEPCAPS: case PR_GET_TIMING:
    case PR_GET_NAME: case PR_GET_SECCOMP: case PR_CAPBSET_READ: case PR_GET_TSC: case PR_GET_SECUREBITS:
    case PR_GET_TIMERSLACK: case PR_MCE_KILL_GET: case PR_SET_MM: case PR_SET_CHILD_SUBREAPER:
    case PR_GET_CHILD_SUBREAPER: case PR_GET_NO_NEW_PRIVS: case PR_GET_TID_ADDRESS: case PR_SET_THP_DISABLE:
    case PR_GET_THP_DISABLE: case PR_GET_SPECULATION_CTRL: case PR_SET_PTRACER: case 0x53564d41 /* PR_SET_VMA */:
        break;                               /* asks, or concerns the process */
    default:
        odd();
    }
}

BARE static void note_target(long pid)
{
    struct thread_rec *r = threads_self.rec;
    if (pid == 0 || (r && r->tid == pid))
        odd();
    else
        anyone();
}

BARE void threads_note_call(long nr, long a0, long a1)
{
    switch (nr) {
    case SYS_prctl:
        note_prctl(a0);
        break;
    case SYS_sched_setaffinity:
        set_flag(&threads_flags.places);
        break;
    case SYS_sigaltstack:
        if (a0)
            threads_self.altstack = true;
        break;
    case SYS_gettid:
    case SYS_perf_event_open:                /* counts this thread, whichever it serves */
        threads_self.spent = true;
        break;
    case SYS_sched_setscheduler: case SYS_sched_setparam: case SYS_sched_setattr:
        note_target(a0);
        break;
    case SYS_setpriority: case SYS_ioprio_set:
        if (a0 == (nr == SYS_setpriority ? PRIO_PROCESS : 1))
            note_target(a1);
        else
            anyone();
        break;
    case SYS_personality:
        if ((unsigned)a0 != 0xffffffffu)     /* else it only asks */
            odd();
        break;
    case SYS_seccomp:
        if ((unsigned)a0 <= 1)               /* SECCOMP_SET_MODE_* */
            odd();
        break;
    case SYS_set_mempolicy:
        threads_self.policy = a0 != 0;       /* 0: MPOL_DEFAULT */
        break;
    case SYS_arch_prctl:
        if (a0 == 0x1001 || a0 == 0x1012)    /* ARCH_SET_GS, ARCH_SET_CPUID; programs leave FS to libc */
            odd();
        break;
    case SYS_set_tid_address:                /* libc's end of this thread is not seen then */
        threads_self.spent = true;
        break;
    case SYS_unshare: case SYS_setns: case SYS_capset: case SYS_setfsuid: case SYS_setfsgid: case SYS_ptrace:
    case SYS_keyctl: case SYS_add_key: case SYS_request_key: case LANDLOCK_RESTRICT_SELF: case LSM_SET_SELF_ATTR:
    /* libc's functions, which are for all threads, do not come here */
    case SYS_setuid: case SYS_setgid: case SYS_setreuid: case SYS_setregid: case SYS_setresuid: case SYS_setresgid: case SYS_setgroups:
        odd();
        break;
    }
}

/* The calls above, and those that only a watcher is told of, one byte each: syscall.S reads it
 * too. */
#define CALLS(X) \
    X(SYS_clone) X(SYS_clone3) X(SYS_fork) X(SYS_sched_getaffinity) \
    X(SYS_gettid) X(SYS_perf_event_open) X(SYS_prctl) X(SYS_sched_setaffinity) X(SYS_sigaltstack) \
    X(SYS_sched_setscheduler) X(SYS_sched_setparam) X(SYS_sched_setattr) X(SYS_setpriority) X(SYS_ioprio_set) \
    X(SYS_unshare) X(SYS_setns) X(SYS_capset) X(SYS_setfsuid) X(SYS_setfsgid) X(SYS_personality) X(SYS_seccomp) \
    X(SYS_set_mempolicy) X(SYS_ptrace) X(SYS_keyctl) X(SYS_add_key) X(SYS_request_key) X(SYS_arch_prctl) X(SYS_set_tid_address) \
    X(LANDLOCK_RESTRICT_SELF) X(LSM_SET_SELF_ATTR) X(SYS_setuid) X(SYS_setgid) X(SYS_setreuid) X(SYS_setregid) X(SYS_setresuid) X(SYS_setresgid) \
    X(SYS_setgroups)

#define X(nr) [nr] = 1,
const unsigned char threads_matters[THREADS_CALLS] = { CALLS(X) };
#undef X

BARE bool threads_call_matters(long nr) { return (unsigned long)nr < THREADS_CALLS && threads_matters[nr]; }
