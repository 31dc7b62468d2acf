/* src/cli/completion.c - completion for bash, zsh and fish, from the tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

/* An option of the table, or a flag of one command. */
struct row { const char *name, *help, *arg, *choices; char letter; bool bare; };

static void each(const struct cli_command *c, void (*f)(const struct cli_command *c, const struct row *r))
{
    for (unsigned i = 0; i < usf_nr_options; i++) {
        const struct usf_option *o = &usf_options[i];
        if (cli_takes_option(c, o->name))
            f(c, &(struct row){o->name, option_help(c, o), o->arg, o->choices, o->letter, o->flags & OPT_F_BARE});
    }
    const struct cli_flag *const lists[] = {c->flags, c->verb_flags};
    for (unsigned k = 0; k < 2; k++)
        for (const struct cli_flag *g = lists[k]; g && g->name; g++)
            f(c, &(struct row){g->name, g->help, g->arg, g->choices, g->letter, false});
}

static bool is(const struct row *r, const char *arg) { return r->arg && !strcmp(r->arg, arg); }

/* In single quotes of all three shells; `special` gets a backslash more. */
static void quoted(const char *s, const char *special, bool fish)
{
    for (; *s; s++) {
        if (*s == '\'') fputs(fish ? "\\'" : "'\\''", stdout);
        else {
            if (strchr(special, *s)) putchar('\\');
            putchar(*s);
        }
    }
}

/* "a|b|c" with blanks. */
static void words(const char *choices)
{
    for (; *choices; choices++) putchar(*choices == '|' ? ' ' : *choices);
}

/* ---- bash -------------------------------------------------------------------------------------- */
static void bash_word(const struct cli_command *c, const struct row *r)
{
    printf(" --%s", r->name);
    if (r->letter) printf(" -%c", r->letter);
}

static void bash_valued(const struct cli_command *c, const struct row *r)
{
    if (!r->arg || r->bare) return;
    printf(" --%s", r->name);
    if (r->letter) printf(" -%c", r->letter);
}

static void bash_value(const struct cli_command *c, const struct row *r)
{
    if (!r->arg) return;
    printf("    %s:--%s", c->name, r->name);
    if (r->letter) printf("|%s:-%c", c->name, r->letter);
    if (is(r, "POLICY")) puts(") _usf_policies; return ;;");
    else if (is(r, "FILE") || is(r, "DIR")) puts(") _usf_files; return ;;");
    else if (is(r, "PROG")) puts(") COMPREPLY=($(compgen -c -- \"$word\")); return ;;");
    else if (r->choices) printf(") _usf_words '"), words(r->choices), puts("'; return ;;");
    else if (r->bare) puts(") [ \"$assigned\" ] && return ;;");
    else puts(") return ;;");
}

