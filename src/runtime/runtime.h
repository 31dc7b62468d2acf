/* src/runtime/runtime.h - usf inside a process.  SPDX-License-Identifier: Apache-2.0
 *
 * Ties the rooms together: start, threads, system calls, signals, fork, exec, exit.  One process
 * struct and one thread block are the only mutable globals.
 *
 * Rules of this room: no libc call (the program's own libc may be in any state), raw system calls
 * through src/os, small stack frames, and nothing that must not be interrupted outside
 * sched_crit_enter/leave.
 */
#ifndef USF_RUNTIME_H
#define USF_RUNTIME_H

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "base/base.h"
#include "config/settings.h"
#include "gate/gate.h"
#include "monitor/monitor.h"
#include "os/os.h"
#include "os/syscall.h"
#include "sched/sched.h"
#include "sched/spinwait.h"
#include "shm/shm.h"
#include "sync/sync.h"

enum rt_thread_state {
    RT_NEW = 0,         /* not met yet: attaches itself at its first call */
    RT_ATTACHED,
    RT_ATTACHING,
    RT_ALONE,           /* runs unscheduled (no room for it, its process has left, or it is ending) */
    RT_OPTED_OUT,       /* left to the kernel for now (optout.c) */
};

#define RT_CALL_KINDS 64u
#define RT_SENT_MAX   128u

enum { RT_ATTRIBUTE_PRIORITY = 1, RT_ATTRIBUTE_DEADLINE = 2, RT_ATTRIBUTE_PLACE = 4 };

struct rt_sent { int sig; uint64_t info[16]; };

struct rt_thread {
    uint32_t state;                 /* enum rt_thread_state */
    int32_t tid;
    struct sched_self self;
    struct sync_self sync;
    uint32_t certain;               /* the system call it is in gives the core up for certain */
    uint32_t guesses;               /* calls taken for ones that block */
    uint32_t releases;              /* calls with the core released provisionally */
    uint64_t watched_word;          /* its releases are being watched: the word of its core when that began */
    uint64_t waits, cpu_ns;         /* os_own_waits, when that was last looked at */
    uint8_t blocks[RT_CALL_KINDS];  /* by number: how sure we are that such a call will block (calls.c) */
    uint32_t hints_off, pause;      /* calls that are no yield hints (hints.c): left, and when it was last set */
    uint32_t tries, tried_releases; /* calls in a row that have found nothing, and `releases` after the last of them */
    uint64_t tried;                 /* ns: when that was */
    uint32_t restart;               /* the last handler had SA_RESTART */
    uint32_t over_gate;             /* handlers that may run on top of code of ours (more, if one has jumped out) */
    union {
        struct {
            uint32_t handlers;      /* user's signal handlers run so far */
            uint32_t unseen;        /* signals so far that the program does not get to see: the runtime's own, and ignored ones */
        };
        uint64_t signals;           /* both at once */
    };
    struct rt_spin {                /* spinwait.c */
        struct spinwait wait;
        uint32_t yields;            /* sched_yield calls of the program */
        uint32_t yields_seen;       /* ... at the last look from a function that polls */
        uint64_t searched;          /* ns of its CPU time: when the last search that found no loop ended */
        uint64_t search_took;       /* ... and how long it took */
    } spin;
    uint64_t yielded;               /* ns: when it last gave strangers a chance */
    uint32_t kernel_waits;          /* it is in so many waits that sync_kernel_wait counts */
    uint64_t set_by_child;          /* signals whose action its child has set, which shares its memory (vfork, posix_spawn) */
    bool     bound_by_child;        /* ... which has set its CPUs, for the program that it is about to execute */
    uint32_t policy_seen;           /* rt.policy_calls + 1 when it last looked whether it is a real-time thread */
    bool real_time;                 /* ... and was it? */
    bool opted_out;                 /* rt.nr_opted_out counts it */
    uint32_t stopped;               /* rt.stop_round that it has answered */
    struct rt_exec_env { void *map; size_t size; } exec_env;   /* made for a child of its vfork (inherited.c); null: none */
    struct rt_attributes {
        _Atomic uint32_t has;       /* RT_ATTRIBUTE_*: which of these it has told usf of itself (usf/usf.h); others take back what they set */
        struct sched_attributes value;
    } attributes;
    bool has_hint;                  /* affinity that the program set */
    struct os_cpuset hint;
    /* A signal that came in a critical section, and the mask to restore when it is raised again. */
    uint32_t deferred;
    uint64_t deferred_mask;
    uint64_t deferred_info[16];
    uint64_t held_mask;             /* signals are held (sched_self.entering): the mask to restore */
    bool held;
    stack_t user_stack;             /* the one that the program has set; size 0: none */
    bool withdrawn;                 /* the kernel has the program's or none (rt_stack_withdraw) */
    /* float.c, homing.c */
    uint32_t handler_stays;         /* handlers that keep it on its carrier, */
    uintptr_t handler_frame;        /* ... and where the first of them began */
    uint32_t stays_why;             /* enum usf_stays: not 0 after a call for which it and its child of a fork stay at home */
    _Atomic uint32_t hands_on;      /* RT_HANDS_ON_*: threads that it creates stay, too, since the kernel gives them what others do not have */
    uint64_t call_mask;             /* the mask of the call that it is in, if that has one of its own, else 0 */
    uint64_t sigwaits;              /* signals that the call takes which it is in, also if it blocks them; */
    bool waits_for_one;             /* ... one of them */
    const void *robust;             /* its list of robust locks, as it has told the kernel */
    uint32_t *ended;                /* what the kernel clears at its end, and wakes */
    uint64_t raises;                /* signals that it has raised as its own, and that it gets next: they are not forwarded */
    bool sets_users, tells_users;   /* its next setuid or the like is made for all threads; ... and it is the one that has the others do so */
    bool attend_later;              /* ... when its critical section ends */
    uint64_t user_us, system_us;    /* its CPU time as getrusage has told it last */
    uint32_t nr_sent;               /* signals for it that it has not raised yet (directed.c); under rt.list_lock */
    struct rt_thread *next, *prev;  /* rt.threads */
};

