/* sim/real/area.c - memory that the programs of a workload share: when they begin, messages,
 * results.  SPDX-License-Identifier: Apache-2.0
 *
 * The first program's channels lie there, as other programs may have links to them
 * (sim/program.h). */
#include "sim/real/replay.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING 65536u     /* messages that an unbounded channel can keep the times of */

struct rp_area *rp_area;

static bool has(const struct sim_workload *w, enum sim_op_kind kind)
{
    for (uint32_t p = 0; p < w->nr_programs; p++)
        for (uint32_t c = 0; c < w->program[p].nr_codes; c++)
            for (uint32_t i = 0; i < w->program[p].code[c].nr; i++)
                if (w->program[p].code[c].op[i].kind == kind) return true;
    return false;
}

static bool timed;      /* requests are, so messages have stamps */

static uint64_t ring_of(const struct sim_channel_def *d)
{
    if (!timed) return 0;
    return d->capacity ? d->capacity : d->initial > RING / 2 ? 2ull * d->initial : RING;
}

static uint64_t channel_size(const struct sim_channel_def *d)
{ return sizeof(struct rp_channel) + (ring_of(d) * sizeof(struct rp_stamp) + 63) / 64 * 64; }

/* In zeroed memory. */
static void channel_init(struct rp_channel *c, const struct sim_channel_def *d, bool shared)
{
    c->capacity = d->capacity;
    c->ring = (uint32_t)ring_of(d);
    c->stamps = sizeof *c;
    c->messages.shared = c->room.shared = shared;
    atomic_store(&c->messages.word, d->initial);
    atomic_store(&c->room.word, d->capacity > d->initial ? d->capacity - d->initial : 0);
    struct rp_stamp *s = (struct rp_stamp *)(void *)(c + 1);
    for (uint32_t i = 0; c->ring && i < d->initial; i++) atomic_store(&s[i].turn, i + 1);
    atomic_store(&c->sent, d->initial);
}

int rp_area_make(const struct sim_workload *w)
{
    const struct sim_program *first = &w->program[0];
    timed = has(w, SIM_OP_DONE);
    uint64_t results = (sizeof *rp_area + 63) / 64 * 64, times = results + (w->nr_programs * sizeof(struct rp_result) + 63) / 64 * 64;
    uint64_t channels = times + (timed ? (uint64_t)w->nr_programs * RP_REQUESTS * 8 : 0), size = channels;
    for (uint32_t i = 0; i < first->nr_channels; i++) size += channel_size(&first->channel[i]);
    int fd = memfd_create("usf-replay", 0);
    if (fd < 0 || ftruncate(fd, (off_t)size) || rp_area_map(fd)) {
        if (fd >= 0) close(fd);
        return -1;
    }
    rp_area->results = results;
    rp_area->channels = channels;
    rp_area->size = size;
    rp_area->go.shared = true;
    struct rp_result *r = rp_at(results);
    for (uint32_t i = 0; i < w->nr_programs; i++) r[i].times = times + (uint64_t)i * RP_REQUESTS * 8;
    char *at = rp_at(channels);
    for (uint32_t i = 0; i < first->nr_channels; i++) {
        channel_init((struct rp_channel *)(void *)at, &first->channel[i], true);
        at += channel_size(&first->channel[i]);
    }
    return fd;
}

int rp_area_map(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < (off_t)sizeof *rp_area) return -1;
    void *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return -1;
    rp_area = p;
    return 0;
}

/* Which of the first program's channels others use: the rest are private, whose futexes are another
 * matter (for usf, too). */
static void find_linked(const struct sim_workload *w, bool *linked)
{
    for (uint32_t p = 0; p < w->nr_programs; p++)
        for (uint32_t i = 0; w->program[p].link && i < w->program[p].nr_channels; i++)
            if (w->program[p].link[i].program == 0) linked[w->program[p].link[i].channel] = true;
}

bool rp_channels(const struct sim_workload *w)
{
    const struct sim_program *p = rp.p, *first = &w->program[0];
    timed = has(w, SIM_OP_DONE);
    struct rp_channel **shared = calloc(first->nr_channels + 1ul, sizeof *shared);
    bool *linked = calloc(first->nr_channels + 1ul, sizeof *linked);
    rp.channel = calloc(p->nr_channels + 1ul, sizeof *rp.channel);
    if (!shared || !linked || !rp.channel) return false;
    find_linked(w, linked);
    char *at = rp_at(rp_area->channels);
    for (uint32_t i = 0; i < first->nr_channels; i++) {
        shared[i] = (struct rp_channel *)(void *)at;
        at += channel_size(&first->channel[i]);
    }
    for (uint32_t i = 0; i < p->nr_channels; i++) {
        bool link = p->link && p->link[i].program != SIM_NO_CODE;
        if (link || (rp.index == 0 && linked[i])) {
            rp.channel[i] = shared[link ? p->link[i].channel : i];
            continue;
        }
        rp.channel[i] = aligned_alloc(64, channel_size(&p->channel[i]));
        if (!rp.channel[i]) return false;
        memset(rp.channel[i], 0, channel_size(&p->channel[i]));
        channel_init(rp.channel[i], &p->channel[i], false);
    }
    free(shared);
    free(linked);
    return true;
}
