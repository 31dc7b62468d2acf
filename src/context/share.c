/* src/context/share.c - see share.h.  SPDX-License-Identifier: Apache-2.0 */
#include "context/share.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct share_rule built_in[] = {
    {"ld-linux*", "the dynamic linker itself"},
    {"libc.so.*", "memory, files and threads of the process: what one copy allocates another could not free"},
    {"libm.so.*", "has no state but that of the thread, and is a part of libc"},
    {"libmvec.so.*", "a part of libc"},
    {"libpthread.so.*", "a part of libc"},
    {"libdl.so.*", "a part of libc"},
    {"librt.so.*", "a part of libc"},
    {"libutil.so.*", "a part of libc"},
    {"libresolv.so.*", "a part of libc"},
    {"libanl.so.*", "a part of libc"},
    {"libnss_*", "a part of libc"},
    {"libthread_db.so.*", "a part of libc"},
    {"libcrypt.so.*", "a part of libc"},
    {"libBrokenLocale.so.*", "a part of libc"},
    {"libnsl.so.*", "a part of libc"},
    {"libgcc_s.so.*", "unwinds stacks through all libraries: exceptions leave a context by it"},
    {"libstdc++.so.*", "types of exceptions and locales are one for the process: an exception may be caught outside of its context"},
    {"libc++.so.*", "types of exceptions are one for the process"},
    {"libc++abi.so.*", "types of exceptions are one for the process"},
    {"libunwind.so.*", "unwinds stacks through all libraries"},
    {"libpython*", "one interpreter, and its lock"},
    {"libcuda.so*", "the driver has one state per process and device"},
    {"libnvidia-*", "parts of the CUDA driver"},
    {"libnvcuvid.so*", "a part of the CUDA driver"},
    {"libamdhip64.so*", "the HIP runtime and driver have one state per process and device"},
    {"libhsa-runtime64.so*", "a part of the ROCm driver"},
    {"libOpenCL.so*", "loads drivers, which exist once"},
    {"libmpi.so*", "a process is one rank, and is initialised once"},
    {"libmpi_*", "a part of MPI"},
    {"libmpich*", "a process is one rank, and is initialised once"},
    {"libmpicxx.so*", "a part of MPI"},
    {"libopen-rte.so*", "a part of Open MPI"},
    {"libopen-pal.so*", "a part of Open MPI"},
    {"libpmi*", "the link to the MPI launcher, of which there is one"},
    {"libprrte*", "the link to the MPI launcher, of which there is one"},
    {"libucp.so*", "network devices, opened once"},
    {"libucs.so*", "network devices, opened once"},
    {"libuct.so*", "network devices, opened once"},
    {"libucm.so*", "hooks memory functions of the process"},
    {"libfabric.so*", "network devices, opened once"},
    {"libibverbs.so*", "network devices, opened once"},
    {"libjemalloc.so*", "an allocator: memory is freed by the one that has allocated it"},
    {"libtcmalloc*", "an allocator: memory is freed by the one that has allocated it"},
    {"libmimalloc*", "an allocator: memory is freed by the one that has allocated it"},
    {"libtbbmalloc_proxy*", "an allocator: memory is freed by the one that has allocated it"},
    {"libasan.so*", "a sanitizer watches the whole process"},
    {"libtsan.so*", "a sanitizer watches the whole process"},
    {"libubsan.so*", "a sanitizer watches the whole process"},
    {"liblsan.so*", "a sanitizer watches the whole process"},
    {"libnuma.so*", "memory policies are the kernel's, per thread and range"},
    {"libX11*", "connections to the display are handed between libraries"},
    {"libxcb*", "connections to the display are handed between libraries"},
    {"libwayland-*", "connections to the display are handed between libraries"},
    {"libGL.so*", "drivers of the display"},
    {"libEGL.so*", "drivers of the display"},
    {"libGLX*", "drivers of the display"},
    {"libGLdispatch*", "drivers of the display"},
    {"libnosv.so*", "one tasking runtime per process divides the CPUs among all tasks"},
    {"libtcm.so*", "divides the CPUs among all runtimes of the process"},
    {"libusf.so*", "the scheduler of the process"},
    {"libusf-context.so*", "this library"},
};
#define NR_BUILT_IN (sizeof built_in / sizeof *built_in)

/* Rules are not taken out again, so that readers need no lock. */
static struct added { struct added *next; struct share_rule rule; bool private_copies; } *_Atomic added;
static _Atomic uint64_t rules;

uint64_t share_rules(void) { return atomic_load(&rules); }

static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

const struct share_rule *share_rule_of(const char *name)
{
    name = base_of(name);
    for (const struct added *a = atomic_load(&added); a; a = a->next)
        if (fnmatch(a->rule.pattern, name, 0) == 0) return a->private_copies ? 0 : &a->rule;
    for (unsigned i = 0; i < NR_BUILT_IN; i++)
        if (fnmatch(built_in[i].pattern, name, 0) == 0) return &built_in[i];
    return 0;
}

bool share_is(const char *name) { return share_rule_of(name) != 0; }

const struct share_rule *share_rule_at(unsigned i)
{
    for (const struct added *a = atomic_load(&added); a; a = a->next)
        if (!a->private_copies && i-- == 0) return &a->rule;
    return i < NR_BUILT_IN ? &built_in[i] : 0;
}

int share_add(const char *pattern, const char *reason, bool private_copies)
{
    struct added *a = calloc(1, sizeof *a);
    if (!a || !(a->rule.pattern = strdup(pattern)) || !(a->rule.reason = strdup(reason))) return ENOMEM;    /* (what is lost then is small) */
    a->private_copies = private_copies;
    a->next = atomic_load(&added);
    while (!atomic_compare_exchange_weak(&added, &a->next, a)) {}
    atomic_fetch_add(&rules, 1);
    return 0;
}
