/* src/cli/help.c - help, man page and completion, all from the tables.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

static const char *const topics[] = {"man", "completion"};

/* "-q, --quantum MS" */
static void spelling(const struct usf_option *o, char *buf, size_t cap)
{
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    const char *open = o->flags & OPT_F_BARE ? "[=" : " ", *close = o->flags & OPT_F_BARE ? "]" : "";
    snprintf(buf, cap, "%s--%s%s%s%s", letter, o->name, open, o->arg, close);
}

static void range(const struct usf_option *o, char *buf, size_t cap)
{
    buf[0] = 0;
    if (o->type == OPT_NUMBER && !(o->flags & OPT_F_COUNT))
        snprintf(buf, cap, " (%lu-%lu%s%s, default %s)", o->min, o->max, o->unit ? " " : "", o->unit ? o->unit : "", o->def);
    else if (o->type == OPT_LEVEL)
        snprintf(buf, cap, " (-%lu to %lu, default %s)", o->max, o->max, o->def);
    else if (o->type == OPT_CHOICE || o->type == OPT_SHARE)
        snprintf(buf, cap, " (%s, default %s)", o->choices, o->def);
    else if (*o->def && o->type != OPT_REPORT && !(o->flags & OPT_F_COUNT))
        snprintf(buf, cap, " (default %s)", o->def);
}

static void line(const char *left, const char *help, const char *tail)
{
    if (strlen(left) > 26) printf("  %s\n  %-26s  %s%s\n", left, "", help, tail);
    else printf("  %-26s  %s%s\n", left, help, tail);
}

void help_overview(void)
{
    puts("usage: usf COMMAND [OPTION...]\n\n"
         "Run programs so that their threads share the cores cooperatively: one running thread per\n"
         "core, switched when it blocks, yields or ends.  Nothing is rebuilt or edited.\n\n"
         "commands:");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden) line(c->name, c->help, "");
    puts("\n'usf help COMMAND' tells more; 'usf --version' tells the version.\n\n"
         "example: usf run -- python3 train.py");
}

void help_command(const struct cli_command *c)
{
    char left[80], tail[80];
    printf("usage: usf %s %s\n\n%c%s.\n", c->name, c->synopsis, c->help[0] - 'a' + 'A', c->help + 1);
    if (c->more) printf("\n%s\n", c->more);
    if (c->options || c->flags) puts("\noptions:");
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        if (!cli_takes_option(c, o->name)) continue;
        spelling(o, left, sizeof left);
        range(o, tail, sizeof tail);
        line(left, o->help, tail);
    }
    for (const struct cli_flag *f = c->flags; f && f->name; f++) {
        char letter[8] = "    ";
        if (f->letter) snprintf(letter, sizeof letter, "-%c, ", f->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, f->name, f->arg ? " " : "", f->arg ? f->arg : "");
        line(left, f->help, "");
    }
    if (c->options && !strcmp(c->options, "*"))
        puts("\nEach option can also be set in the environment (USF_QUANTUM for --quantum), in\n"
             "$XDG_CONFIG_HOME/usf/config.toml and in /etc/usf.toml (quantum = 20).");
}

/* ---- man page -------------------------------------------------------------------------------- */
/* Text for roff: '-' and '\' have meanings of their own there, and so has a '.' or ''' at a line's start. */
static void roff(const char *s)
{
    if (*s == '.' || *s == '\'') fputs("\\&", stdout);
    for (; *s; s++)
        if (*s == '-') fputs("\\-", stdout);
        else if (*s == '\\') fputs("\\e", stdout);
        else putchar(*s);
}

static void man_option(const struct usf_option *o)
{
    char tail[80];
    puts(".TP");
    fputs(".B ", stdout);
    if (o->letter) printf("\\-%c, ", o->letter);
    roff("--");
    roff(o->name);
    printf("%s\\fI", o->flags & OPT_F_BARE ? "\\fR[=" : " ");
    roff(o->arg);
    printf("\\fR%s\n", o->flags & OPT_F_BARE ? "]" : "");
    roff(o->help);
    range(o, tail, sizeof tail);
    roff(tail);
    puts(".");
    if (o->more) {
        roff(o->more);
        putchar('\n');
    }
    printf("Variable: \\fB%s\\fR.\n", o->env);
}

