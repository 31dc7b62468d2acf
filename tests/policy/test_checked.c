/* tests/policy/test_checked.c - a policy that lies is caught.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>
#include "check/machine.h"

static uint32_t answer;         /* what the lying policy says next */
static struct usf_fifo queue;

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why) { (void)why; usf_fifo_push(p, &queue, task); }
static void dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, &queue, task); }
static uint32_t pick(struct usf_pol *p, uint32_t core) { (void)p, (void)core; return answer; }
static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{ (void)p, (void)task, (void)idle; return answer; }

static const struct usf_policy_ops liar = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "liar",
    .enqueue = enqueue, .dequeue = dequeue, .pick = pick, .select_core = select_core,
};

static void expect_pick(struct machine *m, uint32_t says, uint32_t core, const char *words)
{
    const char *why = "";
    answer = says;
    uint32_t got = policy_pick(&m->pol, &m->ops, core, &why);
    if (!words) CHECK(m, got == says && !why);
    else if (got != USF_NONE || !why || !strstr(why, words)) machine_fail(m, CHECK_LEGAL, words);
}

static void expect_select(struct machine *m, uint32_t says, const char *words)
{
    const uint64_t idle[USF_CORE_WORDS] = {2 | 4};       /* cores 1 and 2 */
    const char *why = "";
    answer = says;
    uint32_t got = policy_select(&m->pol, &m->ops, 0, idle, &why);
    if (!words) CHECK(m, got == says && !why);
    else if (got != USF_NONE || !why || !strstr(why, words)) machine_fail(m, CHECK_LEGAL, words);
}

int main(void)
{
    static struct machine m;
    alarm(30);
    machine_init(&m, &liar, 0, 4, 1, 1);
    const uint64_t mask[USF_CORE_WORDS] = {1 | 2};
    machine_add_group(&m, 0, mask);
    for (uint32_t t = 0; t < 3; t++) machine_add_task(&m, t, 0);
    machine_queue(&m, 0, USF_WHY_WAKE);
    machine_queue(&m, 1, USF_WHY_WAKE);

    expect_pick(&m, USF_NONE, 0, NULL);
    expect_pick(&m, 5000000, 0, "does not exist");
    expect_pick(&m, 2, 0, "not ready");
    expect_pick(&m, 0, 3, "may not run");
    expect_pick(&m, 0, 0, "in a queue");
    policy_dequeue(&m.pol, &m.ops, 0);
    expect_pick(&m, 0, 0, "not ready");
    usf_fifo_remove(&m.pol, &queue, 1);
    expect_pick(&m, 1, 0, NULL);
    expect_pick(&m, 1, 0, "not ready");         /* twice */

    expect_select(&m, USF_NONE, NULL);
    expect_select(&m, 4, "does not exist");
    expect_select(&m, 0, "not idle");
    expect_select(&m, 2, "may not run");
    expect_select(&m, 1, NULL);

    /* another policy takes over: wiped, and what is ready is queued anew */
    machine_queue(&m, 2, USF_WHY_WAKE);
    policy_wipe(&m.pol, 1, 3);
    policy_resolve(&usf_policy_coop, &m.ops);
    CHECK(&m, m.ops.init(&m.pol) == 0);
    policy_enqueue(&m.pol, &m.ops, 2, USF_WHY_WAKE);
    const char *why;
    CHECK(&m, policy_pick(&m.pol, &m.ops, 1, &why) == 2 && !why);
    CHECK(&m, policy_pick(&m.pol, &m.ops, 1, &why) == USF_NONE && !why);
    machine_free(&m);
    printf("ok\n");
    return 0;
}
