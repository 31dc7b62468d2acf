# python/usf/tune/cli.py - usf tune.  SPDX-License-Identifier: Apache-2.0
"""Exit status: 0; 1 if no candidate works or a file cannot be written; 125 for a mistake in the command line, 126 and 127
for a program that cannot be executed or is not there; 128 + N where signal N ended the search."""
import argparse
import os
import shutil
import sys

from . import contexts, measure, plot, report, vary
from .process import Stop
from .progress import Bar
from .search import search
from .space import Space, cpu_ids, shares
from .store import read
from .strategies import STRATEGIES
from .trouble import Interrupted, TuneError

# What a journal keeps of the command line, so that --resume needs no more than the file.
KEPT = {"vary": None, "share": None, "overlap": False, "step": None, "where": None, "search": "halving", "repeats": 3, "budget": None, "seed": 0, "metric": None, "maximize": False,
        "timeout": None, "hopeless": "3", "bare": False}


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise TuneError(message + " ('usf tune --help' lists all options)")


def parser():
    """The options. src/cli/main.c has them for `usf help tune`, too; tests/tune compares the two."""
    p = _Parser(prog="usf tune", usage="usf tune --vary NAME=VALUES [OPTION...] -- PROGRAM [ARG...]", allow_abbrev=False,
                description="Find the best values of variables by running a program.")
    add = p.add_argument
    add("--vary", action="append", metavar="NAME=VALUES", help="a variable: V,V,... or FIRST:LAST[:STEP] or FIRST:LAST:*FACTOR")
    add("--share", metavar="NAME,NAME", help="CPUs are divided among the program's library contexts of these names")
    add("--overlap", action="store_true", default=None, help="each share may have up to all CPUs")
    add("--step", metavar="N", help="shares in steps of N CPUs (default 1)")
    add("--where", action="append", metavar="EXPR", help="only combinations for which this holds, like 'a * b <= 4'")
    add("--search", choices=sorted(STRATEGIES), help="how to search (default halving)")
    add("--repeats", metavar="N", help="runs of each candidate that is compared at the end (default 3)")
    add("--budget", metavar="N", help="most runs, or time of all runs with a unit, like 200 or 10min")
    add("--metric", metavar="REGEX", help="minimise the number that this finds in the output instead of the wall time")
    add("--maximize", action="store_true", default=None, help="maximise the metric")
    add("--timeout", metavar="TIME", help="a run that takes longer fails")
    add("--hopeless", metavar="FACTOR", help="end a run that takes so many times as long as the best one (default 3; off)")
    add("--seed", metavar="N", help="of the random choices (default 0)")
    add("--bare", action="store_true", default=None, help="do not run the program under usf run")
    add("-o", "--output", metavar="FILE", default="usf-tune.toml", help="profile to write; the journal is FILE.journal")
    add("--resume", action="store_true", help="go on with the journal of a search that was ended")
    add("--plot", action="append", metavar="FILE", default=[], help="draw a heat map and the convergence: FILE.png or FILE.html")
    add("--json", action="store_true", help="print JSON")
    add("--quiet", action="store_true", help="no progress bar, and nothing on stdout but JSON")
    return p


def _number(name, text, least=0):
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or value < least:
        raise TuneError("--%s: '%s' is not a whole number from %d on" % (name, text, least))
    return value