static void man_command(const struct cli_command *c)
{
    printf(".TP\n.B usf %s \\fR", c->name);
    roff(c->synopsis);
    printf("\n%c", c->help[0] - 'a' + 'A');
    roff(c->help + 1);
    puts(".");
    for (const struct cli_flag *f = c->flags; f && f->name; f++) {
        printf("With \\fB");
        if (f->letter) printf("\\-%c\\fR, \\fB", f->letter);
        roff("--");
        roff(f->name);
        printf("\\fR%s%s: ", f->arg ? " " : "", f->arg ? f->arg : "");
        roff(f->help);
        puts(".");
    }
    if (c->more) {
        roff(c->more);
        putchar('\n');
    }
}

static void man_rest(void)
{
    puts(".SH CONFIGURATION\n"
         "An option is looked for on the command line, in the environment, in\n"
         ".IR $XDG_CONFIG_HOME/usf/config.toml\n(by default in ~/.config), and in\n.IR /etc/usf.toml ,\n"
         "in this order. The files are TOML with one line\n.I name = value\nper option: numbers and true/false stand bare,\n"
         "all else in quotes. What is wrong in a file is told, and passed over.\n"
         "\\fBusf config show\\fR tells the value and the origin of every option.\n"
         ".SH WAIT POLICIES\n"
         "\\fBusf run\\fR tells parallel runtimes to block rather than to spin, by the variables that their\n"
         "users set by hand, unless they or a rival of theirs are set already.\n"
         "\\fB\\-v\\fR lists what was set; \\fB\\-\\-keep\\-env\\fR leaves all alone.\n"
         ".SH WHAT RUNS UNSCHEDULED\n"
         "Programs that are statically linked, setuid or with capabilities, of another architecture or word size,\n"
         "written in Go, or linked with another C library run as without usf; one line says so.\n"
         "So does a program when the instance cannot be made or joined: what is missing is named.\n"
         "What a program starts, and is one of these, runs unscheduled without a word; so does what runs as another user than\n"
         "\\fBusf run\\fR did, and a program from when it gives up its user (\\fB\\-v\\fR tells).\n"
         ".SH EXIT STATUS\n"
         "That of the program. 125: a mistake in the command line or the environment.\n"
         "126: the program is there but cannot be run. 127: it was not found.\n"
         "A program that dies by a signal is seen to die by that signal.\n"
         "The other commands: 0, or 1 if what was asked for failed.\n"
         "\\fBdoctor\\fR: 0 if all is well and the program, if one is named, is scheduled; 1 if something is wrong with\n"
         "the machine, the options, an instance (with a program: the one that it would join), or the program (missing,\n"
         "not executable, lacks a library);\n"
         "2 if nothing is wrong, but the program runs unscheduled.\n"
         ".SH DIAGNOSIS\n"
         "\\fBusf ps \\-\\-why\\fR tells of each thread that waits: the futex, by the symbol, object or mapping of its address, its\n"
         "value, and the thread that holds it if it looks like a mutex of glibc; the system call and what its\n"
         "descriptor is; or the core, and who runs there. The time is that of the wait; with <= that since when the\n"
         "thread may be in the call, as nobody takes the time of calls that need not block.\n"
         "What the kernel does not let you see (a debugger's right, ptrace(2)) is left out.\n"
         "\\fBusf dump\\fR prints all of an instance: header, options, policy and why it was replaced, lock and owner, monitor, cores,\n"
         "processes, tasks, what the kernel tells of each thread, and threads that are not scheduled. It is meant\n"
         "for reports of faults, and has names of programs, threads, files and addresses in it, but no contents.\n"
         "It reads a copy: neither a wedged instance nor its programs are disturbed.\n"
         "A warning is told once in a whole \\fBusf run\\fR, however many processes have it.\n"
         ".SH EXAMPLES\n"
         ".nf\nusf run \\-\\- python3 train.py\n"
         "usf run \\-c 0\\-3 \\-\\-stats \\-\\- ./solver input\n"
         "usf doctor \\-\\-program ./solver\n.fi");
}

