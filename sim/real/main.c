/* sim/real/main.c - usf-replay: a workload's programs as real processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "sim/kernel.h"
#include "sim/mach/calibrate.h"
#include "sim/real/replay.h"
#include "text/json.h"
#include "usf/policy.h"
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, FAILED = 1, USAGE = 125, CANNOT = 126 };   /* CANNOT: this machine has not what the file asks for */
#define SETS 32u
#define POOL 64u                    /* working sets that are made before time counts */
#define SETTLE_MS 20u               /* between the last one's being ready and the start */

struct options {
    const char *file, *sets[SETS], *cpus, *speed;
    unsigned nr_sets, timeout, settle;
    uint64_t seed;
    long part;                      /* which program this process is; -1: the launcher */
    int area;
    bool json, measure;
};
static struct options o = {.part = -1, .area = -1, .seed = 1, .timeout = 120, .settle = SETTLE_MS};

void rp_die(const char *fmt, ...)
{
    va_list ap;
    char text[512];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "usf-replay: %s\n", text);
    _exit(o.part < 0 ? USAGE : FAILED);
}

/* ---- options --------------------------------------------------------------------------------------------------- */
static const char help_text[] =
    "usage: usf-replay [OPTION...] FILE\n\n"
    "Execute a workload of 'usf sim' for real: each program is a process, each thread a thread, on the CPUs that this one may use.  Put\n"
    "'usf run --policy NAME' before it to have it scheduled by usf.\n\n"
    "  --set NAME=VALUE   give a parameter of the workload another value\n"
    "  --seed N           of what is drawn by chance (default 1)\n"
    "  --json             the result for machines\n"
    "  --timeout S        give up after so long (default 120)\n"
    "  --settle MS        nobody runs for so long before the programs begin (default 20).  Policies that give programs shares count those that\n"
    "                     have run lately, equi and gang for half a second: with 700 nobody counts who has only prepared itself\n"
    "  --measure          print how fast this machine computes, and end\n"
    "  --speed TEXT       what --measure printed: the same for runs that are to be compared\n";

static uint64_t number(const char *name, const char *text, uint64_t max)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || v > max) rp_die("%s is to be a whole number up to %" PRIu64 ", and is '%.60s'", name, max, text);
    return v;
}

static void parse_options(int argc, char **argv)
{
    static const struct option longs[] = {
        {"set", 1, 0, 's'}, {"seed", 1, 0, 'n'}, {"json", 0, 0, 'j'}, {"timeout", 1, 0, 't'}, {"settle", 1, 0, 'l'}, {"measure", 0, 0, 'm'}, {"speed", 1, 0, 'v'},
        {"part", 1, 0, 'p'}, {"area", 1, 0, 'a'}, {"cpus", 1, 0, 'c'}, {"help", 0, 0, 'h'}, {0}};
    for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
        switch (c) {
        case 's':
            if (o.nr_sets == SETS) rp_die("more than %u times --set", SETS);
            o.sets[o.nr_sets++] = optarg;
            break;
        case 'n': o.seed = number("--seed", optarg, UINT64_MAX); break;
        case 'j': o.json = true; break;
        case 't': o.timeout = (unsigned)number("--timeout", optarg, 86400); break;
        case 'l': o.settle = (unsigned)number("--settle", optarg, 60000); break;
        case 'm': o.measure = true; break;
        case 'v': o.speed = optarg; break;
        case 'p': o.part = (long)number("--part", optarg, LOWER_PROGRAMS_MAX); break;
        case 'a': o.area = (int)number("--area", optarg, 1u << 20); break;
        case 'c': o.cpus = optarg; break;
        case 'h':
            fputs(help_text, stdout);
            exit(OK);
        default: exit(USAGE);       /* getopt has said it */
        }
    }
    if (o.measure ? argc != optind : argc != optind + 1) {
        fputs(help_text, stderr);
        exit(USAGE);
    }
    o.file = argv[optind];
}

static void print_speed(FILE *f, const struct rp_speed *s) { fprintf(f, "%.9g,%.9g,%.9g", s->rounds, s->mbps, s->chain); }

