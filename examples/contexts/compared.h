/* examples/contexts/compared.h - what the examples in C and C++ have in common.  SPDX-License-Identifier: Apache-2.0
 *
 * Options (--mode, --scale, --cpus NAME=LIST, --help, --unsafe), time, and the comparison of results, as
 * in compared.py.  A wrong option ends the program with status 2; other failures, and results that
 * differ, with status 1.  The functions are for the main thread, but for compared_fail and compared_now. */
#ifndef COMPARED_H
#define COMPARED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <usf/context.h>

#define COMPARED_MOST 4         /* contexts of an example */

struct compared {
    const char *names[COMPARED_MOST];   /* of the contexts; set before compared_options, with n */
    int n;
    const char *mode;                   /* "all", or one of sequential, threads, contexts */
    double scale;                       /* of the work; 1: some seconds on two CPUs */
    const char *lacks;                  /* a mode that the example does not have, or NULL; set before compared_options */
    int has_unsafe;                     /* it knows --unsafe; set before compared_options */
    int unsafe;                         /* --unsafe was given */
    char *cpus[COMPARED_MOST];          /* of each context */
    double known[COMPARED_MOST];        /* results of the first mode */
    int has_known;
};

static inline void compared_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s%s%s\n", what, why ? ": " : "", why ? why : "");
    exit(1);
}

static inline double compared_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The CPUs of the program from the from-th one on, before the to-th one, as a list. */
static inline char *compared_list(const cpu_set_t *set, int from, int to)
{
    char *list = (char *)calloc(CPU_SETSIZE, 5);
    size_t used = 0;
    for (int cpu = 0, at = 0; list && cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, set)) continue;
        if (at >= from && at < to) used += (size_t)sprintf(list + used, "%s%d", used ? "," : "", cpu);
        at++;
    }
    if (!list) compared_fail("no memory", NULL);
    return list;
}

static inline void compared_usage(const struct compared *c, const char *program, const char *text, int status)
{
    FILE *to = status ? stderr : stdout;
    const char *threads = c->lacks && !strcmp(c->lacks, "threads") ? "" : "threads|";
    fprintf(to, "usage: %s [--mode sequential|%scontexts|all] [--scale NUMBER] [--cpus NAME=LIST]...%s\n", program, threads,
            c->has_unsafe ? " [--unsafe]" : "");
    if (!status) fprintf(to, "\n%s\n\nThe CPUs of a context are a list as in 0-3,8, or `all`. The contexts are:", text);
    for (int i = 0; !status && i < c->n; i++) fprintf(to, " %s", c->names[i]);
    if (!status) fprintf(to, ".\n");
    exit(status);
}

static inline void compared_set_cpus(struct compared *c, const char *given, const cpu_set_t *set)
{
    for (int i = 0; i < c->n; i++) {
        const size_t length = strlen(c->names[i]);
        if (strncmp(given, c->names[i], length) || given[length] != '=' || !given[length + 1]) continue;
        free(c->cpus[i]);
        c->cpus[i] = strcmp(given + length + 1, "all") ? strdup(given + length + 1) : compared_list(set, 0, CPU_SETSIZE);
        return;
    }
    fprintf(stderr, "--cpus %s: give NAME=LIST, with the name of a context\n", given);
    exit(2);
}

static inline int compared_has_mode(const struct compared *c, const char *mode)
{
    static const char *const modes[] = {"all", "sequential", "threads", "contexts"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(mode, modes[i])) return !c->lacks || strcmp(mode, c->lacks);
    return 0;
}

