/* src/runtime/calls.c - system calls that may wait, made with the core released provisionally.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/socket.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"

/* For `usf ps --why`. */
void rt_note_wait(struct rt_thread *t, const struct gate_frame *f)
{
    bool futex = f->nr == __NR_futex;
    sched_waits_for(&rt.sched, &t->self, futex ? USF_WAIT_FUTEX : USF_WAIT_SYSCALL, futex ? f->arg[0] : usf_wait_call(f->nr, f->arg[0]));
}

/* glibc from 2.41 on acts upon pthread_cancel at one place only, before it makes a call (gate.h):
 * its handler does nothing here.  So go there before a wait begins that is not its own call, or a
 * look that may do instead, and after a handler has run; its word is 0 while there is nothing to
 * act upon. */
void rt_act_upon_cancel(const struct gate_frame *f)
{ if (f->cancel && *(const volatile uint32_t *)f->cancel) gate_syscall(f, __NR_getpid, 0, 0, 0, 0, 0, 0); }

long rt_call_once(struct rt_thread *t, struct gate_frame *f, bool certain, bool *again)
{
    struct rt_signals before = rt_signals_of(t);
    sched_leave_core(&rt.sched, &t->self, certain);
    if (USF_UNLIKELY(t->sigwaits | t->call_mask)) rt_float_attend(t, t->sigwaits);
    long r = rt_pass(f);
    if (USF_UNLIKELY(t->sigwaits) && t->self.home) rt_float_withdraw(t, t->sigwaits);
    sched_return_core(&rt.sched, &t->self);
    carrier_make_room(&rt.sched, &t->self);
    *again = rt_ended_unseen(t, r, before);
    return r;
}

long rt_call_releasing(struct rt_thread *t, struct gate_frame *f, bool certain)
{
    bool again;
    long r;
    t->certain = certain;
    rt_note_wait(t, f);
    do r = rt_call_once(t, f, certain, &again);
    while (again);
    return r;
}

/* ---- calls that may block -------------------------------------------------------------------- */
/* For such a call the core is released provisionally, and is taken once tasks have waited for it
 * for `lend`.  After that the thread assumes that its next few calls of this kind block as well,
 * and releases the core at once.  If tasks wait for a core, it first looks whether the call would
 * block: a core that was released for nothing is not easily had back. */
static bool guess(struct rt_thread *t) { return !sched_core_is_wanted(&rt.sched) && ++t->guesses % CALL_LOOK_EVERY; }

static const uint16_t reads[] = {
    __NR_read, __NR_readv, __NR_recvfrom, __NR_recvmsg, __NR_recvmmsg, __NR_accept, __NR_accept4,
};
static const uint16_t writes[] = {__NR_write, __NR_writev, __NR_sendto, __NR_sendmsg, __NR_sendmmsg};

static bool is_in(const uint16_t *list, unsigned n, uint32_t nr)
{
    while (n && list[n - 1] != nr) n--;
    return n != 0;
}

/* What the call waits for on its first argument; 0: something else. */
static short events_of(const struct gate_frame *f)
{
    if (is_in(reads, sizeof reads / sizeof *reads, (uint32_t)f->nr)) return POLLIN;
    return is_in(writes, sizeof writes / sizeof *writes, (uint32_t)f->nr) ? POLLOUT : 0;
}

/* Reading nothing from what is empty does not block. */
static bool is_empty(const struct gate_frame *f) { return !f->arg[2] && ((uint32_t)f->nr == __NR_read || (uint32_t)f->nr == __NR_write); }

static uint8_t *blocks_of(struct rt_thread *t, const struct gate_frame *f) { return &t->blocks[f->nr % RT_CALL_KINDS]; }

static long make_call(struct rt_thread *t, struct gate_frame *f)
{
    uint8_t *blocks = blocks_of(t, f);
    short events = events_of(f);
    uint32_t lost = t->self.lost;
    if (rt_is_without(USF_WITHOUT_LENDING)) return rt_call_releasing(t, f, true);
    bool wanted = events && rt_has_core(t) && !is_empty(f) && sched_core_is_wanted(&rt.sched);
    if (wanted || !*blocks) {
        long r = wanted ? rt_call_while_wanted(t, f, events) : rt_call_releasing(t, f, false);
        if (t->self.lost != lost) *blocks = CALL_SURE;
        if (!rt_says_not_yet(r)) t->tries = 0;
        return rt_says_not_yet(r) ? rt_not_yet(t, r) : r;
    }
    bool certain = sched_is_by_kernel(&rt.sched, &t->self) || guess(t) || !events || !rt_fd_is_ready((int)f->arg[0], events);
    if (!certain || !events) --*blocks;
    long r = rt_call_releasing(t, f, certain);
    if (!rt_says_not_yet(r)) t->tries = 0;
    else if (certain) *blocks = 0;          /* calls of this kind do not wait at all */
    return r;
}

long rt_make_call(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    return t ? make_call(t, f) : rt_pass(f);
}

/* The descriptor is gone also where close returns EINTR: never again. */
static bool is_close(const struct gate_frame *f)
{ return (uint32_t)f->nr == __NR_close || (uint32_t)f->nr == __NR_close_range; }

