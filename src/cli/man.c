/* src/cli/man.c - manual pages, from the tables: usf.1, and usf-COMMAND.1 for each command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

/* Text for roff: '-' and '\' have meanings of their own there, and so has a '.' or ''' at a line's
 * start. */
static void roff(const char *s)
{
    bool start = true;
    for (; *s; s++) {
        if (start && (*s == '.' || *s == '\'')) fputs("\\&", stdout);
        start = *s == '\n';
        if (*s == '-') fputs("\\-", stdout);
        else if (*s == '\\') fputs("\\e", stdout);
        else putchar(*s);
    }
}

static void sentence(const char *s)
{
    printf("%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
    roff(s + 1);
}

/* .TH takes the title in upper case. */
static void head(const char *command, const char *what)
{
    puts(".\\\" Made by 'usf help man'.  SPDX-License-Identifier: Apache-2.0");
    fputs(".TH USF", stdout);
    if (command) printf("\\-");
    for (const char *p = command; p && *p; p++) putchar(*p - 'a' + 'A');
    puts(" 1 \"\" \"usf " USF_VERSION "\" \"User Commands\"");
    printf(".SH NAME\nusf%s%s \\- ", command ? "\\-" : "", command ? command : "");
    roff(what);
    putchar('\n');
}

static void option(const struct cli_command *c, const struct usf_option *o)
{
    char tail[80];
    fputs(".TP\n.B ", stdout);
    if (o->letter) printf("\\-%c, ", o->letter);
    roff("--");
    roff(o->name);
    printf("%s\\fI", o->flags & OPT_F_BARE ? "\\fR[=" : " ");
    roff(o->arg);
    printf("\\fR%s\n", o->flags & OPT_F_BARE ? "]" : "");
    sentence(option_help(c, o));
    option_range(c, o, tail, sizeof tail);
    roff(tail);
    puts(".");
    if (o->more) {
        roff(o->more);
        putchar('\n');
    }
    printf("Variable: \\fB%s\\fR.\n", o->env);
}

static void flags(const struct cli_flag *f)
{
    for (; f && f->name; f++) {
        fputs(".TP\n.B ", stdout);
        if (f->letter) printf("\\-%c, ", f->letter);
        roff("--");
        roff(f->name);
        printf("%s\\fI", f->arg ? " " : "");
        roff(f->arg ? f->arg : "");
        puts("\\fR");
        sentence(f->help);
        puts(".");
    }
}

static void synopsis(const struct cli_command *c)
{
    puts(".SH SYNOPSIS");
    for (const char *p = c->synopsis; p;) {
        const char *end = strchr(p, '\n');
        char text[300];
        snprintf(text, sizeof text, "%.*s", (int)(end ? end - p : (long)strlen(p)), p);
        printf("%s.B usf %s\n", p == c->synopsis ? "" : ".br\n", c->name);
        if (*text) {
            roff(text);
            putchar('\n');
        }
        p = end ? end + 1 : NULL;
    }
}

static void options(const struct cli_command *c)
{
    bool all = c->options && !strcmp(c->options, "*");
    if (c->options || c->flags || c->verb_flags) puts(".SH OPTIONS");
    flags(c->flags);
    flags(c->verb_flags);
    for (unsigned g = 0; g < OPT_NR_GROUPS; g++) {
        bool headed = !all;
        for (unsigned i = 0; i < usf_nr_options; i++) {
            const struct usf_option *o = &usf_options[i];
            if (o->group != option_group_order[g] || !cli_takes_option(c, o->name)) continue;
            if (!headed) printf(".SS %s\n", option_groups[o->group]);
            headed = true;
            option(c, o);
        }
    }
    if (all)
        puts(".PP\nA time is a number with a unit (ns, us, ms, s, min, h). A bare number is in the unit of the option's default.\n"
             "\\fBusf\\fR(1) says where else options can be set.");
}

static const char about_run[] =
    ".SH WAIT POLICIES\n"
    "\\fBusf run\\fR tells parallel runtimes to block instead of spinning. It sets the variables that users set by hand\n"
    "(OMP_WAIT_POLICY and others), unless one of them, or a variable that competes with it, is set already.\n"
    "\\fB\\-v\\fR lists what was set; \\fB\\-\\-keep\\-env\\fR leaves the environment alone.\n"
    ".SH WHAT RUNS UNSCHEDULED\n"
    "Programs that are statically linked, setuid or with capabilities, of another architecture or word size,\n"
    "written in Go, or linked with another C library run as without usf. One line says so.\n"
    "A program also runs unscheduled when the instance cannot be created or joined; the line names the reason.\n"
    "A child process of one of these kinds runs unscheduled without a message. So does a process that runs as another user than\n"
    "\\fBusf run\\fR did, and a program that gives up its user, from then on (\\fB\\-v\\fR tells).\n"
    "A warning is printed once per \\fBusf run\\fR, however many processes have it.\n"
    ".SH PROFILES\n"
    "A profile is a TOML file, as \\fBusf\\-tune\\fR(1) writes it. Its section [run] has options of \\fBusf run\\fR, [env] has variables for the\n"
    "program. [parameters] has words of the program's command line: {NAME} there is replaced by the value, if the profile has a parameter of\n"
    "this name; any other text stays as it is. [tuning] is not read. A file that is not there, an unknown option and a wrong value are errors.\n"
    ".SH EXIT STATUS\n"
    "That of the program. 125: a mistake in the command line or the environment.\n"
    "126: the program exists but cannot be executed. 127: it was not found.\n"
    "When the program dies by a signal, \\fBusf run\\fR dies by the same signal.\n"
    ".SH EXAMPLES\n.nf\nusf run \\-\\- python3 train.py\nusf run \\-c 0\\-3 \\-\\-stats \\-\\- ./solver input\n"
    "usf run \\-p fifo \\-\\-quantum 5ms \\-\\- make \\-j8\n.fi";
static const char about_ps[] =
    ".SH WHAT IS SHOWN\n"
    "Programs that take part in the instance. A child process that has one thread and has had less than 160 ms of CPU time\n"
    "may be missing (\\fB\\-\\-attach\\fR of \\fBusf run\\fR).\n"
    ".SH DIAGNOSIS\n"
    "\\fBusf ps \\-\\-why\\fR says what each waiting thread waits for. For a futex: its address by symbol, object or mapping, its\n"
    "value, and the thread that holds it if it looks like a mutex of glibc. For a system call: the call, and what its\n"
    "descriptor is. For a core: which thread runs there. The time is that of the wait; with <= it is the time since\n"
    "which the thread may be in the call, because usf takes no time stamp for calls that need not block.\n"
    "Information that the kernel protects (the right of a debugger, \\fBptrace\\fR(2)) is left out.";
static const char about_dump[] =
    ".SH DIAGNOSIS\n"
    "\\fBusf dump\\fR prints all of an instance: header, options, policy and why it was replaced, lock and owner, monitor, cores,\n"
    "processes, tasks, what the kernel tells of each thread, and threads that are not scheduled. It is meant for reports of\n"
    "faults. It contains names of programs, threads and files, and addresses, but no contents.\n"
    "It reads a copy: it disturbs neither a stuck instance nor its programs.";
static const char about_doctor[] =
    ".SH EXIT STATUS\n"
    "0: all is well, and the program, if one is named, is scheduled. 1: something is wrong with the machine, the options,\n"
    "an instance (with a program: the one that it would join), or the program (missing, not executable, lacks a library).\n"
    "2: nothing is wrong, but the program runs unscheduled.\n"
    ".SH EXAMPLES\n.nf\nusf doctor\nusf doctor \\-\\-program ./solver\n.fi";

static const char about_tune[] =
    ".SH VARIABLES\n"
    "\\fB\\-\\-vary\\fR names a variable and its values: NAME=V,V,... (or NAME=V;V where values have commas), NAME=FIRST:LAST, FIRST:LAST:STEP,\n"
    "or FIRST:LAST:*FACTOR. A variable that the command has as {NAME} is put in there. One that is named as an option of \\fBusf run\\fR, with\n"
    "or without run. before it, is that option (policy=coop,fl). Any other one goes into the program's environment (env.NAME in case of doubt).\n"
    ".SH LIBRARY CONTEXTS\n"
    "\\fB\\-\\-share\\fR NAME,NAME divides the CPUs that the program may use among its library contexts of these names, and gives them to the\n"
    "program by \\fB\\-\\-contexts\\fR of \\fBusf run\\fR. One run before the search looks whether the program has contexts of these names.\n"
    ".SH EXIT STATUS\n"
    "0: the profile was written. 1: no candidate works, or a file cannot be written. 125: a mistake in the command line.\n"
    "126: the program, or Python, cannot be executed. 127: it was not found. 128+N: signal N ended the search, which \\fB\\-\\-resume\\fR continues.\n"
    ".SH EXAMPLES\n.nf\nusf tune \\-\\-vary OMP_NUM_THREADS=1:8 \\-\\-vary policy=coop,fl,equi \\-\\- ./solver input\n"
    "usf tune \\-\\-vary n=1:64:*2 \\-\\-search grid \\-\\-plot heat.html \\-\\- ./prog \\-\\-threads {n}\n"
    "usf tune \\-\\-share small,large \\-\\- ./gemms\n"
    "usf run \\-\\-profile usf\\-tune.toml \\-\\- ./solver input\n.fi";

static const char about_shim[] =
    ".SH WHAT IS IN A STUB\n"
    "All functions that the library exports, with their versions. A call costs about a nanosecond; the first one in each context\n"
    "looks the function up, and loads the library into the context if it is not there yet.\n"
    "Variables are not in it. With \\fB\\-\\-data\\fR they are those of the program's own copy; link the program with the library itself, and\n"
    "let it find the stub when it runs.\n"
    "What one function of the program's own copy calls by name goes by the stub as well.\n"
    ".SH EXIT STATUS\n"
    "0: the stub was written. 1: it was not. 125: a mistake in the command line or the environment.\n"
    ".SH EXAMPLES\n.nf\nmkdir stubs\nusf shim libopenblas.so.0 \\-o stubs/libopenblas.so.0\nLD_LIBRARY_PATH=stubs ./solver\n.fi";

static const struct { const char *name, *text; } abouts[] = {
    {"run", about_run}, {"ps", about_ps}, {"dump", about_dump}, {"doctor", about_doctor}, {"tune", about_tune}, {"shim", about_shim}};

static void see_also(const char *self)
{
    const char *between = "";
    puts(".SH SEE ALSO");
    if (self) {
        fputs("\\fBusf\\fR(1)", stdout);
        between = ", ";
    }
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden && (!self || strcmp(self, c->name)) && strcmp(c->name, "help")) {
            printf("%s\\fBusf\\-%s\\fR(1)", between, c->name);
            between = ", ";
        }
    putchar('\n');
}

