/* tests/fuzz/main.c - drive a fuzz target, with AFL++ or without.  SPDX-License-Identifier: Apache-2.0
 *
 *   TARGET FILE...                     these inputs
 *   TARGET --seeds DIR                 write the inputs to begin with into DIR
 *   TARGET --smoke SECONDS [FILE...]   these and the ones to begin with, then changed ones until the time is over
 *
 * With AFL++ (afl-clang-fast defines __AFL_COMPILER) and no arguments it is afl-fuzz's, in persistent mode.  An input on
 * which a smoke run dies is kept as ./crash-TARGET-PID; its seed is printed (USF_SEED repeats the run). */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#undef main     /* that of the tool is another */

#define CAP (1u << 16)
#define MAX_SEEDS 256

#ifdef __AFL_COMPILER
__AFL_FUZZ_INIT();
#endif

static const char *name;
static char home[4096], dir[64];
static uint8_t *seed[MAX_SEEDS];
static size_t seed_len[MAX_SEEDS];
static unsigned nr_seeds;
static uint8_t input[CAP];
static size_t input_len;
static int told = 2;            /* where we speak */

/* ---- voices ------------------------------------------------------------------------------------- */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));
const char *__asan_default_options(void) { return "detect_leaks=0"; }     /* the tool ends soon, and frees little */

static void silence(void)
{
    told = dup(2);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (told < 0 || null < 0) exit(1);
    if (__sanitizer_set_report_fd) __sanitizer_set_report_fd((void *)(intptr_t)told);
    if (!getenv("USF_SHOW") && (dup2(null, 1) < 0 || dup2(null, 2) < 0)) exit(1);
}

void fuzz_fail(const char *file, int line, const char *what)
{
    dprintf(told, "%s:%d: %s\n", file, line, what);
    abort();
}

/* ---- a folder of our own, and what is left of a crash ------------------------------------------- */
static void remove_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (chdir("/") || system(command)) fprintf(stderr, "%s is left over\n", dir);
}

static void enter_dir(void)
{
    snprintf(dir, sizeof dir, "%s/usf-fuzz-%d-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", getpid());
    if (!getcwd(home, sizeof home) || !mkdtemp(dir) || chdir(dir)) exit(77);
    atexit(remove_dir);
}

static void keep_input(void)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/crash-%s-%d", home, name, getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, input, input_len) == (ssize_t)input_len) dprintf(told, "the input is kept in %s\n", path);
    if (fd >= 0) close(fd);
    signal(SIGABRT, SIG_DFL);
}
static void on_abort(int sig)
{
    keep_input();
    raise(sig);
}
void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));

static void run(const uint8_t *data, size_t len)
{
    if (len > CAP) len = CAP;
    if (data != input) memcpy(input, data, len);
    input_len = len;
    /* Exactly as long as it is, so that a read behind the end is seen. */
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy) exit(1);
    memcpy(copy, input, len);
    fuzz_one(copy, len);
    free(copy);
}

/* ---- inputs ------------------------------------------------------------------------------------- */
static uint8_t *read_file(const char *path, size_t *len)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) { perror(path); exit(1); }
    size_t n = (size_t)st.st_size < CAP ? (size_t)st.st_size : CAP;
    uint8_t *p = malloc(n ? n : 1);
    if (!p || read(fd, p, n) != (ssize_t)n) { perror(path); exit(1); }
    close(fd);
    *len = n;
    return p;
}

static void collect_seeds(void)
{
    static uint8_t buf[CAP];
    size_t n;
    for (unsigned i = 0; nr_seeds < MAX_SEEDS && (n = fuzz_seed(i, buf, sizeof buf)); i++) {
        if (!(seed[nr_seeds] = malloc(n))) exit(1);
        memcpy(seed[nr_seeds], buf, n);
        seed_len[nr_seeds++] = n;
    }
}