static void bash(void)
{
    puts("# bash completion of usf, made by 'usf help completion bash'\n"
         "_usf_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$word\")); }\n"
         "_usf_files() { COMPREPLY+=($(compgen -f -- \"$word\")); }\n"
         "_usf_policies() {\n"
         "  if [[ $word == */* ]]; then _usf_files; else _usf_words \"$(usf policy list 2>/dev/null | cut -d' ' -f1)\"; fi\n"
         "}\n"
         "_usf() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} assigned= options= verbs= valued= i\n"
         "  COMPREPLY=()\n"
         "  # bash takes --name=value apart\n"
         "  if [ \"$word\" = = ]; then word= assigned=1\n"
         "  elif [ \"$before\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then before=${COMP_WORDS[COMP_CWORD-2]} assigned=1; fi");
    fputs("  if [ \"$COMP_CWORD\" = 1 ]; then _usf_words '", stdout);
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden) printf("%s ", c->name);
    puts("--help --version'; return; fi\n  case $command in");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (c->hidden) continue;
        printf("    %s) options='--help", c->name);
        each(c, bash_word);
        fputs("' valued='", stdout);
        each(c, bash_valued);
        fputs(" ' verbs='", stdout);
        for (const struct cli_verb *v = c->verbs; v && v->name; v++) printf("%s ", v->name);
        if (c->main == cmd_help) for (const struct cli_command *d = cli_commands; d->name; d++) if (!d->hidden) printf("%s ", d->name);
        puts("' ;;");
    }
    puts("  esac\n"
         "  # the command line of a program begins at the first word that is no option, or behind --\n"
         "  if [ \"$command\" = run ] || [ \"$command\" = tune ] || { [ \"$command\" = trace ] && [[ ${COMP_WORDS[2]} != @(info|convert) ]]; }; then\n"
         "    local program=\n"
         "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
         "      case ${COMP_WORDS[i]} in\n"
         "        --) ((i++)); program=1; break ;;\n"
         "        =) ((i++)) ;;\n"
         "        -*) [[ \"$valued \" == *\" ${COMP_WORDS[i]} \"* ]] && [ \"${COMP_WORDS[i+1]}\" != = ] && ((i++)) ;;\n"
         "        *) program=1; break ;;\n"
         "      esac\n"
         "    done\n"
         "    if [ \"$program\" ]; then\n"
         "      if declare -F _command_offset >/dev/null; then _command_offset $i\n"
         "      elif [ \"$i\" = \"$COMP_CWORD\" ]; then COMPREPLY=($(compgen -c -- \"$word\"))\n"
         "      else _usf_files; fi\n"
         "      return\n"
         "    fi\n"
         "  fi\n"
         "  case $command:$before in");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (!c->hidden) each(c, bash_value);
    puts("    policy:info|policy:check|policy:set) _usf_policies; return ;;\n"
         "    sim:*) [ \"$COMP_CWORD\" -gt 2 ] && options=$(usf sim \"${COMP_WORDS[2]}\" --help 2>/dev/null | grep -o -e '--[a-z-]*') verbs= ;;\n"
         "    trace:info|trace:convert) _usf_files; return ;;\n"
         "    help:help) verbs+=completion ;;\n"
         "    help:completion) _usf_words 'bash zsh fish'; return ;;\n"
         "    help:*) return ;;\n"
         "  esac\n"
         "  [ \"$COMP_CWORD\" = 2 ] || [ \"$command\" = config ] || verbs=\n"
         "  if [[ $word == -* ]]; then _usf_words \"$options\"\n"
         "  elif [ \"$verbs\" ] && [ \"$command\" != trace ]; then _usf_words \"$verbs\"\n"
         "  else case $command in\n"
         "    run|trace|tune|doctor) _usf_words \"$verbs\"; COMPREPLY+=($(compgen -c -- \"$word\")) ;;\n"
         "    *) _usf_files ;;\n"
         "  esac; fi\n"
         "}\n"
         "complete -o filenames -F _usf usf");
}

/* ---- zsh --------------------------------------------------------------------------------------- */
static void zsh_row(const struct cli_command *c, const struct row *r)
{
    if (r->letter) printf("        '(-%c --%s)'{-%c%s,--%s%s}'[", r->letter, r->name, r->letter, !r->arg || r->bare ? "" : "+", r->name,
                          !r->arg ? "" : r->bare ? "=-" : "=");
    else printf("        '--%s%s[", r->name, !r->arg ? "" : r->bare ? "=-" : "=");
    quoted(r->help, "[]", false);
    putchar(']');
    if (r->arg && !(r->bare && r->letter)) {
        printf("%s%s:", r->bare ? "::" : ":", r->arg);
        if (r->choices) putchar('('), words(r->choices), putchar(')');
        else if (is(r, "POLICY")) fputs("_usf_policies", stdout);
        else if (is(r, "FILE")) fputs("_files", stdout);
        else if (is(r, "DIR")) fputs("_files -/", stdout);
        else if (is(r, "PROG")) fputs("_command_names -e", stdout);
        else putchar(' ');
    }
    puts("' \\");
}

static void zsh_pairs(const char *name, const struct cli_command *c, const struct cli_verb *v)
{
    printf("  %s=(", name);
    for (; c && c->name; c++) {
        if (c->hidden) continue;
        printf("\n    '%s:", c->name);
        quoted(c->help, ":", false);
        putchar('\'');
    }
    for (; v && v->name; v++) {
        printf("\n    '%s:", v->name);
        quoted(v->help, ":", false);
        putchar('\'');
    }
    puts(")");
}

