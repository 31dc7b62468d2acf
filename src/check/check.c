/* src/check/check.c - run the checks in child processes, collect what they found.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One child per seed, and one that only loads and looks.  A child tells what it does by a page that
 * it shares with its parent, before it does it: if it dies the parent knows where it was.  It
 * watches itself: a signal handler tells which operation was hit, and a timer of its CPU time
 * notices a call that does not end (not of the time that passes: the machine may be busy
 * otherwise). */
#include "check/internal.h"
#include "base/base.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

const struct check_words check_properties[CHECK_NR] = {
    [CHECK_LOADS] = {"loads", "it is a policy of this API"},
    [CHECK_IMPORTS] = {"imports", "it calls no functions of other libraries"},
    [CHECK_VECTORS] = {"vectors", "it uses no vector registers"},
    [CHECK_VARIABLES] = {"variables", "it changes no variables of its own"},
    [CHECK_RETURNS] = {"returns", "every operation returns: no crash, no endless loop"},
    [CHECK_SYSCALLS] = {"syscalls", "no operation makes a system call"},
    [CHECK_LEGAL] = {"legal", "it names ready tasks only, each once, and cores that are idle and allowed"},
    [CHECK_CONSERVING] = {"conserving", "no core is idle while a task waits that may run there"},
    [CHECK_LOST] = {"lost", "no task is lost"},
    [CHECK_FOREIGN] = {"foreign", "it writes only what is its own"},
    [CHECK_ADDRESSES] = {"addresses", "it keeps no address: records may be mapped elsewhere at each call"},
    [CHECK_WIPE] = {"wipe", "it begins anew from wiped records, in any state"},
    [CHECK_STARVATION] = {"starvation", "who is ready runs within a bound"},
    [CHECK_YIELDERS] = {"yielders", "who has yielded runs within a bound"},
    [CHECK_ORDER] = {"order", "it keeps the order that it promises"},
};

enum { WATCH_CPU_US = 500000, WATCH_LOOKS = 4, RUN_CPU_S = 120, ROOM = 512 << 20 };

/* Shared with the child. */
static struct page {
    struct check_result result;
    struct check_finding failure;       /* of this child; outcome CHECK_FAILED once it is set */
    enum check_property property;
    char history[24];
    uint64_t seed, calls;
    bool dispatches, done;
    bool can_starve;
    struct check_waits longest;
} *page;

static const struct usf_policy_ops nothing_of_its_own = {
    .api = USF_POLICY_API_VERSION, .size = sizeof(struct usf_policy_ops), .name = "defaults",
    .description = "what a policy gets for the operations that it leaves out",
};

const struct usf_policy_ops *check_find(const char *word, char *why, unsigned why_len)
{
    if (strchr(word, '/')) return policy_load(word, why, why_len);
    const struct usf_policy_ops *ops = !strcmp(word, "defaults") ? &nothing_of_its_own : policy_find(word);
    if (!ops) usf_format(why, why_len, "there is no policy '%s'", word);
    return ops;
}

/* ---- in the child ------------------------------------------------------------------------------- */

static void fail(struct machine *m, enum check_property property, const char *what)
{
    struct check_finding *f = &page->failure;
    page->property = property;
    f->op = property == CHECK_STARVATION || property == CHECK_YIELDERS ? OP_NONE : check_call.op;
    f->seed = page->seed;
    f->step = m ? m->step : 0;
    memcpy(f->history, page->history, sizeof f->history);
    usf_format(f->words, sizeof f->words, "%s", what);
    f->outcome = CHECK_FAILED;
    page->calls += check_call.number;
    _exit(1);
}

