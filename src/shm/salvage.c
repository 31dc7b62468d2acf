/* src/shm/salvage.c - read as much of a segment as there is, however damaged.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For `usf dump`.  The tables are looked for where this build puts them, not where the header
 * says. */
#include "internal.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct source { int fd; uint64_t base, size; };

/* What lies behind the end stays zero. */
static void read_some(const struct source *s, void *to, uint64_t off, uint64_t len)
{
    if (off >= s->size) return;
    if (len > s->size - off) len = s->size - off;
    (void)os_pread(s->fd, to, len, s->base + off);
}

static void end_text(char *s, size_t cap) { s[cap - 1] = 0; }

/* What the views of a segment rely on.  raw is what was there. */
static void mend(struct usf_header *h, const struct shm_layout *l, bool holes_are_free)
{
    uint32_t procs = atomic_load(&h->proc_hwm), groups = atomic_load(&h->group_hwm), tasks = atomic_load(&h->task_hwm);
    shm_note_layout(h, l);
    /* A wrong mark: everything, unless to read a hole would fill it. */
    if (procs > USF_MAX_PROCS) atomic_store(&h->proc_hwm, holes_are_free ? USF_MAX_PROCS : USF_PROC_CHUNK);
    if (groups > USF_MAX_GROUPS) atomic_store(&h->group_hwm, holes_are_free ? USF_MAX_GROUPS : USF_GROUP_CHUNK);
    if (tasks > USF_MAX_TASKS) atomic_store(&h->task_hwm, holes_are_free ? USF_MAX_TASKS : 0);
    end_text(h->build_id, sizeof h->build_id);
    end_text(h->name, sizeof h->name);
    end_text(h->policy, sizeof h->policy);
    end_text(h->policy_path, sizeof h->policy_path);
    end_text(h->policy_why, sizeof h->policy_why);
    end_text(h->policy_was, sizeof h->policy_was);
    end_text(h->policy_next.policy, sizeof h->policy_next.policy);
    end_text(h->policy_next.was, sizeof h->policy_next.was);
    end_text(h->policy_next.why, sizeof h->policy_next.why);
    end_text(h->policy_ask.policy, sizeof h->policy_ask.policy);
    end_text(h->policy_ask.why, sizeof h->policy_ask.why);
    end_text(h->usf_exe, sizeof h->usf_exe);
}

/* Every core's record has its number. */
static void mend_cores(struct usf_header *h)
{
    const struct usf_core *c = shm_cores(h);
    if (h->nr_cores && h->nr_cores <= USF_MAX_CORES) return;
    h->nr_cores = 1;
    while (h->nr_cores < USF_MAX_CORES && c[h->nr_cores].pol.id == h->nr_cores) h->nr_cores++;
}

/* The first thing that is wrong, into why. */
static int judge(const struct usf_header *raw, uint64_t size, char *why, size_t cap)
{
    if (size < sizeof *raw) {
        usf_format(why, cap, "truncated: %lu bytes, a header has %lu", (unsigned long)size, (unsigned long)sizeof *raw);
        return -EBADMSG;
    }
    return shm_header_is_valid(raw, size, why, cap) ? 0 : -EBADMSG;
}

int shm_salvage(int fd, uint64_t base, uint64_t size, struct usf_header *raw, struct shm *m)
{
    struct source s = {fd, base, size};
    struct shm_layout l;
    memset(m, 0, sizeof *m);
    memset(raw, 0, sizeof *raw);
    read_some(&s, raw, 0, sizeof *raw);
    int unsound = judge(raw, size, m->why, sizeof m->why);
    if (raw->magic == USF_SHM_MAGIC && (raw->abi != USF_SHM_ABI || raw->layout_hash != USF_LAYOUT_HASH)) return -EPROTO;
    shm_layout_of(SHM_FULL_SIZES, &l);
    void *map = os_map(l.total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (os_is_error(map)) return (int)(intptr_t)map;
    m->h = map;
    m->size = l.total;
    m->snapshot = true;
    memcpy(m->h, raw, sizeof *raw);
    mend(m->h, &l, base == 0);
    read_some(&s, shm_cores(m->h), l.off_cores, USF_MAX_CORES * sizeof(struct usf_core));
    mend_cores(m->h);
    read_some(&s, shm_runs(m->h), l.off_runs, USF_MAX_RUNS * sizeof(struct usf_run));
    read_some(&s, shm_procs(m->h), l.off_procs, atomic_load(&m->h->proc_hwm) * sizeof(struct usf_proc));
    read_some(&s, shm_groups(m->h), l.off_groups, atomic_load(&m->h->group_hwm) * sizeof(struct usf_group));
    read_some(&s, shm_threads(m->h), l.off_threads, atomic_load(&m->h->task_hwm) * sizeof(struct usf_thread));
    read_some(&s, shm_tasks(m->h), l.off_tasks, atomic_load(&m->h->task_hwm) * sizeof(struct usf_task));
    if (!unsound) shm_tables_are_valid(m->h, m->why, sizeof m->why);
    return 0;
}
