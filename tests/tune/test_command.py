#!/usr/bin/python3
# tests/tune/test_command.py - usf tune with programs, and usf run --profile.  SPDX-License-Identifier: Apache-2.0
import html.parser
import importlib.util
import json
import os
import pty
import random
import re
import struct
import unittest
import zlib

from common import USF, Case, instance, tune

# Prints what it was given, as a metric: the best is n = 3, M = 2, policy fl.
PROGRAM = """#!/bin/sh
policy=${USF_POLICY:-coop}
echo "$1 $M $policy" >>log
case $policy in fl) p=0 ;; *) p=1 ;; esac
echo "noise 99"
echo "cost: $(( ($1 - 3) * ($1 - 3) + (M - 2) * (M - 2) + p )) units"
"""
METRIC = "--metric", r"cost: (\d+)"


class Tune(Case):
    def setUp(self):
        super().setUp()
        self.write("prog", PROGRAM, 0o755)

    def test_variables_go_where_they_belong(self):
        found = self.json("--vary", "n=1:5", "--vary", "M=1,2,3", "--vary", "policy=coop,fl", "--search", "grid", "--repeats", "1", *METRIC, "--", "./prog", "{n}")
        self.assertEqual((found["best"], found["value"], found["runs"]), ({"n": 3, "M": 2, "policy": "fl"}, 0.0, 30))
        self.assertEqual(sorted(self.lines("log")), sorted("%d %d %s" % (n, m, p) for n in range(1, 6) for m in (1, 2, 3) for p in ("coop", "fl")))
        p = tune.load(self.path("usf-tune.toml"))
        self.assertEqual((p.run, p.env, p.parameters), ({"policy": "fl"}, {"M": "2"}, {"n": 3}))
        self.assertIn("usf run --profile usf-tune.toml -- ./prog '{n}'", self.lines("usf-tune.toml")[1])

    def test_the_profile_runs(self):
        self.good("tune", "--vary", "n=1:5", "--vary", "M=1,2,3", "--vary", "run.policy=coop,fl", "--quiet", "--search", "grid", "--repeats", "1", *METRIC, "-o",
                  "best.toml", "--", "./prog", "{n}")
        self.assertIn("cost: 0 units", self.good("run", "--profile", "best.toml", "--", "./prog", "{n}"))
        self.assertEqual(self.lines("log")[-1], "3 2 fl")
        # the command line and the environment go before it
        self.good("run", "-p", "fifo", "-i", self.instance + "a", "--profile", "best.toml", "--", "./prog", "3")
        self.good("run", "--profile", "best.toml", "-p", "gang", "-i", self.instance + "b", "--", "./prog", "3", add={"M": "7"})
        self.good("run", "-i", self.instance + "c", "--", "./prog", "3", add={"USF_PROFILE": "best.toml"})
        self.assertEqual(self.lines("log")[-3:], ["3 2 fifo", "3 7 gang", "3 2 fl"])

    def test_searches(self):
        for search in "grid", "halving":
            found = self.json("--vary", "n=1:9", "--vary", "M=0:4", "--search", search, "--bare", *METRIC, "-o", search + ".toml", "--", "./prog", "{n}")
            self.assertEqual(found["best"], {"n": 3, "M": 2}, search)
        self.assertLessEqual(found["runs"], 9 * 5 * 3 // 5)

    def test_maximize_and_where(self):
        found = self.json("--vary", "n=1:9", "--vary", "M=0:4", "--where", "n + M < 9", "--bare", "--search", "grid", "--repeats", "1", "--maximize", *METRIC, "--",
                          "./prog", "{n}")
        self.assertEqual((found["best"], found["candidates"]), ({"n": 8, "M": 0}, sum(n + m < 9 for n in range(1, 10) for m in range(5))))

    def test_wall_time(self):
        self.write("wait", "#!/bin/sh\nexec sleep $1\n", 0o755)
        found = self.json("--vary", "s=0.01,0.4", "--", "./wait", "{s}")
        self.assertEqual(found["best"], {"s": 0.01})

    def test_text_output(self):
        out = self.good("tune", "--vary", "n=1:3", "--bare", *METRIC, "--", "./prog", "{n}", add={"M": "2"})
        self.assertRegex(out, r"(?m)^n +metric +runs$")
        self.assertRegex(out, r"(?m)^3 +1 +3$")
        self.assertIn("usf run --profile usf-tune.toml -- ./prog '{n}'", out)
        self.assertEqual(self.good("tune", "--quiet", "--vary", "n=1", "--bare", "-o", "q.toml", "--", "true"), "")

    def test_braces_that_are_no_variable_stay(self):
        self.good("tune", "--vary", "n=1", "--bare", "--repeats", "1", "--", "sh", "-c", 'echo "{n} {m} {} ${HOME:+x}" >>log')
        self.assertEqual(self.lines("log"), ["1 {m} {} x"])

    def test_failing_candidates(self):
        self.write("some", "#!/bin/sh\n[ $1 -lt 3 ] || { echo too many >&2; exit 3; }\necho cost: $1\n", 0o755)
        found = self.json("--vary", "n=1:4", "--bare", "--search", "grid", *METRIC, "--", "./some", "{n}")
        self.assertEqual(found["best"], {"n": 1})
        failed = [m for m in found["measured"] if m["status"] == "failed"]
        self.assertEqual([(m["candidate"]["n"] in (3, 4), m["runs"], m["detail"]) for m in failed], [(True, 1, "exit status 3: too many")] * 2)

    def test_all_fail(self):
        self.bad(1, ["all 3 candidates", "exit status 5: it is broken"], "tune", "--vary", "n=1:3", "--", "sh", "-c", "echo it is broken >&2; exit 5")
        self.bad(1, "signal SIGSEGV", "tune", "--vary", "n=1:3", "-o", "b.toml", "--", "sh", "-c", "kill -SEGV $$")
        self.bad(1, "matches nothing in the output: hello", "tune", "--vary", "n=1:3", *METRIC, "-o", "c.toml", "--", "echo", "hello")
        self.bad(1, "not done after", "tune", "--vary", "n=1:2", "--timeout", "50ms", "-o", "d.toml", "--", "sleep", "1000")
        self.bad(1, "has no number", "tune", "--vary", "n=1:2", "--metric", "hello", "-o", "e.toml", "--", "echo", "hello")
        self.assertFalse(os.path.exists(self.path("usf-tune.toml")))

    def test_a_hopeless_run_ends_with_all_its_processes(self):
        self.write("prog", "#!/bin/sh\n[ $1 = 1 ] && exit 0\nsleep 1000 &\necho $! >pid\nwait\n", 0o755)
        for seed in range(100):         # one whose first candidate is the quick one
            order = [1, 2]
            random.Random(seed).shuffle(order)
            if order[0] == 1:
                break
        found = self.json("--vary", "n=1:2", "--search", "grid", "--seed", str(seed), "--hopeless", "50", "--", "./prog", "{n}")
        slow = next(m for m in found["measured"] if m["candidate"]["n"] == 2)
        self.assertEqual((found["best"], slow["status"], slow["runs"]), ({"n": 1}, "hopeless", 1))
        pid = self.lines("pid")
        self.soon(lambda: not pid or not os.path.exists("/proc/%s" % pid[0]), "a process is left")

    def test_leftovers_of_a_run_end(self):
        self.good("tune", "--vary", "n=1", "--repeats", "1", "--bare", "--", "sh", "-c", "sleep 1000 & echo $! >pid")
        self.soon(lambda: not os.path.exists("/proc/%s" % self.lines("pid")[0]), "a process is left")

    def test_mistakes(self):
        v = "--vary", "n=1:2"
        for code, words, args in [
                (125, "nothing to vary", ["--", "true"]), (125, "no program given", v), (125, "NAME=VALUE", ["--vary", "n", "--", "true"]),
                (125, "comes twice", [*v, *v, "--", "true"]), (125, "no variable 'm'", [*v, "--where", "m < 1", "--", "true"]),
                (125, "only abs, max", [*v, "--where", "open('x')", "--", "true"]), (125, "invalid choice", [*v, "--search", "luck", "--", "true"]),
                (125, "no option of usf tune", [*v, "--serch", "grid", "--", "true"]), (125, "no option of usf tune", [*v, "true"]),
                (125, "--repeats: 'x'", [*v, "--repeats", "x", "--", "true"]), (125, "--budget: '9parsecs'", [*v, "--budget", "9parsecs", "--", "true"]),
                (125, "--budget: '0'", [*v, "--budget", "0", "--", "true"]), (125, "--timeout", [*v, "--timeout", "never", "--", "true"]),
                (125, "--hopeless", [*v, "--hopeless", "1", "--", "true"]), (125, "--metric '('", [*v, "--metric", "(", "--", "true"]),
                (125, "--maximize needs --metric", [*v, "--maximize", "--", "true"]), (125, "no policy 'cop'", ["--vary", "policy=cop", "--", "true"]),
                (125, "no option --polic", ["--vary", "run.polic=coop", "--", "true"]), (125, "--quantum: 'soon'", ["--vary", "quantum=soon", "--", "true"]),
                (125, "run bare", ["--vary", "run.policy=coop", "--bare", "--", "true"]), (125, "not a name for a variable", ["--vary", "a-b=1", "--", "true"]),
                (125, "same place", ["--vary", "policy=coop", "--vary", "run.policy=fl", "--", "true"]),
                (125, ".png or .html", [*v, "--plot", "x.gif", "--", "true"]), (125, "folder cannot", [*v, "--plot", "no/x.html", "--", "true"]),
                (125, "cannot write", [*v, "-o", "no/x.toml", "--", "true"]), (127, "not found", [*v, "--", "./nothing"]), (127, "not found", [*v, "--", "no-such-program"]),
                (126, "cannot be executed", [*v, "--", "/etc/passwd"])]:
            with self.subTest(args=args):
                self.bad(code, words, "tune", *args)
        self.assertEqual(self.lines("usf-tune.toml.journal"), [])

    def test_without_python(self):
        self.bad(127, "python3 cannot be executed", "tune", "--vary", "n=1", "--", "true", add={"PATH": self.dir})

    def test_the_working_directory_is_not_searched_for_modules(self):
        self.write("json.py", "raise SystemExit('wrong module')")
        self.good("tune", "--vary", "n=1", "--bare", "--", "env", "-u", "X", "true")

    def test_help_lists_what_there_is(self):
        from usf.tune.cli import parser
        text = self.good("help", "tune")
        self.assertEqual(self.good("tune", "--help"), text)
        listed = set(re.findall(r"^ +(?:-\w, )?--([a-z]+)", text, re.M))
        self.assertEqual(listed | {"help"}, {s[2:] for a in parser()._actions for s in a.option_strings if s.startswith("--")})

    def test_progress_on_a_terminal_alone(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execve(USF, ["usf", "tune", "--vary", "n=1:2", "--bare", "--", "true"], self.env)
        out = b""
        while True:
            try:
                piece = os.read(fd, 4096)
            except OSError:
                break
            if not piece:
                break
            out += piece
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        os.close(fd)
        self.assertRegex(out.decode(), r"\r\[#+-*\] \d+/6 runs, \d+:\d\d left, best ")


class Profile(Case):
    """usf run --profile."""

    def test_mistakes(self):
        for text, words in [("[run]\npolcy = 'coop'\n", ["p.toml:2", "unknown option 'polcy'", "nearest is 'policy'"]), ("[runn]\na = 1\n", "section [runn]"),
                            ("policy = 'coop'\n", "stands in no section"), ("[run]\nquantum = 'x'\n", "quantum: 'x'"), ("[env]\nUSF_POLICY = 'fl'\n", "stand in [run]"),
                            ("[env]\na-b = 1\n", "not a name"), ("[run]\nprofile = 'x'\n", "no other profile"), ("[tuning]\nvalue = 1.\n", "lacks digits"),
                            ("[run]\nquantum = 1.5e\n", "lacks digits"), ("nonsense", "p.toml:1"), ("[run]\npolicy = 'cop'\n", "there is no policy 'cop'")]:
            self.write("p.toml", text)
            with self.subTest(text=text):
                self.bad(125, words, "run", "--profile", "p.toml", "--", "true")
        self.bad(125, "none.toml: No such file", "run", "--profile", "none.toml", "--", "true")
        self.bad(125, "it is not a file", "run", "--profile", "/", "--", "true")

    def test_origins(self):
        self.write("p.toml", "[run]\nquantum = 7\nslice = \"8ms\"\ncpus = 0\nkeep-env = true\nlend = 99\n[env]\nA = 1\nB = \"x y\"\n[parameters]\nn = 4\n[tuning]\nvalue = 1.25e-3\n")
        config = self.write("system.toml", "quantum = 5\npoll = 6\n")
        add = {"USF_SYSTEM_CONFIG": config, "USF_LEND": "11"}
        shown = {o["name"]: (o["value"], o["origin"], o["where"]) for o in json.loads(self.good("config", "show", "--json", "--slice=9", "--profile", "p.toml", add=add))}
        self.assertEqual(shown["quantum"], ("7", "profile", "p.toml:2"))
        self.assertEqual(shown["slice"], ("9", "command line", "--slice"))
        self.assertEqual(shown["lend"], ("11", "environment", "USF_LEND"))
        self.assertEqual(shown["poll"][:2], ("6", "system file"))
        self.assertEqual((shown["cpus"][:2], shown["keep-env"][:2]), (("0", "profile"), ("on", "profile")))
        self.assertEqual(self.good("run", "--profile", "p.toml", "--", "sh", "-c", "echo $A $B", add={"A": "0"}), "0 x y\n")

    def test_a_program_that_runs_unscheduled_has_the_variables_too(self):
        self.write("p.toml", "[env]\nA = 'x'\n")
        p = self.usf("run", "--profile", "p.toml", "-i", "x" * 40, "--", "sh", "-c", "echo $A")
        self.assertEqual(p.stdout, "x\n")


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href") or "url(" in (v or "")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Plots(Case):
    def results(self):
        yield tune.search(tune.shares(["a", "b"], 12, overlap=True), lambda c: max(10 / c["a"], 20 / c["b"]) + .1 * (c["a"] + c["b"]), strategy="grid", repeats=2)
        yield tune.search(tune.Space({"n": range(40)}), lambda c: (c["n"] - 20) ** 2 - 50 if c["n"] else 1 / 0)
        yield tune.search(tune.Space({"p": ["<a&b>", "b\"c"], "n": [1, 2], "m": [1.5, 2]}), lambda c: c["n"] * c["m"], maximize=True)
        yield tune.search(tune.Space({"n": [1]}), lambda c: 0)

    def test_html(self):
        for result in self.results():
            result.plot(self.path("x.html"))
            with open(self.path("x.html"), encoding="utf-8") as f:
                text = f.read()
            page = Links()
            page.feed(text)
            page.close()
            self.assertEqual((page.open, page.links, page.tags.count("svg"), "script" in page.tags), ([], [], 2, False))
            self.assertNotIn("http", text)
            self.assertNotIn("<a&", text)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib")
    def test_png(self):
        for result in self.results():
            result.plot(self.path("x.png"))
            with open(self.path("x.png"), "rb") as f:
                data = f.read()
            self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
            at, kinds = 8, []
            while at < len(data):
                length, kind = struct.unpack(">I4s", data[at:at + 8])
                body = data[at + 4:at + 8 + length]
                self.assertEqual(struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], zlib.crc32(body))
                kinds.append(kind)
                at += 12 + length
            self.assertEqual((kinds[0], kinds[-1]), (b"IHDR", b"IEND"))

    def test_of_the_command(self):
        self.good("tune", "--vary", "n=1:3", "--vary", "m=1:2", "--bare", "--plot", "a.html", "--plot", "b.html", "--", "true", "{n}", "{m}")
        for name in "a.html", "b.html":
            self.assertTrue(self.lines(name)[0].startswith("<!DOCTYPE html>"))


instance.main(240)