/* text: what the example does, for --help.  Prints the first line of the output. */
static inline void compared_options(struct compared *c, int argc, char **argv, const char *text)
{
    static const struct option options[] = {
        {"mode", required_argument, NULL, 'm'}, {"scale", required_argument, NULL, 's'}, {"cpus", required_argument, NULL, 'c'},
        {"unsafe", no_argument, NULL, 'u'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
    };
    cpu_set_t set;
    char *end;
    if (sched_getaffinity(0, sizeof set, &set)) compared_fail("sched_getaffinity failed", NULL);
    const int cpus = CPU_COUNT(&set);
    c->mode = "all";
    c->scale = 1;
    for (int i = 0; i < c->n; i++) {
        const int from = i * cpus / c->n, to = (i + 1) * cpus / c->n;
        c->cpus[i] = compared_list(&set, from, to > from ? to : from + 1);
    }
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'h') compared_usage(c, argv[0], text, 0);
        else if (o == 'c') compared_set_cpus(c, optarg, &set);
        else if (o == 'm' && compared_has_mode(c, optarg)) c->mode = optarg;
        else if (o == 's' && (c->scale = strtod(optarg, &end)) > 0 && isfinite(c->scale) && !*end) continue;
        else if (o == 'u' && c->has_unsafe) c->unsafe = 1;
        else compared_usage(c, argv[0], text, 2);
    }
    if (optind < argc) compared_usage(c, argv[0], text, 2);
    printf("%d CPUs, scale %g.\n", cpus, c->scale);
    fflush(stdout);
    c->scale *= cpus / 2.0;
}

/* n at scale 1 on two CPUs, where the work grows with this power of n. */
static inline int compared_size(const struct compared *c, int n, double power)
{
    const double size = n * pow(c->scale, 1 / power);
    return size < 8 ? 8 : (int)size;
}

static inline int compared_does(const struct compared *c, const char *mode) { return !strcmp(c->mode, "all") || !strcmp(c->mode, mode); }

/* Prints a mode's seconds and its results, one for each context.  Ends the program if they differ from
 * those of an earlier mode. */
static inline void compared_report(struct compared *c, const char *mode, double seconds, const double *results)
{
    printf("%-10s %.3f s ", mode, seconds);
    for (int i = 0; i < c->n; i++) printf("  %s %.9g", c->names[i], results[i]);
    printf("\n");
    for (int i = 0; i < c->n; i++) {
        if (!isfinite(results[i]) || (c->has_known && fabs(results[i] - c->known[i]) > 1e-6 * fabs(c->known[i]))) {
            fflush(stdout);
            compared_fail(mode, "the results differ from those before");
        }
        if (!c->has_known) c->known[i] = results[i];
    }
    c->has_known = 1;
    if (!strcmp(mode, "contexts")) {
        printf("CPUs:");
        for (int i = 0; i < c->n; i++) printf(" %s %s", c->names[i], c->cpus[i]);
        printf("\n");
    }
    fflush(stdout);
}

/* Makes the contexts. */
static inline void compared_make(const struct compared *c, usf_context_t **contexts)
{
    for (int i = 0; i < c->n; i++) {
        struct usf_context_options options = {};
        options.name = c->names[i];
        options.cpus = c->cpus[i];
        contexts[i] = usf_context_create(&options);
        if (!contexts[i]) compared_fail(c->names[i], usf_context_error());
    }
}

/* Destroys them.  Where a BLAS has started threads, they live until the program ends, and so does the
 * context. */
static inline void compared_destroy(const struct compared *c, usf_context_t **contexts)
{
    for (int i = 0; i < c->n; i++) {
        const int error = usf_context_destroy(contexts[i]);
        if (error && error != EBUSY) compared_fail(c->names[i], usf_context_error());
    }
}

/* What becomes of work that may crash or never end: it is done in a child process, for at most 20
 * seconds.  work returns 1 if the results are right. */
static inline const char *compared_in_child(int (*work)(void *), void *argument)
{
    int status = 0;
    const pid_t child = fork();
    if (child < 0) compared_fail("fork failed", NULL);
    if (!child) {
        const struct rlimit none = {0, 0};
        if (setrlimit(RLIMIT_CORE, &none) || !freopen("/dev/null", "w", stderr)) _exit(1);      /* a crash is no news */
        alarm(20);
        _exit(work(argument) ? 0 : 1);
    }
    while (waitpid(child, &status, 0) < 0) {}
    if (WIFEXITED(status)) return WEXITSTATUS(status) ? "wrong results" : "right results";
    return WTERMSIG(status) == SIGALRM ? "it does not end" : "it crashes";
}
#endif
