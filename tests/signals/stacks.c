/* tests/signals/stacks.c - code that runs on stacks of its own, with data right below them.  SPDX-License-Identifier: Apache-2.0
 *
 * Usage: stacks HOW [THREADS [ROUNDS]].  Each thread computes on a stack that is 256 bytes large and lies in a buffer of data, as JIT compilers
 * and collectors have it: nothing but code that the program runs may write below the red zone.  Then it looks at the data.  HOW:
 *
 *   none       the thread has no alternate stack: the program uses no signals
 *   large      it has one of 64 KiB, and handlers that ask for it
 *   least      ... of the least size that the kernel's frame and a small handler need
 *   disarm     ... one with SS_AUTODISARM
 *   urgent     as `large`, with a handler for the runtime's own signal, too
 *   plain      as `urgent`, with handlers that do not ask for the stack
 *   stale      it has set one, gets no signals, and uses that memory for its data meanwhile
 *
 * Of signals that come while one of the same number is pending the kernel drops all but one, and the runtime's own is a SIGURG: of these
 * not all may arrive.
 *
 * Handlers run where they would bare: on the alternate stack if they ask for it and there is one, else below what they interrupt.
 * sigaltstack() says what the program has set. */
#include "storm.h"

#include <stdatomic.h>
#include <ucontext.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
#define DATA   (64u << 10)
#define STACK  256u
#define RED    128u
#define ROOM   4096u            /* for a handler on a stack of the least size */
#define LARGE  (64u << 10)

struct mode { const char *name; size_t size; int flags, ss_flags; bool urgent; };
static const struct mode modes[] = {
    { "none", 0, SA_ONSTACK, 0, false },
    { "large", LARGE, SA_ONSTACK, 0, false },
    { "least", 1, SA_ONSTACK, 0, false },
    { "disarm", LARGE, SA_ONSTACK, (int)SS_AUTODISARM, false },
    { "urgent", LARGE, SA_ONSTACK, 0, true },
    { "plain", LARGE, 0, 0, true },
    { "stale", LARGE, 0, 0, false },
};
static const struct mode *mode;
static _Atomic int handled, urged, trapped, running;
static __thread char *alternate, *data;
static __thread void *mapped;
static __thread size_t alternate_size;

static bool in(const void *p, const char *base, size_t size) { return base && (size_t)((const char *)p - base) < size; }

static void on_signal(int s, siginfo_t *info, void *ctx)
{
    ucontext_t *uc = (ucontext_t *)ctx;
    stack_t now;
    char here;
    (void)info;
    bool on_stack = mode->size && (mode->flags & SA_ONSTACK);
    CHECK_EQ(in(&here, alternate, alternate_size), on_stack);
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK_EQ(uc->uc_stack.ss_size, alternate_size);
    if (!mode->size || mode->ss_flags) {
        CHECK_EQ(now.ss_flags & SS_DISABLE, SS_DISABLE);
    } else {
        CHECK(now.ss_sp == alternate);
        CHECK_EQ(now.ss_flags & SS_ONSTACK, on_stack ? SS_ONSTACK : 0);
    }
    if (!on_stack) {        /* right below what it interrupted, as the kernel has it: no more than frame and red zone */
        size_t below = (size_t)((char *)uc->uc_mcontext.gregs[REG_RSP] - (char *)uc);
        size_t frame = getauxval(AT_MINSIGSTKSZ);
        CHECK(below < (frame ? frame : 2048) + 1024);
    }
    CHECK(s == SIGURG || s == SIGUSR1 || s == SIGUSR2);
    if (s == SIGURG)
        urged++;
    else
        handled++;
}

/* Count down from n on the stack that ends at `top`, and write into it and its red zone. */
static void compute_on(char *top, unsigned long n)
{
    __asm__ volatile("mov %%rsp, %%r12\n mov %0, %%rsp\n"
                     "1: mov %1, -8(%%rsp)\n mov %1, -120(%%rsp)\n push %1\n pop %%r13\n dec %1\n jnz 1b\n"
                     "mov %%r12, %%rsp"
                     : "+r"(top), "+r"(n) : : "r12", "r13", "memory", "cc");
}

/* The handler of a fault comes on top of such a stack as well. */
static void trap_on(char *top)
{ __asm__ volatile("mov %%rsp, %%r12\n mov %0, %%rsp\n int3\n mov %%r12, %%rsp" : "+r"(top) : : "r12", "memory", "cc"); }

static void on_trap(int s, siginfo_t *info, void *ctx)
{
    char here;
    (void)s, (void)info, (void)ctx;
    CHECK(in(&here, alternate, alternate_size));
    trapped++;
}

