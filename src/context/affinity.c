/* src/context/affinity.c - CPU masks of threads, as a context's libraries see them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that has set no mask in the context has the context's CPUs, whatever the kernel says:
 * entering a context makes no system call.  From its first sched_setaffinity on the kernel's answer
 * counts, until the thread asks for all of the context's CPUs, or leaves the context: then it has
 * the mask again that it had before.  (Libraries bind a thread to each CPU in turn to look at it,
 * and set what they have found.)  CPU numbers are the machine's own. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "context/shim.h"

/* The context in which the thread has set its mask; null: none. */
__thread struct usf_context *affinity_set_in __attribute__((tls_model("initial-exec")));
static __thread struct os_cpuset before;        /* its mask until then */

/* Bytes of the kernel's masks. */
static size_t kernel_size(void)
{
    static _Atomic size_t known;
    size_t size = atomic_load_explicit(&known, memory_order_relaxed);
    struct os_cpuset mask;
    if (size) return size;
    long n = syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask);
    size = n > 0 ? (size_t)n : 8;
    atomic_store_explicit(&known, size, memory_order_relaxed);
    return size;
}

static bool is_self(int32_t tid) { return !tid || tid == os_gettid(); }

int affinity_get(struct usf_context *c, int32_t tid, size_t size, void *mask)
{
    size_t kernel = kernel_size(), n = size < kernel ? size : kernel;
    struct os_cpuset real;
    if (size < kernel || size % sizeof(long)) return -EINVAL;
    if (c->nr_cpus && is_self(tid) && affinity_set_in != c) {
        memcpy(mask, &c->cpus, n);
        return (int)n;
    }
    int r = os_getaffinity(tid, &real);
    if (r < 0) return r;
    if (c->nr_cpus) {
        os_cpu_and(&real, &c->cpus);
        if (!os_cpu_count(&real)) real = c->cpus;       /* a thread of the program's, elsewhere */
    }
    memcpy(mask, &real, n);
    return (int)n;
}

uint32_t affinity_clip(const struct usf_context *c, size_t size, const void *mask, struct os_cpuset *out)
{
    *out = (struct os_cpuset){0};
    memcpy(out, mask, size < sizeof *out ? size : sizeof *out);
    if (c->nr_cpus) os_cpu_and(out, &c->cpus);
    return os_cpu_count(out);
}

int affinity_set(struct usf_context *c, int32_t tid, size_t size, const void *mask)
{
    struct os_cpuset cpus;
    if (!affinity_clip(c, size, mask, &cpus)) return -EINVAL;
    if (!is_self(tid)) return os_setaffinity(tid, &cpus);
    if (c->nr_cpus && memcmp(&cpus, &c->cpus, sizeof cpus) == 0) {
        affinity_restore();
        return 0;
    }
    int r = affinity_set_in || os_getaffinity(0, &before) >= 0 ? os_setaffinity(0, &cpus) : -EFAULT;
    if (r == 0) affinity_set_in = c;
    return r;
}

/* The context's own threads have its CPUs, which may be others than before. */
void affinity_restore(void)
{
    struct usf_context *c = affinity_set_in;
    if (c) os_setaffinity(0, c->nr_cpus && threads_is_bound(c) ? &c->cpus : &before);
    affinity_set_in = 0;
}

bool affinity_enter(struct usf_context *c, struct os_cpuset *own)
{
    if (!c->nr_cpus || affinity_set_in == c || os_getaffinity(0, own) < 0 || memcmp(own, &c->cpus, sizeof *own) == 0) return false;
    return os_setaffinity(0, &c->cpus) == 0;
}
