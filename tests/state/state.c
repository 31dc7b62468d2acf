/* tests/state/state.c - whatever takes a thread over leaves its registers alone.  SPDX-License-Identifier: Apache-2.0
 *
 * A system call changes rax, rcx and r11, and an interruption changes nothing: vector and mask registers, x87, MXCSR, flags and the
 * red zone are as they were.  The threads here, more than there are cores, take steps of all kinds (calls that
 * return at once, that wait, and that are interrupted; long computations; waits in a loop) with all of that set at random and compare.
 * The state is set and read by XRSTOR and XSAVE, so it is whatever this CPU has. */
#include "../pthread/stress.h"

#include <cpuid.h>
#include <immintrin.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define ZONE 16
#define ALTERNATE (64u << 10)   /* bytes of the alternate stack that every other thread has */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, NR_REGS = 16 };
struct job {                    /* state.S knows these offsets */
    uint64_t load, save;        /* components of the state */
    uint8_t *image, *result, *clean;
    uint64_t sp, flags, in[NR_REGS], out[NR_REGS], zone[ZONE];
};
_Static_assert(offsetof(struct job, flags) == 48 && offsetof(struct job, in) == 56, "state.S");
_Static_assert(offsetof(struct job, out) == 184 && offsetof(struct job, zone) == 312, "state.S");
void step_nothing(struct job *), step_call(struct job *), step_work(struct job *), step_spin(struct job *), step_lock(struct job *);

#define ARITHMETIC 0x8d5ul      /* CF PF AF ZF SF OF */
#define DIRECTION 0x400ul

/* ---- the state ---------------------------------------------------------------------------------- */

enum { X87, SSE, AVX, MASKS = 5, ZMM_HIGH, ZMM_16_31, PKRU = 9 };
static uint64_t components, size;
static struct { unsigned at, size; } part[64];

static uint64_t xcr0(void)
{
    uint32_t a, d;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (uint64_t)d << 32 | a;
}

static void find_components(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
        printf("this CPU has no XSAVE\n");
        exit(77);
    }
    components = xcr0() & (1u << X87 | 1u << SSE | 1u << AVX | 1u << MASKS | 1u << ZMM_HIGH | 1u << ZMM_16_31 | 1u << PKRU);
    CHECK(__get_cpuid_count(0xd, 0, &a, &b, &c, &d));
    size = (b + 63) & ~63ul;
    for (unsigned i = AVX; i < 64; i++)
        if (components >> i & 1) {
            CHECK(__get_cpuid_count(0xd, i, &a, &b, &c, &d));
            part[i].size = a, part[i].at = b;
        }
    printf("components of the state: %#lx, %lu bytes\n", components, size);
}

static void fill(void *to, size_t n, unsigned *random)
{
    for (size_t i = 0; i < n; i++) ((uint8_t *)to)[i] = (uint8_t)next_random(random);
}

/* An image as XSAVE makes them: control words that trap nothing, everything else at random. */
static void make_image(struct job *j, unsigned *random)
{
    uint8_t *p = j->image;
    uint16_t control = (uint16_t)(0x33f | (next_random(random) & 0xc00));
    uint32_t mxcsr = 0x1f80 | (next_random(random) & 0x603f);
    memset(p, 0, size);
    memcpy(p, &control, sizeof control);
    p[4] = 0xff;                                        /* no x87 register is empty */
    memcpy(p + 24, &mxcsr, sizeof mxcsr);
    for (int i = 0; i < 8; i++) fill(p + 32 + 16 * i, 10, random);
    fill(p + 160, 256, random);
    for (unsigned i = AVX; i < PKRU; i++) fill(p + part[i].at, part[i].size, random);
    memcpy(p + 512, &j->load, sizeof j->load);
}

static void *area(void)
{
    void *p = aligned_alloc(64, size);
    CHECK(p != NULL);
    return memset(p, 0, size);
}

