#!/usr/bin/python3
# tests/context/test_examples.py - examples/contexts: in all modes, results compared.  SPDX-License-Identifier: Apache-2.0
"""test_examples.py native|python|mistakes|guide [--usf]        --usf: under `usf run`

The examples are built by their own Makefile, and run at their smallest size.
Environment: USF (the tool), BUILD (the build folder), SOURCE (the repository).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import instance  # noqa: E402

BUILD, SOURCE, TOOL = (os.environ[name] for name in ("BUILD", "SOURCE", "USF"))
PYTHON = "/usr/bin/python3"
WAIT = 100
UNDER = "--usf" in sys.argv
NEEDS = {       # files of Debian packages
    "libsolvers.so": ("/usr/bin/gcc",), "gemms": ("/usr/bin/g++", "/usr/lib/x86_64-linux-gnu/libopenblas.so.0"),
    "figure7": ("/usr/bin/g++", "/usr/lib/x86_64-linux-gnu/libopenblas.so.0"), "arpack": ("/usr/include/arpack/arpack.h",),
    "fftw": ("/usr/include/fftw3.h",), "fortran": ("/usr/bin/gfortran",), "scipy": ("/usr/lib/python3/dist-packages/scipy",),
    "sklearn": ("/usr/lib/python3/dist-packages/sklearn",),
}
MODES = ("sequential", "threads", "contexts")


def lacking(*parts):
    return [path for part in parts for path in NEEDS[part] if not os.path.exists(path)]


def needs(*parts):
    return unittest.skipIf(lacking(*parts), f"without {', '.join(lacking(*parts))}")


class Examples(instance.Instance):
    tool, kind = TOOL, "examples"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="usf-examples-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for file in pathlib.Path(SOURCE, "examples/contexts").iterdir():
            if file.suffix in (".c", ".cpp", ".h", ".f90", ".py") or file.name == "Makefile":
                shutil.copy(file, cls.folder)

    def setUp(self):
        super().setUp()
        openblas = {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}       # what some processors need
        self.env.update(openblas, PYTHONPATH=f"{BUILD}/python", LD_LIBRARY_PATH=BUILD, PYTHONDONTWRITEBYTECODE="1")

    def make(self, *targets):
        p = subprocess.run(["make", "-s", "-C", self.folder, *targets, f"BUILD={BUILD}", f"SOURCE={SOURCE}", "CFLAGS=-O2 -Wall -Wextra -Werror",
                            "CXXFLAGS=-O2 -Wall -Wextra -Werror", "FFLAGS=-O2 -Wall -Werror"], env=self.env, capture_output=True, text=True, timeout=WAIT)
        self.assertEqual(p.returncode, 0, p.stderr)

    def run_it(self, *words):
        """The exit status, stdout and stderr of an example."""
        example, *options = words
        command = [PYTHON, f"{self.folder}/{example}"] if example.endswith(".py") else [f"{self.folder}/{example}"]
        under = [TOOL, "run", "-i", self.instance, "--"] if UNDER else []
        p = subprocess.run([*under, *command, *options], env=self.env, capture_output=True, text=True, timeout=WAIT, stdin=subprocess.DEVNULL)
        return p.returncode, p.stdout, p.stderr

    def results(self, *words):
        """By mode: the results, by context."""
        code, out, err = self.run_it(*words, "--scale", "0.005")
        self.assertEqual(code, 0, f"{words}: {out}{err}")
        found = {m[1]: dict(pair.split() for pair in m[2].strip().split("  ")) for m in re.finditer(r"^(\w+) +[\d.]+ s ((?:  [\w]+ \S+)+)$", out, re.M)}
        return {mode: {name: float(value) for name, value in result.items()} for mode, result in found.items()}

    def check(self, example, contexts, modes=MODES):
        """All modes in one process, and each in one of its own."""
        together = self.results(example)
        self.assertEqual(tuple(together), modes)
        for mode in modes:
            self.assertEqual(list(together[mode]), contexts)
            alone = self.results(example, "--mode", mode)
            self.assertEqual(list(alone), [mode])
            for name in contexts:
                self.assertAlmostEqual(alone[mode][name] / together["sequential"][name], 1, delta=2e-6)
        everywhere = self.results(example, "--mode", "contexts", *(word for name in contexts for word in ("--cpus", f"{name}=all")))
        self.assertEqual(list(everywhere["contexts"]), contexts)
        code, out, err = self.run_it(example, "--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("--cpus", out)


class Native(Examples):
    @needs("gemms")
    def test_gemms(self):
        self.make("gemms")
        self.check("gemms", ["small", "large"])

    @needs("figure7")
    def test_figure7(self):
        self.make("figure7")
        self.check("figure7", ["a", "b"])

    @needs("arpack")
    def test_arpack(self):
        self.make("arpack")
        self.check("arpack", ["arpack1", "arpack2"], ("sequential", "contexts"))
        self.unsafe("arpack", r"one ARPACK: (wrong results|it crashes|it does not end)$")

    @needs("fftw")
    def test_fftw(self):
        self.make("fftw")
        self.check("fftw", ["fft1", "fft2", "fft3", "fft4"])
        self.unsafe("fftw", r"one FFTW without a lock: ")       # what becomes of it is chance

    @needs("fortran")
    def test_fortran(self):
        self.make("fortran")
        self.check("fortran", ["left", "right"], ("sequential", "contexts"))
        self.unsafe("fortran", r"one library: wrong results$")

    def unsafe(self, example, one):
        """One library does not do, one for each context does."""
        code, out, err = self.run_it(example, "--unsafe", "--scale", "0.05")
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()[1:]
        self.assertRegex(lines[0], one)
        self.assertRegex(lines[1], "each.* context.*: right results$")


class Solvers(Examples):
    def setUp(self):
        super().setUp()
        self.make("libsolvers.so")

    def python(self, script):
        """The exit status and the outputs of a script. Its argument is the examples' folder."""
        text = "\n".join(line[12:] for line in script.splitlines()[1:])
        p = subprocess.run([PYTHON, "-c", text, self.folder], env=self.env, capture_output=True, text=True, timeout=WAIT)
        return p.returncode, p.stdout, p.stderr


