/* src/cli/stats.c - statistics of one run.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/stats.h"
#include "cli/cli.h"
#include "config/env.h"
#include "inspect/view.h"
#include "text/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 300       /* how long sums of dead processes are waited for: the monitor folds them in */

static unsigned nr_procs_of(const struct instance *in) { return atomic_load(&in->shm.h->proc_hwm); }
static struct usf_run *row_of(const struct stats *st) { return &shm_runs(st->in->shm.h)[st->run - 1]; }

/* A row whose `usf run` was killed is free again.  Its owner alone is the claim, so that two never
 * take it at once; the state is for display. */
static bool claim(struct usf_run *r, uint32_t namespace)
{
    uint64_t owner = atomic_load(&r->owner);
    if ((int32_t)owner > 0 && shm_run_namespace(owner) != namespace) return false;      /* monitors free it when its container has ended */
    if (shm_run_is_read(r, namespace)) return false;
    if (!atomic_compare_exchange_strong(&r->owner, &owner, shm_run_owner(namespace, getpid()))) return false;
    atomic_store(&r->state, 1);
    atomic_store(&r->nr_procs, 0);
    atomic_store(&r->spin_sites, 0);
    atomic_store(&r->unpatched, 0);
    atomic_store(&r->stays, 0);
    atomic_store(&r->stays_why, 0);
    for (unsigned i = 0; i < sizeof r->n / sizeof *r->n; i++) atomic_store(&r->n[i], 0);
    return true;
}

static void give_back(struct usf_run *r)
{
    atomic_store(&r->state, 0);
    atomic_store(&r->owner, 0);         /* last: another's from now on */
}

static unsigned users_of(const struct instance *in, unsigned run, bool dead_only)
{
    const struct usf_proc *p = shm_procs(in->shm.h);
    unsigned n = 0;
    for (unsigned i = 0; i < nr_procs_of(in); i++)
        if (atomic_load(&p[i].state) != USF_PROC_FREE && p[i].run == run)
            n += !dead_only || (p[i].namespace == in->shm.namespace && !shm_proc_is_alive(&p[i]));
    return n;
}

bool stats_begin(struct stats *st, struct instance *in)
{
    char text[16];
    *st = (struct stats){.in = in};
    /* A row that processes still count into (left behind by a run that has ended) is not taken. */
    for (unsigned i = 0; i < in->shm.h->max_runs && !st->run; i++)
        if (users_of(in, i + 1, false) == 0 && claim(&shm_runs(in->shm.h)[i], in->shm.namespace)) st->run = i + 1;
    if (!st->run) {
        usf_warn("%u runs with --stats are going on in this instance already: no statistics", in->shm.h->max_runs);
        return false;
    }
    snprintf(text, sizeof text, "%u", st->run);
    setenv(USF_ENV_RUN, text, 1);
    st->start_ns = os_now();
    return true;
}

/* ---- the report ------------------------------------------------------------------------------ */
struct sums {
    double seconds, busy_share;
    unsigned still;             /* processes of the run that go on */
    uint64_t nr_procs, spin_sites, unpatched, stays, stays_why;
    struct usf_counters n;
};
/* text: null where JSON alone has it. */
static const struct { const char *key, *text; size_t field; } rows[] = {
    {"switches", "switches", offsetof(struct usf_counters, switches)},
    {"blocks", "blocks", offsetof(struct usf_counters, blocks)},
    {"wakes", "wakes", offsetof(struct usf_counters, wakes)},
    {"yields", "yields", offsetof(struct usf_counters, yields)},
    {"spin_yields", "yields of spin loops", offsetof(struct usf_counters, spin_yields)},
    {"preemptions", "preemptions", offsetof(struct usf_counters, preemptions)},
    {"lends", "cores lost in calls", offsetof(struct usf_counters, lost_in_calls)},
    {"migrations", "migrations", offsetof(struct usf_counters, migrations)},
    {"polls", "waits ended by polling", offsetof(struct usf_counters, polls)},
    {"work", "tasks executed", offsetof(struct usf_counters, work)},
    {"work_pauses", "pauses of tasks", offsetof(struct usf_counters, work_pauses)},
    {"work_steals", "tasks from other CPUs", offsetof(struct usf_counters, work_steals)},
    {"work_wait_ns", NULL, offsetof(struct usf_counters, work_wait_ns)},
};
static uint64_t count_of(const struct usf_counters *n, unsigned row)
{ return *(const uint64_t *)(const void *)((const char *)n + rows[row].field); }

