/* src/cli/trace.c - usf trace: record, convert, look at recordings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/run.h"
#include "trace/file.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum format { RECORDING, PERFETTO, WORKLOAD, TEXT, NO_FORMAT };
static const char *const format_words[] = {"recording", "perfetto", "workload", "text"};
static const char *const default_files[] = {"trace.usft", "trace.json", "trace.usfw", "trace.txt"};

struct job {
    const char *out;            /* where the result goes; null: stdout */
    enum format format;
    char *raw;                  /* where the recording goes: out, or a file beside it until it is converted */
    struct trace_recorder *recorder;
    struct shm *instance;
};

/* ---- what is asked for ---------------------------------------------------------------------------- */
static bool ends_in(const char *s, const char *with)
{
    size_t n = strlen(s), m = strlen(with);
    return n > m && !strcmp(s + n - m, with);
}

static enum format format_of_file(const char *out)
{
    if (out && ends_in(out, ".json")) return PERFETTO;
    if (out && ends_in(out, ".usfw")) return WORKLOAD;
    return out && ends_in(out, ".txt") ? TEXT : RECORDING;
}

/* -1, or the exit code of a mistake. */
static int choose_format(struct job *j, const char *word)
{
    j->format = format_of_file(j->out);
    if (!word) return -1;
    for (j->format = 0; j->format < NO_FORMAT; j->format++)
        if (!strcmp(word, format_words[j->format])) return -1;
    char buf[64], near[64];
    return cli_usage("there is no format '%s' of recordings%s (recording, perfetto, workload or text)", text_clean(word, buf, sizeof buf),
                     cli_near("'", word_nearest(word, format_words, NO_FORMAT), near, sizeof near));
}

/* ---- convert, info --------------------------------------------------------------------------------- */
static int write_as(const struct trace *t, enum format format, FILE *f, const char *from)
{
    if (format == PERFETTO) return trace_perfetto(t, f);
    if (format == WORKLOAD) return trace_workload(t, f, from);
    return trace_text(t, f);
}

#define WORKLOAD_MAX (4l << 20)         /* LANG_FILE_MAX of sim/lang */

/* 0, or -1 said. */
static int convert(const char *from, const char *to, enum format format)
{
    struct trace t;
    char why[400];
    if (trace_load(from, &t, why, sizeof why)) return usf_warn("%s", why), -1;
    if (t.cut) usf_warn("%s is cut off: what there is of it is used", from);
    if (t.lost) usf_warn("%lu events of this recording are lost: what they told is missing%s", t.lost, format == WORKLOAD ? " in the workload" : "");
    bool made;
    FILE *f = to ? trace_open(to, false, &made, why, sizeof why) : stdout;
    if (!f) {
        usf_warn("%s", why);
        trace_free(&t);
        return -1;
    }
    errno = 0;
    int bad = write_as(&t, format, f, from);
    if (fflush(f)) bad = 1;
    if (bad) usf_warn("%s could not be written%s%s", to ? to : "the output", errno ? ": " : "", errno ? strerror(errno) : "");
    if (!bad && format == WORKLOAD && ftell(f) > WORKLOAD_MAX)
        usf_warn("the workload has %ld MB, and the simulator takes files of up to 4 MB: record for a shorter time", ftell(f) >> 20);
    if (to) fclose(f);
    trace_free(&t);
    return bad ? -1 : 0;
}

static int tell(const char *from, bool json)
{
    struct trace t;
    char why[400];
    if (trace_load(from, &t, why, sizeof why)) return usf_warn("%s", why), CLI_FAILED;
    int r = trace_info(&t, json, stdout);
    trace_free(&t);
    return r ? CLI_FAILED : CLI_OK;
}

/* `info FILE`, `convert FILE`, with options before and after the file.  argv[0] is the word. */
static int cmd_file(const struct cli_command *self, struct cli_args *before, int argc, char **argv)
{
    static struct cli_args a, b;
    struct job j = {0};
    const char *word = NULL, *what = argv[0], *file;
    bool json = false;
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0) return code;
    file = argv[a.rest];
    if (!file) return cli_usage("usf trace %s: which recording?", what);
    if ((code = cli_parse(self, &b, argc - a.rest, argv + a.rest)) >= 0 || (code = cli_no_more(&b, argc - a.rest, argv + a.rest)) >= 0) return code;
    const struct cli_args *const all[] = {before, &a, &b};
    for (unsigned i = 0; i < 3; i++) {
        if (cli_flag(all[i], "output")) j.out = cli_flag(all[i], "output");
        if (cli_flag(all[i], "format")) word = cli_flag(all[i], "format");
        if (cli_flag(all[i], "json")) json = true;
        if (cli_flag(all[i], "duration")) return cli_usage("--duration is for recording, not for %s", what);
    }
    if (!strcmp(what, "info")) return j.out || word ? cli_usage("usf trace info takes a recording alone") : tell(file, json);
    if (json) return cli_usage("--json is for info; convert takes --format perfetto, workload or text");
    if ((code = choose_format(&j, word)) >= 0) return code;
    if (j.format == RECORDING) return cli_usage("convert to what? --format perfetto, workload or text");
    if (j.out && !strcmp(j.out, file)) return cli_usage("%s would be written over: name another file", file);
    return convert(file, j.out, j.format) ? CLI_FAILED : CLI_OK;
}

/* ---- record ------------------------------------------------------------------------------------------ */
static void command_line(char **argv, char *buf, size_t cap)
{
    size_t n = 0;
    buf[0] = 0;
    for (; argv && *argv && n < cap; argv++) n += (size_t)snprintf(buf + n, cap - n, "%s%s", n ? " " : "", *argv);
}