/* After a call that has returned r, while tasks wait for a core.  Not before it: a signal that is to
 * end the call might come while the thread waits for a core.  Nor after one that a signal has ended:
 * the program looks at what its handler has set.  (Up to glibc 2.40 a thread that is cancelled in
 * this wait loses what the call has done, as it may where its core was taken, and bare.) */
__attribute__((noinline)) static long give_way_if_due(struct rt_thread *t, long r)
{
    if (r != -EINTR) sched_look_if_due(&rt.sched, &t->self);
    return r;
}

__attribute__((noinline)) static long may_block(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    bool again;
    if (!t) return rt_pass(f);
    struct rt_signals before = rt_signals_of(t);
    long r;
    if (is_close(f)) {
        t->certain = false;
        rt_note_wait(t, f);
        r = rt_call_once(t, f, false, &again);
    } else r = rt_complete(f, make_call(t, f), before);
    return USF_LIKELY(!sched_core_is_wanted(&rt.sched)) ? r : give_way_if_due(t, r);
}

/* A signal has come meanwhile, or the core was taken. */
__attribute__((noinline)) static long after_disturbed(struct gate_frame *f, long r)
{
    struct rt_thread *t = &rt_self;
    struct rt_signals before;
    __builtin_memcpy(&before, &f->kept_more, sizeof before);
    if (t->self.where == SCHED_IN_CALL) sched_return_core(&rt.sched, &t->self);
    if (is_close(f)) return r;
    if (t->self.lost != f->kept) *blocks_of(t, f) = CALL_SURE;
    if (rt_ended_unseen(t, r, before)) r = rt_make_call(f);
    return rt_complete(f, r, before);
}

/* While no task waits for its core a thread keeps it however often it blocks, and stays bound.  Two
 * such threads that hand data to each other from different CPUs pay for the wake-up of an idle CPU
 * each time, where the kernel would run both on one CPU.  So look now and then whether the thread
 * only passes data on; calls that release the core with certainty show that by themselves.  The
 * kernel counts how often a thread has slept, but it counts waits on futexes and for a core as
 * well.  So when the count is high, a few provisional releases in a row, without a wait in the
 * scheduler between them, decide. */
static bool sleeps_often(struct rt_thread *t, uint32_t least)
{
    uint64_t waits = t->waits, cpu = t->cpu_ns;         /* at the last look */
    os_own_waits(&t->waits, &t->cpu_ns);
    if (t->waits < waits || t->cpu_ns < cpu) return false;      /* another kernel thread executes it since */
    return t->waits - waits >= least && t->cpu_ns - cpu < (t->waits - waits) * PASSES_CPU_NS;
}

/* The word of the thread's core; 0: it has none.  The word changes when the thread gives the core
 * up and gets one again, not by a provisional release. */
static uint64_t core_word_of(const struct rt_thread *t)
{
    uint32_t core = t->self.task != USF_NONE ? atomic_load_explicit(&rt.sched.tasks[t->self.task].core, memory_order_relaxed) : USF_NONE;
    return core < rt.sched.h->nr_cores ? atomic_load_explicit(&rt.sched.cores[core].word, memory_order_relaxed) : 0;
}

static bool passes_on(struct rt_thread *t)
{
    uint64_t before = t->watched_word, word = core_word_of(t);
    t->watched_word = 0;
    if (rt.sched.kernel || rt.sched.no_kernel_run || sched_is_by_kernel(&rt.sched, &t->self)) return false;
    if (before) return word == before && sleeps_often(t, PASSES_IN_A_ROW * PASSES_WAITS / PASSES_RELEASES);
    if (!sleeps_often(t, PASSES_WAITS) || t->releases == PASSES_RELEASES) return false; /* the first: nothing to compare with */
    t->watched_word = word;
    t->releases -= PASSES_IN_A_ROW;
    return false;
}

static long begin_kernel_run(struct rt_thread *t, struct gate_frame *f)
{
    sched_expect_kernel_run(&t->self);
    *blocks_of(t, f) = CALL_SURE;
    return may_block(f);
}

static inline long release_provisionally(struct rt_thread *t, struct gate_frame *f)
{
    t->certain = false;
    f->kept = t->self.lost;
    f->kept_more = t->signals;
    f->action = GATE_ENTRY_CALLS;
    sched_begin_release(&rt.sched, &t->self, usf_wait_call(f->nr, f->arg[0]));
    return 0;
}

__attribute__((noinline)) static long look_at_release(struct rt_thread *t, struct gate_frame *f)
{ return passes_on(t) && !is_close(f) ? begin_kernel_run(t, f) : release_provisionally(t, f); }

/* The two halves of most calls, as short as they can be: the entry makes the call between them,
 * with the core released provisionally.  Neither has a stack frame, or calls anything, before it
 * knows that something is unusual. */
long rt_call_may_block(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    if (USF_UNLIKELY(!rt_is_in() || *blocks_of(t, f) || f->cancel)) return may_block(f);
    if (USF_UNLIKELY(sched_core_is_wanted(&rt.sched)) && events_of(f)) return may_block(f);
    if (USF_UNLIKELY(++t->releases % PASSES_RELEASES == 0)) return look_at_release(t, f);
    return release_provisionally(t, f);
}