struct rt {
    struct sched sched;
    struct sync sync;
    struct shm shm;
    struct usf_settings settings;
    bool on;                        /* the gate acts; false: everything passes through */
    bool filtered;                  /* a filter of system calls of the program's own may allow none of ours */
    bool late;                      /* the process stands by: it is not on, and joins later (late.c) */
    _Atomic uint32_t careful;       /* threads look closer at what they are: one of the next is so */
    _Atomic uint32_t shared_tls;    /* a clone shares a thread's TLS: identify threads by tid */
    _Atomic uint32_t was_off;       /* the process was taken off: threads may have lost their records */
    _Atomic uint32_t policy_calls;  /* calls so far that may have made some thread a real-time one, or an ordinary one */
    _Atomic uint32_t nr_opted_out;  /* threads that may run the program's code and have no record */
    _Atomic bool cpu_timers;        /* some timer runs by the process's CPU time: its signals are of the thread that computes */
    _Atomic bool homeless;          /* the process may use none of the instance's CPUs at present */
    int32_t pid;
    uint64_t start_time;        /* of this process; 0: not looked up yet */
    uint32_t user;                  /* ... that joined */
    struct os_cpuset cpus;          /* the process's own affinity, as it was before any pinning */
    _Atomic uint32_t list_lock;
    struct rt_thread *threads, *first;      /* in a list; the one that the process began with, if it is there */
    _Atomic uint32_t stop_round;    /* odd: threads that get the runtime's signal stop until it changes */
    _Atomic uint32_t patch_lock;
    char comm[16];
};
extern struct rt rt;
extern __thread struct rt_thread rt_self __attribute__((tls_model("initial-exec")));

enum { RT_HANDS_ON_STATE = 1, RT_HANDS_ON_MEMORY_POLICY = 2 };     /* hands_on: some state, but that one */

/* usf_gate_vforked of a process that has a copy of its parent's memory and has not noticed yet
 * (rt_begin_copy). */
#define RT_COPY 2u
void rt_begin_copy(void);
/* Are we the child of a vfork, in its parent's memory? */
static inline bool rt_vforked(void)
{
    if (USF_UNLIKELY(usf_gate_vforked == RT_COPY)) rt_begin_copy();
    return usf_gate_vforked != 0;
}

