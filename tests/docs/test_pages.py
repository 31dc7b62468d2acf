#!/usr/bin/python3
# tests/docs/test_pages.py - what the pages for users tell to type is typed.  SPDX-License-Identifier: Apache-2.0
"""The blocks of a page run in order, in one folder, with the built usf in PATH and stand-ins for srun and docker:
sh and sbatch by bash, ini as a unit of systemd, crontab as cron would, dockerfile by its ENTRYPOINT, json as a Jupyter kernel."""
import fnmatch
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import instance

USF = os.environ["USF"]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Tests that a build has only where this command was found.
OPTIONAL = {"pthread-rust-": "rustc", "rust-": "cargo", "pthread-cxx-": "g++", "signals-points-": "g++", "float-unwind-": "g++"}
PAGES = ("safe.md", "cost.md", "not-faster.md", "running.md", "tune.md", "contexts-tune.md")
STANDINS = {
    # options, each with its value behind '=', then the command: two tasks, each bound to its own CPU unless --cpu-bind=none
    "srun": """#!/bin/bash
bind=1
while [[ $1 == -* ]]; do
    [ "$1" = --cpu-bind=none ] && bind=
    shift
done
cpus=($(/usr/bin/python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))'))
[ "$bind" ] || exec bash -c '"$@" & "$@"; wait $!' - "$@"
taskset -c "${cpus[0]}" "$@" & taskset -c "${cpus[-1]}" "$@"; wait $!
""",
    # docker run OPTION... IMAGE COMMAND: other namespaces and an empty /dev/shm; the command is appended to the image's ENTRYPOINT
    "docker": """#!/bin/bash
[ "$1" = run ] || exit 0
shift
while [[ $1 == -* ]]; do
    if [ "$1" = --entrypoint ]; then ENTRYPOINT=$2; shift; fi
    shift
done
shift
[ "$ENTRYPOINT:$1" != "usf run --:usf" ] || { echo "docker: usf under usf" >&2; exit 1; }
exec bwrap --bind / / --dev /dev --tmpfs /dev/shm --proc /proc --unshare-pid --unshare-ipc --die-with-parent $ENTRYPOINT "$@"
""",
}


def blocks(page):
    with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as f:
        return re.findall(r"^```([a-z]*)\n(.*?)^```$", f.read(), re.M | re.S)