class Python(Solvers):
    @needs("scipy")
    def test_gemms(self):
        self.check("gemms.py", ["small", "large"])

    @needs("scipy")
    def test_arpack(self):
        cpus = len(os.sched_getaffinity(0))
        self.check("arpack.py", [f"arpack{i + 1}" for i in range(min(4, max(2, cpus)))])

    @needs("libsolvers.so", "scipy")
    def test_multiphysics(self):
        self.check("multiphysics.py", ["heat1", "heat2", "cfd", "solve"])

    @needs("scipy")
    def test_nbody(self):
        self.check("nbody.py", ["near", "solve", "far"])

    @needs("libsolvers.so", "sklearn")
    def test_sciml(self):
        self.check("sciml.py", ["cfd", "kmeans", "dnn"])

    @needs("libsolvers.so", "scipy")
    def test_assimilation(self):
        self.check("assimilation.py", ["transformer", "ensemble1", "ensemble2"])

    @needs("scipy")
    def test_gradients_are_those_of_the_error(self):
        """Of the transformer's layer, by differences."""
        script = """
            import sys; sys.path.insert(0, sys.argv[1])
            import numpy as np
            from attend import Attention
            r = np.random.RandomState(3)
            net, x, y = Attention(8, 32, 16), r.randn(5, 8), r.randn(5)
            predicted, saved = net.forward(x)
            gradients = net.gradients(predicted - y, saved)
            error = lambda: ((net.forward(x)[0] - y) ** 2).mean()
            for name, weight in net.weights.items():
                along = 1e-6 * r.randn(*weight.shape)
                weight += along
                above = error()
                weight -= 2 * along
                below = error()
                weight += along
                assert abs((above - below) / 2 - (gradients[name] * along).sum()) < 1e-12, name
            print(len(net.weights))
        """
        self.assertEqual(self.python(script), (0, "8\n", ""))


