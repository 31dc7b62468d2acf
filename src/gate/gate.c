/* src/gate/gate.c - the table of handlers, and the calls that need care.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gate/internal.h"

#include "os/syscall.h"

#include <linux/sched.h>

gate_handler usf_gate_handlers[GATE_TABLE];
void (*usf_gate_before_clone)(struct gate_frame *f);
long (*usf_gate_after)(struct gate_frame *f, long result);
__thread uint64_t usf_gate_vforked __attribute__((tls_model("initial-exec")));

_Static_assert(offsetof(struct gate_frame, nr) == 0 && offsetof(struct gate_frame, arg) == 8, "entry.S, runtime/exec.S");
_Static_assert(offsetof(struct gate_frame, action) == GATE_ACTION, "entry.S");
_Static_assert(GATE_SITE_CALLS == ACTION_SITE_CALLS && GATE_ENTRY_CALLS == ACTION_ENTRY_CALLS, "entry.S");
_Static_assert(offsetof(struct gate_frame, cancel) == GATE_CANCEL, "entry.S");
_Static_assert(offsetof(struct gate_frame, cancel_arch) == GATE_CANCEL_ARCH, "entry.S");
_Static_assert(sizeof(struct gate_frame) == 96, "entry.S pushes twelve words, which keeps the stack aligned");

long gate_syscall(const struct gate_frame *f, long nr, long a, long b, long c, long d, long e, long g)
{
    typedef long (*cancellable)(uint64_t, long, long, long, long, long, long, long);
    if (f->cancel) return ((cancellable)f->cancel_arch)(f->cancel, nr, a, b, c, d, e, g);
    return usf_syscall(nr, a, b, c, d, e, g);
}

long gate_call(const struct gate_frame *f)
{
    return gate_syscall(f, (long)f->nr, gate_arg(f, 0), gate_arg(f, 1), gate_arg(f, 2), gate_arg(f, 3), gate_arg(f, 4),
                        gate_arg(f, 5));
}

/* ---- clone and its kind ----------------------------------------------------------------------- */
static gate_handler fork_handler[2];    /* the runtime's, for clone and clone3 that fork */

/* Does the child run on a copy of this stack?  Then a frame on it does no harm. */
static bool forks(const struct gate_frame *f)
{
    switch ((uint32_t)f->nr) {
    case __NR_clone:
        return !(f->arg[0] & CLONE_VM) && !f->arg[1];
    case __NR_clone3: {
        const struct clone_args *a = (const void *)f->arg[0];
        if (f->arg[0] < 4096 || f->arg[1] < CLONE_ARGS_SIZE_VER0) return false;   /* the kernel will refuse it */
        return !(a->flags & CLONE_VM) && !a->stack;
    }
    default:
        return false;
    }
}

static long clone_handler(struct gate_frame *f)
{
    if (forks(f)) {
        gate_handler h = fork_handler[(uint32_t)f->nr == __NR_clone3];
        return h ? h(f) : gate_call(f);
    }
    if (usf_gate_before_clone) usf_gate_before_clone(f);
    f->action = GATE_SITE_CALLS;
    return 0;
}

/* The kernel reads the signal frame at the caller's stack pointer. */
static long sigreturn_handler(struct gate_frame *f)
{
    f->action = GATE_SITE_CALLS;
    return 0;
}

void gate_take_over_clone(void)
{
    if (usf_gate_handlers[__NR_vfork] == clone_handler) return;
    fork_handler[0] = usf_gate_handlers[__NR_clone];
    fork_handler[1] = usf_gate_handlers[__NR_clone3];
    usf_gate_handlers[__NR_clone] = usf_gate_handlers[__NR_clone3] = usf_gate_handlers[__NR_vfork] = clone_handler;
    usf_gate_handlers[__NR_rt_sigreturn] = sigreturn_handler;
}