static void gather(const struct stats *st, struct sums *s)
{
    struct usf_run *r = row_of(st);
    uint64_t n[sizeof r->n / sizeof *r->n];
    s->seconds = (double)(os_now() - st->start_ns) / 1e9;
    s->nr_procs = atomic_load(&r->nr_procs);
    s->spin_sites = atomic_load(&r->spin_sites);
    s->unpatched = atomic_load(&r->unpatched);
    s->stays = atomic_load(&r->stays);
    s->stays_why = atomic_load(&r->stays_why);
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++) n[i] = atomic_load(&r->n[i]);
    memcpy(&s->n, n, sizeof s->n);
    double room = s->seconds * st->in->shm.h->nr_cores;
    s->busy_share = room > 0 ? (double)s->n.busy_ns / 1e9 / room : 0;
}

static void print_text(FILE *f, const struct stats *st, const struct sums *s, const char *program)
{
    char name[128];
    fprintf(f, "usf: %s: %.3f s in instance %.47s, %lu process%s, %u core%s busy %.1f %%\n",
            text_clean(program, name, sizeof name), s->seconds, st->in->shm.name, s->nr_procs,
            s->nr_procs == 1 ? "" : "es", st->in->shm.h->nr_cores, st->in->shm.h->nr_cores == 1 ? "" : "s",
            s->busy_share * 100);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].text && (s->n.work || rows[i].field < offsetof(struct usf_counters, work)))
            fprintf(f, "usf:   %-24s %12lu\n", rows[i].text, count_of(&s->n, i));
    if (s->n.work) fprintf(f, "usf:   %-24s %12.1f\n", "a task's wait, mean, us", (double)s->n.work_wait_ns / (double)s->n.work / 1e3);
    fprintf(f, "usf:   %-24s %12lu\n", "spin loops found", s->spin_sites);
    fprintf(f, "usf:   %-24s %12lu\n", "unpatched call sites", s->unpatched);
    char why[256];
    if (s->stays) fprintf(f, "usf:   %-24s %12lu  (%s)\n", "threads that do not float", s->stays, view_stays(s->stays_why, why, sizeof why));
    if (s->still) fprintf(f, "usf:   %u process%s of the run still running, not counted\n", s->still, s->still == 1 ? " is" : "es are");
}

static void print_json(FILE *f, const struct stats *st, const struct sums *s, const char *program)
{
    struct json j;
    json_start(&j, f);
    json_open(&j, 0, '{');
    json_string(&j, "program", program);
    json_string(&j, "instance", st->in->shm.name);
    json_fraction(&j, "seconds", s->seconds);
    json_uint(&j, "cores", st->in->shm.h->nr_cores);
    json_fraction(&j, "busy_share", s->busy_share);
    json_uint(&j, "processes", s->nr_procs);
    json_uint(&j, "processes_still_running", s->still);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) json_uint(&j, rows[i].key, count_of(&s->n, i));
    json_uint(&j, "busy_ns", s->n.busy_ns);
    json_uint(&j, "spin_sites", s->spin_sites);
    json_uint(&j, "unpatched_sites", s->unpatched);
    json_uint(&j, "threads_not_floating", s->stays);
    char why[256];
    json_string(&j, "not_floating_why", s->stays ? view_stays(s->stays_why, why, sizeof why) : NULL);
    json_close(&j, '}');
    json_end(&j);
}

static bool wants_json(const char *where)
{
    size_t n = strlen(where);
    return n > 5 && !strcmp(where + n - 5, ".json");
}

void stats_end(struct stats *st, const char *program, const char *where)
{
    if (!st->run) return;
    struct sums s = {0};
    gather(st, &s);                     /* the time, before we wait */
    double seconds = s.seconds;
    for (int ms = 0; ms < SETTLE_MS && users_of(st->in, st->run, true); ms += 5)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, 0);
    gather(st, &s);
    if (s.seconds > 0) s.busy_share *= s.seconds / (seconds > 0 ? seconds : s.seconds);
    s.seconds = seconds;
    s.still = users_of(st->in, st->run, false);
    give_back(row_of(st));
    FILE *f = strcmp(where, "-") ? fopen(where, "we") : stderr;
    if (!f) {
        usf_warn("the statistics cannot be written to %s: %s", where, strerror(errno));
        return;
    }
    if (wants_json(where)) print_json(f, st, &s, program);
    else print_text(f, st, &s, program);
    if (fflush(f) || ferror(f)) usf_warn("the statistics could not be written to %s", where);
    if (f != stderr) fclose(f);
}