/* A round of waiting for another thread.  A real-time thread has to sleep: to yield lets no thread
 * of lower priority run. */
static inline void rt_back_off(uint32_t round)
{
    if (round < 100) os_sched_yield();
    else os_sleep(50000);
}

/* The edges are in docs/design.md, section 3.  from: what the state may be now, as RT_AT() bits. */
#define RT_AT(state) (1u << (state))
#define RT_ANY_STATE (RT_AT(RT_OPTED_OUT + 1) - 1)
static inline void rt_set_state(struct rt_thread *t, uint32_t from, uint32_t to)
{
    usf_dassert(t->state <= RT_OPTED_OUT && RT_AT(t->state) & from);
    t->state = to;
}
/* Does the calling thread take part in scheduling for certain? */
static inline bool rt_is_in(void)
{
    return USF_LIKELY(rt_self.state == RT_ATTACHED && !usf_gate_vforked && !rt_self.self.crit
                      && !atomic_load_explicit(&rt.careful, memory_order_relaxed));
}
int32_t rt_kernel_tid(const struct rt_thread *t);   /* float.c: of the kernel thread that executes it */
/* Is rt_self the calling thread's alone?  A clone that shares memory and thread pointer uses its
 * parent's. */
static inline bool rt_has_own_self(void)
{ return USF_LIKELY(!atomic_load_explicit(&rt.shared_tls, memory_order_relaxed)) || os_gettid() == rt_kernel_tid(&rt_self); }
/* The calling thread if it takes part (attached now if it is new), else null: pass. */
struct rt_thread *rt_enter_slow(void);
static inline struct rt_thread *rt_enter(void) { return rt_is_in() ? &rt_self : rt_enter_slow(); }
/* Make the call as it is (through glibc's cancellation window where it has one). */
static inline long rt_pass(struct gate_frame *f) { return gate_call(f); }

static inline bool rt_is_without(enum usf_without what)
{ return USF_UNLIKELY(rt.settings.without) && (rt.settings.without == what || rt.settings.without == USF_WITHOUT_ALL); }

/* calls.c */
#define RT_INSTALL(list, handler) \
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) usf_gate_handlers[list[i]] = handler
/* Left alone in the dynamic linker. */
#define RT_MINOR(list) \
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) usf_gate_minor[list[i]] = true
void rt_install_calls(void);
/* Make the call with the core released provisionally (certain: RELEASED). */
long rt_call_releasing(struct rt_thread *t, struct gate_frame *f, bool certain);
/* The same, but once: `again` says that a signal which the program does not see has ended it. */
long rt_call_once(struct rt_thread *t, struct gate_frame *f, bool certain, bool *again);
void rt_note_wait(struct rt_thread *t, const struct gate_frame *f);     /* for `usf ps --why` */
void rt_act_upon_cancel(const struct gate_frame *f);
/* Nothing is given up by one that has no core. */
static inline bool rt_has_core(const struct rt_thread *t) { return !sched_is_by_kernel(&rt.sched, &t->self); }
/* futex.c, waits.c */
void rt_install_futex(void);
/* A wake-up by code that runs on behalf of no thread: libc's handler for setuid, with another
 * thread's storage. */
long rt_wake_for_nobody(struct gate_frame *f);
void rt_install_waits(void);
/* descriptor.c */
uint32_t rt_fd_type(int fd, uint64_t *device);      /* S_IFMT, and st_rdev; 0: none */
bool rt_fd_has_flag(int fd, long flag);             /* of F_GETFL; or it cannot be asked */
int  rt_fd_option(int fd, int level, int name);     /* -1: there is no such option */
bool rt_fd_has_timeout(int fd, int name);           /* SO_RCVTIMEO, SO_SNDTIMEO */
bool rt_fd_is_ready(int fd, short events);          /* poll says so, without waiting */
/* look.c: a call that waits for `events` on its first argument, while others wait for the core */
long rt_call_while_wanted(struct rt_thread *t, struct gate_frame *f, short events);
void rt_descriptors_change(void);       /* what was known of descriptors may no longer be so */
/* hints.c.  True if the result means "not ready" (EAGAIN, EEXIST, or 0 from a poll).  _not_yet:
 * after each such call; many in a row are a yield hint.  Returns r. */
