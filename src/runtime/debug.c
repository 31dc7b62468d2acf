/* src/runtime/debug.c - where a debugger finds the threads of the process.  SPDX-License-Identifier: Apache-2.0
 *
 * packaging/gdb/usf-gdb.py reads it.  The symbol is exported, so that it is there when the library
 * is stripped; it needs no debug information and no thread of the process.  All that it leads to is
 * memory of the process's own, which a core file has.  The segment is not in a core file.
 *
 * The rule for a reader, while all kernel threads stand still:
 *   - A kernel thread executes the thread whose TLS base it has.  That is rt_tls_self bytes above the thread's rt_thread.  A kernel thread
 *     with another TLS base executes an idle loop.
 *   - A kernel thread that stands at usf_arch_takes_stack has the TLS base of a thread whose registers it has not loaded yet.
 *   - A thread that no kernel thread executes waits, and has its registers in its arch_context. */
#include <stddef.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"

#define VERSION 1u      /* raised when this record, the rule for readers or the order of registers at arch_context.sp changes */

extern const char usf_arch_takes_stack[];

struct usf_debug {
    uint32_t version;
    /* Offsets in bytes: in a struct rt_thread; */
    uint32_t next, tid, home, carrier, context;
    /* ... in a struct carrier, and in a struct arch_context. */
    uint32_t carrier_tid, context_sp;
    struct rt_thread *const *threads;   /* where the pointer to the first lies */
    const size_t *tls_self;             /* where rt_tls_self lies */
    const char *takes_stack;
};
_Static_assert(sizeof(struct usf_debug) == 56 && offsetof(struct usf_debug, threads) == 32, "usf-gdb.py");

extern const struct usf_debug usf_debug;
__attribute__((used, visibility("default"))) const struct usf_debug usf_debug = {
    .version = VERSION,
    .next = offsetof(struct rt_thread, next),
    .tid = offsetof(struct rt_thread, tid),
    .home = offsetof(struct rt_thread, self.home),
    .carrier = offsetof(struct rt_thread, self.carrier),
    .context = offsetof(struct rt_thread, self.context),
    .carrier_tid = offsetof(struct carrier, tid),
    .context_sp = offsetof(struct arch_context, sp),
    .threads = &rt.threads,
    .tls_self = &rt_tls_self,
    .takes_stack = usf_arch_takes_stack,
};
