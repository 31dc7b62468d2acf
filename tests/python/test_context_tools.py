#!/usr/bin/python3
# tests/python/test_context_tools.py - processes and tools beside contexts.  SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import textwrap
import unittest

from contexts import Folder, compile_extension, instance, needs, program, write

PATH = os.environ["PYTHONPATH"]


class Processes(Folder):
    """Other processes get the context's environment and folders; they have no context themselves, but for children of fork."""

    def setUp(self):
        super().setUp()
        write(self.folder, {"own/mod": "import os\ndef f(x):\n    return x + 1, os.environ.get('USF_T')\n"})

    def check(self, text):
        with open(os.path.join(self.folder, "program.py"), "w") as f:
            f.write(textwrap.dedent("""
                import concurrent.futures, multiprocessing, os, sys, usf
                def late(x):
                    import mod
                    return mod.f(x)
                if __name__ == "__main__":
                    context = usf.Context("c", path=os.path.join(os.path.dirname(os.path.abspath(__file__)), "own"), env={"USF_T": "own"})
                """) + textwrap.indent(textwrap.dedent(text), "    "))
        self.assertEqual(program(self.folder, "program.py"), (0, "ok\n", ""))

    def test_multiprocessing(self):
        for method in "fork", "spawn", "forkserver":
            with self.subTest(method):
                self.check(f"""
                    with context:
                        import mod
                        of = multiprocessing.get_context({method!r})
                        with of.Pool(2) as pool:
                            found = pool.map(mod.f, [1, 2]) + pool.map(late, [1, 2])
                        with concurrent.futures.ProcessPoolExecutor(2, mp_context=of) as pool:
                            found += list(pool.map(mod.f, [1, 2])) + list(pool.map(late, [1, 2]))
                    assert found == [(2, "own"), (3, "own")] * 4, found
                    print("ok")
                    """)

    def test_a_child_of_fork_is_inside(self):
        self.check("""
            with context:
                with multiprocessing.get_context("fork").Pool(1) as pool:
                    assert pool.apply(late, [3]) == (4, "own")
                pid = os.fork()
                if not pid:
                    os._exit(usf.current_context() is not context)
                assert os.waitpid(pid, 0)[1] == 0
            print("ok")
            """)

    def test_exec(self):
        self.check("""
            sys.stdout.flush()
            for call in "execv", "execvp", "execve":
                pid = os.fork()
                if not pid:
                    with context:
                        argv = ["/bin/sh", "-c", 'test "$USF_T" = own']
                        getattr(os, call)("/bin/sh", argv, *[os.environ] * (call == "execve"))
                assert os.waitpid(pid, 0)[1] == 0, call
            with context:
                assert os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", 'test "$USF_T" = own']) == 0
            assert os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", 'test -z "$USF_T"']) == 0
            print("ok")
            """)


