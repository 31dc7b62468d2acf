/* tests/cache/fresh.c - a reused thread is like a new one.  SPDX-License-Identifier: Apache-2.0
 *
 * Each case spoils something in one thread, which the cache keeps, and looks at it in the next. */
#include "check.h"

#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void *nothing(void *arg) { return arg; }

/* ---- thread-local variables, of the program and of libraries loaded at run time ----------------------- */
static int target;
static __thread int initialised = 42;
static __thread long zero[100];
static __thread int *pointer = &target;
static int (*lib_check_and_spoil)(void);

static void *tls_body(void *arg)
{
    CHECK_EQ(initialised, 42);
    CHECK(pointer == &target);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(zero[i], 0);
    initialised = 1;
    pointer = &initialised;
    for (int i = 0; i < 100; i++)
        zero[i] = i + 1;
    if (lib_check_and_spoil)
        CHECK(lib_check_and_spoil());
    return NULL;
}

static void tls(const char *library)
{
    run_thread(tls_body, NULL);
    run_reused(tls_body, NULL);
    for (int round = 0; library && round < 3; round++) {
        void *lib = dlopen(library, RTLD_NOW);
        CHECK(lib != NULL);
        lib_check_and_spoil = (int (*)(void))dlsym(lib, "lib_check_and_spoil");
        run_reused(tls_body, NULL);
        run_reused(tls_body, NULL);
        lib_check_and_spoil = NULL;
        CHECK_EQ(dlclose(lib), 0);
        run_reused(tls_body, NULL);
    }
}

/* ---- what libc keeps per thread ---------------------------------------------------------------------- */
static void *libc_body(void *arg)
{
    CHECK_EQ(errno, 0);
    CHECK_EQ(h_errno, 0);
    CHECK(dlerror() == NULL);
    CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
    errno = 77;
    h_errno = 3;
    dlopen("/nonexistent", RTLD_NOW);
    errno = 78;
    uselocale(arg);
    return NULL;
}

static void libc_state(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    run_thread(libc_body, c);
    run_reused(libc_body, c);
    run_reused(libc_body, c);
    freelocale(c);
}

/* ---- floating point: inherited from the creator -------------------------------------------------------- */
static void *fp_body(void *arg)
{
    long want = (long)arg;
    unsigned mxcsr;
    unsigned short control, status;
    __asm__ volatile("stmxcsr %0; fnstcw %1; fnstsw %2" : "=m"(mxcsr), "=m"(control), "=m"(status));
    CHECK_EQ(fegetround(), want);
    CHECK_EQ(mxcsr >> 13 & 3, want >> 10);
    CHECK_EQ(control >> 10 & 3, want >> 10);
    CHECK_EQ(control >> 8 & 3, 3);                   /* precision */
    volatile double one = 1, three = 3;
    if (want == FE_UPWARD)
        CHECK(one / three > 0.33333333333333331);
    mxcsr |= 0x8040;                                 /* flush to zero, denormals are zero */
    control &= (unsigned short)~0x300;
    __asm__ volatile("ldmxcsr %0; fldcw %1; fldpi; fldpi; fldpi" : : "m"(mxcsr), "m"(control) : "st", "st(1)", "st(2)");
    fesetround(FE_TOWARDZERO);
    feraiseexcept(FE_DIVBYZERO);
    return NULL;
}

static void *x87_room_body(void *arg)
{
    long double x[8];                                /* all eight registers must be free */
    __asm__ volatile("fldpi;fldpi;fldpi;fldpi;fldpi;fldpi;fldpi;fldpi;"
                     "fstpt %0;fstpt %1;fstpt %2;fstpt %3;fstpt %4;fstpt %5;fstpt %6;fstpt %7"
                     : "=m"(x[0]), "=m"(x[1]), "=m"(x[2]), "=m"(x[3]), "=m"(x[4]), "=m"(x[5]), "=m"(x[6]), "=m"(x[7]));
    for (int i = 0; i < 8; i++)
        CHECK(x[i] > 3.14L && x[i] < 3.15L);
    return NULL;
}

static void floating_point(void)
{
    run_thread(fp_body, (void *)FE_TONEAREST);
    run_reused(fp_body, (void *)FE_TONEAREST);
    run_reused(x87_room_body, NULL);
    fesetround(FE_UPWARD);
    run_reused(fp_body, (void *)FE_UPWARD);
    fesetround(FE_TONEAREST);
    run_reused(fp_body, (void *)FE_TONEAREST);
    run_reused(nothing, NULL);
}