class Pages(instance.Instance):
    tool, kind = USF, "docs"

    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.dir, "bin")
        self.work = os.path.join(self.dir, "work")
        os.mkdir(self.bin)
        os.mkdir(self.work)
        os.symlink(USF, os.path.join(self.bin, "usf"))
        os.symlink("/bin/true", os.path.join(self.work, "program"))      # what pages call ./program
        for name, text in STANDINS.items():
            with open(os.path.join(self.bin, name), "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(f.name, 0o755)
        self.env.update(PATH=self.bin + ":" + self.env["PATH"], SLURM_JOB_ID=self.instance)
        self.others = ["job-" + self.instance, "night"]
        for other in self.others:
            self.addCleanup(self.clean, other)

    def run_it(self, command, what, env=None):
        p = subprocess.run(command, env=env or self.env, cwd=self.work, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(p.returncode, 0, "%s\n%s%s" % (what, p.stdout, p.stderr))
        return p

    def do_sh(self, text):
        if "docker " in text and not can_unshare():
            print("skipped: docker: no namespaces here")
            return
        if "pytest" in text and not (importlib.util.find_spec("pytest") and importlib.util.find_spec("xdist")):
            print("skipped: pytest: not installed")
            return
        # the instances of others may be damaged, of another version, or in use, and the machine may be unfit: not what is tested here
        script = re.sub(r"^(usf ps.*|usf clean --all|usf doctor.*|docker .* doctor .*)$", r"\1 || test $? -eq 1", text, flags=re.M)
        return self.run_it(["bash", "-euo", "pipefail", "-c", script], text)

    def do_python(self, text):
        p = self.run_it(["/usr/bin/python3", "-c", text], text, {**self.env, "PYTHONPATH": os.path.join(os.path.dirname(USF), "python")})
        self.assertEqual(p.stderr, "")

    def do_sbatch(self, text):
        p = self.do_sh(text)
        self.assertEqual((p.stdout, p.stderr), ("simulation\n" * 2, ""))

    def do_ini(self, text):
        if not shutil.which("systemd-analyze"):
            print("skipped: systemd: not installed")
            return
        path = os.path.join(self.work, os.path.basename(re.match(r"# (\S+)", text).group(1)))
        with open(path, "w", encoding="ascii") as f:
            f.write(text.replace("/usr/bin/usf", os.path.join(self.bin, "usf")))
        p = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, env=self.env, timeout=60)
        mine = [line for line in p.stderr.splitlines() if "simulation" in line]
        self.assertEqual(mine, [], p.stderr)
        command = re.search(r"^ExecStart=(.*)$", text, re.M).group(1).replace("/usr/bin/usf", os.path.join(self.bin, "usf"))
        self.assertEqual(self.run_it(["env", "-i", "USF_INSTANCE=" + self.instance, "sh", "-c", command], text).stdout, "simulation\n")

    def do_crontab(self, text):
        minute, hour, day, month, week, command = text.strip().split(None, 5)
        for field, most in (minute, 59), (hour, 23), (day, 31), (month, 12), (week, 7):
            self.assertTrue(field == "*" or int(field) <= most, text)
        command = command.replace("/usr/bin/usf", os.path.join(self.bin, "usf"))
        p = self.run_it(["env", "-i", "HOME=" + self.dir, "LOGNAME=x", "SHELL=/bin/sh", "PATH=/usr/bin:/bin", "/bin/sh", "-c", command], text)
        self.assertEqual((p.stdout, p.stderr), ("simulation\n", ""))

    def do_dockerfile(self, text):
        entry, command = (json.loads(re.search(r"^%s (.*)$" % name, text, re.M).group(1)) for name in ("ENTRYPOINT", "CMD"))
        self.assertEqual(self.run_it(entry + command, text).stdout, "simulation\n")
        self.env["ENTRYPOINT"] = " ".join(entry)
        # by path: the project of that name in a package index is another one
        self.assertRegex(text, r"pip install [^\n]*/usf-\*\.whl\n")

    def do_json(self, text):
        kernel = json.loads(text)
        self.assertEqual(kernel["argv"][:3], ["usf", "run", "--"])
        python = os.path.join(ROOT, ".venv/bin/python3")
        have = os.path.exists(python) and subprocess.run([python, "-c", "import ipykernel, jupyter_client"], capture_output=True).returncode == 0
        if not have:
            print("skipped: Jupyter: ipykernel is not in .venv")
            return
        folder = os.path.join(self.dir, ".local/share/jupyter/kernels/usf")
        os.makedirs(folder)
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as f:
            f.write(text)
        code = "import os; print(os.environ['USF_INSTANCE'], 'usf-' in open('/proc/self/maps').read())"
        client = ("import jupyter_client.manager as m\nk, c = m.start_new_kernel(kernel_name='usf', startup_timeout=100)\n"
                  "c.execute_interactive(%r, timeout=60)\nk.shutdown_kernel(now=True)" % code)
        env = dict(self.env, PATH=self.bin + ":" + os.path.dirname(python) + ":" + self.env["PATH"])
        self.assertIn(self.instance + " True\n", self.run_it([python, "-c", client], text, env).stdout)

    def check(self, page):
        found = blocks(page)
        self.assertTrue(found, page)
        for language, text in found:
            with self.subTest(page=page, text=text[:60]):
                getattr(self, "do_" + language)(text)

    def test_safe(self):
        self.check("safe.md")

    def test_cost(self):
        self.check("cost.md")

    def test_not_faster(self):
        self.check("not-faster.md")

    def test_tune(self):
        self.check("tune.md")

    def test_running(self):
        self.check("running.md")


def can_unshare():
    return shutil.which("bwrap") and subprocess.run(["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "true"], capture_output=True,
                                                    check=False).returncode == 0


class Texts(unittest.TestCase):
    def test_the_index_has_every_page(self):
        with open(os.path.join(ROOT, "docs/README.md"), encoding="utf-8") as f:
            index = f.read()
        for path in glob.glob(os.path.join(ROOT, "docs/*.md")):
            if os.path.basename(path) != "README.md":
                self.assertIn("](%s)" % os.path.basename(path), index)

    def test_tests_that_tables_name_exist(self):
        """Those in columns `test` are Meson's or, behind the word `program`, cases of tests/apps.  Every row has one, or says why not."""
        with open(os.path.join(os.environ["BUILD"], "meson-info/intro-tests.json"), encoding="utf-8") as f:
            tests = {t["name"] for t in json.load(f)}
        cases = subprocess.run([os.path.join(ROOT, "tests/apps/run.py"), "--list"], capture_output=True, text=True, check=True, timeout=60).stdout
        programs = {line.split()[0] for line in cases.splitlines()}
        for path in glob.glob(os.path.join(ROOT, "docs/*.md")):
            with open(path, encoding="utf-8") as f:
                tables = re.findall(r"^\|.* test \|\n\|[-|]+\n((?:\|.*\n)+)", f.read(), re.M)
            for row in "".join(tables).splitlines():
                cell = row.rsplit("|", 2)[1].strip()
                self.assertTrue(cell.startswith("none: ") or "`" in cell, "%s: %s" % (path, row))
                own, _, of_apps = cell.partition("program")
                for names, pattern in [(tests, n) for n in re.findall("`([^`]+)`", own)] + [(programs, n) for n in re.findall("`([^`]+)`", of_apps)]:
                    tool = next((t for prefix, t in OPTIONAL.items() if names is tests and pattern.startswith(prefix)), None)
                    if not tool or shutil.which(tool):
                        self.assertTrue(fnmatch.filter(names, pattern), "%s: no test %s" % (path, pattern))

    def test_links_lead_somewhere(self):
        for path in glob.glob(os.path.join(ROOT, "docs/*.md")) + glob.glob(os.path.join(ROOT, "*.md")):
            with open(path, encoding="utf-8") as f:
                for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", f.read()):
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), link)), "%s: %s" % (path, link))

    def test_the_readme_is_complete(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(re.findall(r"@[A-Z_]+@", text), [])
        self.assertEqual([line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")], [])

    def test_pages_are_short_and_wrapped(self):
        for page in PAGES + ("README.md", "numerics.md"):
            with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as f:
                lines = f.read().splitlines()
            self.assertLess(len(lines), 130, page)
            long = [line for line in lines if len(line) > 100 and not line.startswith("|")]
            self.assertEqual([line for line in long if "`" not in line and not line.startswith(("usf", "time", "RUN", "Exec"))], [], page)

    def test_options_that_pages_name_exist(self):
        known = set()
        for command in "run", "ps", "policy", "config", "trace", "tune", "doctor", "dump", "shim", "clean":
            known |= set(re.findall(r"--[a-z-]+", subprocess.run([USF, "help", command], capture_output=True, text=True, timeout=30).stdout))
        for page in PAGES:
            with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as f:
                for line in re.findall(r"usf (?:run|ps|clean|doctor|trace|tune|policy|config)[^`\n|]*", f.read()):
                    for option in re.findall(r"(?<= )--[a-z-]+", line.split(" -- ")[0]):
                        self.assertIn(option, known, line)


instance.main(280)
