#!/usr/bin/python3
# tests/tune/test_shares.py - CPUs of contexts: usf tune --share, the profile that comes of it, its plots.  SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import re
import subprocess
import unittest

from common import USF, Case, instance, tune
from usf.tune import contexts
from usf.tune.figures import Heat

CPUS = sorted(os.sched_getaffinity(0))
MAKER = os.environ["CONTEXT_USER"]          # tests/context/user.c
# Makes the contexts, and prints what a division costs: the best is small on one CPU, large on as many as there are.
PROGRAM = r"""#!/bin/sh
out=$("%s" small large) || exit 1
echo "$out" >>log
small=$(echo "$out" | sed -n 's/^small: //p'); large=$(echo "$out" | sed -n 's/^large: //p')
count() { n=0; for part in $(echo "$1" | tr , ' '); do n=$((n + ${part#*-} - ${part%%-*} + 1)); done; echo $n; }
echo "cost: $(( 100 + $(count "$small") * 10 - $(count "$large") * ${M:-3} ))"
""" % MAKER
METRIC = "--metric", r"cost: (\d+)", "--search", "grid", "--repeats", "1"


def cost(c):
    return max(10 / c["small"], 30 / c["large"])


class Command(Case):
    def setUp(self):
        super().setUp()
        self.write("prog", PROGRAM, 0o755)
        limit = CPUS[:4]
        self.cpus = limit
        self.env["USF_CPUS"] = ",".join(map(str, limit))

    def best(self):
        """What the program prints of its contexts in the best candidate: small has the first CPU, large all."""
        lists = tune.cpulists({"small": 1, "large": len(self.cpus)}, self.cpus)
        return ["%s: %s" % item for item in lists.items()]

    def test_overlapping(self):
        found = self.json("--share", "small,large", "--overlap", *METRIC, "--", "./prog")
        n = len(self.cpus)
        self.assertEqual((found["best"], found["candidates"], found["runs"]), ({"small": 1, "large": n}, n * n, n * n))
        p = tune.load(self.path("usf-tune.toml"))
        self.assertEqual((p.parameters, p.contexts), ({"small": 1, "large": n}, tune.cpulists({"small": 1, "large": n}, self.cpus)))
        # the profile applies: under usf run, by the variable, and by what Python makes of it
        self.good("run", "--profile", "usf-tune.toml", "--", "./prog")
        self.assertEqual(self.lines("log")[-2:], self.best())
        for add in {"USF_PROFILE": "usf-tune.toml"}, p.environ({}):
            done = subprocess.run([MAKER, "small", "large"], env={**self.env, **add}, cwd=self.dir, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stdout.splitlines(), self.best(), add)

    @unittest.skipIf(len(CPUS) < 2, "one CPU")
    def test_divided(self):
        n = len(self.cpus)
        for more in [], ["--bare"]:
            found = self.json("--share", "small,large", *more, *METRIC, "-o", "x%d.toml" % len(more), "--", "./prog")
            share = {"small": 1, "large": n - 1}
            self.assertEqual((found["best"], found["candidates"]), (share, n - 1))
            self.assertEqual(tune.load(self.path("x%d.toml" % len(more))).run, {"contexts": contexts.text(tune.cpulists(share, self.cpus))})

    def test_with_another_variable_and_the_word(self):
        found = self.json("--share", "small,large", "--overlap", "--step", "2", "--vary", "M=1,9", "--where", "small <= large", *METRIC, "--",
                          "sh", "-c", "[ {small} -le {large} ] && exec ./prog")
        n = len(self.cpus)
        most = {"M": 9, "large": n}
        self.assertEqual({k: found["best"][k] for k in most}, most)
        self.assertEqual(found["best"]["small"], min(2, n))
        self.assertEqual(tune.load(self.path("usf-tune.toml")).env, {"M": "9"})

    def test_a_context_that_is_not_there(self):
        self.bad(125, "makes no context 'smal', only 'small', 'large'", "tune", "--share", "smal,large", "--overlap", *METRIC, "--", "./prog")
        self.assertEqual(len(self.lines("log")), 2)         # one run
        p = self.usf("tune", "--share", "a,b", "--overlap", "--quiet", "--search", "grid", "--repeats", "1", "-o", "b.toml", "--", "true")
        self.assertEqual((p.returncode, p.stderr), (0, "usf: no context of the program's was seen; is its stderr redirected?\n"))

    def test_names_with_blanks(self):
        self.good("tune", "--share", "VLC 1", "--quiet", "--repeats", "1", "--", MAKER, "VLC 1")
        p = tune.load(self.path("usf-tune.toml"))
        self.assertEqual((p.parameters, list(p.contexts)), ({"VLC_1": len(self.cpus)}, ["VLC 1"]))

    def test_mistakes(self):
        share = "--share", "small,large", "--overlap"
        for words, args in [("are for --share", ["--step", "2", "--vary", "n=1"]), ("are for --share", ["--overlap", "--vary", "n=1"]), ("nothing to vary", []),
                            ("--step: '0'", [*share, "--step", "0"]), ("beside --share", [*share, "--vary", "cpus=0;1"]), ("comes twice", ["--share", "a,a", "--overlap"]),
                            ("beside --share", [*share, "--vary", "run.contexts=a=0"]), ("'' is not a name", ["--share", "a,,b"]), ("'a=0' is not", ["--share", "a=0"]),
                            ("comes twice", [*share, "--vary", "small=1:2"]), ("each needs one", ["--share", ",".join("c%d" % i for i in range(len(self.cpus) + 1))])]:
            with self.subTest(args=args):
                self.bad(125, words, "tune", *args, "--", "./prog")
        self.assertFalse(os.path.exists(self.path("log")))

    def test_resume_needs_no_options(self):
        args = ["tune", "--share", "small,large", "--overlap", "--quiet", *METRIC]
        self.good(*args, "--", "./prog")
        first, runs = tune.load(self.path("usf-tune.toml")), self.lines("usf-tune.toml.journal")
        self.good("tune", "--resume", "--quiet")
        self.assertEqual((tune.load(self.path("usf-tune.toml")).run, self.lines("usf-tune.toml.journal")), (first.run, runs))