static void on_crash(int sig, siginfo_t *info, void *context)
{
    (void)context;
    char words[160];
    check_call.blocks = 0;
    if (sig == SIGSYS) {
        usf_format(words, sizeof words, "it makes the system call number %d", info->si_syscall);
        fail(check_call.machine, CHECK_SYSCALLS, words);
    }
    if (sig == SIGSEGV && check_call.machine && check_is_other_view(check_call.machine, info->si_addr))
        fail(check_call.machine, CHECK_ADDRESSES, "it uses an address that it has kept from an earlier call");
    if (!check_call.under_way)
        usf_format(words, sizeof words, "signal %d outside of any operation: it has destroyed memory that is not its own", sig);
    else
        usf_format(words, sizeof words, "it dies by signal %d (%s)", sig, sig == SIGSEGV ? "an invalid address, or no stack left"
                   : sig == SIGFPE ? "division by zero" : sig == SIGILL || sig == SIGTRAP ? "a trap: a panic or __builtin_trap"
                   : sig == SIGABRT ? "abort" : "bus error");
    fail(check_call.machine, CHECK_RETURNS, words);
}

/* Its CPU time, not the clock's: so many looks in a row found the same call under way. */
static void on_timer(int sig)
{
    static uint64_t last;
    static unsigned looks;
    (void)sig;
    unsigned char was = check_call.blocks;
    check_call.blocks = 0;          /* the way back from here is a system call; so much less is watched of this call */
    if (!check_call.under_way || check_call.number != last) looks = 0;
    last = check_call.number;
    if (check_call.under_way && ++looks >= WATCH_LOOKS)
        fail(check_call.machine, CHECK_RETURNS, "it does not return: 2 s of CPU time in one call");
    (void)was;
}

static void watch_myself(void)
{
    static char stack[64 << 10];
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    struct rlimit memory = {0, 0}, cpu = {RUN_CPU_S, RUN_CPU_S + 1}, core = {0, 0};
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&own, NULL);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction a = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
        sigaction(signals[i], &a, NULL);
    }
    struct sigaction t = {.sa_handler = on_timer, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval every = {{0, WATCH_CPU_US}, {0, WATCH_CPU_US}};
    sigaction(SIGVTALRM, &t, NULL);
    setitimer(ITIMER_VIRTUAL, &every, NULL);
    getrlimit(RLIMIT_AS, &memory);
    memory.rlim_cur = ROOM;
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    machine_on_failure = fail;
}

static const struct usf_policy_ops *load_here(const char *word)
{
    char why[200];
    snprintf(page->history, sizeof page->history, "%s", "");
    const struct usf_policy_ops *ops = check_find(word, why, sizeof why);
    if (!ops) fail(NULL, CHECK_LOADS, why);
    return ops;
}

static void look_at_object(const char *word)
{
    char words[160];
    if (!check_imports(word, words, sizeof words)) fail(NULL, CHECK_IMPORTS, words);
}

static void look_at_code(const char *word)
{
    char words[160];
    if (!check_vectors(word, words, sizeof words)) fail(NULL, CHECK_VECTORS, words);
}

/* What can be seen without the histories: it loads, and its costs. */
static void look(const char *word, bool kernel_too)
{
    const struct usf_policy_ops *ops = load_here(word);
    struct check_result *r = &page->result;
    snprintf(r->name, sizeof r->name, "%s", ops->name);
    snprintf(r->description, sizeof r->description, "%s", ops->description ? ops->description : "");
    r->kernel = ops->flags & USF_POLICY_KERNEL;
    page->can_starve = ops->flags & USF_POLICY_CAN_STARVE;
    if (r->kernel || !kernel_too) return;
    snprintf(page->history, sizeof page->history, "cost");
    r->nr_costs = check_costs(ops, r->cost);
}

static void run_seed(const char *word, uint64_t seed)
{
    char words[160];
    page->seed = seed;
    const struct usf_policy_ops *ops = load_here(word);
    check_variables_before(word);
    page->dispatches = check_forbid_syscalls();
    for (const struct check_history *h = check_histories; h->name; h++) {
        snprintf(page->history, sizeof page->history, "%s", h->name);
        check_history(h, ops, seed, NULL);
    }
    if (!check_variables_after(words, sizeof words)) fail(NULL, CHECK_VARIABLES, words);
}