class Tools(Folder):
    @needs("pytest")
    def test_pytest(self):
        """Its rewritten assertions and its fixtures."""
        write(self.folder, helper="def check(x):\n    assert x == [1, 2]\n", conftest="import pytest\npytest.register_assert_rewrite('helper')\n", test_it="""
            import os
            import pytest
            import usf
            context = usf.Context("t")
            with context:
                import helper
            def test_rewritten():
                assert usf.context_of(helper) is context
                with pytest.raises(AssertionError) as e:
                    helper.check([1, 3])
                assert "assert [1, 3] == [1, 2]" in str(e.value)
            def test_fixtures(monkeypatch, tmp_path):
                with context:
                    monkeypatch.setenv("USF_T", "1")
                    monkeypatch.syspath_prepend(str(tmp_path))
                    assert context.getenv("USF_T") == "1" and str(tmp_path) in context.path
                assert "USF_T" not in os.environ
            """)
        code, out, err = program(self.folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("2 passed", out)

    def measured(self, *argv):
        write(self.folder, covered="def f(x):\n    if x:\n        return 1\n    return 2\n",
              program="import usf\nwith usf.Context('c'):\n    import covered\ncovered.f(1)\n")
        self.assertEqual(program(self.folder, *argv, "program.py"), (0, "", ""))

    @needs("coverage")
    def test_coverage(self):
        self.measured("-m", "coverage", "run")
        code, out, err = program(self.folder, "-m", "coverage", "report", "--include", "covered.py", "-m")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"covered.py +4 +1 +75% +4\n")

    def test_trace(self):
        os.mkdir(os.path.join(self.folder, "counts"))
        self.measured("-m", "trace", "--count", "-m", "-C", "counts", "--ignore-dir", os.pathsep.join([sys.prefix, PATH]))
        name, = [n for n in os.listdir(os.path.join(self.folder, "counts")) if n.endswith("covered.cover")]
        with open(os.path.join(self.folder, "counts", name)) as f:
            self.assertEqual([line[:7].strip() for line in f.read().splitlines()], ["1:", "1:", "1:", ">>>>>>"])

    @needs("joblib")
    def test_joblib(self):
        """Threads of joblib are inside, its processes get the environment and the folders."""
        write(self.folder, {"own/mod": "value = 7\n", "program": """
            import os, usf
            context = usf.Context("c", path=os.path.join(os.path.dirname(os.path.abspath(__file__)), "own"), env={"USF_T": "own"})
            def job(x):
                import mod
                return x * mod.value, os.environ.get("USF_T")
            if __name__ == "__main__":
                with context:
                    import joblib
                    for backend in "loky", "threading", "multiprocessing":
                        found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(job)(i) for i in range(3))
                        assert found == [(0, "own"), (7, "own"), (14, "own")], (backend, found)
                print(usf.context_of(joblib).name)
            """})
        self.assertEqual(program(self.folder, "program.py"), (0, "c\n", ""))

    @needs("cloudpickle", "numpy")
    def test_cloudpickle(self):
        write(self.folder, program="""
            import builtins, sys, usf
            def make(np):
                return lambda x: (float(np.asarray(x).sum()), sys.maxsize, builtins.max)
            contexts = usf.Context("a"), usf.Context("b")
            for context in contexts:
                with context:
                    import cloudpickle, numpy
                    data = cloudpickle.dumps(make(numpy))
                    assert usf.context_of(cloudpickle.loads(data).__closure__[0].cell_contents) is context
                    assert cloudpickle.loads(data)([1, 2]) == (3.0, sys.maxsize, max)
            import cloudpickle
            assert usf.context_of(cloudpickle.loads(data).__closure__[0].cell_contents) is None
            print("ok")
            """)
        self.assertEqual(program(self.folder, "program.py"), (0, "ok\n", ""))


class Types(Folder):
    """A program that is checked by `mypy --strict`."""

    def setUp(self):
        super().setUp()
        if not shutil.which("mypy"):
            self.skipTest("without mypy")

    def check(self, text):
        path = os.path.join(self.folder, "typed.py")
        with open(path, "w") as f:
            f.write(text)
        p = subprocess.run(["mypy", "--strict", "--follow-imports=silent", "--cache-dir", os.path.join(self.folder, "cache"), path],
                           capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": PATH})
        return p.returncode, p.stdout

    def test_program(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "typed.py")) as f:
            text = f.read()
        code, out = self.check(text)
        self.assertEqual(code, 0, out)

    def test_mistakes_are_found(self):
        code, out = self.check("""import usf
context = usf.Contxt("a")
usf.Context("a", cpus=3)
number: str = usf.Context().run(int, "3")
usf.Context().cpus.add(3)
""")
        self.assertEqual((code, [line.split(":")[1] for line in out.splitlines() if ": error:" in line]), (1, ["2", "3", "4", "5"]), out)


CYTHON = """
    cdef int number = 0
    cdef class Counter:
        cdef public int value
        def __init__(self):
            self.value = 10
        def add(self):
            self.value += 1
            return self.value
    def count():
        global number
        number += 1
        return number
    def friend():
        import friend
        return friend
    def generate(n):
        for i in range(n):
            yield i
    """