/* ---- signal mask, pending signals, alternate stack ----------------------------------------------------- */
static _Atomic int handled;
static void handler(int sig) { handled++; }

static void *mask_body(void *arg)
{
    sigset_t now, all;
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    for (int s = 1; s < NSIG; s++)
        CHECK_EQ(sigismember(&now, s), sigismember(arg, s));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    return NULL;
}

static void *pending_body(void *arg)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    raise(SIGUSR1);
    return NULL;
}

static void *unblock_body(void *arg)
{
    sigset_t set;
    CHECK_EQ(sigpending(&set), 0);
    CHECK_EQ(sigismember(&set, SIGUSR1), 0);
    sigfillset(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return NULL;
}

static void *altstack_body(void *arg)
{
    stack_t s;
    CHECK_EQ(sigaltstack(NULL, &s), 0);
    CHECK(s.ss_flags & SS_DISABLE);
    s = (stack_t){ .ss_sp = arg, .ss_size = 65536 };
    CHECK_EQ(sigaltstack(&s, NULL), 0);
    return NULL;
}

/* Whether no thread could handle the signal. */
static bool all_block(int signal)
{
    DIR *d = opendir("/proc/self/task");
    bool all = d != NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[300], line[256];
        unsigned long blocked = ~0ul;               /* one that has just ended */
        snprintf(path, sizeof path, "/proc/%s/status", e->d_name);
        FILE *f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
        while (f && fgets(line, sizeof line, f) && sscanf(line, "SigBlk: %lx", &blocked) != 1)
            ;
        if (f)
            fclose(f);
        all = all && blocked >> (signal - 1) & 1;
    }
    if (d)
        closedir(d);
    return all;
}

static void signals(void)
{
    sigset_t mine, some;
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    run_thread(mask_body, &mine);
    run_reused(mask_body, &mine);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigaddset(&some, SIGRTMIN + 3);
    pthread_sigmask(SIG_SETMASK, &some, NULL);
    run_reused(mask_body, &some);
    pthread_sigmask(SIG_SETMASK, &mine, NULL);
    run_reused(mask_body, &mine);

    signal(SIGUSR1, handler);
    run_thread(pending_body, NULL);                  /* must not be kept */
    run_thread(unblock_body, NULL);
    CHECK_EQ(handled, 0);

    /* Signals for the process must not run on a kept thread. */
    run_thread(nothing, NULL);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    while (!all_block(SIGUSR1)) sleep_ms(1);         /* a thread that ends may not, for a moment */
    kill(getpid(), SIGUSR1);
    CHECK_EQ(handled, 0);
    int sig;
    CHECK_EQ(sigwait(&usr1, &sig), 0);
    pthread_sigmask(SIG_SETMASK, &mine, NULL);

    char *stack = malloc(65536);
    run_thread(altstack_body, stack);
    run_reused(altstack_body, stack);
    run_reused(altstack_body, stack);
    free(stack);
}

/* ---- cancellation state ---------------------------------------------------------------------------------- */
static void *cancel_state_body(void *arg)
{
    int state, type;
    CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state), 0);
    CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type), 0);
    CHECK_EQ(state, PTHREAD_CANCEL_ENABLE);
    CHECK_EQ(type, PTHREAD_CANCEL_DEFERRED);
    return NULL;
}

/* ---- names, priorities, CPUs -------------------------------------------------------------------------------- */
static void *name_body(void *arg)
{
    char name[16];
    CHECK_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    CHECK(strcmp(name, arg) == 0);
    pthread_setname_np(pthread_self(), "spoilt");
    return NULL;
}

static void *named_creator(void *arg)
{
    prctl(PR_SET_NAME, "creator");
    run_thread(name_body, "creator");
    run_reused(name_body, "creator");
    return NULL;
}

static void names(void)
{
    char mine[16];
    CHECK_EQ(pthread_getname_np(pthread_self(), mine, sizeof mine), 0);
    run_thread(name_body, mine);
    run_reused(name_body, mine);
    run_thread(named_creator, NULL);
    run_reused(name_body, mine);
}

static void *nice_body(void *arg)
{
    CHECK_EQ(getpriority(PRIO_PROCESS, 0), (long)arg);
    CHECK_EQ(setpriority(PRIO_PROCESS, 0, (int)(long)arg + 3), 0);
    run_thread(nothing, NULL);
    return NULL;
}

