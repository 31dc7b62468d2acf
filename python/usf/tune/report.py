# python/usf/tune/report.py - what usf tune prints.  SPDX-License-Identifier: Apache-2.0
import json
import shlex
import sys

from .figures import number
from .store import read

_SHOWN = 5


def _line(text):
    """For a comment of one line: shell quotes keep newlines."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


def _use(result, objective, output):
    """The command line that uses the profile. `usf run --profile` puts parameters in."""
    program = shlex.join(objective.argv)
    return "usf run --profile %s -- %s" % (shlex.quote(output), program)


def comment(result, objective, output):
    text = _line(_use(result, objective, output))
    return "Made by usf tune. Use it with\n  %s" % "".join(c if c.isprintable() else "?" for c in text)


def interrupted(journal, output):
    """To stderr. Runs that are in the journal are not measured again."""
    _, runs = read(journal)
    sys.stderr.write("usf: ended after %d runs, which are in %s; go on with: usf tune --resume -o %s\n" % (len(runs), journal, shlex.quote(output)))


def _table(result, objective):
    names = result.space.names
    rows = [[*names, objective.metric_name if objective.metric_name == "seconds" else "metric", "runs"]]
    for o in result.outcomes[:_SHOWN]:
        value = number(o.sign * o.score) if o.status == "ok" else o.status
        rows.append([*[str(o.candidate[n]) for n in names], value, str(len(o.runs))])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(word.ljust(w) for word, w in zip(row, widths)).rstrip() for row in rows]


def as_json(result, objective, args):
    return {"best": result.best, "value": result.value, "values": result.values, "metric": objective.metric_name, "maximize": result.maximize,
            "search": result.strategy, "runs": result.runs, "seconds": result.seconds, "noise": result.noise,
            "candidates": len(result.space), "profile": args.output,
            "like_the_best": [o.candidate for o in result.like_the_best],
            "measured": [{"candidate": o.candidate, "value": o.sign * o.score if o.status == "ok" else None, "values": o.values, "status": o.status,
                          "runs": len(o.runs), "detail": next((r.detail for r in o.runs if r.detail), "")} for o in result.outcomes]}


def show(result, objective, args):
    if args.json:
        json.dump(as_json(result, objective, args), sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    if args.quiet:
        return
    print("\n".join(_table(result, objective)))
    failed = [o for o in result.outcomes if o.excluded]
    text = "%d of %d candidates measured in %d runs, %.4g s" % (len(result.outcomes), len(result.space), result.runs, result.seconds)
    if result.noise is not None:
        text += "; runs of one candidate differ by %.1f %%" % (100 * result.noise)
    print(text)
    if failed:
        o = failed[0]
        print("%d failed, like %s: %s" % (len(failed), " ".join("%s=%s" % i for i in o.candidate.items()), o.runs[-1].detail.splitlines()[0]))
    if result.like_the_best:
        print("%d others are as good as the best one, as far as the noise tells" % len(result.like_the_best))
    print("%s written; use it with\n  %s" % (args.output, _use(result, objective, args.output)))