static struct rp_speed the_speed(void)
{
    struct rp_speed s;
    int n = 0;
    if (!o.speed) {
        rp_measure(&s);
        return s;
    }
    if (sscanf(o.speed, "%lf,%lf,%lf%n", &s.rounds, &s.mbps, &s.chain, &n) != 3 || o.speed[n] || !(s.rounds > 0 && s.mbps > 0 && s.chain > 0))
        rp_die("--speed is to be what --measure printed, and is '%.60s'", o.speed);
    return s;
}

/* ---- the workload ------------------------------------------------------------------------------------------------- */
static void fail_lang(const struct lang_error *e)
{
    if (e->line) rp_die("%.200s:%u:%u: %s", e->file, e->line, e->col, e->text);
    rp_die("%.200s%s%s", e->file, *e->file ? ": " : "", e->text);
}

/* The CPUs as the launcher had them: under usf affinity queries answer with the share of who
 * asks. */
static cpu_set_t allowed(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (!o.cpus) {
        if (sched_getaffinity(0, sizeof set, &set)) rp_die("the CPUs of this process cannot be found out: %s", strerror(errno));
        return set;
    }
    for (const char *s = o.cpus; *s; s += *s == ',') {
        char *end;
        unsigned long c = strtoul(s, &end, 10);
        if (end == s || c >= CPU_SETSIZE) rp_die("--cpus '%.60s'", o.cpus);
        CPU_SET(c, &set);
        s = end;
    }
    return set;
}

static bool has_tasks(const struct sim_program *p)
{
    for (uint32_t c = 0; c < p->nr_codes; c++)
        for (uint32_t i = 0; i < p->code[c].nr; i++)
            if (p->code[c].op[i].kind == SIM_OP_SUBMIT || p->code[c].op[i].kind == SIM_OP_PAUSE) return true;
    return false;
}

static struct lang_lowered *load(const cpu_set_t *cpus)
{
    struct lang_error e;
    struct mach_error me = {0};
    static struct sim_machine m;
    char why[160];
    if (cal_topology_of(&m, cpus, &me)) rp_die("%s", me.text);
    struct lang_workload *w = lang_parse(o.file, NULL, 0, NULL, &e);
    for (unsigned i = 0; w && i < o.nr_sets; i++)
        if (lang_set(w, o.sets[i], &e)) fail_lang(&e);
    struct lang_lowered *l = w ? lang_lower(w, &m, o.seed, &e) : NULL;
    if (!l) fail_lang(&e);
    if (!sim_workload_is_valid(&l->w, why, sizeof why)) rp_die("%.200s: %s", o.file, why);
    for (uint32_t i = 0; i < l->w.nr_programs; i++)
        if (has_tasks(&l->w.program[i])) rp_die("%.200s: program %s submits tasks to a runtime, which only the simulator has", o.file, l->w.program[i].name);
    return l;
}

/* ---- a program ------------------------------------------------------------------------------------------------------- */
static unsigned threads_at_first(const struct sim_program *p)
{
    uint64_t n = 1;
    for (uint32_t c = 0; c < p->nr_codes; c++)
        for (uint32_t i = 0; i < p->code[c].nr; i++) {
            const struct sim_op *op = &p->code[c].op[i];
            if (op->kind == SIM_OP_SPAWN) n += op->count;
            if (op->kind == SIM_OP_PARALLEL) n += op->count ? op->count : p->width ? p->width : 16;
        }
    return n < POOL ? (unsigned)n : POOL;
}

static bool has_memory(const struct sim_program *p)
{
    for (uint32_t c = 0; c < p->nr_codes; c++)
        for (uint32_t i = 0; i < p->code[c].nr; i++)
            if (p->code[c].op[i].kind == SIM_OP_COMPUTE && p->code[c].op[i].memory) return true;
    for (uint32_t g = 0; g < p->nr_graphs; g++)
        for (uint32_t i = 0; i < p->graph[g].nr_tasks; i++)
            if (p->graph[g].task[i].work.memory) return true;
    return false;
}

/* What the kernel is to know of the program.  (weight, priority, nogang and nofloat are usf's, and
 * in the environment.) */
