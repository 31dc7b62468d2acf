/* tests/spin/live.c - loops patched while they run: nothing but the time changes.  SPDX-License-Identifier: Apache-2.0
 *
 * Each loop is run unpatched for its expected end state, then patched before it starts, then patched while
 * it stands at each of its instructions (single-stepped there, as the runtime's stop leaves a thread), and the
 * end states are compared: all general and vector registers and the flags. */
#include "doubles.h"
#include "find.h"
#include "spin/machine.h"
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct state { uint64_t r[16]; uint8_t x[16][16]; };
void run_with(void (*loop)(void), struct state *s);
extern uint64_t live_word;

#define LOOPS(X) X(barrier) X(short) X(nops) X(spinlock) X(rip) X(flags) X(counter) X(redzone) X(far) X(vector)
#define DECLARE(n) void live_##n(void);
LOOPS(DECLARE)
#define ENTRY(n) { "live_" #n, live_##n },
static const struct { const char *name; void (*fn)(void); } loops[] = { LOOPS(ENTRY) };

void taken_inside(void), taken_from_cold(void), cold_part(void), taken_by_table(void), not_taken_by_table(void),
    helps(void), helping(void), live_end(void), poll_end(void), wait_for_flag(volatile int *f);
int poll_function(int a, int *n);

static int failures;
static volatile unsigned rounds, last_round;
static uint64_t seen_rdi;
static uint32_t seen_site;
static unsigned stayed, left;      /* what probes said: before the word was set, and then */
static uint8_t far_bytes[24];