static void zsh(void)
{
    puts("#compdef usf\n# zsh completion of usf, made by 'usf help completion zsh'\n"
         "_usf_policies() {\n  local -a names\n  names=(${${(f)\"$(usf policy list 2>/dev/null)\"}%% *})\n"
         "  _alternative 'policies:policy:compadd -a names' 'files:shared object:_files'\n}\n"
         "_usf() {\n  local -a commands verbs\n  local command");
    zsh_pairs("commands", cli_commands, NULL);
    puts("  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (c->hidden) continue;
        printf("    %s)\n", c->name);
        if (c->verbs) zsh_pairs("verbs", NULL, c->verbs);
        if (c->main == cmd_help) puts("      _describe command commands ;;");
        if (c->main == cmd_help) continue;
        puts("      _arguments -s -S \\\n        '(- *)'{-h,--help}'[print help]' \\");
        each(c, zsh_row);
        if (c->main == cmd_run || c->main == cmd_trace || c->main == cmd_tune) puts("        '(-)1:program:_command_names -e' '*::arguments:_normal' ;;");
        else if (c->main == cmd_doctor) puts("        '1:program:_command_names -e' ;;");
        else if (c->main == cmd_shim) puts("        '1:library:_files' ;;");
        else if (c->main == cmd_sim) puts("        '1:command:{_describe command verbs}' '*:argument:_files' ;;");
        else if (c->verbs) puts("        '1:command:{_describe command verbs}' '*:argument:_usf_policies' ;;");
        else puts("        '*: :' ;;");
    }
    puts("  esac\n}\nif [ \"$funcstack[1]\" = _usf ]; then _usf \"$@\"; else compdef _usf usf; fi");
}

/* ---- fish -------------------------------------------------------------------------------------- */
static void fish_row(const struct cli_command *c, const struct row *r)
{
    printf("complete -c usf -n '__fish_seen_subcommand_from %s' -l %s", c->name, r->name);
    if (r->letter) printf(" -s %c", r->letter);
    fputs(" -d '", stdout);
    quoted(r->help, "", true);
    putchar('\'');
    bool file = is(r, "FILE") || is(r, "DIR");
    if (r->arg && !r->bare) fputs(file ? " -r -F" : " -x", stdout);
    if (r->choices) fputs(" -a '", stdout), words(r->choices), putchar('\'');
    if (is(r, "POLICY")) fputs(" -a '(usf policy list 2>/dev/null | string replace -r \" .*\" \"\") (__fish_complete_path)'", stdout);
    if (is(r, "PROG")) fputs(" -a '(__fish_complete_command)'", stdout);
    putchar('\n');
}

static void fish(void)
{
    puts("# fish completion of usf, made by 'usf help completion fish'\ncomplete -c usf -e\n"
         "complete -c usf -n __fish_use_subcommand -f\ncomplete -c usf -n __fish_use_subcommand -l help -s h -d 'print help'\n"
         "complete -c usf -n __fish_use_subcommand -l version -s V -d 'print the version'");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (c->hidden) continue;
        printf("complete -c usf -n __fish_use_subcommand -a %s -d '", c->name);
        quoted(c->help, "", true);
        puts("'");
        for (const struct cli_verb *v = c->verbs; v && v->name; v++) {
            printf("complete -c usf -n '__fish_seen_subcommand_from %s; and test (count (commandline -opc)) -eq 2' -f -a %s -d '", c->name, v->name);
            quoted(v->help, "", true);
            puts("'");
        }
        if (c->main == cmd_run || c->main == cmd_trace || c->main == cmd_tune)
            printf("complete -c usf -n '__fish_seen_subcommand_from %s' -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n", c->name);
        if (c->main == cmd_help)
            for (const struct cli_command *d = cli_commands; d->name; d++)
                if (!d->hidden) printf("complete -c usf -n '__fish_seen_subcommand_from help' -f -a %s\n", d->name);
        if (c->main == cmd_help) puts("complete -c usf -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'");
        each(c, fish_row);
    }
}

bool help_completion(const char *shell)
{
    static const struct { const char *name; void (*print)(void); } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (unsigned i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shell, shells[i].name)) return shells[i].print(), true;
    return false;
}
