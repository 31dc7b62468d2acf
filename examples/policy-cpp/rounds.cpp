// examples/policy-cpp/rounds.cpp - a policy in C++: groups in turn.  SPDX-License-Identifier: Apache-2.0
//
//   make -C examples/policy-cpp
//   usf policy check ./examples/policy-cpp/rounds.so
//
// Each core goes round over the groups and takes the oldest ready thread of the next one: a group with many threads gets no
// more turns than one with few.  Who has yielded waits behind all others, though for a quantum at most.
//
// C++ without exceptions, run-time types, and the library: what is left is templates, references and constants.
#include <usf/policy.h>

namespace {

constexpr uint32_t GROUPS = USF_GROUPS_MAX, WORDS = GROUPS / 64;

// Laid over the data areas.  may_alias: they are arrays of bytes to everybody else.
struct USF_POLICY_STATE Inst {
    uint64_t waiting[WORDS];    // bit i: group i has ready tasks
    usf_fifo yielded;
    uint32_t overdue;           // 1: the last choice was a yielder that had waited too long
};
struct USF_POLICY_STATE Core { uint32_t round; };       // the group after the one that was served last
struct USF_POLICY_STATE Group { usf_fifo ready; };
struct USF_POLICY_STATE Mark { uint32_t yielded; };

template <class T, size_t N> T &over(uint8_t (&data)[N])
{
    static_assert(sizeof(T) <= N, "the state fits its data area");
    return *reinterpret_cast<T *>(data);
}
static_assert(sizeof(Inst) <= USF_POL_DATA - 64, "the state fits the instance's data area");

Inst &inst(usf_pol *p) { return *reinterpret_cast<Inst *>(p->data); }
Core &core(usf_pol *p, uint32_t c) { return over<Core>(usf_core(p, c)->data); }
Group &group(usf_pol *p, uint32_t i) { return over<Group>(usf_group(p, i)->data); }
Mark &mark(usf_pol *p, uint32_t t) { return over<Mark>(usf_task(p, t)->data); }

int init(usf_pol *p) { return p->nr_groups > GROUPS; }

void enqueue(usf_pol *p, uint32_t task, usf_why why)
{
    const uint32_t i = usf_task(p, task)->group;
    mark(p, task).yielded = why == USF_WHY_YIELD;
    usf_fifo_push(p, why == USF_WHY_YIELD ? &inst(p).yielded : &group(p, i).ready, task);
    if (why != USF_WHY_YIELD) inst(p).waiting[i / 64] |= uint64_t{1} << i % 64;
}

void tidy(usf_pol *p, uint32_t i)
{
    if (!group(p, i).ready.len) inst(p).waiting[i / 64] &= ~(uint64_t{1} << i % 64);
}

void dequeue(usf_pol *p, uint32_t task)
{
    const uint32_t i = usf_task(p, task)->group;
    usf_fifo_remove(p, mark(p, task).yielded ? &inst(p).yielded : &group(p, i).ready, task);
    tidy(p, i);
}

// The first group at or after `from` with ready tasks, without going around; USF_NONE: none.
uint32_t next(const Inst &in, uint32_t from)
{
    for (uint32_t w = from / 64; w < WORDS; w++) {
        const uint64_t m = in.waiting[w] & (w == from / 64 ? ~uint64_t{0} << from % 64 : ~uint64_t{0});
        if (m) return w * 64 + static_cast<uint32_t>(__builtin_ctzll(m));
    }
    return USF_NONE;
}

// Of the groups from .. to-1.
uint32_t pick_between(usf_pol *p, uint32_t c, uint32_t from, uint32_t to)
{
    for (uint32_t i = next(inst(p), from); i < to; i = next(inst(p), i + 1)) {
        const uint32_t task = usf_fifo_pop_allowed(p, &group(p, i).ready, c);
        if (task == USF_NONE) continue;
        tidy(p, i);
        core(p, c).round = (i + 1) % GROUPS;
        return task;
    }
    return USF_NONE;
}

uint32_t pick(usf_pol *p, uint32_t c)
{
    Inst &in = inst(p);
    const uint32_t first = in.yielded.head, round = core(p, c).round;
    uint32_t task = USF_NONE;
    in.overdue = first && !in.overdue && p->now - usf_task(p, first - 1)->ready_since >= p->quantum;
    if (in.overdue) task = usf_fifo_pop_allowed(p, &in.yielded, c);
    if (task == USF_NONE) task = pick_between(p, c, round, GROUPS);
    if (task == USF_NONE) task = pick_between(p, c, 0, round);
    return task != USF_NONE ? task : usf_fifo_pop_allowed(p, &in.yielded, c);
}

}

// A const object has internal linkage in C++ unless it is declared extern before.
extern "C" {
extern USF_POLICY_EXPORT const usf_policy_ops usf_policy;
const usf_policy_ops usf_policy = {
    .api = USF_POLICY_API,
    .size = sizeof(usf_policy_ops),
    .name = "rounds",
    .description = "processes in turn; an example in C++",
    .flags = 0,
    .init = init,
    .group_add = nullptr,
    .group_remove = nullptr,
    .task_add = nullptr,
    .task_remove = nullptr,
    .select_core = nullptr,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
    .yield = nullptr,
    .started = nullptr,
    .stopped = nullptr,
    .tick = nullptr,
    .group_changed = nullptr,
};
}