static void run_starvation(const char *word, uint64_t seed)
{
    page->seed = seed;
    const struct usf_policy_ops *ops = load_here(word);
    snprintf(page->history, sizeof page->history, "starvation");
    check_starvation(ops, seed, &page->longest);
}

/* ---- in the parent ------------------------------------------------------------------------------ */

enum part { LOOK, OBJECT, CODE, HISTORIES, WITHOUT_RESTARTS, STARVATION };

static void do_part(enum part part, const char *word, uint64_t seed)
{
    watch_myself();
    switch (part) {
    case LOOK: look(word, true); break;
    case OBJECT: look_at_object(word); break;
    case CODE: look_at_code(word); break;
    case STARVATION: run_starvation(word, seed); break;
    case WITHOUT_RESTARTS: machine_restarts = false;    /* fall through */
    case HISTORIES: run_seed(word, seed); break;
    }
    page->calls += check_call.number;
    page->done = true;
    _exit(0);
}

static char trouble[120];

/* False: it failed, as page->failure and page->property say; or there is trouble, and nothing is
 * known. */
static bool run(enum part part, const char *word, uint64_t seed)
{
    int status = 0;
    page->done = false;
    page->failure = (struct check_finding){0};
    fflush(stdout);
    fflush(stderr);
    pid_t pid = fork();
    if (pid == 0) do_part(part, word, seed);
    if (pid < 0) {
        usf_format(trouble, sizeof trouble, "no process to check it in: %s", strerror(errno));
        return false;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (page->done) return true;
    if (page->failure.outcome == CHECK_FAILED) return false;
    struct check_finding *f = &page->failure;       /* it could not even tell: killed, or ended by itself */
    f->outcome = CHECK_FAILED;
    f->seed = seed;
    memcpy(f->history, page->history, sizeof f->history);
    page->property = CHECK_RETURNS;
    if (WIFSIGNALED(status))
        usf_format(f->words, sizeof f->words, "its process was killed by signal %d%s", WTERMSIG(status),
                   WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU ? " (more than 120 s of CPU time, or no memory)" : "");
    else
        usf_format(f->words, sizeof f->words, "it ended its process with exit code %d", WEXITSTATUS(status));
    return false;
}

static void note_failure(struct check_result *r)
{
    struct check_finding *f = &r->finding[page->property];
    if (trouble[0]) return;
    if (f->outcome != CHECK_FAILED) *f = page->failure;     /* the first one is kept */
}

static void note_passed(struct check_result *r, enum check_property p)
{
    if (r->finding[p].outcome != CHECK_NOT_CHECKED) return;
    r->finding[p].outcome = CHECK_PASSED;
    r->finding[p].words[0] = 0;
}

static void not_checked(struct check_result *r, enum check_property p, const char *why)
{
    if (r->finding[p].outcome == CHECK_NOT_CHECKED) usf_format(r->finding[p].words, sizeof r->finding[p].words, "%s", why);
}

/* What goes wrong with restarts and goes well without them is the restarts' fault. */
static void blame(const char *word, uint64_t seed)
{
    struct page failed = *page;
    if (failed.property != CHECK_LEGAL && failed.property != CHECK_CONSERVING && failed.property != CHECK_LOST
        && failed.property != CHECK_RETURNS) return;
    if (strstr(failed.failure.words, "does not return")) return;        /* not for another two seconds */
    bool well = run(WITHOUT_RESTARTS, word, seed);
    page->failure = failed.failure;
    page->property = failed.property;
    if (well) page->property = CHECK_WIPE;
}

static void check_histories_of(const char *word, uint64_t seed, struct check_result *r)
{
    static const enum check_property covered[] = {CHECK_RETURNS, CHECK_LEGAL, CHECK_CONSERVING, CHECK_LOST, CHECK_FOREIGN,
                                                  CHECK_ADDRESSES, CHECK_WIPE};
    if (!run(HISTORIES, word, seed)) {
        blame(word, seed);
        note_failure(r);
        return;
    }
    for (unsigned i = 0; i < sizeof covered / sizeof *covered; i++) note_passed(r, covered[i]);
    if (page->dispatches) note_passed(r, CHECK_SYSCALLS);
    else not_checked(r, CHECK_SYSCALLS, "this kernel cannot trap them (it needs Linux 5.11)");
    if (strchr(word, '/')) note_passed(r, CHECK_VARIABLES);
}

/* A policy that says that it can starve is only measured. */
static void check_starvation_of(const char *word, uint64_t seed, struct check_result *r)
{
    bool well = run(STARVATION, word, seed), of_waiting = page->property == CHECK_STARVATION || page->property == CHECK_YIELDERS;
    if (!well && of_waiting && page->can_starve) page->failure.outcome = CHECK_NOT_PROMISED;
    if (!well) note_failure(r);
    if (!well && of_waiting && page->can_starve) {
        r->finding[page->property].outcome = CHECK_NOT_PROMISED;
        not_checked(r, CHECK_YIELDERS, "a wait of one who was ready came before");
    }
    if (well) note_passed(r, CHECK_STARVATION), note_passed(r, CHECK_YIELDERS);
    if (well && page->longest.ready > r->longest_wait) r->longest_wait = page->longest.ready;
    if (well && page->longest.yielded > r->longest_yield) r->longest_yield = page->longest.yielded;
}

static void check_object(const char *word, struct check_result *r)
{
    if (!strchr(word, '/')) {
        not_checked(r, CHECK_IMPORTS, "it is built in");
        not_checked(r, CHECK_VECTORS, "it is built in");
        not_checked(r, CHECK_VARIABLES, "it is built in");
        return;
    }
    if (run(OBJECT, word, 0)) note_passed(r, CHECK_IMPORTS);
    else note_failure(r);
    if (run(CODE, word, 0)) note_passed(r, CHECK_VECTORS);
    else note_failure(r);
}

static bool is_over(const struct check_result *r)
{ return trouble[0] || strstr(r->finding[CHECK_RETURNS].words, "does not return"); }

static void check_all(const char *word, uint64_t seed, unsigned seeds, struct check_result *r)
{
    for (unsigned i = 0; i < seeds && !is_over(r); i++) check_histories_of(word, seed + i, r);
    for (unsigned i = 0; i < (seeds + 3) / 4 && !is_over(r); i++) check_starvation_of(word, seed + i, r);
    for (unsigned p = 0; p < CHECK_ORDER; p++)
        if (!r->finding[p].words[0]) not_checked(r, (enum check_property)p, "the failures above came before");
}

bool check_policy(const char *word, uint64_t seed, unsigned seeds, struct check_result *r)
{
    bool well = true;
    memset(r, 0, sizeof *r);
    trouble[0] = 0;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        usf_format(r->trouble, sizeof r->trouble, "no memory for the check");
        return false;
    }
    if (run(LOOK, word, seed)) note_passed(r, CHECK_LOADS);
    else note_failure(r);
    memcpy(r->name, page->result.name, sizeof r->name);
    memcpy(r->description, page->result.description, sizeof r->description);
    memcpy(r->cost, page->result.cost, sizeof r->cost);
    r->nr_costs = page->result.nr_costs;
    r->kernel = page->result.kernel;
    if (!trouble[0] && r->finding[CHECK_LOADS].outcome != CHECK_FAILED && !r->kernel) {
        if (page->result.name[0]) note_passed(r, CHECK_LOADS);
        check_object(word, r);
        check_all(word, seed, seeds, r);
    }
    r->calls = page->calls;
    for (unsigned p = 0; p < CHECK_NR; p++) well &= r->finding[p].outcome != CHECK_FAILED;
    memcpy(r->trouble, trouble, sizeof r->trouble);
    munmap(page, sizeof *page);
    return well && !trouble[0];
}
