/* src/runtime/turns.c - calls that would sleep while others wait for the core.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "runtime/runtime.h"

/* A call that sleeps in the kernel sleeps with the core lent, which nobody takes for a while; and whoever is woken there
 * runs at once, only to queue for a core: two switches more.  So look, let the others have a turn, in which they may well bring what the call
 * waits for, and look again.  Not beside those that compute for long: a turn of theirs is longer than such a sleep. */
#define SURE_LOOKS  32u             /* in a row that found something, and then it is asked whether it is a file that is always ready */
#define LONG_TURN   1000000u        /* ns */
#define FIRST_PAUSE 64u             /* calls without turns after a long one; doubled each time */
#define LAST_PAUSE  16384u
#define WHOLE       4096u           /* bytes: a UNIX socket takes so many as one, or none */

/* It would return at once: nothing is gained by letting others run. */
static bool never_blocks(const struct gate_frame *f)
{
    uint64_t at_once = MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE;
    long flags = usf_syscall(__NR_fcntl, f->rdi, F_GETFL);
    if (flags < 0 || flags & O_NONBLOCK) return true;
    switch ((uint32_t)f->rax) {
    case __NR_recvfrom: case __NR_sendto: case __NR_recvmmsg: case __NR_sendmmsg: return f->r10 & at_once;
    case __NR_recvmsg: case __NR_sendmsg: return f->rdx & at_once;
    }
    return false;
}

/* Not at files that are always ready. */
static bool is_worth_a_look(const struct gate_frame *f, uint8_t *looks)
{
    struct stat st;
    if (*looks == SURE_LOOKS && usf_syscall(__NR_fstat, f->rdi, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) *looks = 0;
    if (*looks < SURE_LOOKS) return true;
    ++*looks;
    return false;
}

enum look { READY, WOULD_SLEEP, MAY_SLEEP, DONE };

static enum look try_to_send(const struct gate_frame *f, long *r)
{
    bool plain = (uint32_t)f->rax == __NR_write;
    uint64_t flags = plain ? 0 : f->r10;
    *r = usf_syscall(__NR_sendto, f->rdi, f->rsi, f->rdx, flags | MSG_DONTWAIT | MSG_NOSIGNAL, plain ? 0 : f->r8, plain ? 0 : f->r9);
    if (*r == -EAGAIN) return WOULD_SLEEP;
    return *r == -EPIPE && !(flags & MSG_NOSIGNAL) ? READY : DONE;
}

/* Who polls learns exactly whether it is readable, and whether a pipe is writable; a socket is said not to be long before it is full.  There a small
 * message is tried: if it failed nothing has been sent, and where the program is to have SIGPIPE the call fails again. */
static enum look look(const struct gate_frame *f, short events, long *r)
{
    bool is_small = ((uint32_t)f->rax == __NR_write || (uint32_t)f->rax == __NR_sendto) && f->rdx <= WHOLE;
    int domain = 0;
    uint32_t len = sizeof domain;
    if (rt_is_ready((int)f->rdi, events)) return READY;
    if (events == POLLIN || usf_syscall(__NR_getsockopt, f->rdi, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0) return WOULD_SLEEP;
    return is_small && domain == AF_UNIX ? try_to_send(f, r) : MAY_SLEEP;
}

/* Whoever is woken often for a short time is to become a guest: the turns in between say nothing against it. */
static void give_a_turn(struct rt_thread *t)
{
    uint32_t bursts = t->self.short_bursts;
    uint64_t from = os_now();
    sched_yield_core(&rt.sched, &t->self, false);
    t->self.short_bursts = bursts;
    if (os_now() - from < LONG_TURN) t->pause = 0;
    else t->pause = !t->pause ? FIRST_PAUSE : t->pause < LAST_PAUSE ? 2 * t->pause : LAST_PAUSE;
    t->turns_off = t->pause;
}

long rt_call_while_wanted(struct rt_thread *t, struct gate_frame *f, short events)
{
    uint8_t *looks = &t->looks[f->rax % RT_CALL_KINDS];
    enum look seen = READY;
    long r = 0;
    rt_act_upon_cancel(f);
    if (is_worth_a_look(f, looks)) {
        seen = look(f, events, &r);
        bool sleeps = seen == WOULD_SLEEP || seen == MAY_SLEEP;
        *looks = sleeps ? 0 : (uint8_t)(*looks + 1);
        if (sleeps && never_blocks(f)) {
            seen = READY;
        } else if (sleeps && (!t->turns_off || !t->turns_off--)) {
            uint32_t handlers = t->handlers;
            give_a_turn(t);
            if (t->handlers != handlers && (!t->restart || rt_has_timeout((int)f->rdi, events))) return -EINTR;
            rt_act_upon_cancel(f);
            seen = look(f, events, &r);
        }
    }
    return seen == DONE ? r : rt_call_away(t, f, seen == WOULD_SLEEP);
}