static void kernel_options(const struct sim_program *p, const cpu_set_t *cpus)
{
    if (p->cpus) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (unsigned i = 0, n = (unsigned)CPU_COUNT(cpus); i < n; i++)
            if (p->cpus[i / 64] >> (i % 64) & 1) CPU_SET(cal_cpu(i), &set);
        if (sched_setaffinity(0, sizeof set, &set)) rp_die("program %s: it cannot be bound to its CPUs: %s", p->name, strerror(errno));
    }
    if (p->nice && setpriority(PRIO_PROCESS, 0, p->nice)) rp_die("program %s: it cannot have the nice value %d: %s", p->name, p->nice, strerror(errno));
    struct sched_param sp = {.sched_priority = (int)p->rt_priority};
    if (p->kclass != SIM_NORMAL && sched_setscheduler(0, p->kclass == SIM_FIFO ? SCHED_FIFO : SCHED_RR, &sp))
        rp_die("program %s: it cannot be real-time: %s", p->name, strerror(errno));
}

static void usage_of(struct rp_result *r)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    r->cpu_ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
    r->switches = (uint64_t)u.ru_nvcsw;
    r->preemptions = (uint64_t)u.ru_nivcsw;
}

static void be_program(void)
{
    cpu_set_t cpus = allowed();
    if (rp_area_map(o.area)) rp_die("the launcher's memory is not there");
    struct lang_lowered *l = load(&cpus);
    if ((uint32_t)o.part >= l->w.nr_programs) rp_die("there is no program %ld", o.part);
    rp = (struct rp_process){.p = &l->w.program[o.part], .index = (uint32_t)o.part, .seed = o.seed, .speed = rp_area->speed,
                             .result = (struct rp_result *)rp_at(rp_area->results) + o.part};
    kernel_options(rp.p, &cpus);
    prctl(PR_SET_TIMERSLACK, 1);    /* the simulator's sleeps end to the moment */
    if (rp_prepare(&l->w) || !rp_work_prepare(rp.p->working_set, threads_at_first(rp.p), has_memory(rp.p))) rp_die("program %s: no memory", rp.p->name);
    struct rp_result before, *r = rp.result;
    atomic_fetch_add(&rp_area->ready, 1);
    rp_wait(&rp_area->go, 0, SIM_WAIT_BLOCK, 0);
    uint64_t at = rp_area->go_ns + rp.p->start_ns;
    struct timespec t = {(time_t)(at / 1000000000), (long)(at % 1000000000)};
    usage_of(&before);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
    rp_run();
    usage_of(r);
    r->cpu_ns -= before.cpu_ns;
    r->switches -= before.switches;
    r->preemptions -= before.preemptions;
    _exit(OK);          /* threads of teams wait for ever */
}

/* ---- the launcher ------------------------------------------------------------------------------------------------------ */
static pid_t *pids;
static volatile sig_atomic_t late;
static void on_alarm(int s) { (void)s; late = 1; }

static void end_all(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (pids[i] > 0) kill(pids[i], SIGKILL);
    for (uint32_t i = 0; i < n; i++)
        if (pids[i] > 0) waitpid(pids[i], NULL, 0);
}

static void start_program(const struct sim_program *p, uint32_t i, char **args, pid_t launcher)
{
    char text[24];
    pids[i] = fork();
    if (pids[i] < 0) {
        end_all(i);
        rp_die("program %s cannot be started: %s", p->name, strerror(errno));
    }
    if (pids[i]) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(FAILED);
    snprintf(text, sizeof text, "%u", p->weight);
    if (p->weight != 100) setenv("USF_WEIGHT", text, 1);
    snprintf(text, sizeof text, "%d", p->priority);
    if (p->priority) setenv("USF_PRIORITY", text, 1);
    if (p->flags & USF_GROUP_NO_GANG) setenv("USF_NO_GANG", "on", 1);
    if (p->no_float) setenv("USF_FLOAT", "off", 1);
    snprintf(text, sizeof text, "%u", i);
    args[2] = text;
    execv("/proc/self/exe", args);
    rp_die("/proc/self/exe cannot be executed: %s", strerror(errno));
}

