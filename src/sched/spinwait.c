/* src/sched/spinwait.c - how long a busy-wait goes on by itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/spinwait.h"
#include <stdatomic.h>

/* Written only when it changes: all threads that wait in the loop share it. */
static void note(_Atomic uint8_t *loop, bool is_long)
{
    uint8_t was = atomic_load_explicit(loop, memory_order_relaxed);
    uint8_t is = is_long ? (uint8_t)(was < SPIN_LONG_WAITS ? was + 1 : was) : 0;
    if (is != was) atomic_store_explicit(loop, is, memory_order_relaxed);
}

static void begin(struct spinwait *w, _Atomic uint8_t *loop, uint64_t now, uint32_t patience)
{
    if (w->loop && !w->is_long && !w->gave_way) note(w->loop, false);       /* the wait before */
    uint8_t long_waits = atomic_load_explicit(loop, memory_order_relaxed);
    w->loop = loop;
    w->began = now;
    w->longest = patience;
    w->patience = long_waits < SPIN_LONG_WAITS || ++w->retries % SPIN_RETRY == 0 ? patience : 0;
    w->is_long = w->gave_way = false;
}

/* Chunks are made as long as SPIN_CHUNK_CYCLES.  After a turn of another thread this one looks at
 * once: that was no chunk.  is_another: the one before was of another loop. */
static void set_chunk(struct spinwait *w, uint64_t now, bool is_another)
{
    uint64_t took = now - w->looked;
    w->looked = now;
    w->in_a_row = took < SPIN_SOON_CYCLES ? w->in_a_row + (uint32_t)took : 0;
    if (took > SPIN_SOON_CYCLES || is_another) w->chunk = SPIN_FREE_ROUNDS;
    else if (!w->in_chunk) return;
    else if (took < SPIN_CHUNK_CYCLES / 2 && w->chunk < SPIN_MAX_CHUNK) w->chunk *= 2;
    else if (took > 2 * SPIN_CHUNK_CYCLES && w->chunk > SPIN_FREE_ROUNDS) w->chunk /= 2;
}

void spinwait_look(struct spinwait *w, _Atomic uint8_t *loop, uint64_t now, bool begins, bool floats)
{
    bool is_another = w->loop != loop;
    if (begins) w->in_chunk = false;        /* what came before was the program's own work, too */
    set_chunk(w, now, is_another);
    w->in_chunk = true;
    if (begins || is_another) begin(w, loop, now, floats ? SPIN_PATIENCE_CYCLES : SPIN_PATIENCE_HOME_CYCLES);
}

enum spinwait_next spinwait_next(struct spinwait *w, uint64_t now, enum spinwait_others others, bool polls)
{
    if (!w->is_long && now - w->began > w->longest) {
        w->is_long = true;
        note(w->loop, true);
    }
    if (others == SPINWAIT_NONE) return w->is_long ? SPINWAIT_LET_STRANGERS : SPINWAIT_GO_ON;
    bool over = polls || now - w->began >= w->patience || w->in_a_row >= SPIN_IN_A_ROW_CYCLES;
    if (others == SPINWAIT_UNKNOWN && now - w->alone < SPIN_ALONE_CYCLES) over = false;
    return over ? SPINWAIT_GIVE_WAY : SPINWAIT_GO_ON;
}

/* A wait that has not taken long yet does not become long by others' turns. */
void spinwait_gave_way(struct spinwait *w, uint64_t now, bool ran)
{
    w->in_chunk = false;
    w->gave_way |= ran;
    w->looked = now;
    w->in_a_row = 0;
    if (!w->is_long) w->began = now;
}

uint32_t spinwait_yielded(struct spinwait *w, uint64_t before, uint64_t now)
{
    bool ran = now - before > SPIN_SWITCHED_CYCLES;
    spinwait_gave_way(w, now, ran);
    if (ran) return 0;
    w->alone = now;
    w->in_chunk = true;
    return w->chunk;
}

uint32_t spinwait_rounds(uint32_t unproductive, bool has_pause)
{
    uint32_t n = unproductive < SPIN_UNPRODUCTIVE ? unproductive : SPIN_UNPRODUCTIVE;
    return has_pause ? n : SPIN_NO_PAUSE * n;
}