PYBIND = """
    #include <pybind11/pybind11.h>
    #include <pybind11/stl.h>
    #include <stdexcept>
    #include <thread>
    namespace py = pybind11;
    static int number;
    struct Counter { int value = 10; int add() { return ++value; } };
    PYBIND11_MODULE(usf_pybind, m)
    {
        static py::exception<std::runtime_error> error(m, "Error");
        py::register_exception_translator([](std::exception_ptr p) {
            try { if (p) std::rethrow_exception(p); } catch (const std::runtime_error &e) { error(e.what()); }
        });
        py::class_<Counter>(m, "Counter").def(py::init<>()).def("add", &Counter::add).def_readwrite("value", &Counter::value);
        m.def("count", [] { return ++number; });
        m.def("friend", [] { return py::module_::import("friend"); });
        m.def("fail", [] { throw std::runtime_error("told"); });
        m.def("total", [](const std::vector<double> &v) { double t = 0; for (double x : v) t += x; return t; });
        m.def("in_thread", [](py::function f) {
            py::object r;
            { py::gil_scoped_release no; std::thread([&] { py::gil_scoped_acquire yes; r = f(); }).join(); }
            return r;
        });
    }
    """


class Generators(Folder):
    """Extension modules that generators of code have made: in two contexts and the program."""

    def everywhere(self, name, more):
        write(self.folder, friend="", program=f"""
            import importlib, os, sys, usf
            folder = os.path.dirname(os.path.abspath(__file__))
            contexts = [usf.Context(n, path=folder) for n in "ab"]
            modules = [c.run(importlib.import_module, {name!r}) for c in contexts] + [importlib.import_module({name!r})]
            owners = contexts + [None]
            assert [m.count() for m in modules] == [1, 1, 1]
            assert modules[0].count() == 2 and modules[1].count() == 2 and modules[2].count() == 2
            assert len(set(id(m.Counter) for m in modules)) == 3
            for m, owner in zip(modules, owners):
                assert usf.context_of(m) is owner
                assert usf.context_of(m.Counter) is owner, (usf.context_of(m.Counter), owner)
                with usf.Context("other"):
                    assert m.Counter().add() == 11
                    if owner:
                        assert m.friend() is owner.modules["friend"]
                assert usf.context_of(m.friend()) is owner
""" + textwrap.indent(textwrap.dedent(more), " " * 16) + """
            print("ok")
            """)
        self.assertEqual(program(self.folder, "program.py"), (0, "ok\n", ""))

    def compile(self, name, *command, **more):
        if not compile_extension(self.folder, name, *command, **more):
            self.skipTest("without Python.h")

    def test_cython(self):
        if not shutil.which("cython3"):
            self.skipTest("without cython3")
        source = os.path.join(self.folder, "usf_cython.pyx")
        with open(source, "w") as f:
            f.write(textwrap.dedent(CYTHON))
        subprocess.run(["cython3", "-3", source, "-o", source + ".c"], check=True, capture_output=True)
        with open(source + ".c") as f:
            self.compile("usf_cython", f.read())
        self.everywhere("usf_cython", """
            assert list(m.generate(3)) == [0, 1, 2]
            """)

    def test_pybind11(self):
        if not os.path.exists("/usr/include/pybind11/pybind11.h"):
            self.skipTest("without pybind11-dev")
        self.compile("usf_pybind", PYBIND, suffix=".cpp", compiler=("c++", "-std=c++17", "-fvisibility=hidden"))
        self.everywhere("usf_pybind", """
            assert m.total([1.5, 2]) == 3.5
            try:
                m.fail()
            except m.Error as e:
                assert str(e) == "told" and usf.context_of(type(e)) is owner
            assert m.in_thread(usf.current_context) is owner
            for foreign in modules:
                if foreign is not m:
                    try:
                        m.Counter.add(foreign.Counter())
                        raise AssertionError("a foreign object was taken")
                    except TypeError:
                        pass
            """)


if __name__ == "__main__":
    instance.main(250)
