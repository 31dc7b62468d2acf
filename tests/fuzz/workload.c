/* tests/fuzz/workload.c - the simulator's workloads: parsed, and set up on a small machine.  SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "sim/lang/lower.h"

static struct sim_machine machine;

/* What is included or read as a trace: never a file. */
static char *no_files(const char *path, size_t *size, char *why, size_t cap)
{
    static const char text[] = "1ms p 2\n";
    if (strstr(path, "none")) {
        snprintf(why, cap, "there is none");
        return NULL;
    }
    *size = sizeof text - 1;
    return strdup(text);
}

static void check_error(const struct lang_error *e, bool place)
{
    FUZZ_CHECK(*e->text && memchr(e->text, 0, sizeof e->text) && memchr(e->file, 0, sizeof e->file) && !strchr(e->text, '\n'));
    if (place) FUZZ_CHECK(e->line > 0 && e->col > 0);
}

void fuzz_start(void)
{
    if (sim_machine_regular(&machine, 1, 2, 1, 2, 2)) exit(1);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct lang_error e;
    char *text = malloc(size + 1), why[256];
    memcpy(text, data, size);
    text[size] = 0;
    struct lang_workload *w = lang_parse("dir/w", text, size, no_files, &e);
    free(text);
    if (!w) {
        check_error(&e, true);
        return;
    }
    FUZZ_CHECK(w->nr_starts > 0 && w->nr_programs > 0);
    if (lang_set(w, "n=3", &e)) check_error(&e, false);
    struct lang_lowered *l = lang_lower(w, &machine, size, &e);
    if (!l) check_error(&e, false);
    for (uint32_t i = 0; l && i < l->w.nr_programs; i++) {
        FUZZ_CHECK(l->of[i] < w->nr_programs && (!i || l->w.program[i - 1].start_ns <= l->w.program[i].start_ns));
        FUZZ_CHECK(memchr(l->w.program[i].name, 0, sizeof l->w.program[i].name));
    }
    /* what it makes is right but for how deep it nests, which only the engine knows */
    if (l && !sim_workload_is_valid(&l->w, why, sizeof why)) FUZZ_CHECK(strstr(why, "deep") || strstr(why, "nest"));
    lang_lowered_free(l);
    lang_free(w);
}

size_t fuzz_seed(unsigned n, uint8_t *buf, size_t cap)
{
    static const char *const texts[] = {
        "program p\nthread\ncompute 5ms\nend\nend\nstart p\n",
        "workload \"t\"\nparam n = 4 # x\ncurve c 1:1 2:1.9\nprogram p(a = 1ms, b = 2) speedup c malleable nogang nofloat weight 50 width n on \"0-2,5\"\nlock l[n] spinning\n"
        "barrier b n yielding\nthread w 0\ncritical l[thread % 2] exp(a) \\\n * 1\nend\nthread n\nfor i = 1 to b\nbarrier b\nspawn w 2\njoin\nend\nend\nend\n"
        "start p 2 every 3ms\nstart any(p(a = 2us), p) n poisson 9/min at 1s\n",
        "program p\nsemaphore s 2 polite\nchannel m[3] 4\nthread\nwait s\npost s 3\nsend m[0] 2\nrecv m[0]\nio 1us\nsleep uniform(1us, 2us)\nyield\nrequest\nanswer\nprogress\nend\nend\nstart p\n",
        "program p\nthread\ntaskgraph 3 adaptive\nfor i = 0 to 5\ntask in A(i,1), B out C(i) inout D\ncompute lognormal(1ms, 0.5) bandwidth 2GB/s memory 0.5\nyield\nend\nend\nend\nend\nend\nstart p\n",
        "program p\nthread\nrepeat 3\nparallel 4 spinning\ncompute 8ms divided\nbarrier team spinning\nend\nset x = choose(1ms, 2ms)\nif x > 1ms and not (cores == 3 or nodes != llcs)\n"
        "compute x\nelse\ncompute pareto(x, 2)\nend\nend\nset k = 3\nwhile k >= 1\nset k = k - 1\nend\nend\nend\nstart p\n",
        "channel c 1\nsemaphore d[2]\nprogram p\nthread\nsend c\nend\nend\nprogram q\nthread\nrecv c\nwait d[instance]\nend\nend\ninclude \"x\"\nstart p\n",
        "program p rr 3\nthread\ncompute max(1ms, normal(2ms, 1ms)) / 2\nend\nend\nstart trace \"arrivals\"\nstart trace \"none\"\n",
    };
    return fuzz_seed_text(texts, sizeof texts / sizeof *texts, n, buf, cap);
}