class Mistakes(Solvers):
    """The examples notice wrong results, and what they are given."""

    @needs("gemms", "scipy")
    def test_options(self):
        self.make("gemms")
        for example in ("gemms", "gemms.py"):
            for options, text in ((["--cpus", "none=0"], "NAME=LIST"), (["--cpus", "small="], "NAME=LIST"), (["--scale", "0"], "scale"),
                                  (["--scale", "nan"], "scale"), (["--mode", "no"], "mode"), (["--cpus", "small=7000", "--mode", "contexts"], "7000")):
                code, _, err = self.run_it(example, *options)
                self.assertIn(code, (1, 2), (example, options))
                self.assertIn(text, err)

    @needs("gemms", "scipy")
    def test_cpus_are_those_given(self):
        self.make("gemms")
        cpus = sorted(os.sched_getaffinity(0))
        for example in ("gemms", "gemms.py"):
            code, out, err = self.run_it(example, "--mode", "contexts", "--scale", "0.005", "--cpus", "small=all", "--cpus", f"large={cpus[-1]}")
            self.assertEqual(code, 0, err)
            self.assertIn(f"CPUs: small {','.join(map(str, cpus))} large {cpus[-1]}\n", out)

    def test_a_result_that_differs_is_noticed(self):
        script = """
            import sys; sys.path.insert(0, sys.argv.pop(1))
            import compared
            values = iter([1.0, 1.0, 2.0, 2.0])
            compared.prepare = lambda job: lambda: next(values)
            sys.exit(compared.main("", lambda size: {"one": [("x.y",)]}))
        """
        code, out, err = self.python(script)
        self.assertEqual((code, len(out.splitlines())), (1, 3))
        self.assertIn("threads: the results differ", err)

    def test_a_solver_that_errs_is_noticed(self):
        script = """
            import sys; sys.path.insert(0, sys.argv.pop(1))
            import parts
            parts.solvers().solvers_heat_known = lambda n, steps: 1.0
            parts.heat(8, 3)()
        """
        code, _, err = self.python(script)
        self.assertEqual(code, 1)
        self.assertIn("ArithmeticError: heat", err)

    def test_without_make(self):
        os.unlink(f"{self.folder}/libsolvers.so")
        code, _, err = self.run_it("multiphysics.py")
        self.assertEqual(code, 1)
        self.assertIn("run make", err)


class Guide(Examples):
    @unittest.skipIf(lacking(*NEEDS), f"without {', '.join(lacking(*NEEDS))}")
    @unittest.skipUnless({0, 1} <= os.sched_getaffinity(0), "without CPUs 0 and 1, which the page has")
    def test_what_the_page_tells_to_type(self):
        """The blocks of docs/contexts.md that are about the examples, in order."""
        page = pathlib.Path(SOURCE, "docs/contexts.md").read_text(encoding="utf-8")
        blocks = [block for block in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S) if "examples/contexts" in block]
        self.assertEqual(len(blocks), 2)
        os.makedirs(f"{self.dir}/examples")
        os.symlink(self.folder, f"{self.dir}/examples/contexts")
        os.makedirs(f"{self.dir}/bin")
        os.symlink(TOOL, f"{self.dir}/bin/usf")
        env = {**self.env, "BUILD": BUILD, "SOURCE": SOURCE, "PATH": f"{self.dir}/bin:{self.env['PATH']}"}
        outputs = []
        for block in blocks:
            p = subprocess.run(["bash", "-euo", "pipefail", "-c", block], env=env, cwd=self.dir, capture_output=True, text=True, timeout=200,
                               stdin=subprocess.DEVNULL)
            self.assertEqual(p.returncode, 0, f"{block}\n{p.stdout}{p.stderr}")
            outputs.append(p.stdout)
        self.assertEqual(len(re.findall(r"^contexts +[\d.]+ s ", outputs[0], re.M)), 2)
        self.assertRegex(outputs[1], r'(?m)^contexts = "small=(0|1|0-1); large=(0|1|0-1)"$')

    @needs("scipy", "sklearn")
    def test_the_page_names_the_contexts_that_there_are(self):
        page = pathlib.Path(SOURCE, "docs/contexts.md").read_text(encoding="utf-8")
        rows = dict(re.findall(r"^\| `(\w+\.\w+)`[^|]*\| ([^|]*) \|", page, re.M))
        self.make("all")
        for example, contexts in rows.items():
            if example != "arpack.py" and "to" not in contexts.split():
                code, out, err = self.run_it(example if example.endswith(".py") else example.partition(".")[0], "--help")
                self.assertEqual((code, err), (0, ""))
                for name in re.findall(r"`(\w+)`", contexts):
                    self.assertRegex(out.replace("\n", " "), rf"\b{name}\b", example)
        self.assertGreater(len(rows), 8)


if __name__ == "__main__":
    if not shutil.which("make"):
        print("skipped: no make")
        sys.exit(77)
    kind = {"native": "Native", "python": "Python", "mistakes": "Mistakes", "guide": "Guide"}[sys.argv[1]]
    unittest.main(argv=[sys.argv[0], kind], verbosity=2)
