/* src/policy/registry.c - built-in policies, names, completion of tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"
#include "base/base.h"
#include <string.h>

#define POLICY_SIZE_MAX 4096u      /* of a later version's table: what comes behind is not looked at beyond that */

const struct usf_policy_ops *const usf_builtin_policies[] = {
    &usf_policy_coop, &usf_policy_fifo, &usf_policy_fair, &usf_policy_equi, &usf_policy_speedup, &usf_policy_gang, &usf_policy_batch,
    &usf_policy_fl, &usf_policy_linux, NULL,
};

const struct usf_policy_ops *policy_find(const char *name)
{
    for (const struct usf_policy_ops *const *o = usf_builtin_policies; *o; o++)
        if (!strcmp((*o)->name, name)) return *o;
    return NULL;
}

bool policy_name_is_valid(const char *name)
{
    size_t n = 0;
    for (; name[n]; n++) {
        char c = name[n];
        bool ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!ok || n >= POLICY_NAME_MAX) return false;
    }
    return n > 0;
}

/* Edit distance, one row at a time.  Words longer than the row are not near anything. */
static unsigned distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    unsigned row[MAX + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > MAX || m > MAX) return MAX;
    for (unsigned j = 0; j <= m; j++) row[j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *policy_nearest_word(const char *word, const char *const *list)
{
    const char *best = NULL;
    unsigned best_distance = (unsigned)strlen(word) / 2 + 1;    /* half the word wrong: not what was meant */
    for (; *list; list++) {
        unsigned d = distance(word, *list);
        if (d < best_distance) best = *list, best_distance = d;
    }
    return best;
}

const char *policy_nearest(const char *name)
{
    const char *names[sizeof usf_builtin_policies / sizeof *usf_builtin_policies];
    unsigned n = 0;
    for (const struct usf_policy_ops *const *o = usf_builtin_policies; *o; o++) names[n++] = (*o)->name;
    names[n] = NULL;
    return policy_nearest_word(name, names);
}

/* The table of an object that was built with an earlier header of this API version is shorter: it
 * has the operations up to where it ends.  A longer one comes from a later header: it will do if
 * nothing in it is set that is not known here. */
static bool size_is_valid(const struct usf_policy_ops *in, char *why, unsigned why_len)
{
    const char *end = (const char *)in + in->size;
    if (in->size < USF_POLICY_SIZE_MIN || in->size % sizeof(void *) || in->size > POLICY_SIZE_MAX) {
        usf_format(why, why_len, "policy's table has %u bytes, which no version of API %u has (%u in this one): set "
                   ".size = sizeof(struct usf_policy_ops)", in->size, USF_POLICY_API_VERSION, (unsigned)sizeof *in);
        return false;
    }
    for (const char *at = (const char *)(in + 1); at < end; at++)
        if (*at) {
            usf_format(why, why_len, "policy has an operation that this usf does not know: it was written for a later usf; rebuild it "
                       "with this usf's header, without that operation");
            return false;
        }
    return true;
}

static bool version_is_valid(const struct usf_policy_ops *in, char *why, unsigned why_len)
{
    uint32_t version = in->api & ~USF_POLICY_API_VECTOR;
    if (version == USF_POLICY_API_VERSION) return size_is_valid(in, why, why_len);
    if (version && version < USF_POLICY_API_VERSION)
        usf_format(why, why_len, "policy was written for API version %u, whose records were laid out otherwise; this usf has %u: rebuild "
                   "it with this usf's header (docs/policy.md says what has changed)", version, USF_POLICY_API_VERSION);
    else
        usf_format(why, why_len, "policy was written for API version %u, this usf has %u: rebuild it", version, USF_POLICY_API_VERSION);
    return false;
}

bool policy_ops_is_valid(const struct usf_policy_ops *in, char *why, unsigned why_len)
{
    if (!version_is_valid(in, why, why_len)) return false;
    if (!in->name || !policy_name_is_valid(in->name)) {
        usf_format(why, why_len, "policy has no valid name (1 to %u of a-z 0-9 - _)", POLICY_NAME_MAX);
        return false;
    }
    if (in->flags & ~(uint64_t)(USF_POLICY_KERNEL | USF_POLICY_SWAP | USF_POLICY_CAN_STARVE | USF_POLICY_TICK_WAITING | USF_POLICY_LEASES)) {
        usf_format(why, why_len, "policy %s sets unknown flags 0x%lx", in->name, (unsigned long)in->flags);
        return false;
    }
    int queue_ops = !!in->enqueue + !!in->pick + !!in->dequeue;
    if (queue_ops % 3) {
        usf_format(why, why_len, "policy %s lacks operations:%s%s%s (enqueue, pick and dequeue: all or none)",
                   in->name, in->enqueue ? "" : " enqueue", in->pick ? "" : " pick", in->dequeue ? "" : " dequeue");
        return false;
    }
    return true;
}

void policy_resolve(const struct usf_policy_ops *in, struct usf_policy_ops *out)
{
    const struct usf_policy_ops *d = &usf_policy_defaults;
    *out = (struct usf_policy_ops){0};
    __builtin_memcpy(out, in, in->size < sizeof *out ? in->size : sizeof *out);     /* a shorter one: the rest is null */
    out->size = sizeof *out;
    if (!out->description) out->description = "";
#define DEFAULT(op) if (!out->op) out->op = d->op
    DEFAULT(init);
    DEFAULT(group_add);
    DEFAULT(group_remove);
    DEFAULT(task_add);
    DEFAULT(task_remove);
    DEFAULT(select_core);
    DEFAULT(enqueue);
    DEFAULT(pick);
    DEFAULT(dequeue);
    DEFAULT(yield);
    DEFAULT(started);
    DEFAULT(stopped);
    DEFAULT(tick);
    DEFAULT(group_changed);
#undef DEFAULT
}
