/* tests/spin/run.c - compiled loops, patched and run.  SPDX-License-Identifier: Apache-2.0
 * Usage: run FILE.so...   Each wait of loops.c and loops.rs that needs one word to end is patched wherever it has a
 * loop, called, and ended in its fifth round; what it returns must be as if it had waited by itself.  It is called once more step
 * by step: at each instruction of a stub it is known where the loop itself would be, and its stack pointer there.
 * In another process the stubs are made as a program has them: a wait of few rounds, over and over, never enters the runtime, and one of many
 * enters it once, and then when the rounds that it was given are used up. */
#include "doubles.h"
#include "elffile.h"
#include "find.h"
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int failures, runs;
static unsigned rounds, probes, wrong;
static uint64_t memory[64];
static uint64_t end_value;

/* For loops.c. */
void external(void);
int answer(int);
void external(void) { }
int answer(int x) { return 0; }

__attribute__((target("general-regs-only"))) static void on_round(uint32_t place, struct spin_regs *regs)
{
    const struct spin_site *s = &usf_spin_sites[place & 0xffff];
    bool tells = s->map.probe[place >> SPIN_SITE_BITS] && !s->loop.atomic;
    if (tells && rounds < 5) probes++, wrong += spin_probe(place, regs);
    if (++rounds == 5) {
        *(volatile uint64_t *)memory = end_value;
        if (!spin_probe(place, regs)) wrong++;
    }
}

/* arguments: M the memory, a number otherwise; begin and end: values of its first word */
#define M 0x4d4d4d4d
static const struct { const char *name; long a, b, c; uint64_t begin, end; long result; bool returns; } waits[] = {
    { "yes_flag", M, 0, 0, 0, 1, 0, false },          { "yes_flag_pause", M, 0, 0, 0, 1, 0, false },
    { "yes_flag_nops", M, 0, 0, 0, 1, 0, false },     { "yes_byte", M, 0, 0, 0, 1, 0, false },
    { "yes_short", M, 0, 0, 0, 7, 0, false },         { "yes_long", M, 9, 0, 0, 9, 0, false },
    { "yes_less", M, 9, 0, 0, 10, 0, false },         { "yes_bit", M, 0, 0, 0x10, 0x20, 0, false },
    { "yes_element", M, 0, 0, 0, 1, 0, false },       { "yes_acquire", M, 0, 0, 0, 1, 0, false },
    { "yes_double", M, 0, 0, 0, 0x3ff0000000000000, 0, false },
    { "yes_counts_rounds", M, 0, 0, 0, 1, 0, false }, { "yes_bounded", M, 100000, 0, 0, 1, 1, true },
    { "yes_bounded_down", M, 100000, 0, 0, 1, 1, true }, { "yes_timeout", M, -1, 0, 0, 1, 1, true },
    { "yes_xchg", M, 0, 0, 1, 0, 0, false },          { "yes_xchg_bare", M, 0, 0, 1, 0, 0, false },
    { "yes_ttas", M, 0, 0, 1, 0, 0, false },          { "yes_cas_lock", M, 0, 0, 1, 0, 0, false },
    { "yes_test_and_set", M, 0, 0, 1, 0, 0, false },  { "yes_backoff", M, 0, 0, 1, 0, 0, false },
    { "yes_delay", M, 0, 0, 0, 1, 0, false },         { "yes_fence", M, 0, 0, 0, 1, 0, false },
    { "yes_two", M, M, 0, 0, 1, 0, false },           { "yes_both", M, M, 0, 0, 1, 0, false },
    { "yes_read_lock", M, 0, 0, 0xffffffff, 3, 0, false }, { "yes_yields_rarely", M, 0, 0, 0, 1, 0, false },
    { "yes_scan", M, M + 1, 0, 1, 0, 0, true },
    { "yes_random_backoff", M, 0, 0, 0, 1, 0, false }, { "yes_helps_when_told", M, M + 1, 0, 0, 1, 0, false },
};

/* ---- step by step ------------------------------------------------------------------------------- */

static unsigned steps, entries, lost;
static uint64_t loop_sp;                /* the stack pointer where the stub was last entered */

static bool is_insn_or_exit(const struct spin_loop *l, uintptr_t pc)
{
    for (unsigned i = 0; i < l->nr_insns; i++) {
        uintptr_t at = l->head + l->insn[i].off;
        if (pc == at || pc == at + l->insn[i].len) return true;
    }
    return false;
}

__attribute__((target("general-regs-only"))) static void on_step(int sig, siginfo_t *info, void *context)
{
    const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)regs[REG_RIP];
    uint64_t sp = (uint64_t)regs[REG_RSP];
    int i = spin_site_at(pc);
    const struct spin_site *s = &usf_spin_sites[i < 0 ? 0 : i];
    bool inside = i >= 0 && pc >= s->stub && pc < s->stub_end;
    uintptr_t origin = spin_original_pc(pc, &sp);
    if (!inside) {
        lost += origin != pc;
        if (i >= 0) loop_sp = sp;
        return;
    }
    if (s->map.enters && pc - s->stub >= s->map.entered) {      /* a probe */
        lost += origin != pc || sp != (uint64_t)regs[REG_RSP];
        return;
    }
    steps++;
    entries += sp != (uint64_t)regs[REG_RSP];
    lost += !is_insn_or_exit(&s->loop, origin) || sp != loop_sp;
}