bool rt_says_not_yet(long r);
long rt_not_yet(struct rt_thread *t, long r);
/* calls.c: a call that may block.  The second is for handlers that end with it. */
long rt_make_call(struct gate_frame *f);
long rt_call_may_block(struct gate_frame *f);

/* complete.c */
struct rt_signals { uint32_t handlers, unseen; };
static inline struct rt_signals rt_signals_of(const struct rt_thread *t) { return (struct rt_signals){t->handlers, t->unseen}; }
/* Since then there were signals, and none that the program has seen. */
static inline bool rt_only_unseen(const struct rt_thread *t, struct rt_signals before)
{ return t->handlers == before.handlers && t->unseen != before.unseen; }
/* Some calls are not restarted after a signal even under SA_RESTART.  If it was one that the
 * program does not see, it must not notice. */
static inline bool rt_ended_unseen(const struct rt_thread *t, long r, struct rt_signals before)
{ return r == -EINTR && rt_only_unseen(t, before); }
/* The call has returned r: what such signals have kept it from doing is done, too. */
long rt_complete_slow(const struct gate_frame *f, long r);
static inline long rt_complete(const struct gate_frame *f, long r, struct rt_signals before)
{ return USF_LIKELY(r < 0 || !rt_only_unseen(&rt_self, before)) ? r : rt_complete_slow(f, r); }

/* What is the matter, for usf_warn_about, in two places. */
#define RT_OTHER_CONTAINER "it has a pid or time namespace of its own, which the instance does not share"

/* start.c: a process that stood by takes part from now on, or runs unscheduled.  plain: its code
 * has not been patched yet, and is now.  below: the mask of the program, all of whose handlers are
 * blocked.  False: the code is not patched. */
bool rt_start_late(bool plain, uint64_t below);

/* late.c: processes that stand by.  All of it does nothing, or returns false, in a process that
 * does not. */
bool rt_late_begin(char **envp);            /* at the start: does it stand by? */
bool rt_late_begin_in_child(void);          /* ... in the child of a fork, whose parent takes part */
void rt_late_after_fork(void);              /* in the child, whose parent stands by */
void rt_late_join(void);
bool rt_late_cancel(void);                  /* it never joins */
/* The same as rt_enter; a process that stands by joins. */
static inline struct rt_thread *rt_enter_now(void)
{
    if (USF_UNLIKELY(rt.late)) rt_late_join();
    return rt_enter();
}

/* thread.c */
void rt_install_threads(void);
int  rt_join_instance(bool again);          /* process and calling thread; 0 or -errno, said (-ESTALE: not if `again`) */
void rt_attach(struct rt_thread *t);
void rt_lost_record(struct rt_thread *t);   /* if its process was taken off: it is new, or alone */
void rt_list_lock(void);                    /* the calling thread is in a critical section until the other */
void rt_list_unlock(void);
void rt_list_remove(struct rt_thread *t);
struct rt_thread *rt_thread_of(int32_t tid);    /* holds the list's lock */
/* For asserts, of the calling thread: its record agrees with itself. */
bool rt_thread_is_valid(const struct rt_thread *t);
/* ... and its carrier's kernel thread is the calling one. */
bool rt_is_executed_here(const struct rt_thread *t);
void rt_forget_threads(void);               /* after fork: this process has one thread */
bool rt_is_alone(void);                     /* no other thread takes part */
void rt_unpin(void);                        /* give the calling thread its own mask, or the process's, unless it is opted out and has it */

/* optout.c */
void rt_install_optout(void);
bool rt_opts_out(struct rt_thread *t);
void rt_stay_opted_out(struct rt_thread *t); /* one that has no record, from now on */
void rt_opt_in(struct rt_thread *t);        /* if it is */
void rt_choose_side(struct rt_thread *t);   /* attaches the thread or makes it opt out, by its scheduling policy */
/* Is the calling thread one of a process that takes part? */
static inline bool rt_takes_part(void)
{ return rt_enter() || (rt.on && !usf_gate_vforked && rt_self.state == RT_OPTED_OUT && !rt_self.self.crit && rt_has_own_self()); }