class Parameters(Case):
    """usf run --profile puts [parameters] into the command."""

    def test_words(self):
        self.write("p.toml", "[parameters]\nn = 3\nname = \"a b\"\nf = 1.5\nrun = true\n")
        run = "run", "--profile", "p.toml", "--", "printf", "%s\\n"
        for word, filled in {"-T{n}": "-T3", "{n}{n}": "33", "x{name}y": "xa by", "{f}": "1.5", "{run}": "true", "{m}": "{m}", "{n": "{n", "n}": "n}", "{}": "{}",
                             "{{n}}": "{3}", "{ print $1 }": "{ print $1 }", "{print}": "{print}", "${n}": "$3", "{n m}": "{n m}", "": ""}.items():
            self.assertEqual(self.good(*run, word), filled + "\n", word)
        self.assertEqual(self.good("run", "--", "printf", "%s", "{n}"), "{n}")
        self.write("e.toml", "[parameters]\ncommand = \"printf\"\n")
        self.assertEqual(self.good("run", "--profile", "e.toml", "--", "{command}", "%s", "x"), "x")

    def test_the_command_that_was_tuned(self):
        self.write("prog", "#!/bin/sh\necho \"cost: $(( ($1 - 3) * ($1 - 3) ))\"\n", 0o755)
        out = self.good("tune", "--vary", "n=1:5", *METRIC, "--", "./prog", "{n}")
        line = next(x.strip() for x in out.splitlines() if "usf run --profile" in x)
        self.assertEqual(line, "usf run --profile usf-tune.toml -- ./prog '{n}'")
        done = subprocess.run(line.replace("usf run", "\"$USF\" run", 1), shell=True, env={**self.env, "USF": USF}, cwd=self.dir, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.stdout, "cost: 0\n", done.stderr)