/* Called from a stub.  It may change every caller-saved register; vector registers it must leave alone. */
__attribute__((target("general-regs-only"), noinline)) static void on_round(uint32_t place, struct spin_regs *regs)
{
    seen_site = place;
    seen_rdi = regs->r[7];
    stayed += !spin_probe(place, regs);
    if (++rounds >= last_round) {
        live_word = 1;
        left += spin_probe(place, regs);
    }
    __asm__ volatile("mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi; mov %%rax, %%rdi;"
                     "mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10; mov %%rax, %%r11; add %%rax, %%rax" :
                     : : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

static void start_state(struct state *s)
{
    for (int i = 0; i < 16; i++) {
        s->r[i] = 0x1111111111111111ull * (unsigned)i;
        memset(s->x[i], 0xa0 + i, 16);
    }
    s->r[6] = 0;     /* rsi: the barrier's old value */
    s->r[1] = 0;     /* rcx */
    s->r[7] = (uintptr_t)&live_word;
}

static uintptr_t end_of(uintptr_t start)
{
    for (unsigned i = 0; i < test_nr_functions; i++)
        if (test_fstart[i] == start) return test_fend[i];
    return 0;
}

/* Registers that count rounds differ from run to run. */
static bool same(const char *what, const struct state *a, const struct state *b)
{
    struct state x = *a, y = *b;
    if (strstr(what, "flags")) x.r[8] = y.r[8] = x.r[9] = y.r[9] = 0;
    return !memcmp(&x, &y, sizeof x);
}
static void compare(const char *name, const char *when, const struct state *want, const struct state *got)
{
    if (same(name, want, got)) return;
    failures++;
    printf("%s, %s:", name, when);
    for (int i = 0; i < 16; i++)
        if (want->r[i] != got->r[i]) printf(" r%d %lx for %lx", i, (long)got->r[i], (long)want->r[i]);
    printf("%s\n", memcmp(want->x, got->x, sizeof got->x) ? " vector registers" : "");
}

/* ---- patched while it runs -------------------------------------------------------------------- */
static struct { uintptr_t at; int site, visits; bool done; uintptr_t moved; } step;

static void on_trap(int sig, siginfo_t *si, void *uc_)
{
    greg_t *g = ((ucontext_t *)uc_)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)g[REG_RIP];
    if (step.done) {
        g[REG_EFL] &= ~0x100;
        return;
    }
    g[REG_EFL] |= 0x100;
    if (pc != step.at || ++step.visits < 2) return;
    if (spin_commit((uint32_t)step.site)) failures++;
    step.moved = spin_fix_pc(pc);
    g[REG_RIP] = (greg_t)step.moved;
    g[REG_EFL] &= ~0x100;
    step.done = true;
}

static void restore(int site, const uint8_t *bytes)
{
    struct spin_site *s = &usf_spin_sites[site];
    gate_write_code((void *)s->loop.window, bytes, s->loop.window_len);
    s->committed = false;
}

static void test_every_place(const char *name, void (*fn)(void), int site, const struct state *want)
{
    struct spin_site *s = &usf_spin_sites[site];
    uint8_t bytes[24];
    memcpy(bytes, (void *)s->loop.window, s->loop.window_len);
    for (unsigned i = 0; i < s->loop.nr_insns; i++) {
        struct state got;
        if (s->loop.insn[i].flags & SPIN_I_ABSORBED) continue;
        start_state(&got);
        live_word = 0;
        rounds = 0;
        last_round = 3;
        step.at = s->head + s->loop.insn[i].off;
        step.site = site;
        step.visits = 0;
        step.done = false;
        raise(SIGTRAP);      /* the handler turns single-stepping on */
        run_with(fn, &got);
        if (rounds < 3 || step.moved < s->stub || step.moved >= s->stub_end) {
            failures++;
            printf("%s at insn %u: %u rounds, moved to %lx\n", name, i, rounds, (long)step.moved);
        }
        compare(name, "patched at an instruction", want, &got);
        if (spin_site_at(step.at) != site || spin_site_at(step.moved) != site || spin_fix_pc(step.moved) != step.moved)
            failures++, printf("%s: lookups at insn %u\n", name, i);
        restore(site, bytes);
        if (spin_fix_pc(step.at) != step.at) failures++, printf("%s: moved without a patch\n", name);
    }
}

static int prepare(const char *name, uintptr_t start)
{
    struct spin_loop l = { 0 };
    uintptr_t end = end_of(start);
    enum spin_verdict v = SPIN_NO_LOOP;
    for (uintptr_t pc = start; pc < end && v != SPIN_YES; pc++) v = spin_recognise((void *)start, start, end, pc, &l);
    int site = v == SPIN_YES ? spin_prepare(start, &l) : -1;
    if (site < 0) failures++, printf("%s: %s, site %d\n", name, spin_verdict_name(v), site);
    else if (spin_prepare(start, &l) != site) failures++, printf("%s: prepared twice\n", name);
    return site;
}

static void test_loop(const char *name, void (*fn)(void))
{
    struct state want, got;
    start_state(&want);
    live_word = 1;
    run_with(fn, &want);
    int site = prepare(name, (uintptr_t)fn);
    if (site < 0) return;
    test_every_place(name, fn, site, &want);

    if (fn == live_far) memcpy(far_bytes, (void *)usf_spin_sites[site].loop.window, sizeof far_bytes);
    if (spin_commit((uint32_t)site)) failures++;
    start_state(&got);
    live_word = 0;
    rounds = 0;
    last_round = 100;
    stayed = left = 0;
    run_with(fn, &got);
    compare(name, "patched before", &want, &got);
    if (rounds != 100 || (seen_site & ~SPIN_UNCOUNTED) != (uint32_t)site || seen_rdi != (uintptr_t)&live_word)
        failures++, printf("%s: %u rounds, site %u\n", name, rounds, seen_site);
    bool impure = fn == live_counter || fn == live_vector;      /* a probe would not count, or spoil a register */
    if (usf_spin_sites[site].loop.pure == impure || left != 1 || stayed != (impure ? 0 : 100))
        failures++, printf("%s: a probe of it stays %u times, leaves %u times\n", name, stayed, left);
}

/* Another object has taken the place: the old site says nothing any more. */
static void test_replaced(void)
{
    uintptr_t at = (uintptr_t)live_far;
    struct spin_loop l;
    int old = spin_site_at(at);
    const struct spin_site *s = &usf_spin_sites[old];
    gate_write_code((void *)s->loop.window, far_bytes, s->loop.window_len);
    if (spin_fix_pc(s->head) != s->head) failures++, printf("replaced: moved\n");
    if (spin_recognise((void *)at, at, end_of(at), at, &l) != SPIN_YES) failures++;
    int site = spin_prepare(at, &l);
    if (site <= old || spin_commit((uint32_t)site) || spin_fix_pc(at) == at || spin_site_at(at) != site)
        failures++, printf("replaced: site %d after %d\n", site, old);
}

/* ---- unwinding through the stub --------------------------------------------------------------- */
static volatile int wait_flag;
__attribute__((noinline)) static void outer(void)
{
    wait_for_flag(&wait_flag);
    __asm__ volatile("");
}
static void *frames[16];
static int nr_frames;
static void unwind_round(uint32_t place, struct spin_regs *regs)
{
    nr_frames = backtrace(frames, 16);
    wait_flag = 1;
}
static void test_unwind(void)
{
    uintptr_t start = (uintptr_t)wait_for_flag;
    bool inner = false, out = false;
    test_fstart[test_nr_functions] = start;
    test_fend[test_nr_functions++] = (uintptr_t)poll_function;
    int site = prepare("wait_for_flag", start);
    if (site < 0 || spin_commit((uint32_t)site)) return;
    usf_spin_round = unwind_round;
    outer();
    usf_spin_round = on_round;
    for (int i = 0; i < nr_frames; i++) {
        uintptr_t pc = (uintptr_t)frames[i];
        inner |= pc > start && pc < start + 32;
        out |= pc > (uintptr_t)outer && pc < (uintptr_t)outer + 64;
    }
    if (!inner || !out) failures++, printf("unwinding: %d frames, loop %d, its caller %d\n", nr_frames, inner, out);
}

/* ---- poll functions --------------------------------------------------------------------------- */
static void test_poll(void)
{
    int n = 5, m = 5, calls = 20;
    long want = 0, got = 0;
    uintptr_t start = (uintptr_t)poll_function;
    test_fstart[test_nr_functions] = start;
    test_fend[test_nr_functions++] = (uintptr_t)poll_end;
    live_word = 17;
    for (int i = 0; i < calls; i++) want = want * 31 + poll_function(i, &n);
    int site = spin_patch_poll(start, (uintptr_t)poll_end);
    rounds = 0;
    last_round = 1000;
    for (int i = 0; i < calls; i++) got = got * 31 + poll_function(i, &m);
    if (site < 0 || want != got || rounds != (unsigned)calls || usf_spin_sites[site].kind != SPIN_SITE_POLL ||
        spin_fix_pc(start) != start)
        failures++, printf("poll: site %d, %ld for %ld, %u rounds\n", site, got, want, rounds);
}

/* ---- windows that may not be ------------------------------------------------------------------ */
static const struct { const char *name; void (*fn)(void); bool recognised, prepared; } windows[] = {
    { "taken_inside", taken_inside, false, false },
    { "taken_from_cold", taken_from_cold, true, false },
    { "cold_part", cold_part, false, false },
    { "taken_by_table", taken_by_table, true, false },
    { "not_taken_by_table", not_taken_by_table, true, true },
    { "helps", helps, true, true },
    { "live_end", live_end, false, false },
};
#define WINDOWS (sizeof windows / sizeof *windows)
struct attempt { uintptr_t start; bool recognised; int site; };
static void try_window(const struct spin_loop *l, void *arg)
{
    struct attempt *a = arg;
    a->recognised = true;
    a->site = spin_prepare(a->start, l);
}
static void test_windows(void)
{
    for (unsigned i = 0; i + 1 < WINDOWS; i++) {
        test_fstart[test_nr_functions] = (uintptr_t)windows[i].fn;
        test_fend[test_nr_functions++] = (uintptr_t)windows[i + 1].fn;
    }
    for (unsigned i = 0; i + 1 < WINDOWS; i++) {
        struct attempt a = { (uintptr_t)windows[i].fn, false, -1 };
        spin_for_each_loop((void *)a.start, a.start, (uintptr_t)windows[i + 1].fn, try_window, &a);
        if (a.recognised == windows[i].recognised && (a.site >= 0) == windows[i].prepared) continue;
        failures++;
        printf("%s: recognised %d, prepared %d\n", windows[i].name, a.recognised, a.site);
    }
}

/* That there was no wait on one path does not hide, for long, the one on another. */
static void test_memory(void)
{
    uintptr_t start = (uintptr_t)helps, end = (uintptr_t)live_end;
    struct spin_loop l;
    int asked = 0;
    if (spin_recognise((void *)start, start, end, (uintptr_t)helping, &l) != SPIN_NO_CALL) failures++;
    while (asked++ < 100 && spin_recognise((void *)start, start, end, start, &l) != SPIN_YES) { }
    if (asked > 50) failures++, printf("a wait was found after %d looks\n", asked);
}

__attribute__((target("general-regs-only"))) static void quick_round(uint32_t place, struct spin_regs *regs)
{
    if (++rounds == last_round) live_word = 1;
}
static void measure(void)
{
    struct timespec a, b;
    struct state s;
    start_state(&s);
    usf_spin_round = quick_round;
    live_word = 0;
    rounds = 0;
    last_round = 2000000;
    clock_gettime(CLOCK_MONOTONIC, &a);
    run_with(live_barrier, &s);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("a round costs %.1f ns\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 2e6);
}

int main(void)
{
    static char stack[1 << 16];
    alarm(60);
    stack_t alt = { .ss_sp = stack, .ss_size = sizeof stack };
    sigaltstack(&alt, NULL);
    struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaction(SIGTRAP, &sa, NULL);
    /* bounds: from each function to the padding before the next */
    for (unsigned i = 0; i < sizeof loops / sizeof *loops; i++) {
        uintptr_t start = (uintptr_t)loops[i].fn, end = i + 1 < sizeof loops / sizeof *loops ?
            (uintptr_t)loops[i + 1].fn : (uintptr_t)wait_for_flag;
        test_fstart[test_nr_functions] = start;
        test_fend[test_nr_functions++] = end;
    }
    test_object.text = (uintptr_t)loops[0].fn & ~0xfffull;
    test_object.text_end = test_object.text + (1 << 20);
    usf_spin_round = on_round;
    void *warm[4];
    backtrace(warm, 4);
    for (unsigned i = 0; i < sizeof loops / sizeof *loops; i++) test_loop(loops[i].name, loops[i].fn);
    test_replaced();
    test_unwind();
    test_poll();
    test_memory();
    test_windows();
    measure();
    printf("%d failures\n", failures);
    return failures != 0;
}