static void *nice_creator_body(void *arg)
{
    CHECK_EQ(setpriority(PRIO_PROCESS, 0, (int)(long)arg + 2), 0);
    run_thread(nothing, NULL);
    run_thread(nice_body, (void *)((long)arg + 2));
    return NULL;
}

static void priorities(void)
{
    long mine = getpriority(PRIO_PROCESS, 0);
    if (mine > 10)
        return;
    run_thread(nice_body, (void *)mine);
    run_thread(nice_body, (void *)mine);
    run_thread(nothing, NULL);
    run_thread(nice_creator_body, (void *)mine);
    run_thread(nice_body, (void *)mine);
    run_thread(nothing, NULL);
    run_reused(nothing, NULL);
}

static void *place_body(void *arg)
{
    cpu_set_t now, one;
    CHECK_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    CHECK(CPU_EQUAL(&now, (cpu_set_t *)arg));
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &now)) {
            CPU_SET(c, &one);
            break;
        }
    CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
    return NULL;
}

static void *bound_creator(void *arg)
{
    cpu_set_t one;
    place_body(arg);
    CHECK_EQ(sched_getaffinity(0, sizeof one, &one), 0);
    run_thread(place_body, &one);
    return NULL;
}

static void places(void)
{
    cpu_set_t mine;
    CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    run_thread(place_body, &mine);
    run_reused(place_body, &mine);
    run_reused(bound_creator, &mine);
    run_reused(place_body, &mine);

    /* Attributes with an affinity make a thread of their own. */
    pthread_attr_t attr;
    pthread_t th;
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
        if (CPU_ISSET(c, &mine))
            CPU_SET(c, &one);
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof one, &one), 0);
    CHECK_EQ(pthread_create(&th, &attr, place_body, &one), 0);
    CHECK_EQ(pthread_join(th, NULL), 0);
    pthread_attr_destroy(&attr);
    run_reused(place_body, &mine);
}

/* ---- robust mutexes ------------------------------------------------------------------------------------------- */
static pthread_mutex_t robust;
static void *lock_robust(void *arg)
{
    CHECK_EQ(pthread_mutex_lock(&robust), 0);
    return NULL;
}

static void robust_mutex(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attr);
    run_thread(lock_robust, NULL);
    CHECK_EQ(pthread_mutex_lock(&robust), EOWNERDEAD);
    CHECK_EQ(pthread_mutex_consistent(&robust), 0);
    CHECK_EQ(pthread_mutex_unlock(&robust), 0);
    pthread_mutex_destroy(&robust);
    pthread_mutexattr_destroy(&attr);
}

/* ---- ids, stacks, attributes ---------------------------------------------------------------------------------------- */
struct facts {
    pthread_barrier_t *barrier;
    pid_t tid;
    pthread_t self;
    char *frame, *low;
    size_t size, guard;
    int detach;
};

/* The kernel's id, without asking for it: who asks is not reused. */
static pid_t quiet_tid(void)
{
    pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_lock(&m);
    pid_t tid = m.__data.__owner;
    pthread_mutex_unlock(&m);
    return tid;
}

static void *facts_body(void *arg)
{
    struct facts *f = arg;
    char here;
    void *low;
    pthread_attr_t attr;
    f->tid = quiet_tid();
    f->self = pthread_self();
    f->frame = &here;
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
    CHECK_EQ(pthread_attr_getstack(&attr, &low, &f->size), 0);
    CHECK_EQ(pthread_attr_getguardsize(&attr, &f->guard), 0);
    CHECK_EQ(pthread_attr_getdetachstate(&attr, &f->detach), 0);
    pthread_attr_destroy(&attr);
    f->low = low;
    if (f->barrier)
        pthread_barrier_wait(f->barrier);
    return NULL;
}

static void identities(void)
{
    enum { N = 20 };
    struct facts f[N];
    pthread_t th[N];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, N);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++) {
            f[i].barrier = &barrier;
            CHECK_EQ(pthread_create(&th[i], NULL, facts_body, &f[i]), 0);
        }
        for (int i = 0; i < N; i++)
            CHECK_EQ(pthread_join(th[i], NULL), 0);
        for (int i = 0; i < N; i++) {
            CHECK(pthread_equal(th[i], f[i].self));
            CHECK(f[i].frame > f[i].low && f[i].frame < f[i].low + f[i].size);
            CHECK_EQ(f[i].detach, PTHREAD_CREATE_JOINABLE);
            for (int j = 0; j < i; j++) {
                CHECK(f[i].tid != f[j].tid);
                CHECK(!pthread_equal(f[i].self, f[j].self));
                CHECK(f[i].low + f[i].size <= f[j].low || f[j].low + f[j].size <= f[i].low);
            }
        }
    }
    pthread_barrier_destroy(&barrier);
}