class Spaces(Case):
    def test_contexts_of_a_candidate(self):
        space = tune.shares(["small", "VLC 2"], "0-3,8,9")
        self.assertEqual(space.contexts({"small": 2, "VLC_2": 4}), "small=0-1; VLC 2=2-3,8-9")
        self.assertIsNone(tune.Space({"n": [1]}).contexts({"n": 1}))
        space = tune.shares(["a", "b"], 4, vary=[tune.Parameter("n", [1, 2])], where=["a > n"])
        self.assertEqual(sorted(tuple(space.candidate(p).values()) for p in space.points), [(2, 2, 1), (3, 1, 1), (3, 1, 2)])

    def test_texts(self):
        self.assertEqual(contexts.parse("a = 0-1,3 ; b=4;"), {"a": "0-1,3", "b": "4"})
        for text in "a", "a=", "=1", "a=0;a=1":
            with self.assertRaises(tune.TuneError, msg=text):
                contexts.parse(text)
        self.assertEqual(contexts.made("usf: context 'a b': CPUs 0-3,8, given by USF_CONTEXTS\nx\nusf: context 'it's': CPUs 0, as the program says\n"), ["a b", "it's"])

    def test_a_result_of_a_function(self):
        space = tune.shares(["small", "large"], cpus=24)
        tune.search(space, cost, strategy="grid", repeats=1).save(self.path("p.toml"))
        p = tune.load(self.path("p.toml"))
        self.assertEqual((p.parameters, p.run), ({"small": 6, "large": 18}, {"contexts": "small=0-5; large=6-23"}))
        self.assertEqual(p.environ({"A": "b"}), {"USF_CONTEXTS": "small=0-5; large=6-23", "A": "b"})
        self.assertEqual(p.environ({"USF_CONTEXTS": "x=0"})["USF_CONTEXTS"], "x=0")


class Plots(Case):
    def results(self):
        yield tune.search(tune.shares(["small", "large"], 12), cost, strategy="grid", repeats=1), 11, 1, "; large has the other CPUs"
        three = tune.shares(["x", "y", "z"], 8)
        yield tune.search(three, lambda c: max(5 / c["x"], 9 / c["y"], 3 / c["z"]), strategy="grid", repeats=1), 6, 6, "; z has the other CPUs"
        yield tune.search(tune.shares(["small", "large"], 6, overlap=True), lambda c: cost(c) + c["small"] + c["large"], strategy="grid", repeats=1), 6, 6, ""
        more = tune.shares(["small", "large"], 6, vary=[tune.Parameter("n", [1, 2])])
        yield tune.search(more, lambda c: cost(c) * c["n"], strategy="grid", repeats=1), 5, 2, "; large has the other CPUs"

    def test_maps(self):
        for result, columns, rows, title in self.results():
            heat = Heat(result)
            self.assertEqual((len(heat.x_values), len(heat.y_values)), (columns, rows))
            self.assertEqual(heat.title, "Heat map" + title)
            self.assertNotIn("large" if title else "", (heat.x_name, heat.y_name) if title else ())
            self.assertIs(heat.cells[heat.best], result.chosen)
            if not result.space.shares["overlap"] and len(result.space.parameters) < 4:
                self.assertEqual(len(heat.cells), len(result.space))       # each division is a cell
            result.plot(self.path("x.html"))
            with open(self.path("x.html"), encoding="utf-8") as f:
                text = f.read()
            self.assertEqual(len(re.findall(r"<title>", text)) - 1, len(heat.cells))
            self.assertEqual(text.count("<circle"), result.runs)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib")
    def test_png(self):
        for result, _, _, _ in self.results():
            result.plot(self.path("x.png"))
            with open(self.path("x.png"), "rb") as f:
                self.assertEqual(f.read(8), b"\x89PNG\r\n\x1a\n")


instance.main(240)