static bool begin(void *arg, struct shm *instance, char **argv)
{
    struct job *j = arg;
    char why[400] = "", command[160];
    command_line(argv, command, sizeof command);
    j->instance = instance;
    j->recorder = trace_record(instance, j->raw, j->format != RECORDING, command, why, sizeof why);
    if (!j->recorder) usf_warn("%s: nothing is recorded", why);
    return j->recorder;
}

/* What ends a recording, and then what is made of it: those of these that are not ignored
 * (nohup). */
static void end_signals(sigset_t *set)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a;
    sigemptyset(set);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!sigaction(all[i], NULL, &a) && a.sa_handler != SIG_IGN) sigaddset(set, all[i]);
}

static const char *temporary;
static void end_converting(int sig)
{
    unlink(temporary);
    signal(sig, SIG_DFL);
    raise(sig);                 /* comes when this handler is left */
}

/* The signals of the recording's end are blocked still, and may have come twice. */
static int convert_own(const struct job *j)
{
    sigset_t set, old;
    end_signals(&set);
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0) {}
    temporary = j->raw;
    for (int sig = 1; sig < SIGRTMIN; sig++)
        if (sigismember(&set, sig) == 1) sigaction(sig, &(struct sigaction){.sa_handler = end_converting}, NULL);
    sigprocmask(SIG_UNBLOCK, &set, &old);
    int r = convert(j->raw, j->out, j->format);
    sigprocmask(SIG_SETMASK, &old, NULL);
    unlink(j->raw);
    return r;
}

/* 0, or -1 said. */
static int finish(struct job *j)
{
    struct trace_tail sum;
    char why[400];
    int r = trace_record_end(j->recorder, &sum, why, sizeof why);
    if (r) usf_warn("%s", why);
    if (!sum.events) usf_warn("nothing happened that could be recorded");
    if (sum.unrecorded) usf_warn("%u process%s took part and told nothing: a container of %s own, or nothing happened there", sum.unrecorded,
                                 sum.unrecorded == 1 ? "" : "es", sum.unrecorded == 1 ? "its" : "their");
    if (j->format != RECORDING) {
        r |= convert_own(j);
    } else if (sum.lost) {
        usf_warn("%lu events are lost: the rings were full", sum.lost);
    }
    if (!r) usf_say("%lu events recorded into %s", sum.events, j->out);
    return r;
}

static void end(void *arg) { finish(arg); }

/* Could the file be written, or made?  0 or an errno.  Nothing is changed: the recording may be
 * refused. */
static int cannot_write(const char *path)
{
    struct stat st;
    if (!stat(path, &st)) return S_ISDIR(st.st_mode) ? EISDIR : faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? errno : 0;
    if (errno != ENOENT || !*path) return errno;
    const char *slash = strrchr(path, '/');
    char *dir = slash ? xasprintf("%.*s/", (int)(slash - path), path) : xasprintf(".");
    int e = faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) ? errno : 0;
    free(dir);
    return e;
}

/* Find out before anything runs.  -1, or the exit code of a mistake. */
static int check_output(struct job *j)
{
    if (!j->out) j->out = default_files[j->format];
    int e = cannot_write(j->out);
    if (e) return cli_usage("cannot write '%s': %s", j->out, strerror(e));
    j->raw = j->format == RECORDING ? xasprintf("%s", j->out) : xasprintf("%s.%d-%lx.usft", j->out, (int)getpid(), os_now());
    return -1;
}

#define LOOK_MS 20
#define DAY_NS (24 * 3600000000000ul)
static void wait_for_end(const struct job *j, uint64_t ns, const sigset_t *set)
{
    uint64_t until = ns ? os_now() + ns : UINT64_MAX;
    while (os_now() < until && !trace_record_failed(j->recorder) && atomic_load(&j->instance->h->state) == USF_INST_READY
           && !shm_is_condemned(j->instance->h))
        if (sigtimedwait(set, NULL, &(struct timespec){.tv_nsec = LOOK_MS * 1000000}) > 0) return;
}

static int record_instance(struct job *j, const char *name, uint64_t ns)
{
    struct shm m;
    struct shm_config c = {.name = name};
    sigset_t set;
    if (shm_open_instance(&c, false, &m)) return usf_warn("%s", m.why), CLI_FAILED;
    end_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGXFSZ, SIG_IGN);       /* a file that may not grow is an error, which is told */
    if (!begin(j, &m, NULL)) return CLI_FAILED;
    wait_for_end(j, ns, &set);
    int r = finish(j);
    shm_close(&m);
    return r ? CLI_FAILED : CLI_OK;
}

int cmd_trace(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args a;
    static struct job j;
    uint64_t ns = 0;
    int code = cli_parse(self, &a, argc, argv);
    if (code >= 0) return code;
    char **rest = argv + a.rest;
    bool file = *rest && (!strcmp(*rest, "info") || !strcmp(*rest, "convert")) && strcmp(rest[-1], "--");
    if (file) return cmd_file(self, &a, argc - a.rest, rest);
    const char *s = cli_flag(&a, "duration");
    if (s && (!option_time(s, "s", &ns) || !ns || ns > DAY_NS)) return cli_usage("--duration: '%.40s' is not a time up to 24h (like 10s)", s);
    if (s && *rest) return cli_usage("--duration is for an instance; a program is recorded until it ends");
    if (cli_flag(&a, "json")) return cli_usage("--json is for usf trace info");
    j.out = cli_flag(&a, "output");
    if ((code = choose_format(&j, cli_flag(&a, "format"))) >= 0 || (code = check_output(&j)) >= 0) return code;
    if (!*rest) return record_instance(&j, a.config.s.instance, ns);
    const struct run_watch watch = {begin, end, "it is not recorded", &j};
    return run_program(self, &a.config, rest, &watch);
}