static void start_all(const struct sim_workload *w, const cpu_set_t *cpus, int area)
{
    static char fd[16], seed[24], list[CPU_SETSIZE * 5];
    static char *args[16 + 2 * SETS];
    unsigned n = 0;
    pids = calloc(w->nr_programs, sizeof *pids);
    if (!pids) rp_die("no memory");
    size_t len = 0;
    for (unsigned c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, cpus)) len += (size_t)snprintf(list + len, sizeof list - len, "%s%u", len ? "," : "", c);
    snprintf(fd, sizeof fd, "%d", area);
    snprintf(seed, sizeof seed, "%" PRIu64, o.seed);
    char *const fixed[] = {"usf-replay", "--part", "", "--area", fd, "--seed", seed, "--cpus", list};
    for (; n < sizeof fixed / sizeof *fixed; n++) args[n] = fixed[n];
    for (unsigned i = 0; i < o.nr_sets; i++) args[n++] = "--set", args[n++] = (char *)(uintptr_t)o.sets[i];
    args[n++] = "--";
    args[n++] = (char *)(uintptr_t)o.file;
    pid_t me = getpid();
    fflush(NULL);
    for (uint32_t i = 0; i < w->nr_programs; i++) start_program(&w->program[i], i, args, me);
}

/* Waits for all; false: one failed, or it took too long (said, and all have been ended). */
static bool await_all(const struct sim_workload *w)
{
    for (uint32_t left = w->nr_programs; left;) {
        int status;
        pid_t pid = late ? -1 : waitpid(-1, &status, 0);
        if (late || (pid < 0 && errno != EINTR)) {
            if (late) fprintf(stderr, "usf-replay: it did not end within %u s\n", o.timeout);
            else fprintf(stderr, "usf-replay: the programs cannot be waited for: %s\n", strerror(errno));
            end_all(w->nr_programs);
            return false;
        }
        for (uint32_t i = 0; pid > 0 && i < w->nr_programs; i++) {
            if (pids[i] != pid) continue;
            pids[i] = 0;
            left--;
            if (WIFEXITED(status) && WEXITSTATUS(status) == OK) continue;
            if (WIFSIGNALED(status)) fprintf(stderr, "usf-replay: program %s was ended by signal %d\n", w->program[i].name, WTERMSIG(status));
            end_all(w->nr_programs);
            return false;
        }
    }
    return true;
}