#define TRAP_FLAG 0x100
static void single_step(bool on)
{
    uint64_t flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}

/* ---- */

static uintptr_t fstart;
static int committed;
static void patch(const struct spin_loop *l, void *arg)
{
    int site = spin_prepare(fstart, l);
    if (site < 0 || spin_commit((uint32_t)site)) failures++;
    else committed++;
}
static long argument(long a) { return a == M ? (long)memory : a == M + 1 ? (long)&memory[40] : a; }

static long call(long (*fn)(long, long, long), unsigned k, bool stepping)
{
    memset(memory, 0, sizeof memory);
    memory[0] = waits[k].begin;
    end_value = waits[k].end;
    rounds = 0;
    if (stepping) single_step(true);
    long r = fn(argument(waits[k].a), argument(waits[k].b), waits[k].c);
    if (stepping) single_step(false);
    return r;
}

static void run(const char *path, void *lib, unsigned k, size_t size)
{
    long (*fn)(long, long, long) = (long (*)(long, long, long))dlsym(lib, waits[k].name);
    bool swaps = strstr(path, "rust");
    if (!fn || (swaps && strcmp(waits[k].name, "yes_flag"))) return;     /* the same names, other arguments */
    fstart = (uintptr_t)fn;
    committed = 0;
    spin_for_each_loop((void *)fstart, fstart, fstart + size, patch, NULL);
    long r = call(fn, k, false), again = call(fn, k, true);
    runs++;
    bool as_tried = wrong == 0 || !strcmp(waits[k].name, "yes_both");   /* which waits for two words in turn */
    wrong = 0;
    bool right = !waits[k].returns || ((int)r == waits[k].result && (int)again == waits[k].result);
    if (as_tried && committed && rounds >= 5 && right && !lost) return;
    failures++;
    printf("%s: %s: %d loops, %u rounds, results %ld and %ld, lost at %u steps%s\n", path, waits[k].name, committed, rounds, r, again, lost,
           as_tried ? "" : ", but a probe of it went otherwise");
    lost = 0;
}

/* ---- rounds between two entries -------------------------------------------------------------------------------- */
#define GIVEN 40
__attribute__((target("general-regs-only"))) static void on_look(uint32_t place, struct spin_regs *regs)
{
    rounds++;
    usf_spin_rounds = (struct spin_rounds){ .left = GIVEN, .entered = 1 };
}
static unsigned entries_of(long (*fn)(long, long, long), long limit)
{
    rounds = 0;
    memory[0] = 0;
    fn((long)memory, limit, 0);
    return rounds;
}
static void count_entries(const char *path, unsigned k, long (*fn)(long, long, long), size_t size)
{
    if (strcmp(waits[k].name, "yes_bounded") && strcmp(waits[k].name, "yes_bounded_down")) return;
    fstart = (uintptr_t)fn;
    spin_for_each_loop((void *)fstart, fstart, fstart + size, patch, NULL);
    unsigned few = 0, many = 10 * GIVEN, looks;
    for (int i = 0; i < 1000; i++) few += entries_of(fn, 14);      /* their rounds add up */
    looks = entries_of(fn, many);
    runs++;
    if (few >= 13000 / (GIVEN + 1) && few <= 15000 / (GIVEN + 1) && looks >= 9 && looks <= 11) return;
    failures++;
    printf("%s: %s: %u looks in waits of few rounds, %u in one of %u\n", path, waits[k].name, few, looks, many);
}

static bool as_programs_have_them;
static void all(const char *path)
{
    char real[4096];
    void *lib = realpath(path, real) ? dlopen(real, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!lib) {
        failures++;
        printf("%s: %s\n", path, dlerror());
        return;
    }
    for (unsigned k = 0; k < sizeof waits / sizeof *waits; k++) {
        Dl_info info;
        const ElfW(Sym) *sym;
        void *fn = dlsym(lib, waits[k].name);
        if (!fn || !dladdr1(fn, &info, (void **)&sym, RTLD_DL_SYMENT) || !sym) continue;
        if (!as_programs_have_them) run(path, lib, k, sym->st_size);
        else if (!strstr(path, "rust")) count_entries(path, k, (long (*)(long, long, long))fn, sym->st_size);
    }
}

int main(int argc, char **argv)
{
    pid_t child = fork();
    alarm(60);
    as_programs_have_them = !child;
    usf_spin_round = child ? on_round : on_look;
    sigaction(SIGTRAP, &(struct sigaction){.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, NULL);
    for (int i = 1; i < argc; i++) all(argv[i]);
    if (!child) return failures || !runs;
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status) failures++;
    printf("%d runs, %u probes, %u steps in stubs, %u of them with another stack pointer, %d failures\n", runs, probes, steps, entries, failures);
    return failures || !runs || !probes || !entries;
}