/* Programs tell threads apart by their kernel id, also those that have ended. */
static void *tid_body(void *arg)
{
    pid_t tid = arg ? gettid() : (pid_t)syscall(SYS_gettid);
    CHECK_EQ(tid, quiet_tid());
    return (void *)(long)tid;
}

static void kernel_ids(void)
{
    long seen[30];
    for (int i = 0; i < 30; i++) {
        run_thread(nothing, NULL);
        seen[i] = (long)run_thread(tid_body, (void *)(long)(i % 2));
        for (int j = 0; j < i; j++)
            CHECK(seen[i] != seen[j]);
    }
}

/* libnuma probes for memory policies when it is loaded and goes back to the default: that must not spoil anything. */
static void *policy_body(void *arg)
{
    syscall(SYS_set_mempolicy, 1, NULL, 0);
    syscall(SYS_set_mempolicy, 0, NULL, 0);
    return NULL;
}

static void *deep(void *arg)
{
    volatile char room[600 * 1024];
    for (size_t i = 0; i < sizeof room; i += 4096)
        room[i] = 1;
    return facts_body(arg);
}

static void sizes(void)
{
    static const size_t stacks[] = { 128 * 1024, 1024 * 1024, 3 * 1024 * 1024 };
    static const size_t guards[] = { 0, 4096, 65536 };
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    for (int round = 0; round < 3; round++)
        for (int s = 0; s < 3; s++)
            for (int g = 0; g < 3; g++) {
                struct facts f = { 0 };
                pthread_t th;
                unsigned long before = reused();
                CHECK_EQ(pthread_attr_setstacksize(&attr, stacks[s]), 0);
                CHECK_EQ(pthread_attr_setguardsize(&attr, guards[g]), 0);
                CHECK_EQ(pthread_create(&th, &attr, s ? deep : facts_body, &f), 0);
                CHECK_EQ(pthread_join(th, NULL), 0);
                CHECK(f.size >= stacks[s] - guards[g]);
                CHECK_EQ(f.guard, guards[g]);
                if (cached() && round > 0)
                    CHECK_EQ(reused(), before + 1);
            }
    /* A stack of the user's own. */
    void *mine = aligned_alloc(4096, 256 * 1024);
    struct facts f = { 0 };
    pthread_t th;
    pthread_attr_destroy(&attr);
    pthread_attr_init(&attr);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_attr_setstack(&attr, mine, 256 * 1024), 0);
        CHECK_EQ(pthread_create(&th, &attr, facts_body, &f), 0);
        CHECK_EQ(pthread_join(th, NULL), 0);
        CHECK(f.frame > (char *)mine && f.frame < (char *)mine + 256 * 1024);
    }
    free(mine);                                      /* no thread may live on it now */
    pthread_attr_destroy(&attr);
    run_thread(nothing, NULL);
    run_reused(nothing, NULL);
}

static void *clock_body(void *arg)
{
    clockid_t id;
    struct timespec a, b;
    CHECK_EQ(pthread_getcpuclockid(pthread_self(), &id), 0);
    CHECK_EQ(clock_gettime(id, &a), 0);
    for (volatile int i = 0; i < 300000; i++)
        ;
    CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b), 0);
    CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec > a.tv_nsec));
    return NULL;
}

static void *mask_attr_body(void *arg)
{
    return mask_body(arg);
}

static void attr_mask(void)
{
    pthread_attr_t attr;
    pthread_t th;
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGHUP);
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setsigmask_np(&attr, &some), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_create(&th, &attr, mask_attr_body, &some), 0);
        CHECK_EQ(pthread_join(th, NULL), 0);
    }
    pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
    test_start(60);
    tls(argc > 1 ? argv[1] : NULL);
    libc_state();
    floating_point();
    signals();
    run_thread(cancel_state_body, NULL);
    run_reused(cancel_state_body, NULL);
    run_reused(cancel_state_body, NULL);
    names();
    places();
    priorities();
    robust_mutex();
    identities();
    kernel_ids();
    sizes();
    run_thread(clock_body, NULL);
    run_reused(clock_body, NULL);
    attr_mask();
    run_thread(policy_body, NULL);
    run_reused(policy_body, NULL);
    policy_body(NULL);
    run_reused(nothing, NULL);
    return 0;
}