/* Until all are ready, or one has ended before that (then the rest is ended). */
static bool ready(const struct sim_workload *w)
{
    while (atomic_load(&rp_area->ready) < w->nr_programs && !late) {
        siginfo_t info = {0};
        if (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) return await_all(w), false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return !late || await_all(w);
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void tell_requests(struct json *j, struct rp_result *r)
{
    uint64_t n = atomic_load(&r->requests), kept = n < RP_REQUESTS ? n : RP_REQUESTS, *t = rp_at(r->times);
    double sum = 0;
    if (!n) return;
    qsort(t, kept, sizeof *t, by_time);
    for (uint64_t i = 0; i < kept; i++) sum += (double)t[i];
    json_open(j, "requests", '{');
    json_uint(j, "number", n);
    json_uint(j, "mean_ns", (uint64_t)(sum / (double)kept));
    json_uint(j, "p50_ns", t[kept / 2]);
    json_uint(j, "p95_ns", t[kept * 95 / 100]);
    json_uint(j, "p99_ns", t[kept * 99 / 100]);
    json_uint(j, "max_ns", t[kept - 1]);
    json_close(j, '}');
}

static const char *const op_names[SIM_NR_OPS] = {
    [SIM_OP_COMPUTE] = "compute", [SIM_OP_BARRIER] = "barrier", [SIM_OP_LOCK] = "lock", [SIM_OP_UNLOCK] = "unlock", [SIM_OP_PARALLEL] = "parallel",
    [SIM_OP_GRAPH] = "taskgraph", [SIM_OP_SLEEP] = "sleep", [SIM_OP_YIELD] = "yield", [SIM_OP_SEND] = "send", [SIM_OP_RECV] = "recv",
    [SIM_OP_SPAWN] = "spawn", [SIM_OP_JOIN] = "join", [SIM_OP_BEGIN] = "request", [SIM_OP_DONE] = "answer", [SIM_OP_PROGRESS] = "progress"};

static void tell_json(const struct sim_workload *w, struct rp_result *r, uint64_t makespan)
{
    struct json j;
    json_start(&j, stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "workload", w->name);
    json_uint(&j, "makespan_ns", makespan);
    json_open(&j, "programs", '[');
    for (uint32_t i = 0; i < w->nr_programs; i++) {
        uint64_t arrival = rp_area->go_ns + w->program[i].start_ns;
        json_open(&j, NULL, '{');
        json_string(&j, "name", w->program[i].name);
        json_uint(&j, "arrival_ns", w->program[i].start_ns);
        json_uint(&j, "start_ns", r[i].start_ns - rp_area->go_ns);
        json_uint(&j, "end_ns", r[i].end_ns - rp_area->go_ns);
        json_uint(&j, "response_ns", r[i].end_ns - arrival);
        json_uint(&j, "cpu_ns", r[i].cpu_ns);
        json_uint(&j, "threads", r[i].threads);
        json_uint(&j, "switches", r[i].switches);
        json_uint(&j, "preemptions", r[i].preemptions);
        json_open(&j, "operations", '{');
        for (unsigned k = 0; k < SIM_NR_OPS; k++)
            if (op_names[k] && r[i].ops[k]) json_uint(&j, op_names[k], r[i].ops[k]);
        json_close(&j, '}');
        tell_requests(&j, &r[i]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}

static void tell(const struct sim_workload *w, struct rp_result *r)
{
    uint64_t last = rp_area->go_ns;
    for (uint32_t i = 0; i < w->nr_programs; i++)
        if (r[i].end_ns > last) last = r[i].end_ns;
    if (o.json) {
        tell_json(w, r, last - rp_area->go_ns);
        return;
    }
    printf("makespan %.6f s\n%-24s %10s %10s %10s %8s %10s\n", (double)(last - rp_area->go_ns) / 1e9, "program", "arrival", "response", "CPU time", "threads", "switches");
    for (uint32_t i = 0; i < w->nr_programs; i++)
        printf("%-24s %8.3f s %8.3f s %8.3f s %8" PRIu64 " %10" PRIu64 "\n", w->program[i].name, (double)w->program[i].start_ns / 1e9,
               (double)(r[i].end_ns - rp_area->go_ns - w->program[i].start_ns) / 1e9, (double)r[i].cpu_ns / 1e9, r[i].threads, r[i].switches + r[i].preemptions);
}

static int launch(void)
{
    const char *preload = getenv("LD_PRELOAD");
    bool under_usf = preload && strstr(preload, "libusf");
    cpu_set_t cpus = allowed();
    struct lang_lowered *l = load(&cpus);
    struct rp_speed speed = the_speed();
    char *bad = rp_cannot(&l->w, &speed, under_usf);
    if (bad) {
        fprintf(stderr, "usf-replay: %s\n", bad);
        exit(CANNOT);
    }
    int fd = rp_area_make(&l->w);
    if (fd < 0) rp_die("no memory for what the programs share: %s", strerror(errno));
    rp_area->speed = speed;
    struct sigaction sa = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &sa, NULL);
    alarm(o.timeout);
    start_all(&l->w, &cpus, fd);
    bool good = ready(&l->w);
    if (good) {
        rp_area->go_ns = rp_now() + o.settle * 1000000ull;
        rp_give(&rp_area->go);
        rp_wake(&rp_area->go, UINT32_MAX);
        good = await_all(&l->w);
    }
    if (good) tell(&l->w, (struct rp_result *)rp_at(rp_area->results));
    lang_lowered_free(l);
    if (fflush(stdout)) good = false;
    return good ? OK : FAILED;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    if (o.measure) {
        struct rp_speed s;
        rp_measure(&s);
        print_speed(stdout, &s);
        putchar('\n');
        return fflush(stdout) ? FAILED : OK;
    }
    if (o.part < 0) return launch();
    be_program();
}