static int write_seeds(const char *where)
{
    char path[4200];
    collect_seeds();
    for (unsigned i = 0; i < nr_seeds; i++) {
        snprintf(path, sizeof path, "%s%s%s/seed-%03u", where[0] == '/' ? "" : home, where[0] == '/' ? "" : "/", where, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, seed[i], seed_len[i]) != (ssize_t)seed_len[i]) { perror(path); return 1; }
        close(fd);
    }
    return nr_seeds == 0;
}

/* ---- without AFL: changed inputs ---------------------------------------------------------------- */
static uint64_t rng;
static uint32_t below(size_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)((rng >> 16) % n);
}

static void change(void)
{
    static const uint8_t odd[] = {0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, '"', '\n', ',', '-', '='};
    size_t at = below(input_len), n;
    switch (below(6)) {
    case 0: input[at] ^= (uint8_t)(1u << below(8)); break;
    case 1: input[at] = odd[below(sizeof odd)]; break;
    case 2: input[at] = (uint8_t)below(256); break;
    case 3:     /* a piece goes */
        n = 1 + below(input_len - at);
        if (n < input_len) memmove(input + at, input + at + n, input_len - at - n), input_len -= n;
        break;
    case 4:     /* a piece comes twice */
        n = 1 + below(input_len - at < 64 ? input_len - at : 64);
        if (input_len + n <= CAP) memmove(input + at + n, input + at, input_len - at), input_len += n;
        break;
    default: {  /* a piece of another */
        unsigned other = below(nr_seeds);
        size_t from = below(seed_len[other]), room = CAP - at;
        n = 1 + below(seed_len[other] - from);
        if (n > room) n = room;
        memcpy(input + at, seed[other] + from, n);
        if (at + n > input_len) input_len = at + n;
    }
    }
}

static int smoke(int seconds)
{
    const char *given = getenv("USF_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    unsigned long runs = 0;
    dprintf(told, "seed %llu\n", (unsigned long long)first);
    rng = first | 1;
    alarm((unsigned)seconds + 60);
    collect_seeds();
    for (unsigned i = 0; i < nr_seeds; i++) run(seed[i], seed_len[i]);
    for (time_t stop = time(NULL) + seconds; time(NULL) < stop; runs++) {
        unsigned i = below(nr_seeds);
        memcpy(input, seed[i], input_len = seed_len[i]);
        for (unsigned k = 1 + below(8); k && input_len; k--) change();
        run(input, input_len);
    }
    dprintf(told, "%u inputs to begin with, %lu changed ones\n", nr_seeds, runs);
    return nr_seeds == 0;
}

int main(int argc, char **argv)
{
    name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    bool is_smoke = argc > 2 && !strcmp(argv[1], "--smoke"), is_seeds = argc == 3 && !strcmp(argv[1], "--seeds");
    for (int i = is_smoke ? 3 : argc; i < argc && nr_seeds < MAX_SEEDS; i++)
        seed[nr_seeds] = read_file(argv[i], &seed_len[nr_seeds]), nr_seeds++;
    for (int i = is_smoke || is_seeds ? argc : 1; i < argc; i++) seed[nr_seeds] = read_file(argv[i], &seed_len[nr_seeds]), nr_seeds++;
    enter_dir();
    if (is_seeds) return write_seeds(argv[2]);
    silence();
    fuzz_start();
#ifdef __AFL_COMPILER
    if (argc == 1) {
        __AFL_INIT();
        unsigned char *shared = __AFL_FUZZ_TESTCASE_BUF;
        while (__AFL_LOOP(1000)) run(shared, (size_t)__AFL_FUZZ_TESTCASE_LEN);
        return 0;
    }
#endif
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_input);
    signal(SIGABRT, on_abort);
    if (is_smoke) return smoke(atoi(argv[2]));
    for (unsigned i = 0; i < nr_seeds; i++) run(seed[i], seed_len[i]);
    dprintf(told, "%u inputs\n", nr_seeds);
    return 0;
}
