#!/usr/bin/python3
# tests/survey/survey.py - programs that people use, bare and under usf.  SPDX-License-Identifier: Apache-2.0
"""Runs each program of programs/*.toml bare and under `usf run`, in turn, and compares: exit status, what it printed, what it made; CPU
time (of all its processes and usf's monitor) and wall time, as medians.  docs/survey.md describes the fields of a program.

  survey.py                             all but the big ones; results go into BUILD/survey/results.json
  survey.py --category media --repeat 5 some
  survey.py --only xz,zstd --verbose    by name; prints both results where they differ
  survey.py --big                       the big ones, too
  survey.py --test                      the selection of `make test`: results only, no times
  survey.py --table                     writes docs/survey.md from the results that there are

The exit status is 1 if a program crashed, did not end or had another result under usf.  A slower one does not count.
With --test it is 77 if no program could be compared."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SLOW = 1.05
FIELDS = {"name", "packages", "wheels", "needs", "prepare", "run", "check", "expect", "stdout", "strip", "status", "user", "big", "test", "timeout", "env",
          "reason"}


class Program:
    def __init__(self, category, entry):
        unknown = set(entry) - FIELDS
        if unknown:
            raise ValueError(f"{category}: {entry.get('name')}: unknown fields: {unknown}")
        self.category, self.name, self.run = category, entry["name"], entry["run"].strip()
        self.packages, self.wheels = entry.get("packages", []), entry.get("wheels", [])
        self.needs = entry.get("needs", [] if self.wheels else [self.run.split()[0]])
        self.prepare, self.check, self.expect = entry.get("prepare", ""), entry.get("check", ""), entry.get("expect", "")
        self.stdout, self.strip, self.status = entry.get("stdout", True), entry.get("strip", []), entry.get("status", 0)
        self.user, self.big, self.test = entry.get("user", False), entry.get("big", False), entry.get("test", False)
        self.timeout, self.env, self.reason = entry.get("timeout", 60), entry.get("env", {}), entry.get("reason", "")

    @property
    def command(self):
        """What is executed: the words themselves, or a shell where one is needed."""
        return ["/bin/sh", "-c", self.run] if re.search(r"[|&;<>()$`\"'*?\n\\]", self.run) else self.run.split()


def load_programs():
    programs = []
    for path in sorted((HERE / "programs").glob("*.toml")):
        with open(path, "rb") as f:
            programs += [Program(path.stem, e) for e in tomllib.load(f)["program"]]
    names = [p.name for p in programs]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise ValueError(f"names that are there twice: {twice}")
    return programs


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_reachable(path):
    """By other users."""
    return all(os.stat(d).st_mode & 1 for d in pathlib.Path(path).resolve().parents)


class Survey:
    def __init__(self, args):
        self.build = pathlib.Path(args.build).resolve()
        self.usf = pathlib.Path(args.usf).resolve() if args.usf else self.build / "usf"
        self.options, self.repeat, self.verbose = args.options.split(), args.repeat, args.verbose
        self.venv = self.build / "survey-venv"
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="usf-survey-"))
        self.top.chmod(0o755)
        self.instances = 0

    def close(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def missing(self, p):
        """Why the program cannot run here; '' if it can."""
        for command in p.needs:
            if not shutil.which(command, path=self.path()) and not pathlib.Path(command).exists():
                return f"{command} is not installed"
        if p.wheels and not (self.venv / "bin/python3").exists():
            return f"no {self.venv}: make survey makes it"
        for module in p.wheels:
            if not list(self.venv.glob(f"lib/python3*/site-packages/{module}")):
                return f"{module} is not in {self.venv}"
        if p.user and os.geteuid() == 0 and not is_reachable(self.usf):
            return f"it refuses to run as root, and other users do not reach {self.usf}"
        return ""

    @staticmethod
    def path():
        return "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/games:/usr/lib/go/bin"

    def environment(self, p, folder):
        env = {"PATH": self.path(), "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "TERM": "xterm", "TZ": "UTC",
               "PY": str(self.venv / "bin/python3") if p.wheels else "/usr/bin/python3", "INPUT": str(HERE / "inputs.py"), "SURVEY": str(HERE),
               "PORT": str(free_port()), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "GIT_CONFIG_NOSYSTEM": "1",
               "USER": "root" if os.geteuid() == 0 else os.environ.get("USER", "user")}
        env.update(p.env)
        return env

    def prepared(self, p):
        """A folder with the program's input."""
        folder = self.top / "in" / p.name
        folder.mkdir(parents=True)
        if p.prepare:
            r = subprocess.run(["/bin/sh", "-ec", p.prepare], cwd=folder, env=self.environment(p, folder), stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=300, check=False)
            if r.returncode:
                raise RuntimeError("the input cannot be made: " + (r.stderr or r.stdout)[-300:].decode(errors="replace").strip())
        return folder

    def run_once(self, p, inputs, under, timeout):
        """One run in a folder of its own: the meter's figures and `result`, `errors`."""
        folder = self.top / "run"
        shutil.copytree(inputs, folder, symlinks=True)
        env, command, user = self.environment(p, folder), p.command, ""
        self.instances += 1
        instance = f"apps-{os.getpid()}-survey-{self.instances}"
        if p.user and os.geteuid() == 0:
            user = "nobody"
            subprocess.run(["chown", "-R", user, str(folder)], check=True)
        if under:
            command = [str(self.usf), "run", *self.options, "--", *command]
            cache = self.build / "survey" / ("cache-" + user if user else "cache")
            if not cache.exists():
                cache.mkdir(parents=True, mode=0o700)      # usf uses no folder that others may enter
                shutil.chown(cache, user or os.geteuid())
            env |= {"USF_INSTANCE": instance, "USF_MONITOR_LINGER": "0", "USF_CACHE_DIR": str(cache)}
        try:
            figures = self.metered(folder, env, command, user, timeout)
            figures["result"] = self.result_of(p, folder, env, figures["status"])
            figures["errors"] = (self.top / "err").read_bytes()[-3000:].decode(errors="replace")
            return figures
        finally:
            if under:
                self.clean(instance, user)
            shutil.rmtree(folder, ignore_errors=True)

    def metered(self, folder, env, command, user, timeout):
        reading, writing = os.pipe()
        argv = ["/bin/sh", "-c", 'exec 3>&"$0" "$@"', str(writing)] if writing != 3 else []
        with open(self.top / "out", "wb") as out, open(self.top / "err", "wb") as err:
            meter = subprocess.Popen(argv + ["/usr/bin/python3", str(HERE / "meter.py"), str(timeout), user, *command], cwd=folder, env=env,
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=err, pass_fds=[writing])
            os.close(writing)
            try:
                with open(reading) as answer:
                    said = answer.read()
                meter.wait()
            except BaseException:
                meter.terminate()
                meter.wait()
                raise
        if not said:
            raise RuntimeError("the meter has died: " + (self.top / "err").read_text(errors="replace")[-300:])
        return json.loads(said)

    def result_of(self, p, folder, env, status):
        text = f"status {status}\n"
        if p.stdout:
            text += (self.top / "out").read_bytes().decode(errors="replace")
        if p.check and status != "timeout":
            r = subprocess.run(["/bin/sh", "-c", p.check], cwd=folder, env=env | {"OUT": str(self.top / "out")}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
            text += r.stdout.decode(errors="replace") + (f"check: status {r.returncode}\n" if r.returncode else "")
        text = re.sub(rf"(?<![\d.]){env['PORT']}(?!\d)", "PORT", text.replace(str(folder), "FOLDER"))
        for pattern in p.strip:
            text = re.sub(pattern, "", text, flags=re.M)
        return text

    def clean(self, instance, user):
        uid = int(subprocess.run(["id", "-u", user or str(os.geteuid())], capture_output=True, text=True, check=True).stdout)
        for name in (f"usf-{uid}-{instance}",):
            pathlib.Path("/dev/shm", name).unlink(missing_ok=True)

    def survey(self, p):
        """The record of one program."""
        record = {"name": p.name, "category": p.category, "when": time.strftime("%Y-%m-%d")}
        why = self.missing(p)
        if why:
            return record | {"result": "skipped", "note": why}
        try:
            inputs = self.prepared(p)
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            return record | {"result": "skipped", "note": str(e)}
        runs, longest = {False: [], True: []}, 0.0
        try:
            if self.repeat > 1:             # files in memory, usf's cache filled
                self.run_once(p, inputs, True, p.timeout)
            for i in range(self.repeat):
                for under in (False, True) if i % 2 == 0 else (True, False):
                    # What takes long bare, on a busy machine, may take long under usf.
                    runs[under].append(self.run_once(p, inputs, under, p.timeout + 10 * longest))
                    longest = max([longest] + [r["wall"] for r in runs[False]])
                    if runs[False] and runs[False][-1]["status"] == "timeout":
                        return record | {"result": "fails bare", "note": f"timeout: not over in {p.timeout} s"}
        finally:
            shutil.rmtree(inputs, ignore_errors=True)
        return record | self.judge(p, runs[False], runs[True])

    def judge(self, p, bare, ours):
        first = bare[0]
        note = sorted({line for r in ours for line in r["errors"].splitlines() if line.startswith("usf")})
        record = {"note": "; ".join(note)[:200]}
        for key in ("wall", "cpu"):
            record[key] = [statistics.median(r[key] for r in runs) for runs in (bare, ours)]
            record[key + "_runs"] = [[round(r[key], 4) for r in runs] for runs in (bare, ours)]
        record["made"] = min(r["made"] for r in bare)
        odd = next((r for r in bare if r["status"] != p.status), None)
        if odd:
            return record | {"result": "fails bare", "note": f"status {odd['status']}: " + (odd["errors"].strip() or odd["result"])[-200:]}
        if p.expect and not re.search(p.expect, first["result"], re.M):
            return record | {"result": "fails bare", "note": f"not as expected: {first['result'][:300]}"}
        if any(r["result"] != first["result"] for r in bare[1:]):
            return record | {"result": "varies bare", "note": self.difference(first, next(r for r in bare if r["result"] != first["result"]))}
        bad = next((r for r in ours if r["result"] != first["result"]), None)
        if not bad:
            return record | {"result": "same"}
        kind = "hang" if bad["status"] == "timeout" else "crash" if bad["status"] < 0 or bad["status"] >= 128 else "different"
        times = sum(r["result"] != first["result"] for r in ours)
        if self.verbose:
            print(f"--- {p.name} bare\n{first['result']}{first['errors']}\n--- under usf\n{bad['result']}{bad['errors']}")
        return record | {"result": kind, "note": f"{times} of {len(ours)}: {self.difference(first, bad)}"}

    @staticmethod
    def difference(one, other):
        a, b = one["result"].splitlines(), other["result"].splitlines()
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        show = lambda lines: lines[at][:120] if at < len(lines) else "(end)"
        return f"{show(a)!r} bare, {show(b)!r} now; {other['errors'].strip()[-200:]}"


def is_slower(record, key):
    """By the medians, and not by one slow run alone."""
    if key not in record:
        return False
    (a, b), (runs_a, runs_b) = record[key], record[key + "_runs"]
    return b > SLOW * a and min(runs_b) > (1 + SLOW) / 2 * min(runs_a)


def line_of(r):
    figures = ""
    if "wall" in r:
        figures = "  ".join(f"{key} {r[key][0]:7.3f} -> {r[key][1]:7.3f} s {r[key][1] / max(r[key][0], 1e-4):5.2f}{'*' if is_slower(r, key) else ' '}"
                            for key in ("wall", "cpu"))
    return f"{r['result']:11} {r['name']:22} {figures}  {r['note']}".rstrip()


def select(programs, args):
    only = {n for n in args.only.split(",") if n}
    unknown = only - {p.name for p in programs}
    if unknown:
        sys.exit(f"no such program: {', '.join(sorted(unknown))}")
    categories = {c for c in args.category.split(",") if c}
    return [p for p in programs if (p.name in only if only else (args.big or not p.big)) and (not categories or p.category in categories) and
            (not args.test or p.test)]


def read_results(path):
    return {r["name"]: r for r in json.loads(path.read_text())} if path.exists() else {}


def run(args, programs, store):
    survey = Survey(args)
    count = {}
    try:
        for p in programs:
            r = survey.survey(p)
            count[r["result"]] = count.get(r["result"], 0) + 1
            print(line_of(r), flush=True)
            if store:
                results = read_results(store) | {p.name: r | {"commit": args.commit}}
                store.parent.mkdir(parents=True, exist_ok=True)
                store.write_text(json.dumps(list(results.values()), indent=1))
    finally:
        survey.close()
    return count


def commit():
    r = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return r.stdout.strip() or "unknown"


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--list", action="store_true", help="names, categories and packages")
    a.add_argument("--only", default="", metavar="NAME,...")
    a.add_argument("--category", default="", metavar="NAME,...")
    a.add_argument("--big", action="store_true", help="those that take hundreds of megabytes, too")
    a.add_argument("--test", action="store_true", help="the selection of make test: no times, nothing is stored")
    a.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each kind (3)")
    a.add_argument("--json", metavar="FILE", help="where results are kept and added to (BUILD/survey/results.json)")
    a.add_argument("--table", action="store_true", help="write docs/survey.md from the results, run nothing")
    a.add_argument("--build", default=os.environ.get("BUILD", ROOT / "build"))
    a.add_argument("--usf", default=os.environ.get("USF"))
    a.add_argument("--options", default="", metavar="WORDS", help="options of usf run")
    a.add_argument("--commit", default=commit(), help="what the results belong to (that of the working tree)")
    a.add_argument("--verbose", action="store_true")
    return a.parse_args()


def exit_status(test, passed, bad):
    """77 tells the test runner that nothing was tested."""
    return 1 if bad else 77 if test and not passed else 0


def main():
    args = arguments()
    programs = load_programs()
    store = pathlib.Path(args.json) if args.json else pathlib.Path(args.build) / "survey" / "results.json"
    if args.table:
        import table
        table.write(ROOT / "docs/survey.md", programs, read_results(store))
        return 0
    chosen = select(programs, args)
    if args.list:
        for p in chosen:
            print(f"{p.name:22} {p.category:12} {' '.join(p.packages + ['wheel:' + w for w in p.wheels])}{'  (big)' if p.big else ''}")
        return 0
    if args.test:
        args.repeat = 1
    count = run(args, chosen, None if args.test else store)
    bad = sum(count.get(k, 0) for k in ("crash", "hang", "different"))
    skipped = sum(count.get(k, 0) for k in ("skipped", "fails bare", "varies bare"))
    print(f"{count.get('same', 0)} passed, {bad} failed, {skipped} skipped")
    return exit_status(args.test, count.get("same", 0), bad)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))
    sys.exit(main())
