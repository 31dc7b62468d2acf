/* tests/nosv/config.c - nosv.toml and its variables.  SPDX-License-Identifier: Apache-2.0
 *
 * Each case runs in a child of its own, whose first init reads the configuration; what it says on stderr is compared. */
#include "nosv_test.h"

static char folder[] = "/tmp/nosv-test-XXXXXX", said[8192];

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* Run it with a file as NOSV_CONFIG, a preset and overrides (or null), in the folder; `said` is what was on stderr. */
static void with(const char *file, const char *preset, const char *override, void (*what)(void))
{
    int fds[2], status;
    char path[256];
    size_t n = 0;
    fflush(stdout);
    CHECK(!pipe(fds));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        alarm(50);
        snprintf(path, sizeof(path), "%s/%s", folder, file ? file : "");
        dup2(fds[1], 2);
        close(fds[0]);
        close(fds[1]);
        if (file) setenv("NOSV_CONFIG", path, 1); else unsetenv("NOSV_CONFIG");
        if (preset) setenv("NOSV_PRESET", preset, 1); else unsetenv("NOSV_PRESET");
        if (override) setenv("NOSV_CONFIG_OVERRIDE", override, 1); else unsetenv("NOSV_CONFIG_OVERRIDE");
        CHECK(!chdir(folder));
        OK(nosv_init());
        what();
        OK(nosv_shutdown());
        _exit(0);
    }
    close(fds[1]);
    for (ssize_t r; n < sizeof(said) - 1 && (r = read(fds[0], said + n, sizeof(said) - 1 - n)) > 0;) n += (size_t)r;
    said[n] = 0;
    close(fds[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (status) fprintf(stderr, "%s", said);
    CHECK_EQ(status, 0);
}
static int times(const char *word)
{
    int n = 0;
    for (const char *at = said; (at = strstr(at, word)); at += strlen(word)) n++;
    return n;
}

static int completions, mxcsr, order[2], nr;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }
static void nothing(void) {}

