/* src/cli/doctor_float.c - will threads float, and which of the program's will not?
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread stays on its own kernel thread from certain calls on (docs/threads.md).  What an object
 * imports says which it may make; what it does by syscall(2) alone is not seen. */
#include "arch/context.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "gate/image.h"
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static const char *const calls[] = {
    "pthread_mutexattr_setprotocol", "pthread_setschedparam", "pthread_setschedprio", "sched_setscheduler", "sched_setparam", "nice",
    "setpriority", "setfsuid", "setfsgid", "capset", "setns", "unshare", "personality", "set_mempolicy", "signalfd", "close_range",
    "timer_create", "io_uring_queue_init", "io_uring_queue_init_params",
};

void doctor_float_machine(void)
{
    const char *trouble = arch_context_trouble(getauxval(AT_HWCAP2));
    if (trouble) doctor_find(FINDING_NOTE, "floating", "threads stay on their own kernel threads: %s", trouble);
    else doctor_find(FINDING_GOOD, "floating", "threads of a program switch without the kernel");
}

void doctor_float_file(const char *path, const void *file, size_t size)
{
    char list[256] = "";
    size_t n = 0;
    struct gate_image im;
    struct gate_symbols s;
    const char *base = strrchr(path, '/');
    if (!strncmp(base ? base + 1 : path, "libc.", 5) || gate_image_from_file(&im, file, size) || !gate_symbols_find(&im, 0, &s)) return;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls && n < sizeof list; i++)
        if (gate_symbols_imports(&s, calls[i])) n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", calls[i]);
    if (n) doctor_find(FINDING_NOTE, "floating", "%s may call %s: a thread that does stays on its own kernel thread", path, list);
}