/* A thread that closes a descriptor does not use it otherwise at the same time. */
static long call_close(struct gate_frame *f)
{
    rt_descriptors_change();
    return rt_call_may_block(f);
}

/* By look.c, of a socket. */
static bool is_looked_at(int option) { return option == SO_RCVLOWAT || option == SO_SNDBUF || option == SO_SNDBUFFORCE; }

static long call_changes_descriptors(struct gate_frame *f)
{
    if ((uint32_t)f->nr == __NR_setsockopt && !is_looked_at((int)f->arg[2])) return rt_pass(f);
    rt_descriptors_change();
    long r = rt_pass(f);
    rt_descriptors_change();
    return r;
}

static long after_call(struct gate_frame *f, long r)
{
    if (USF_LIKELY(f->kept_more == rt_self.signals) && sched_end_release(&rt.sched, &rt_self.self)) {
        if (USF_UNLIKELY(r < 0) && rt_says_not_yet(r)) r = rt_not_yet(&rt_self, r);
        return USF_LIKELY(!sched_core_is_wanted(&rt.sched)) ? r : give_way_if_due(&rt_self, r);
    }
    return after_disturbed(f, r);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* docs/calls.md says of every call why it is here, elsewhere in this room, or left alone;
 * tests/blocking compares. */

enum { NR_IO_PGETEVENTS = 333, NR_FCHMODAT2 = 452 };

static const uint16_t may_wait[] = {
    __NR_pread64, __NR_preadv, __NR_preadv2, __NR_pwrite64, __NR_pwritev, __NR_pwritev2, __NR_connect, __NR_flock, __NR_fcntl,
    __NR_fsync, __NR_fdatasync, __NR_sync, __NR_syncfs, __NR_sync_file_range, __NR_msync, __NR_ioctl, __NR_splice, __NR_tee,
    __NR_vmsplice, __NR_sendfile, __NR_copy_file_range, __NR_msgrcv, __NR_msgsnd, __NR_semop, __NR_mq_timedsend,
    __NR_io_uring_enter, __NR_io_uring_register, __NR_io_getevents, NR_IO_PGETEVENTS, __NR_io_submit, __NR_io_destroy,
    __NR_getrandom, __NR_membarrier, __NR_process_vm_readv, __NR_process_vm_writev, __NR_syslog,
    __NR_keyctl, __NR_add_key, __NR_request_key, __NR_mlock, __NR_mlock2, __NR_mlockall,
};
/* Files: of a disk, a server, a program (FUSE); with leases.  (watched.c has the others.) */
static const uint16_t files[] = {
    __NR_creat, __NR_fstat, __NR_readlink, __NR_readlinkat, __NR_getdents, __NR_getdents64, __NR_truncate,
    __NR_ftruncate, __NR_fallocate, __NR_rename, __NR_renameat, __NR_renameat2, __NR_unlink, __NR_unlinkat, __NR_link,
    __NR_linkat, __NR_symlink, __NR_symlinkat, __NR_mkdir, __NR_mkdirat, __NR_rmdir, __NR_mknod, __NR_mknodat, __NR_chmod,
    __NR_fchmod, __NR_fchmodat, NR_FCHMODAT2, __NR_chown, __NR_fchown, __NR_lchown, __NR_fchownat, __NR_utime, __NR_utimes,
    __NR_futimesat, __NR_utimensat, __NR_statfs, __NR_fstatfs, __NR_readahead, __NR_fadvise64, __NR_setxattr,
    __NR_lsetxattr, __NR_fsetxattr, __NR_getxattr, __NR_lgetxattr, __NR_fgetxattr, __NR_listxattr, __NR_llistxattr,
    __NR_flistxattr, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, __NR_name_to_handle_at, __NR_open_by_handle_at,
    __NR_mount, __NR_umount2,
};

static const uint16_t changes[] = {__NR_dup2, __NR_dup3, __NR_setsockopt};
static const uint16_t minor[] = {__NR_close, __NR_set_robust_list, __NR_rseq};

void rt_install_calls(void)
{
    RT_INSTALL(reads, rt_call_may_block);
    RT_INSTALL(writes, rt_call_may_block);
    RT_INSTALL(may_wait, rt_call_may_block);
    RT_INSTALL(files, rt_call_may_block);
    RT_MINOR(reads);
    RT_MINOR(writes);
    RT_MINOR(may_wait);
    RT_MINOR(files);
    RT_MINOR(minor);
    for (unsigned nr = 0; nr < USF_NR_SYSCALLS && rt_is_without(USF_WITHOUT_LENDING); nr++) {
        gate_handler *h = &usf_gate_handlers[nr];
        if (*h == rt_call_may_block) *h = may_block;
    }
    usf_gate_after = after_call;
    RT_INSTALL(changes, call_changes_descriptors);
    usf_gate_handlers[__NR_close] = call_close;
    usf_gate_handlers[__NR_close_range] = call_close;
}