static void body(nosv_task_t task) { order[add(&nr, 1) - 1] = (int)(intptr_t)pointer_of(task); }
static int first_of_two(void)
{
    nosv_task_type_t type = type_of(body, NULL, finish);
    attach_pinned();
    OK(nosv_submit(pinned(task_of(type, (void *)1, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    OK(nosv_submit(pinned(task_of(type, (void *)2, NOSV_CREATE_NONE)), NOSV_SUBMIT_IMMEDIATE));
    UNTIL(get(&completions) == 2);
    OK(nosv_detach(NOSV_DETACH_NONE));
    return order[0];
}
static void has_successors(void) { CHECK_EQ(first_of_two(), 2); }
static void has_no_successors(void) { CHECK_EQ(first_of_two(), 1); }

/* FTZ and DAZ */
static void reads_mxcsr(nosv_task_t task)
{
    (void)task;
#ifdef __SSE__
    mxcsr = (int)(__builtin_ia32_stmxcsr() & 0x8040);
#endif
}
static int turbo(void)
{
    nosv_task_type_t type = type_of(reads_mxcsr, NULL, finish);
    OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 1);
    volatile double tiny = 2.3e-308;
    attach();
    volatile double half = tiny / 4;
    int flushed = half == 0;
    OK(nosv_detach(NOSV_DETACH_NONE));
    half = tiny / 4;
    CHECK(half != 0);           /* the thread is the program's again */
    CHECK_EQ(flushed, mxcsr == 0x8040);
    return flushed;
}
static void is_ieee(void) { CHECK_EQ(turbo(), 0); }
static void is_turbo(void)
{
#ifdef __SSE__
    CHECK_EQ(turbo(), 1);
#endif
}

static int last_cpu;
static void has_last_cpu(void)
{
    CHECK_EQ(nosv_get_num_cpus(), 1);
    CHECK_EQ(first_cpu(), last_cpu);
    attach();
    CHECK_EQ(nosv_get_current_system_cpu(), last_cpu);
    OK(nosv_detach(NOSV_DETACH_NONE));
}
static void has_all_cpus(void)
{
    cpu_set_t mask;
    CHECK(!sched_getaffinity(0, sizeof(mask), &mask));
    CHECK_EQ(nosv_get_num_cpus(), CPU_COUNT(&mask));
}

/* A short quantum: a scheduling point yields soon; an endless one never does. */
static int ran;
static void runs(nosv_task_t task) { (void)task; add(&ran, 1); }
static void never_yields(void)
{
    nosv_task_type_t type = type_of(runs, NULL, finish);
    attach_pinned();
    OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    for (int i = 0; i < 100000; i++) OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
    CHECK_EQ(get(&ran), 0);
    OK(nosv_detach(NOSV_DETACH_NONE));
}
static void yields_at_once(void)
{
    nosv_task_type_t type = type_of(runs, NULL, finish);
    attach_pinned();
    for (int i = 0; i < 5; i++) {
        OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        while (get(&ran) == i) OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
}

int main(void)
{
    char text[512];
    begin();
    CHECK(mkdtemp(folder));
    CHECK(!setenv("USF_INSTANCE", strrchr(folder, '/') + 1, 1));     /* the default one may be another build's */
    cpu_set_t mask;
    CHECK(!sched_getaffinity(0, sizeof(mask), &mask));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) if (CPU_ISSET(cpu, &mask)) last_cpu = cpu;

    with(NULL, NULL, NULL, has_successors);
    CHECK(!*said);
    with(NULL, "", "", has_all_cpus);
    CHECK(!*said);
    with(NULL, NULL, NULL, is_ieee);
    with(NULL, NULL, "turbo.enabled=true", is_turbo);
    CHECK(!*said);
    with(NULL, NULL, "turbo.enabled=false", is_ieee);
    with(NULL, NULL, "scheduler.immediate_successor=false", has_no_successors);
    CHECK(!*said);
    with(NULL, NULL, "scheduler.quantum_ns=1", yields_at_once);
    with(NULL, NULL, "scheduler.quantum_ns=1000000000000", never_yields);
    snprintf(text, sizeof(text), "topology.binding=%d", last_cpu);
    with(NULL, NULL, text, has_last_cpu);
    CHECK(!*said);

    /* A file: by name, or nosv.toml of the current folder; tables and dotted keys; overrides come last. */
    snprintf(text, sizeof(text), "# a comment\n[scheduler]\nimmediate_successor = false\nquantum_ns = 5\n[topology]\nbinding = \"inherit\"\n"
        "complex_sets = [\"%d\"]\n[turbo]\nenabled = true\n", last_cpu);
    write_file("mine.toml", text);
    with("mine.toml", NULL, NULL, has_no_successors);
    CHECK(!*said);
    with("mine.toml", NULL, NULL, is_turbo);
    with("mine.toml", NULL, "scheduler.immediate_successor=true", has_successors);
    snprintf(text, sizeof(text), "turbo.enabled=false,topology.binding=%d", last_cpu);
    with("mine.toml", NULL, text, has_last_cpu);
    write_file("dotted.toml", "scheduler.immediate_successor = false\nturbo.enabled = false\n");
    with("dotted.toml", NULL, NULL, has_no_successors);
    CHECK(!*said);
    write_file("nosv.toml", "[scheduler]\nimmediate_successor = false\n");
    with(NULL, NULL, NULL, has_no_successors);
    CHECK(!*said);
    write_file("empty.toml", "");
    with("empty.toml", NULL, NULL, has_successors);      /* one file alone is read */

    /* Presets. */
    with("empty.toml", "isolated", NULL, has_all_cpus);
    CHECK(!*said);
    with("empty.toml", "shared-mpi", NULL, has_successors);
    CHECK(!*said);

    /* What is wrong is told, and passed over; what has no meaning is told once. */
    with("empty.toml", "mpi", NULL, has_successors);
    CHECK(times("mpi"));
    with("none.toml", NULL, NULL, nothing);
    CHECK_EQ(times("none.toml"), 1);
    with("", NULL, NULL, nothing);      /* the folder itself */
    CHECK_EQ(times("cannot be read"), 1);
    with(NULL, NULL, " scheduler.immediate_successor = \"false\" , turbo.enabled='false'", has_no_successors);
    CHECK_EQ(times("nosv:"), 0);
    with("none.toml", NULL, NULL, nothing);
    CHECK(times("none.toml"));
    with("empty.toml", NULL, "scheduler.quantum=5", nothing);
    CHECK(times("scheduler.quantum_ns"));               /* the nearest name */
    with("empty.toml", NULL, "scheduler.immediate_successor=maybe", has_successors);
    CHECK(times("maybe"));
    with("empty.toml", NULL, "governor.policy=eager", nothing);
    CHECK(times("eager"));
    with("empty.toml", NULL, "nonsense", nothing);
    CHECK(times("nonsense"));
    write_file("broken.toml", "[scheduler\nquantum_ns = \n");
    with("broken.toml", NULL, NULL, has_successors);
    CHECK(times("broken.toml"));
    write_file("ovni.toml", "[instrumentation]\nversion = \"ovni\"\n[ovni]\nlevel = 3\nevents = [\"basic\", \"!worker\"]\n[shared_memory]\nsize = \"2G\"\n"
        "name = \"x\"\nstart = 0x0000200000000000\nisolation_level = \"process\"\n[governor]\npolicy = \"idle\"\nspins = 100\n[misc]\nstack_size = \"4M\"\n"
        "[monitoring]\nenabled = true\n[hwcounters]\nbackend = \"papi\"\n[thread_affinity]\ncompat_support = true\n[debug]\ndump_config = false\n");
    with("ovni.toml", NULL, NULL, has_successors);
    CHECK(times("no meaning") <= 1 && times("\n") <= 1);
    for (int i = 0; i < 4; i++) {
        static const char *const overrides[] = {"governor.policy=hybrid", "governor.policy=idle", "governor.policy=busy,governor.spins=10", "misc.stack_size=1M"};
        with("empty.toml", NULL, overrides[i], has_successors);
        CHECK(!*said);
    }

    snprintf(text, sizeof(text), "rm -rf %s", folder);
    return system(text) ? 1 : 0;
}
