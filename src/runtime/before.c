/* src/runtime/before.c - calls that were made before the gate saw them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After some calls a thread stays on its own kernel thread (homing.c).  In a process that stood by,
 * or in the program that has executed this one, the gate has not seen them.  The kernel tells of
 * those that leave something behind which new threads do not get. */
#include "runtime/runtime.h"

#define RSEQ_SIZE  32u
#define TIMERS_MAX 4096u

/* Only one is possible.  libc's has been given up. */
static bool has_rseq(void)
{
    static struct { uint64_t word[RSEQ_SIZE / 8]; } none __attribute__((aligned(RSEQ_SIZE)));
    long r = usf_syscall(__NR_rseq, &none, RSEQ_SIZE, 0, 0);
    if (r == 0) usf_syscall(__NR_rseq, &none, RSEQ_SIZE, 1 /* RSEQ_FLAG_UNREGISTER */, 0);
    return r == -EINVAL;
}

/* On the CPU time of a thread, or for one.  One on the process's is noted (cpu_timers). */
static bool has_own_timer(void)
{
    char text[TIMERS_MAX] = "";
    os_read_file("/proc/self/timers", text, sizeof text);       /* of very many, the first */
    bool own = false;
    for (const char *s = text; *s; s++) {
        if (rt_after(s, "ClockID: 2\n")) atomic_store(&rt.cpu_timers, true);
        own = own || rt_after(s, "/tid.") || rt_after(s, "ClockID: 3\n") || rt_after(s, "ClockID: -");
    }
    return own;
}

/* In /proc/self/fd */
static bool see_descriptor(const char *name, void *found)
{
    static const struct { const char *link; enum usf_stays why; } kinds[] = {
        {"anon_inode:[signalfd]", USF_STAYS_SIGNALFD}, {"anon_inode:[io_uring]", USF_STAYS_IO_URING}, {"anon_inode:[perf_event]", USF_STAYS_PERF},
    };
    char path[32], link[32];
    usf_format(path, sizeof path, "/proc/self/fd/%s", name);
    long n = usf_syscall(__NR_readlinkat, -100 /* AT_FDCWD */, path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = 0;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (rt_after(link, kinds[i].link)) *(enum usf_stays *)found = kinds[i].why;
    return true;
}

enum usf_stays rt_stays_before(void)
{
    enum usf_stays why = USF_STAYS_NOT;
    os_list_dir("/proc/self/fd", see_descriptor, &why);
    if (why == USF_STAYS_NOT && has_rseq()) why = USF_STAYS_RSEQ;
    if (has_own_timer() && why == USF_STAYS_NOT) why = USF_STAYS_TIMER;
    return why;
}
