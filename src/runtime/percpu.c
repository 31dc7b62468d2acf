/* src/runtime/percpu.c - which affinity masks are more than hints.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that keeps data per CPU, and binds a thread to a CPU to work on that CPU's part,
 * computes something else if the thread runs elsewhere.  Two things show such a program: its
 * executable imports a function that says where a thread runs, or it registers restartable
 * sequences (rseq) of its own.  The first one is looked for when a thread is first bound to one
 * CPU, which few programs do. */
#include "runtime/runtime.h"

static bool own_rseq;

static bool asks_where_it_runs(void)
{
    static const char *const names[] = {"sched_getcpu", "getcpu", "__rseq_offset"};
    return rt_executable_imports(names, sizeof names / sizeof *names);
}

static bool has_data_per_cpu(void)
{
    static _Atomic int known;   /* 0: not yet, 1: no, 2: yes */
    if (own_rseq) return true;
    if (!atomic_load(&known)) atomic_store(&known, asks_where_it_runs() ? 2 : 1);
    return atomic_load(&known) == 2;
}

void rt_note_rseq(const struct gate_frame *f, long r)
{
    /* libc has registered its own for the first thread before this library began, and the kernel
     * keeps one for a thread. */
    if (r == 0 && f->arg[2] == 0 && os_gettid() == rt.pid) own_rseq = true;
}

bool rt_mask_is_strict(const struct os_cpuset *mask)
{
    switch (rt.settings.affinity) {
    case RT_AFFINITY_STRICT: return true;
    case RT_AFFINITY_AUTO: return os_cpu_count(mask) == 1 && has_data_per_cpu();
    }
    return false;
}