/* What was set is told, whatever is behind it. */
static void look_at_actions(void)
{
    static const int signals[] = { SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGUSR1 };
    static const int flags[] = { 0, SA_ONSTACK, SA_RESTART, SA_NODEFER | SA_ONSTACK, (int)SA_RESETHAND | SA_ONSTACK | SA_RESTART };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
            struct sigaction told, other;
            storm_handler(signals[i], on_trap, flags[k]);
            memset(&other, 0, sizeof other);
            other.sa_handler = k % 2 ? SIG_DFL : SIG_IGN;
            other.sa_flags = flags[k] ^ SA_ONSTACK;
            CHECK_EQ(sigaction(signals[i], &other, &told), 0);
            CHECK_EQ(told.sa_flags & ~0x04000000, flags[k] | SA_SIGINFO);
            CHECK(told.sa_sigaction == on_trap && sigismember(&told.sa_mask, SIGUSR2) == 0);
            other.sa_handler = SIG_DFL;
            CHECK_EQ(sigaction(signals[i], &other, &told), 0);
            CHECK_EQ(told.sa_flags & ~0x04000000, flags[k] ^ SA_ONSTACK);
            CHECK(told.sa_handler == (k % 2 ? SIG_DFL : SIG_IGN));
        }
        CHECK(signal(signals[i], SIG_DFL) != SIG_ERR);
    }
}

static void set_stack(void)
{
    stack_t st, was, now;
    CHECK_EQ(sigaltstack(NULL, &was), 0);
    CHECK_EQ(was.ss_flags, SS_DISABLE);
    CHECK_EQ(was.ss_size, 0);
    if (!mode->size)
        return;
    mapped = mode->size > 1 ? storm_stack_of(mode->size) : storm_stack(ROOM);
    CHECK_EQ(sigaltstack(NULL, &st), 0);
    st.ss_flags = mode->ss_flags;
    CHECK_EQ(sigaltstack(&st, &was), 0);
    CHECK(was.ss_flags == 0 && was.ss_sp == st.ss_sp);
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK(now.ss_sp == st.ss_sp && now.ss_size == st.ss_size && now.ss_flags == mode->ss_flags);
    alternate = (char *)st.ss_sp;
    alternate_size = st.ss_size;
}

static void drop_stack(void)
{
    stack_t was;
    if (mode->size)
        storm_no_stack(mapped);
    CHECK_EQ(sigaltstack(NULL, &was), 0);
    CHECK_EQ(was.ss_flags, SS_DISABLE);
    CHECK_EQ(was.ss_size, 0);
}

static void stale(void)
{
    stack_t st = {0};
    CHECK((data = (char *)malloc(DATA + STACK)) != NULL);
    st.ss_sp = data;
    st.ss_size = DATA;
    CHECK_EQ(sigaltstack(&st, NULL), 0);
    memset(data, 0x5a, DATA + STACK);
    for (long r = 0; r < rounds; r++) {
        work(8000000);
        for (const char *p = data; p < data + DATA + STACK; p++)
            CHECK_EQ(*p, 0x5a);
    }
    st.ss_flags = SS_DISABLE;
    CHECK_EQ(sigaltstack(&st, NULL), 0);
    free(data);
}

static void look_at_data(const char *top)
{
    for (const char *p = data; p < top - RED - STACK; p++)
        CHECK_EQ(*p, 0x5a);
}

static void *body(void *arg)
{
    char *top;
    if (!strcmp(mode->name, "stale")) {
        stale();
        running--;
        return arg;
    }
    set_stack();
    CHECK((data = (char *)malloc(DATA + STACK)) != NULL);
    memset(data, 0x5a, DATA + STACK);
    top = (char *)((unsigned long)(data + DATA + STACK) & ~15ul) - 16;
    for (long r = 0; r < rounds; r++) {
        compute_on(top, 8000000);
        if (mode->size)
            trap_on(top);
        look_at_data(top);
        CHECK_EQ(pthread_kill(pthread_self(), r % 2 ? SIGUSR1 : SIGURG), 0);
        CHECK_EQ(pthread_kill(pthread_self(), SIGUSR2), 0);
    }
    drop_stack();
    free(data);
    running--;
    while (running)             /* others want the core until the end */
        work(1000);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t th[MAX_THREADS];
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name))
            mode = &modes[i];
    if (!mode)
        return 2;
    stress_start(argc - 1, argv + 1, 10);
    storm_watchdog(100);
    look_at_actions();
    storm_handler(SIGTRAP, on_trap, SA_ONSTACK);
    if (mode->urgent)
        storm_handler(SIGURG, on_signal, mode->flags | SA_RESTART);
    storm_handler(SIGUSR1, on_signal, mode->flags | SA_RESTART);
    storm_handler(SIGUSR2, on_signal, mode->flags | SA_RESTART | SA_NODEFER);
    running = threads;
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, body, NULL), 0);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
    if (!strcmp(mode->name, "stale"))
        return 0;
    CHECK_EQ(trapped, mode->size ? threads * rounds : 0);
    CHECK_EQ(handled, threads * rounds + threads * (rounds / 2));
    CHECK(mode->urgent ? urged > 0 && urged <= threads * ((rounds + 1) / 2) : urged == 0);
    return 0;
}
