# python/usf/tune/measure.py - the objective of `usf tune`: a command, run once.  SPDX-License-Identifier: Apache-2.0
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile

from . import contexts
from .process import Stop, execute
from .store import Run
from .trouble import TuneError

OUTPUT = 1 << 24                # bytes of the output's end in which a metric is looked for
TOLD = 2000                     # characters of stderr that a failed run keeps
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Failed(Exception):
    """For objectives in Python: this candidate does not work. (Any other exception says the same.)"""


def _tail(f, size):
    end = f.seek(0, os.SEEK_END)
    f.seek(max(0, end - size))
    return f.read().decode(errors="replace")


def find_usf():
    """The tool of this installation; None: there is none."""
    import usf

    try:
        return usf.command_path()
    except (FileNotFoundError, AttributeError):
        return shutil.which("usf")


class Command:
    """Runs argv once for each candidate; what is minimised is the wall time, or a number in the output.

    A variable goes where its name says (`place`):
      {n} in argv             is replaced by the value of n
      run.NAME, or NAME       where NAME is an option of usf run: to usf run
      env.NAME, or NAME       otherwise: into the environment
    A share of a context (space.contexts) goes to usf run --contexts with all others, or into USF_CONTEXTS where programs run bare.
    space: a Space; or the names of variables.
    usf: the tool's path; None: programs run bare, and no variable goes to usf run.
    metric: a regular expression; its first group, or all that it matches, is the number; the last match counts.
    """

    def __init__(self, argv, space, usf=None, options=(), metric=None, timeout=None, environ=None, stop=None):
        self.argv = [os.fspath(a) for a in argv]
        self.usf, self.timeout, self.environ = usf, timeout, environ
        self.stop = stop or Stop()
        if not self.argv:
            raise TuneError("no program given")
        found = set(re.findall(r"\{([A-Za-z0-9_.-]+)\}", " ".join(self.argv)))
        names = getattr(space, "names", space)
        self._contexts = getattr(space, "contexts", lambda candidate: None)
        shared = {contexts.key(name) for name in (getattr(space, "shares", None) or {"names": ()})["names"]}
        self._places = {name: ("parameters", name) if name in shared else self._place(name, found, set(options)) for name in names}
        taken = [self._places[name] for name in names]
        if len(set(taken)) != len(taken):
            raise TuneError("two variables go to the same place: %s" % ", ".join(names))
        self._pattern = re.compile("|".join(re.escape("{%s}" % n) for n in names if self._places[n][0] == "parameters") or r"\Z.")
        try:
            self._metric = re.compile(metric, re.M) if metric is not None else None
        except re.error as e:
            raise TuneError("--metric '%s': %s" % (metric, e)) from None
        self.metric_name = metric if metric is not None else "seconds"

    @property
    def stoppable(self):
        """Whether a run's time says what it is worth."""
        return self._metric is None

    def _place(self, name, found, options):
        if name in found:
            return "parameters", name
        table, _, key = name.partition(".")
        if table == "env" and key:
            return "env", key
        if table == "run" and key or name in options:
            key = key or name
            if self.usf is None:
                raise TuneError("%s is for usf run, and programs run bare here" % name)
            if options and key not in options:
                raise TuneError("%s: usf run has no option --%s ('usf run --help' lists all)" % (name, key))
            return "run", key
        if not re.match(r"[A-Za-z_][A-Za-z0-9_]*\Z", name):
            raise TuneError("'%s' is not a name for a variable of the environment, no option of usf run, and the command has no {%s}" % (name, name))
        return "env", name

    def place(self, name):
        """Table of the profile, and key there."""
        return self._places[name]

    def describe(self):
        return {"command": self.argv, "metric": self.metric_name, "places": {n: "%s.%s" % p for n, p in self._places.items()}}

    def program(self, candidate):
        """The program's own command line."""
        return [self._pattern.sub(lambda m: str(candidate[m.group()[1:-1]]), word) for word in self.argv]

    def prepare(self, candidate):
        """(argv, environment) of a run. Each has an instance of its own: policy and options are fixed when one is made."""
        environ = dict(os.environ if self.environ is None else self.environ)
        options = {}
        for name, value in candidate.items():
            table, key = self._places[name]
            if table == "env":
                environ[key] = str(value)
            elif table == "run":
                options[key] = str(value)
        argv, given = self.program(candidate), self._contexts(candidate)
        if given is not None and self.usf is None:
            environ[contexts.VARIABLE] = given
        elif given is not None:
            options["contexts"] = given
        if self.usf is None:
            return argv, environ
        if "instance" not in options:
            options.setdefault("share", "process")
        options.setdefault("monitor-linger", "0")
        return [self.usf, "run", *("--%s=%s" % item for item in options.items()), "--", *argv], environ

    def contexts_made(self, candidate):
        """The names of the contexts that the program makes: one run. None: the run failed."""
        argv, environ = self.prepare(candidate)
        environ["USF_VERBOSE"] = "1"
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                status, _ = execute(argv, environ, out, err, self.timeout, self.stop)
            except (OSError, ValueError):
                return None
            return None if status != 0 else contexts.made(_tail(err, OUTPUT))

    def measure(self, candidate, limit):
        argv, environ = self.prepare(candidate)
        ends = [t for t in (limit, self.timeout) if t is not None]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                status, seconds = execute(argv, environ, out, err, min(ends) if ends else None, self.stop)
            except (OSError, ValueError) as e:
                return Run(None, 0.0, "failed", "%s: %s" % (argv[0], e))
            if status is None:
                if limit is not None and (self.timeout is None or limit < self.timeout):
                    return Run(None, seconds, "hopeless", "ended after %.3g s" % seconds)
                return Run(None, seconds, "timeout", "not done after %.3g s" % seconds)
            if status:
                how = "signal %s" % _signal_name(-status) if status < 0 else "exit status %d" % status
                return Run(None, seconds, "failed", "%s: %s" % (how, _tail(err, TOLD).strip() or "nothing on stderr"))
            if self._metric is None:
                return Run(seconds, seconds)
            return self._value(seconds, _tail(out, OUTPUT), _tail(err, OUTPUT))

    def _value(self, seconds, *texts):
        """The last match, of stdout before stderr."""
        for text in texts:
            match = None
            for match in self._metric.finditer(text):
                pass
            if match is None:
                continue
            word = match.group(1) if self._metric.groups else match.group()
            number = _NUMBER.search(word or "")
            value = float(number.group()) if number else math.nan
            if math.isfinite(value):
                return Run(value, seconds)
            return Run(None, seconds, "failed", "--metric matches '%.40s', which has no number" % word)
        return Run(None, seconds, "failed", "--metric '%s' matches nothing in the output: %s" % (self._metric.pattern, texts[0][-200:].strip() or "it is empty"))


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def run_options(usf, environ=None):
    """The options of this usf run, with their rows of `usf config show --json`."""
    import json

    # The environment's settings must not matter here: a wrong one is told by the runs.
    if environ is None:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("USF_")}
    try:
        p = subprocess.run([usf, "config", "show", "--json"], capture_output=True, text=True, env=environ, timeout=60)
        return {row["name"]: row for row in json.loads(p.stdout)}
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired) as e:
        raise TuneError("%s cannot be asked for its options: %s" % (usf, e)) from None


def check_option(usf, name, value):
    """Raise TuneError if usf run would refuse the value, with its own words."""
    command = [usf, "policy", "info", str(value)] if name == "policy" else [usf, "config", "show", "--%s=%s" % (name, value)]
    p = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if p.returncode:
        raise TuneError((p.stderr.strip().splitlines() or ["%s=%s is refused" % (name, value)])[-1].replace("usf: ", "", 1))