/* exec.c */
void rt_install_exec(void);
uintptr_t rt_exec_fix_pc(uintptr_t pc);     /* where a thread that is about to exec is to go on after a signal that was kept */

/* inherited.c: the frame is an exec's, whose environment is told this process's weight and
 * priority, if they have changed since its start.  0, or -ENOMEM.  What was made is in `own`, and
 * goes with the exec, or by _drop. */
int  rt_exec_env_make(struct gate_frame *f, struct rt_exec_env *own);
void rt_exec_env_drop(struct rt_exec_env *own);

/* life.c: fork, exit, and going on without usf */
void rt_install_life(void);
extern const uint16_t rt_set_users[7];      /* the calls that set a user or groups */
bool rt_is_stranger(void);                  /* it runs as another user than the one that joined, for good, or has left the instance's group */
/* Take this process off its instance for good: all its threads run unscheduled.  False: another
 * thread has, or it took no part. */
bool rt_depart(void);
/* In a critical section: the process is taken off its instance, by this thread; false: it has left
 * for good. */
bool rt_take_off(struct rt_thread *t, uint32_t *proc);
/* The same without the lock, in the middle of anything: threads find out when they next look. */
void rt_desert(void);
bool rt_desert_condemned(void);             /* ... if the instance is (shm_condemn).  True: done */