def _time(name, text):
    """Seconds; a bare number is in seconds."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "": 1}
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = units.get(text[len(number):])
    try:
        value = float(number) * unit
    except (ValueError, TypeError):
        value = 0
    if not 0 < value < 1e9:
        raise TuneError("--%s: '%s' is not a time like 10s or 5min" % (name, text))
    return value


def _hopeless(text):
    if text == "off":
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 < value < 1e9:
        raise TuneError("--hopeless: '%s' is not a factor above 1, nor off" % text)
    return value


def _split(argv):
    """Options, and the program behind --."""
    if "--" in argv:
        at = argv.index("--")
        return argv[:at], argv[at + 1:]
    return argv, []


def _settle(args, program, journal):
    """The options that are in force: those given, then those of the journal, then the defaults. And the program."""
    given = {name: getattr(args, name) for name in KEPT if getattr(args, name) is not None}
    old = {}
    if args.resume:
        if not os.path.exists(journal):
            raise TuneError("--resume: there is no journal %s" % journal)
        head, _ = read(journal)
        old = (head or {}).get("settings", {})
        program = program or old.get("program", [])
    settings = {**KEPT, **{name: value for name, value in old.items() if name in KEPT}, **given}
    if not settings["vary"] and not settings["share"]:
        raise TuneError("nothing to vary: --vary NAME=VALUES, or --share NAME,NAME ('usf tune --help' lists all options)")
    if not settings["share"] and (settings["overlap"] or settings["step"] is not None):
        raise TuneError("--overlap and --step are for --share")
    if not program:
        raise TuneError("no program given: usf tune --vary NAME=VALUES [OPTION...] -- PROGRAM [ARG...]")
    if settings["maximize"] and settings["metric"] is None:
        raise TuneError("--maximize needs --metric: the longest wall time is not what anyone wants")
    return settings, program


def _find_program(program):
    """Said before the search rather than by each run."""
    name = program[0]
    if "{" in name:
        return
    if "/" in name:
        if not os.path.exists(name):
            raise TuneError("%s: it was not found" % name, 127)
        if os.path.isdir(name) or not os.access(name, os.X_OK):
            raise TuneError("%s: it cannot be executed" % name, 126)
    elif shutil.which(name) is None:
        raise TuneError("%s: it was not found" % name, 127)


def _find_usf(settings, tool):
    """None: programs run bare."""
    usf = None if settings["bare"] else tool or measure.find_usf()
    if usf is None and not settings["bare"]:
        raise TuneError("the command usf is not found: install it, or let programs run without it (--bare)")
    return usf


def _cpus(usf):
    """Those that a program of this run may use."""
    allowed = os.sched_getaffinity(0)
    limit = measure.run_options(usf, os.environ)["cpus"]["value"] if usf else ""
    cpus = sorted(allowed & set(cpu_ids(limit)) if limit else allowed)
    if not cpus:
        raise TuneError("none of the CPUs %s may be used here" % limit)
    return cpus


def _space(settings, usf):
    varied = [vary.parse(text) for text in settings["vary"] or ()]
    where = settings["where"] or ()
    if not settings["share"]:
        return Space(varied, where)
    for p in varied:
        if p.name in ("cpus", "contexts", "run.cpus", "run.contexts"):
            raise TuneError("%s cannot be varied beside --share, which gives contexts their CPUs" % p.name)
    step = _number("step", settings["step"], 1) if settings["step"] is not None else 1
    return shares(contexts.parse_names(settings["share"]), _cpus(usf), step, settings["overlap"], varied, where)


def _check_contexts(objective, space):
    """A share of a context that is not there would be tuned for nothing: one run before the search tells which there are."""
    made = objective.contexts_made(space.candidate(space.points[0])) if space.shares else None
    if made is None:
        return                  # none is asked for; or the run failed, which the search will tell
    missing = [name for name in space.shares["names"] if name not in made]
    if missing and made:
        raise TuneError("the program makes no context '%s', only %s" % (missing[0], ", ".join("'%s'" % name for name in dict.fromkeys(made))))
    if missing:
        sys.stderr.write("usf: no context of the program's was seen; is its stderr redirected?\n")


def _objective(settings, program, space, usf, stop):
    options = measure.run_options(usf) if usf else {}
    timeout = _time("timeout", settings["timeout"]) if settings["timeout"] is not None else None
    command = measure.Command(program, space, usf=usf, options=options, metric=settings["metric"], timeout=timeout, stop=stop)
    for p in space.parameters:
        table, key = command.place(p.name)
        for value in p.values if table == "run" else []:
            measure.check_option(usf, key, value)
    return command


def _budget(settings):
    """Runs and seconds."""
    text = settings["budget"]
    if text is None:
        return {}
    if str(text).isdigit():
        return {"budget": _number("budget", text, 1)}
    return {"seconds": _time("budget", text)}


def _writable(path):
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise TuneError("cannot write '%s'" % path)


def _run(argv, tool, stop):
    options, program = _split(argv)
    args, rest = parser().parse_known_args(options)
    if rest:
        raise TuneError("'%s' is no option of usf tune; the program stands behind -- ('usf tune --help' lists all)" % rest[0])
    journal = args.output + ".journal"
    settings, program = _settle(args, program, journal)
    usf = _find_usf(settings, tool)
    space = _space(settings, usf)
    _writable(args.output)
    for path in args.plot:
        plot.check(path)
    _find_program(program)
    objective = _objective(settings, program, space, usf, stop)
    _check_contexts(objective, space)
    bar = Bar(sys.stderr, args.quiet)
    try:
        result = search(space, objective, strategy=settings["search"], repeats=_number("repeats", settings["repeats"], 1),
                        seed=_number("seed", settings["seed"]), maximize=settings["maximize"], hopeless=_hopeless(settings["hopeless"]),
                        journal=journal, resume=args.resume, settings={**settings, "program": program}, progress=bar, **_budget(settings))
    except Interrupted as e:
        bar.clear()
        report.interrupted(journal, args.output)
        return 128 + e.signum
    finally:
        bar.clear()
    result.save(args.output, report.comment(result, objective, args.output))
    for path in args.plot:
        result.plot(path)
    report.show(result, objective, args)
    return 0


def main(argv, tool=None):
    """tool: the path of usf, where the caller knows it."""
    stop = Stop()
    try:
        with stop.installed():
            return _run(argv, tool, stop)
    except Interrupted as e:
        return 128 + e.signum
    except TuneError as e:
        sys.stderr.write("usf: %s\n" % e)
        return e.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