static bool same_state(const char *what, const struct job *j, const uint8_t *want)
{
    static const char *const names[] = {[AVX] = "ymm", [MASKS] = "mask", [ZMM_HIGH] = "zmm", [ZMM_16_31] = "zmm16-31",
                                        [PKRU] = "pkru"};
    const uint8_t *got = j->result;
    bool good = true;
    struct { const char *name; unsigned at, size; } parts[4 + PKRU] = {
        {"x87 control", 0, 6},                          /* not where the last x87 instruction was: CPUs differ */
        {"mxcsr", 24, 4}, {"x87 registers", 32, 128}, {"xmm registers", 160, 256},
    };
    unsigned n = 4;
    for (unsigned i = AVX; i <= PKRU; i++)
        if (part[i].size) parts[n].name = names[i], parts[n].at = part[i].at, parts[n++].size = part[i].size;
    for (unsigned i = 0; i < n; i++)
        if (memcmp(want + parts[i].at, got + parts[i].at, parts[i].size)) {
            good = false;
            fprintf(stderr, "%s: %s changed\n", what, parts[i].name);
        }
    return good;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

struct actor {                  /* a thread that takes steps, and what its helper does for it */
    struct job job;
    uint8_t *expected;
    unsigned random;
    _Atomic int word, spin, zero;
    _Atomic bool done;
    int pipe[2], epoll;
    struct pollfd poll;
    struct timeval no_time;
    char buffer[256];
    pthread_t helper;
};
static int lock;
static _Atomic int handled;

static void on_signal(int sig)
{
    struct timespec t = { 0, 1000 };
    __m128 v = _mm_set1_ps((float)sig);
    __asm__ volatile("" : "+x"(v) : : "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                     "xmm12", "xmm13", "xmm14", "xmm15");
    nanosleep(&t, NULL);
    sched_yield();
    handled++;
}

/* Ends whatever its actor waits for, again and again. */
static void *help(void *arg)
{
    struct actor *a = arg;
    while (!a->done) {
        char c = 'x';
        int got;
        a->spin = a->word = 1;
        syscall(SYS_futex, &a->word, FUTEX_WAKE_PRIVATE, 1);
        syscall(SYS_futex, &a->word, FUTEX_WAKE, 1);
        if (ioctl(a->pipe[0], FIONREAD, &got) == 0 && got < 1024) CHECK_EQ(write(a->pipe[1], &c, 1), 1);
        sleep_us(200);
    }
    return NULL;
}

struct call { const char *name; long nr, args[6], least, most; };       /* ... and what it may return */
#define MAX_CALLS 32
#define P(p) ((long)(uintptr_t)(p))

static void set(struct job *j, const struct call *c)
{
    static const int reg[] = { RDI, RSI, RDX, R10, R8, R9 };
    j->in[RAX] = (uint64_t)c->nr;
    for (int i = 0; i < 6; i++) j->in[reg[i]] = (uint64_t)c->args[i];
}

static unsigned describe_calls(struct actor *a, struct call *to)
{
    static const struct timespec soon = { 0, 200000 };
    const long pid = getpid(), tid = gettid(), buffer = P(a->buffer), word = P(&a->word), in = a->pipe[0], out = a->pipe[1];
    const struct call calls[] = {
        { "getppid", SYS_getppid, { 0 }, 0, INT32_MAX },
        { "sched_yield", SYS_sched_yield, { 0 }, 0, 0 },
        { "futex, another value", SYS_futex, { word, FUTEX_WAIT_PRIVATE, 7 }, -EAGAIN, -EAGAIN },
        { "futex, timeout", SYS_futex, { P(&a->zero), FUTEX_WAIT_PRIVATE, 0, P(&soon) }, -ETIMEDOUT, -ETIMEDOUT },
        { "futex, woken", SYS_futex, { word, FUTEX_WAIT_PRIVATE }, -EAGAIN, 0 },
        { "shared futex, woken", SYS_futex, { word, FUTEX_WAIT }, -EAGAIN, 0 },
        { "futex, bit set, woken", SYS_futex, { word, FUTEX_WAIT_BITSET_PRIVATE, 0, 0, 0, -1 }, -EAGAIN, 0 },
        { "futex, wake", SYS_futex, { word, FUTEX_WAKE_PRIVATE, 1 }, 0, 1 },
        { "nanosleep", SYS_nanosleep, { P(&soon) }, 0, 0 },
        { "clock_nanosleep", SYS_clock_nanosleep, { CLOCK_MONOTONIC, 0, P(&soon) }, 0, 0 },
        { "read", SYS_read, { in, buffer, 1 }, 1, 1 },
        { "write", SYS_write, { out, P("y"), 1 }, 1, 1 },
        { "poll", SYS_poll, { P(&a->poll), 1, 1000 }, 0, 1 },
        { "epoll_wait", SYS_epoll_wait, { a->epoll, buffer, 1, 1 }, 0, 1 },
        { "select", SYS_select, { 0, 0, 0, 0, P(&a->no_time) }, 0, 0 },
        { "tgkill, with a handler that waits", SYS_tgkill, { pid, tid, SIGUSR1 }, 0, 0 },
        { "tgkill, with one on the alternate stack", SYS_tgkill, { pid, tid, SIGUSR2 }, 0, 0 },
        { "rt_sigprocmask", SYS_rt_sigprocmask, { SIG_BLOCK, 0, buffer, 8 }, 0, 0 },
        { "rt_sigaction", SYS_rt_sigaction, { SIGUSR2, 0, buffer, 8 }, 0, 0 },
        { "sigaltstack", SYS_sigaltstack, { 0, buffer }, 0, 0 },
        { "sched_getaffinity", SYS_sched_getaffinity, { 0, sizeof a->buffer, buffer }, 8, sizeof a->buffer },
        { "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, 4096, INT64_MAX },
        { "prctl", SYS_prctl, { 16 /* PR_GET_NAME */, buffer }, 0, 0 },
        { "wait4", SYS_wait4, { pid, buffer }, -ECHILD, -ECHILD },
        { "no such call", 400000, { 0 }, -ENOSYS, -ENOSYS },
    };
    _Static_assert(sizeof calls / sizeof *calls <= MAX_CALLS, "MAX_CALLS");
    memcpy(to, calls, sizeof calls);
    return sizeof calls / sizeof *calls;
}

/* The state before: nothing but the step is left to the caller. */
static void prepare(struct actor *a, bool direction)
{
    struct job *j = &a->job;
    fill(j->in, sizeof j->in, &a->random);
    fill(j->zone, sizeof j->zone, &a->random);
    fill(&j->flags, sizeof j->flags, &a->random);
    j->flags = (j->flags & (ARITHMETIC | (direction ? DIRECTION : 0))) | 0x202;
    make_image(j, &a->random);
    step_nothing(j);
    memcpy(a->expected, j->result, size);
}

/* Take the step; compare all but the registers in `changes` (and the flags, unless they are to stay). */
static void take(struct actor *a, const char *what, void (*step)(struct job *), unsigned changes, bool flags)
{
    struct job *j = &a->job, before = *j;
    bool good = true;
    step(j);
    good = same_state(what, j, a->expected);
    for (int i = 0; i < NR_REGS; i++)
        if (i != RSP && !(changes >> i & 1) && before.in[i] != j->out[i]) {
            good = false;
            fprintf(stderr, "%s: register %d: %#lx became %#lx\n", what, i, before.in[i], j->out[i]);
        }
    if (j->out[RSP] != j->sp - 16) good = false, fprintf(stderr, "%s: stack pointer\n", what);
    if (flags && ((before.flags ^ j->flags) & (ARITHMETIC | DIRECTION))) {
        good = false;
        fprintf(stderr, "%s: flags %#lx became %#lx\n", what, before.flags, j->flags);
    }
    if (memcmp(before.zone, j->zone, sizeof j->zone)) good = false, fprintf(stderr, "%s: red zone\n", what);
    CHECK(good);
}

static void take_a_call(struct actor *a, const struct call *c)
{
    prepare(a, true);
    a->word = 0;
    set(&a->job, c);
    take(a, c->name, step_call, 1u << RAX | 1u << RCX | 1u << R11, true);
    long r = (long)a->job.out[RAX];
    if (r < c->least || r > c->most) fprintf(stderr, "%s: %ld\n", c->name, r);
    CHECK(r >= c->least && r <= c->most);
    if (r >= 4096) munmap((void *)r, 4096);
}

/* The child has the caller's state, too. */
static void take_fork(struct actor *a, bool clones)
{
    static const struct call forks[] = { { "fork", SYS_fork, { 0 }, 0, 0 }, { "clone", SYS_clone, { SIGCHLD }, 0, 0 } };
    int status;
    prepare(a, true);
    set(&a->job, &forks[clones]);
    take(a, forks[clones].name, step_call, 1u << RAX | 1u << RCX | 1u << R11, true);
    long r = (long)a->job.out[RAX];
    CHECK(r >= 0);
    if (r == 0) _exit(0);
    CHECK_EQ(waitpid((pid_t)r, &status, 0), r);
    CHECK_EQ(status, 0);
}

/* Long enough to be interrupted. */
static void take_work(struct actor *a)
{
    prepare(a, false);
    a->job.in[RCX] = 30000000;
    take(a, "work", step_work, 1u << RCX, false);
}

static void take_wait(struct actor *a, bool locks)
{
    prepare(a, false);
    a->job.in[RDI] = locks ? (uint64_t)P(&lock) : (uint64_t)P(&a->spin);
    a->spin = 0;
    if (locks) take(a, "lock", step_lock, 1u << RAX | 1u << RCX, false);
    else take(a, "spin", step_spin, 0, false);
}

static void *act(void *arg)
{
    struct worker *w = arg;
    struct actor *a = calloc(1, sizeof *a);
    struct epoll_event e = { .events = EPOLLIN };
    stack_t alternate = { .ss_sp = malloc(ALTERNATE), .ss_size = ALTERNATE };
    struct call calls[MAX_CALLS];
    unsigned nr_calls;

    a->random = w->random;
    a->job.image = area(), a->job.result = area(), a->job.clean = area(), a->expected = area();
    a->job.save = components;
    a->job.load = components & ~(1u << PKRU);
    CHECK_EQ(pipe(a->pipe), 0);
    CHECK((a->epoll = epoll_create1(0)) >= 0);
    CHECK_EQ(epoll_ctl(a->epoll, EPOLL_CTL_ADD, a->pipe[0], &e), 0);
    if (w->index % 2) CHECK_EQ(sigaltstack(&alternate, NULL), 0);
    a->poll = (struct pollfd){ a->pipe[0], POLLIN, 0 };
    nr_calls = describe_calls(a, calls);
    CHECK_EQ(pthread_create(&a->helper, NULL, help, a), 0);
    for (long r = 0; r < rounds; r++) {
        for (unsigned i = 0; i < nr_calls; i++) take_a_call(a, &calls[(i + (unsigned)w->index) % nr_calls]);
        take_wait(a, false);
        take_wait(a, true);
        if (r % 16 == 1) take_fork(a, r % 32 == 1);
        if (r % 8 == 0) take_work(a);
    }
    a->done = true;
    CHECK_EQ(pthread_join(a->helper, NULL), 0);
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    stress_start(argc, argv, 24);
    find_components();
    sigemptyset(&sa.sa_mask);
    CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
    sa.sa_flags |= SA_ONSTACK;
    CHECK_EQ(sigaction(SIGUSR2, &sa, NULL), 0);
    run(act, NULL);
    CHECK_EQ(handled, 2 * threads * rounds);
    return 0;
}
