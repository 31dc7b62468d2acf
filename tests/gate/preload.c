/* tests/gate/preload.c - the gate alone, preloaded into real programs.  SPDX-License-Identifier: Apache-2.0
 *
 * Handlers that count and make the call, for a choice of call numbers, so that the slow path is as hot as
 * the runtime's.  Environment:
 *   GATE_TEST_HANDLERS  "none", "all", or a comma-separated list of numbers; default: all that may block
 *   GATE_TEST_PATCH     "needed": only sites whose number has a handler; default: all
 *   GATE_TEST_CACHE     directory of the site cache
 *   GATE_TEST_SHARE     map code from copies in the cache
 *   GATE_TEST_REPORT    print counts on exit_group to this file (append)
 */
#include "base/base.h"
#include "gate/gate.h"
#include "os/os.h"
#include "os/syscall.h"

#include <fcntl.h>
#include <string.h>
#include <ucontext.h>

/* The tests look at these. */
#define SEEN __attribute__((visibility("default")))
SEEN uint64_t gate_test_calls[USF_NR_SYSCALLS];
SEEN uint64_t gate_test_clones, gate_test_forks, gate_test_loads, gate_test_moved;
SEEN struct gate_stats *gate_test_stats = &usf_gate_stats;
SEEN uint64_t *gate_test_met = &usf_gate_stats.met;
SEEN uint32_t gate_test_vforked(void);
uint32_t gate_test_vforked(void) { return (uint32_t)usf_gate_vforked; }
#define calls  gate_test_calls
#define clones gate_test_clones
#define forks  gate_test_forks
#define loads  gate_test_loads
#define moved  gate_test_moved

static const char *report;
static uint64_t start_us;

static long count_and_call(struct gate_frame *f)
{
    __atomic_fetch_add(&calls[f->nr], 1, __ATOMIC_RELAXED);
    return gate_call(f);
}

static long fork_handler(struct gate_frame *f)
{
    __atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
    return gate_call(f);
}

static void before_clone(struct gate_frame *f)
{
    usf_gate_push_vforked(1);
    __atomic_fetch_add(&clones, 1, __ATOMIC_RELAXED);
}

static void loaded(const struct gate_object *o)
{
    __atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
}

/* ---- signal handlers, wrapped as a runtime would, so that they may unwind out of a springboard -------- */
struct action { void (*handler)(int, void *, void *); unsigned long flags; void (*restorer)(void); uint64_t mask; };
static struct action wrapped[65];

static void wrapper(int sig, void *info, void *context)
{
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], true_pc = *pc;
    *pc = (greg_t)gate_original_pc((uintptr_t)true_pc);
    if (*pc != true_pc) moved++;
    wrapped[sig].handler(sig, info, context);
    *pc = true_pc;
}

static long sigaction_handler(struct gate_frame *f)
{
    const struct action *in = (const void *)f->arg[1];
    struct action *out = (void *)f->arg[2], a, old = wrapped[f->arg[0] & 63];
    bool wrap = in && f->arg[0] < 64 && (uintptr_t)in->handler > 1;
    if (wrap) {
        a = *in;
        a.handler = wrapper;
        wrapped[f->arg[0]] = *in;
    }
    long r = gate_syscall(f, __NR_rt_sigaction, (long)f->arg[0], wrap ? (long)&a : (long)in, (long)out, (long)f->arg[3], 0, 0);
    if (!r && out && out->handler == wrapper) out->handler = old.handler;
    return r;
}

static void write_report(void)
{
    char line[500];
    uint64_t total = 0;
    for (unsigned i = 0; i < USF_NR_SYSCALLS; i++) total += calls[i];
    int fd = os_open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    const struct gate_stats *s = &usf_gate_stats;
    int n = usf_format(line, sizeof line, "objects=%lu sites=%lu patched=%lu unneeded=%lu unpatched=%lu hits=%lu shared=%lu calls=%lu "
                       "getppid=%lu futex=%lu clones=%lu forks=%lu loads=%lu vforked=%u start_us=%lu\n",
                       (unsigned long)s->objects, (unsigned long)s->sites, (unsigned long)s->patched,
                       (unsigned long)s->unneeded, (unsigned long)s->unpatched, (unsigned long)s->cache_hits,
                       (unsigned long)s->shared, (unsigned long)total,
                       (unsigned long)calls[__NR_getppid], (unsigned long)calls[__NR_futex], (unsigned long)clones,
                       (unsigned long)forks, (unsigned long)loads, (unsigned)usf_gate_vforked, (unsigned long)start_us);
    os_write(fd, line, (size_t)n);
    os_close(fd);
}

static long exit_handler(struct gate_frame *f)
{
    if (report) write_report();
    return gate_call(f);
}

/* What the runtime will handle: futexes, sleeps, polls, and whatever else may block. */
static const short blocking[] = {0, 1, 7, 17, 18, 19, 20, 23, 24, 34, 35, 39, 42, 43, 44, 45, 46, 47, 61, 73, 74, 110, 202,
                                 203, 204, 230, 232, 247, 270, 271, 281, 288, 299, 307, 449};

static void set_handlers(const char *list)
{
    if (!list)
        for (unsigned i = 0; i < sizeof blocking / sizeof *blocking; i++) usf_gate_handlers[blocking[i]] = count_and_call;
    else if (strcmp(list, "all") == 0)
        for (unsigned i = 0; i < USF_NR_SYSCALLS; i++) usf_gate_handlers[i] = count_and_call;
    else if (strcmp(list, "none") != 0)
        for (unsigned n = 0;; list++) {
            if (*list >= '0' && *list <= '9') n = n * 10 + (unsigned)(*list - '0');
            else usf_gate_handlers[n % USF_NR_SYSCALLS] = count_and_call, n = 0;
            if (!*list) break;
        }
    usf_gate_handlers[__NR_rt_sigaction] = sigaction_handler;
    usf_gate_handlers[__NR_clone] = usf_gate_handlers[__NR_clone3] = fork_handler;
}

/* Linked -z initfirst: this runs before libc has its own environment. */
static const char *option(char **env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=') return *env + n + 1;
    return NULL;
}

__attribute__((constructor)) static void start(int argc, char **argv, char **env)
{
    usf_verbose = option(env, "GATE_TEST_VERBOSE") != NULL;
    report = option(env, "GATE_TEST_REPORT");
    set_handlers(option(env, "GATE_TEST_HANDLERS"));
    usf_gate_handlers[__NR_exit_group] = exit_handler;
    usf_gate_patch_all = option(env, "GATE_TEST_PATCH") == NULL;
    usf_gate_before_clone = before_clone;
    uint64_t t0 = os_now();
    gate_init(option(env, "GATE_TEST_CACHE"));
    usf_gate_share = option(env, "GATE_TEST_SHARE") != NULL;
    gate_hold_writer(usf_gate_share);
    gate_patch_loaded();
    gate_on_load(loaded);
    gate_hold_writer(false);
    start_us = (os_now() - t0) / 1000;
}