/* signals.c and actions.c */
#define RT_SIGNAL      MONITOR_PREEMPT_SIGNAL       /* ignored by default: harmless to a process that has just exec'd */
#define RT_STOP_MAGIC  0x75736673746f7000ull        /* values, beside the monitor's */
#define RT_ROOM_MAGIC  0x757366726f6f6d00ull    /* look at what was sent to you; leave your carrier, if it is wanted */
#define RT_SIGNALS     64
#define RT_SETXID_SIGNAL 33     /* libc's, for setuid, which waits until all threads have taken it; of a process that stands by: late.c */
#define RT_SYNCHRONOUS ((1ull << (SIGSEGV - 1)) | (1ull << (SIGBUS - 1)) | (1ull << (SIGFPE - 1)) | (1ull << (SIGILL - 1)) | (1ull << (SIGTRAP - 1)))
struct rt_action {              /* the kernel's struct sigaction */
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

/* actions.c */
bool rt_action_is_handler(const struct rt_action *a);
void rt_signals_exchange(int sig, const struct rt_action *new, struct rt_action *old);      /* in the kernel */
uint64_t rt_set_mask(uint64_t mask);        /* both: the mask that was */
uint64_t rt_block_signals(uint64_t set);
void rt_signals_adopt(void);                /* the handlers that the program has installed so far are entered through rt_signal */
unsigned rt_signals_restorers(void *restorer[RT_SIGNALS]);      /* where handlers return to; the number */
void rt_signal_is_again(int sig);           /* it is raised again, here or by another thread */
void rt_signals_before_exec(void);
void rt_signals_after_failed_exec(void);
void rt_signals_after_fork(void);
void rt_install_signals(void);

/* signals.c */
void rt_signals_init(void);
uint64_t rt_signals_let_end(uint64_t below);    /* block all that have a handler, and what `below` has: the others end or stop the program */
bool rt_is_own_signal(const siginfo_t *info);   /* the monitor's or ours, not the program's use of the same signal */
void rt_raise(int sig, const void *info);   /* on the kernel thread that executes the caller: as it came */
void rt_signal(int sig, siginfo_t *info, void *ctx);        /* the entry of every handler */

/* stack.c */
void rt_install_stack(void);
void rt_stack_take(struct rt_thread *t);
void rt_stack_give(struct rt_thread *t);
void rt_stacks_after_fork(const struct rt_thread *t);
void rt_stack_call(struct rt_thread *t, void (*fn)(void));     /* on that stack, if the thread has one */
uintptr_t rt_stack_end(const struct rt_thread *t, uintptr_t at);    /* its end, if `at` is in it; else 0 */
/* In a process that stands by: the kernel has the thread's stack no longer, and the program may set
 * its own.  False: the thread is on it. */
bool rt_stack_withdraw(struct rt_thread *t);
/* The kernel has it again, if it was withdrawn.  The thread must not be on the program's. */
void rt_stack_reinstate(struct rt_thread *t);
/* Move the signal frame to the handler's stack and restart the entry there.  Return if the frame is
 * already in place. */
void rt_stack_enter_own(struct rt_thread *t, int sig, const siginfo_t *info, const ucontext_t *uc);
void rt_stack_enter_program(struct rt_thread *t, bool on_stack, int sig, const siginfo_t *info, const ucontext_t *uc);
/* Show the program's alternate stack in the context instead of the runtime's.  True if that was
 * done: rt_stack_show() undoes it before sigreturn. */
bool rt_stack_hide(struct rt_thread *t, ucontext_t *uc);
void rt_stack_show(struct rt_thread *t, ucontext_t *uc);

/* The stack of a kernel thread that is about to end. */
void rt_stack_drop(void *stack);

/* float.c */
extern size_t rt_tls_self;                  /* from rt_self to the TLS base, in bytes; 0: no thread floats */
void rt_float_start(struct rt_thread *t);   /* the calling thread makes another one */
bool rt_float_spares_rseq(const struct gate_frame *f);      /* libc registers restartable sequences, and is told that it has */
void rt_float_begin(struct rt_thread *t);   /* before it attaches, on its own kernel thread */
void rt_float_attached(struct rt_thread *t);
void rt_float_was_off(void);                /* all threads lose their records, or have lost them */
void rt_float_is_over(struct rt_thread *t);  /* the thread goes on without a record, in a process that is scheduled */
void rt_float_forget(struct rt_thread *t);  /* its storage goes */
struct rt_thread *rt_float_born(int32_t tid);       /* the thread that began as this kernel thread, whether or not it is scheduled; null: none */
int32_t rt_float_executed_by(int32_t tid);  /* the kernel thread that executes a thread for good, since it is not scheduled any more; else tid */
void rt_forget_left_handlers(struct rt_thread *t);  /* signals.c */
void rt_float_ends(struct rt_thread *t);    /* its end begins: go home if that can be done at once */
bool rt_float_is_away(const struct rt_thread *t);
_Noreturn void rt_float_end(struct rt_thread *t);
void rt_float_after_fork(struct rt_thread *t);

/* homing.c */
void rt_float_init(void);                   /* its handlers */
/* It floats, and its record is its own (not in the child of a vfork). */
bool rt_floats(const struct rt_thread *t);
void rt_float_go_home(struct rt_thread *t); /* for one call */
void rt_float_try_home(struct rt_thread *t);        /* for one that can be made elsewhere: for 0.1 s at most */
void rt_float_stay(struct rt_thread *t, enum usf_stays why);    /* at home, from now on */
void rt_float_hand_on(struct rt_thread *t, uint32_t what);                  /* RT_HANDS_ON_* */
void rt_float_bequeath(const struct rt_thread *creator, uintptr_t tls);     /* to the thread that is about to begin with this storage */
long rt_float_go_on(struct gate_frame *f);  /* the handler below, or the call */

/* before.c: calls that were made before the gate saw them.  USF_STAYS_NOT: none after which the
 * thread stays at home. */
enum usf_stays rt_stays_before(void);

/* directed.c */
void rt_directed_init(struct rt_sent **room);
void rt_directed_forget(struct rt_thread *t);
void rt_float_pass_signal(struct rt_thread *to, struct rt_thread *from);
bool rt_float_forwards(struct rt_thread *t, int sig, const siginfo_t *info);
long rt_call_sigprocmask(struct gate_frame *f);
long rt_call_sigpending(struct gate_frame *f);
long rt_call_tgkill(struct gate_frame *f);
long rt_call_tkill(struct gate_frame *f);
long rt_call_tgsigqueueinfo(struct gate_frame *f);
void rt_float_withdraw(struct rt_thread *t, uint64_t signals);
/* Raise what was sent to the thread and it does not block, and one of the signals `waits`, which it
 * is about to wait for.  What it raised. */
uint64_t rt_float_attend(struct rt_thread *t, uint64_t waits);
void rt_float_returns(struct rt_thread *t, uint64_t mask);  /* from a handler, to this mask */
void rt_float_after_crit(struct rt_thread *t);      /* what had to wait for the end of its critical section */

/* users.c.  The signal of libc's setuid has come.  True: its handler has run, or runs later. */
bool rt_float_setxid(struct rt_thread *t, void (*handler)(int, siginfo_t *, void *), int sig, siginfo_t *info, void *ctx);
bool rt_float_sets_user(void);              /* that handler calls */
void rt_float_apply_users(struct rt_thread *t);
bool rt_float_has_missed_users(const struct rt_thread *t);
long rt_call_set_users(struct gate_frame *f);

/* cputime.c.  Handlers that homing.c installs; the thread's CPU time, ns. */
long rt_call_clock_gettime(struct gate_frame *f);
long rt_call_getrusage(struct gate_frame *f);
uint64_t rt_cpu_time(struct rt_thread *t);
bool rt_cpu_time_of(int32_t tid, uint64_t *ns);     /* of a thread of the process.  False: it does not float */
bool rt_is_own_cpu_clock(int32_t clock);

/* What follows `with`, if the text begins with that; else null. */
static inline const char *rt_after(const char *text, const char *with)
{
    while (*with && *text == *with) text++, with++;
    return *with ? 0 : text;
}

/* taskstat.c.  A file in memory like /proc/self/task/TID/stat of a thread which the kernel thread
 * `at` executes: its descriptor, or -errno. */
long rt_open_stat(int32_t tid, int32_t at, int flags);

/* warned.c */
void rt_warned_init(char **envp);           /* from now on a warning is told once in the whole `usf run` */
int32_t rt_first_process(void);             /* of that `usf run`; 0: none */

/* affinity.c */
void rt_install_affinity(void);
void rt_note_cpuset(void);                  /* what this process may use, at its start */
uint32_t rt_hold_place(int32_t tid);       /* sched_hold_place for a kernel thread of this process; its number, or USF_NONE */
void rt_follow_cpuset(uint64_t now);        /* a look whether that has changed */
void rt_bequeath_hint(struct rt_thread *creator, uintptr_t tls);   /* before a clone */
void rt_inherit_hint(struct rt_thread *t);                          /* the new thread */
void rt_begin_attributes(struct rt_thread *t);  /* ... once it is attached: its hint, nice value and attributes become its task's */
void rt_unbind(struct rt_thread *t);        /* the calling thread, which is opted out from now on */

/* executable.c */
bool rt_executable_imports(const char *const *names, unsigned n);   /* any of these */
bool rt_executable_has_data(const void *from, size_t size);         /* the whole range, as writable data */

/* percpu.c */
enum { RT_AFFINITY_AUTO = 0, RT_AFFINITY_HINT, RT_AFFINITY_STRICT };    /* option `affinity`; auto: strict where a program shows that it needs that */
void rt_note_rseq(const struct gate_frame *f, long r);      /* a thread has registered restartable sequences, with this result */
bool rt_mask_is_strict(const struct os_cpuset *mask);       /* true if this affinity mask must be obeyed */

/* clones.c: which thread has made which, for recordings */
void rt_trace_clone(uintptr_t tls);         /* before a clone */
void rt_trace_origin(struct rt_thread *t);  /* the new thread: sched_self.maker, born */

void rt_before_nice(void);                  /* one is about to be set */
void rt_follow_nice(int32_t tid);           /* 0: the calling thread.  What it is nice by has been set: its task's priority is */

/* attributes.c */
long rt_task_call(const struct gate_frame *f);      /* prctl(USF_PRCTL, ...) */
void rt_apply_attributes(struct rt_thread *t);
void rt_drop_attributes(struct rt_thread *t);       /* it is kept, to be another */

/* share.c */
void rt_install_share(void);
bool rt_share(struct os_cpuset *out);       /* the CPUs that the policy tells this process to reckon with; false: it says nothing */

/* watched.c */
void rt_install_watched(void);

/* spinwait.c */
void rt_spin_init(void);
void rt_object_loaded(const struct gate_object *o);
void rt_tell_early_sites(void);             /* the process takes part now */
int  rt_apply_learned(void);                /* the process has one thread still, and is about to have two */
/* From the runtime's signal handler: is the thread in a spin-wait?  Patch it. */
void rt_find_spin(struct rt_thread *t, uintptr_t pc);
#endif
