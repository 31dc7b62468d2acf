/* src/tasks/memory.c - how much memory task records take.  SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <unistd.h>

#include "nosv/memory.h"
#include "tasks/tasks.h"

static int check(const void *out)
{
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    return out ? NOSV_SUCCESS : NOSV_ERR_INVALID_PARAMETER;
}

/* Records lie in the process's own memory: what bounds them is what the machine has, or the
 * process's limit. */
static size_t room(void)
{
    struct rlimit limit;
    size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < all ? limit.rlim_cur : all;
}

/* The slots' queues count, too. */
static size_t used(void) { return tk_pool_used() + tk.nr_slots * sizeof *tk.slots; }

TK_API int nosv_memory_get_used(size_t *out)
{
    int r = check(out);
    if (r == NOSV_SUCCESS) *out = used();
    return r;
}

TK_API int nosv_memory_get_size(size_t *out)
{
    int r = check(out);
    if (r == NOSV_SUCCESS) *out = room();
    return r;
}

TK_API int nosv_memory_get_pressure(float *out)
{
    int r = check(out);
    if (r == NOSV_SUCCESS) *out = (float)used() / (float)room();
    return r;
}
