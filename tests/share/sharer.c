/* tests/share/sharer.c - each process gets its first so many cores as share, by its weight; 100: it is told nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#include <usf/policy.h>

static void tell(struct usf_pol *p, uint32_t proc)
{
    struct usf_pol_group *it = usf_group(p, proc);
    uint32_t n = it->weight == 100 ? 0 : it->weight;
    for (uint32_t w = 0; w < 4; w++) it->share[w] = 0;
    for (uint32_t c = 0; c < p->nr_cores && n; c++) {
        if (!usf_allowed(p, proc, c)) continue;
        it->share[c / 64] |= 1ull << (c % 64);
        n--;
    }
    it->share_gen++;
}

/* A policy has to decide something. */
static bool yield(struct usf_pol *p, uint32_t core, uint32_t task) { (void)p, (void)core, (void)task; return true; }

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API, .size = sizeof usf_policy, .name = "sharer", .description = "shares by weight",
    .yield = yield, .group_add = tell, .group_changed = tell,
};