void help_man(void)
{
    puts(".\\\" Made by 'usf help man'.  SPDX-License-Identifier: Apache-2.0");
    puts(".TH USF 1 \"\" \"usf " USF_VERSION "\" \"User Commands\"");
    puts(".SH NAME\nusf \\- schedule the threads of unmodified programs in user space");
    puts(".SH SYNOPSIS\n.B usf\n.I COMMAND\n.RI [ OPTION ...]");
    puts(".SH DESCRIPTION\nRuns programs so that their threads, and those of all other programs of the same user run this way,\n"
         "share the cores cooperatively: one running thread per core, switched when it blocks, yields or ends.\n"
         "Nothing is rebuilt or edited, and no privilege is needed.");
    puts(".SH COMMANDS");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden) man_command(c);
    puts(".SH OPTIONS OF RUN");
    for (unsigned i = 0; i < usf_nr_options; i++) man_option(&usf_options[i]);
    man_rest();
}

/* ---- completion ------------------------------------------------------------------------------ */
static void words_of(const struct cli_command *c)
{
    for (unsigned i = 0; i < usf_nr_options; i++)
        if (cli_takes_option(c, usf_options[i].name)) printf(" --%s", usf_options[i].name);
    for (const struct cli_flag *f = c->flags; f && f->name; f++) printf(" --%s", f->name);
}

void help_completion(void)
{
    puts("# bash completion of usf, made by 'usf help completion': source it, or put it into\n"
         "# ~/.local/share/bash-completion/completions/usf\n"
         "_usf() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words i");
    fputs("  if [ \"$COMP_CWORD\" = 1 ]; then words=\"", stdout);
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden) printf("%s ", c->name);
    puts("--help --version\"\n  else case ${COMP_WORDS[1]} in");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (c->hidden) continue;
        printf("    %s) words=\"--help", c->name);
        words_of(c);
        if (c->main == cmd_policy) fputs(" list info new check show set weight priority", stdout);
        if (c->main == cmd_config) fputs(" show", stdout);
        if (c->main == cmd_trace) fputs(" info convert", stdout);
        puts("\" ;;");
    }
    puts("  esac; fi\n  case $before in");
    for (unsigned i = 0; i < usf_nr_options; i++)
        if (usf_options[i].type == OPT_CHOICE || usf_options[i].type == OPT_SHARE)
            printf("    --%s) words=\"$(echo '%s' | tr '|' ' ')\" ;;\n", usf_options[i].name, usf_options[i].choices);
    puts("    --policy) words=\"$(usf policy list 2>/dev/null | sed 's/ .*//')\" ;;\n"
         "  esac\n"
         "  if [ \"${COMP_WORDS[1]}\" = run ] || [ \"${COMP_WORDS[1]}\" = trace ]; then\n"
         "    # behind the first word that is no option stands the program's own command line\n"
         "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
         "      case ${COMP_WORDS[i]} in\n"
         "        --) _command_offset $((i + 1)) 2>/dev/null; return ;;\n"
         "        -*) ;;\n"
         "      esac\n"
         "    done\n"
         "    [[ $word == -* ]] || [[ $before == --* ]] || { COMPREPLY=($(compgen -c -- \"$word\")); return; }\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _usf usf");
}

int cmd_help(const struct cli_command *self, int argc, char **argv)
{
    static void (*const print[])(void) = {help_man, help_completion};
    const struct cli_args a = {.rest = 2};
    const char *topic = argc > 1 ? argv[1] : "--help";
    char buf[64];
    (void)self;
    /* (No cli_parse: help is there whatever is wrong with the settings.) */
    int code = cli_no_more(&a, argc, argv);
    if (code >= 0) return code;
    if (!strcmp(topic, "--help") || !strcmp(topic, "-h")) return help_overview(), CLI_OK;
    if (*topic == '-')
        return cli_usage("unknown option %s of usf help; the nearest is --help", text_clean(topic, buf, sizeof buf));
    for (unsigned i = 0; i < sizeof topics / sizeof *topics; i++)
        if (!strcmp(topic, topics[i])) return print[i](), CLI_OK;
    const struct cli_command *c = cli_find(topic);
    if (!c) return cli_usage("no help on '%s'; the nearest is '%s'", text_clean(topic, buf, sizeof buf),
                             cli_nearest_command(topic));
    help_command(c);
    return CLI_OK;
}