void man_command(const struct cli_command *c)
{
    head(c->name, c->help);
    synopsis(c);
    puts(".SH DESCRIPTION");
    sentence(c->help);
    puts(".");
    for (const struct cli_verb *v = c->verbs; v && v->name; v++) {
        printf(".TP\n.B %s \\fR", v->name);
        roff(v->synopsis);
        putchar('\n');
        sentence(v->help);
        puts(".");
    }
    if (c->more) {
        puts(".PP");
        roff(c->more);
        putchar('\n');
    }
    options(c);
    for (unsigned i = 0; i < sizeof abouts / sizeof *abouts; i++)
        if (!strcmp(abouts[i].name, c->name)) puts(abouts[i].text);
    see_also(c->name);
}

void man_overview(void)
{
    head(NULL, "schedule the threads of unmodified programs in user space");
    puts(".SH SYNOPSIS\n.B usf\n.I COMMAND\n.RI [ OPTION ...]");
    puts(".SH DESCRIPTION\nRuns programs so that their threads, and those of all other programs of the same user run this way,\n"
         "share the cores cooperatively: one running thread per core, switched when it blocks, yields or ends.\n"
         "Nothing is rebuilt or edited, and no privilege is needed.");
    puts(".SH COMMANDS");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (c->hidden) continue;
        bool page = strcmp(c->name, "help") != 0;
        printf(".TP\n\\fBusf%s%s\\fR%s\n", page ? "\\-" : " ", c->name, page ? "(1)" : "");
        sentence(c->help);
        puts(".");
    }
    puts(".SH CONFIGURATION\n"
         "The options of \\fBusf\\-run\\fR(1) are looked for on the command line, in the environment, in the profile\n"
         "that \\fB\\-\\-profile\\fR names, in\n"
         ".IR $XDG_CONFIG_HOME/usf/config.toml\n(by default in ~/.config), and in\n.IR /etc/usf.toml ,\n"
         "in this order. The files are TOML with one line\n.I name = value\nper option: numbers and true/false are bare,\n"
         "everything else is in quotes. A wrong name or value is reported, and that entry is\n"
         "skipped. A syntax error is reported, and the whole file is skipped.\n"
         "\\fBusf config show\\fR prints the value and the origin of every option.\n"
         ".SH EXIT STATUS\n"
         "\\fBusf run\\fR exits as the program does, or with 125, 126 or 127 (\\fBusf\\-run\\fR(1)). The other commands exit with\n"
         "0, with 1 if what was asked for failed, or with 125 for a mistake in the command line or the environment.\n"
         "\\fBusf doctor\\fR also knows 2 (\\fBusf\\-doctor\\fR(1)).\n"
         ".SH FILES\n"
         ".TP\n.I $XDG_CONFIG_HOME/usf/config.toml, /etc/usf.toml\nOptions.\n"
         ".TP\n.I $XDG_CACHE_HOME/usf\nThe analysis of libraries. It may be deleted at any time.\n"
         ".TP\n.I /dev/shm/usf\\-*\nThe instances in use. \\fBusf clean\\fR removes what is left of others.\n"
         ".SH EXAMPLES\n"
         ".nf\nusf run \\-\\- python3 train.py\n"
         "usf run \\-c 0\\-3 \\-\\-stats \\-\\- ./solver input\n"
         "usf doctor \\-\\-program ./solver\n.fi");
    see_also(NULL);
}
