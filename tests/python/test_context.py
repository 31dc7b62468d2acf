#!/usr/bin/python3
# tests/python/test_context.py - usf.Context: modules, environment, CPUs, threads, ends.  SPDX-License-Identifier: Apache-2.0
"""test_context.py [--usf]        --usf: under `usf run`"""
import concurrent.futures
import contextlib
import doctest
import importlib
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from contexts import WAIT, Folder, compile_extension, instance, script, write

import usf
import usf._context
import usf._context_view

CPU = min(os.sched_getaffinity(0))


class Modules(Folder):
    def setUp(self):
        super().setUp()
        write(self.folder, {"pkg/__init__": "", "pkg/part": "from . import other", "pkg/other": "import priv", "priv_late": "",
                            "priv": "value = 1\ndef late():\n    import priv_late\n    return priv_late\n"})
        self.a, self.b = (usf.Context(n, path=[self.folder]) for n in "ab")

    def load(self, context, name):
        return context.run(importlib.import_module, name)

    def test_each_context_has_its_own(self):
        a, b = self.load(self.a, "priv"), self.load(self.b, "priv")
        self.assertIsNot(a, b)
        a.value = 2
        self.assertEqual(b.value, 1)
        self.assertNotIn("priv", sys.modules)
        with self.assertRaises(ImportError):
            import priv  # noqa: F401

    def test_inside_sys_modules_is_the_contexts(self):
        module = self.load(self.a, "priv")
        with self.a:
            self.assertIs(sys.modules["priv"], module)
            self.assertIn("priv", sys.modules)
            self.assertIn("priv", list(sys.modules))
            self.assertIs(dict(sys.modules.items())["priv"], module)
            self.assertIs(sys.modules["os"], os)
            self.assertIs(sys.modules.pop("priv"), module)
            self.assertNotIn("priv", sys.modules)
            import priv
            self.assertIsNot(priv, module)

    def test_packages_and_relative_imports(self):
        part = self.load(self.a, "pkg.part")
        self.assertIs(part.other.priv, self.load(self.a, "priv"))
        self.assertEqual({"pkg", "pkg.part", "pkg.other", "priv"}, {n for n in self.a.modules if not n.startswith("_")})

    def test_the_standard_library_is_shared(self):
        with self.a:
            import colorsys
        self.assertIs(sys.modules["colorsys"], colorsys)
        self.assertIsNone(usf.context_of(colorsys))

    def test_late_imports_go_to_the_modules_context(self):
        late = self.load(self.a, "priv").late()
        self.assertIs(self.a.modules["priv_late"], late)
        with self.b:
            self.assertIs(self.load(self.a, "priv").late(), late)
        self.assertNotIn("priv_late", self.b.modules)
        self.assertIs(usf.context_of(late), self.a)

    def test_late_imports_by_importlib(self):
        write(self.folder, dyn="import importlib\nfrom importlib import import_module\n"
              "def f():\n    return importlib.import_module('priv'), import_module('priv')\n"
              "def g():\n    import sys\n    return sys.modules.get('dyn')\n")
        m = self.load(self.a, "dyn")
        self.assertEqual([self.load(self.a, "priv")] * 2, list(m.f()))
        self.assertIs(m.g(), m)

    def test_files_of_the_machine(self):
        write(self.folder, asks="def read(path, *how, **named):\n    with open(path, *how, **named) as f:\n        return f.name, f.read()\n")
        c = usf.Context(cpus=[CPU], memory="64M", path=[self.folder])
        asks = c.run(importlib.import_module, "asks")
        self.assertEqual(asks.read("/sys/devices/system/cpu/online"), ("/sys/devices/system/cpu/online", f"{CPU}\n"))
        self.assertEqual(asks.read("/proc/meminfo", "rb")[1].split()[1], b"65536")
        self.assertEqual(asks.read("/proc/cpuinfo", encoding="ascii", errors="replace")[1].count("processor\t:"), 1)
        with open("/proc/self/comm") as f:
            comm = f.read()
        self.assertEqual((asks.read("/proc/self/comm")[1], asks.read("/proc/self/comm", "r", -1, None, None, None, True, None)[1]), (comm, comm))
        self.assertIn("def read", asks.read(os.path.join(self.folder, "asks.py"))[1])
        with self.assertRaises(FileNotFoundError):
            asks.read("/proc/no-such-file")
        with self.assertRaises(OSError):
            asks.read("/proc/cpuinfo", "w")
        with open("/proc/meminfo") as f:
            self.assertNotEqual(f.read().split()[1], "65536")

    def test_open_is_like_the_interpreters_own(self):
        write(self.folder, opens="""\
            import copy, pickle
            class Reader:
                opener = open
                def read(self):
                    with self.opener(__file__) as f:
                        return f.read()
            own, copies = open, (copy.copy(open), pickle.loads(pickle.dumps(open)))
            """)
        opens = self.load(self.a, "opens")
        self.assertIn("class Reader", opens.Reader().read())
        self.assertEqual(opens.copies, (open, open))
        self.assertEqual((opens.own.__name__, opens.own.__doc__, repr(opens.own)), ("open", open.__doc__, repr(open)))

    def test_sys_path_is_the_contexts(self):
        self.assertNotIn(self.folder, sys.path)
        with self.a:
            self.assertEqual(sys.path[0], self.folder)
            sys.path.append("/nowhere")
        self.assertNotIn("/nowhere", sys.path)
        self.assertIn("/nowhere", self.a.path)

    def test_folders_of_a_context_are_not_for_shared_modules(self):
        write(self.folder, this="raise RuntimeError")
        with self.a, contextlib.redirect_stdout(io.StringIO()):
            import this
        self.assertIs(sys.modules.pop("this"), this)

    def test_another_sys_path(self):
        before = sys.path
        sys.path = list(before)
        try:
            self.assertEqual(self.load(self.a, "priv").value, 1)
        finally:
            sys.path = before

    def test_code_of_a_closed_context_goes_on(self):
        write(self.folder, {"goes": "import threading\ndef on():\n    import priv_late\n    t = threading.Thread(target=seen.append, args=[priv_late])\n"
                                    "    t.start()\n    t.join()\n    return priv_late\nseen = []\n"})
        module = self.load(self.a, "goes")
        before = module.on()
        self.a.close()
        self.assertIs(module.on(), before)
        self.assertEqual(module.seen, [before, before])

    def test_reload(self):
        m = self.load(self.a, "priv")
        m.value = 5
        with self.a:
            self.assertIs(importlib.reload(m), m)
        self.assertEqual(m.value, 1)

    def test_a_failing_import_leaves_no_part(self):
        write(self.folder, {"bad/__init__": "from . import half\nimport no_such_module_at_all\n", "bad/half": ""})
        before = self.a.modules
        for _ in range(2):
            with self.assertRaises(ModuleNotFoundError), self.a:
                import bad  # noqa: F401
        self.assertEqual(before, self.a.modules)
        self.assertIsNone(usf.current_context())

    def test_two_versions(self):
        for v in "12":
            write(os.path.join(self.folder, v), lib_of=f"__version__ = '{v}'")
        one, two = (usf.Context(path=os.path.join(self.folder, v)) for v in "12")
        self.assertEqual("12", self.load(one, "lib_of").__version__ + self.load(two, "lib_of").__version__)
        self.assertIn("lib_of 1", repr(one))
        self.assertIn("<td>1</td>", one._repr_html_())

    def test_concurrent_imports(self):
        names = [f"many{i}" for i in range(20)]
        write(self.folder, **{n: f"import {names[(i + 1) % 20]}\nimport time\ntime.sleep(0.001)" for i, n in enumerate(names)})
        contexts = [usf.Context(path=[self.folder]) for _ in range(4)]

        def work(n):
            order = names[:]
            random.Random(n).shuffle(order)
            return [importlib.import_module(n) for n in order][0].__name__

        futures = [c.submit(work, i) for i, c in enumerate(contexts)]
        for f in futures:
            f.result(WAIT)
        self.assertEqual(80, len({id(c.modules[n]) for c in contexts for n in names}))

    def test_pickle(self):
        write(self.folder, cls="class C:\n    pass\n")
        c = self.load(self.a, "cls").C()
        with self.assertRaisesRegex(pickle.PicklingError, "usf.Context"):
            pickle.dumps(c)
        with self.a:
            self.assertIs(type(pickle.loads(pickle.dumps(c))), type(c))

    def test_shared_modules(self):
        write(self.folder, ours="")
        usf.share_modules("ours")
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.assertIs(self.load(self.a, "ours"), self.load(self.b, "ours"))
        self.load(self.a, "priv")
        with self.assertRaisesRegex(RuntimeError, "imported in .*already"):
            usf.share_modules("priv")


class Inside(unittest.TestCase):
    def test_environment(self):
        os.environ["USF_T"] = "program"
        c = usf.Context(env={"USF_T": "own", "HOME": None, "NUMBER": "1"})
        with c:
            self.assertEqual(os.environ["USF_T"], "own")
            self.assertIsNone(os.getenv("HOME"))
            self.assertNotIn("HOME", list(os.environ))
            os.environ["USF_T"] = "changed"
            os.environ["USF_NEW"] = "x"
            self.assertIn("USF_NEW", dict(os.environ))
            del os.environ["NUMBER"]
            with self.assertRaises(KeyError):
                del os.environ["NUMBER"]
        self.assertEqual((os.environ["USF_T"], c.getenv("USF_T"), c.getenv("NUMBER", 3)), ("program", "changed", 3))
        self.assertNotIn("USF_NEW", os.environ)
        self.assertIn("HOME", os.environ)

    def test_programs_get_the_environment(self):
        c = usf.Context(env={"USF_T2": "own"})
        out = c.run(subprocess.run, ["printenv", "USF_T2"], capture_output=True, check=False).stdout
        self.assertEqual((out, subprocess.run(["printenv", "USF_T2"], capture_output=True, check=False).stdout), (b"own\n", b""))

    def test_cpus(self):
        c = usf.Context(cpus=[CPU])
        self.assertEqual(c.cpus, [CPU])
        with c:
            self.assertEqual((os.cpu_count(), os.sched_getaffinity(0), os.sysconf("SC_NPROCESSORS_ONLN")), (1, {CPU}, 1))
        self.assertEqual(c.submit(os.sched_getaffinity, 0).result(WAIT), {CPU})
        with self.assertRaisesRegex(ValueError, "CPU"):
            usf.Context(cpus=[4000])
        with self.assertRaises(TypeError):
            usf.Context(cpus=3)

    def test_weight(self):
        for wrong in {"weight": 0}, {"weight": 10001}, {"priority": 1001}, {"priority": -1001}:
            with self.assertRaisesRegex(ValueError, next(iter(wrong))):
                usf.Context(**wrong)
        with self.assertRaises(TypeError):
            usf.Context(weight="much")
        c = usf.Context("heavy", cpus=[CPU], weight=250, priority=-3)
        if os.environ.get("TEST_IN_USF") == "1":
            ps = [os.environ["USF"], "ps", "-i", os.environ["USF_INSTANCE"], "--json"]
            shown = json.loads(subprocess.run(ps, capture_output=True, check=True).stdout)
            groups = {g["name"]: g for i in shown for q in i["processes"] if q["pid"] == os.getpid() for g in q["groups"]}
            g = groups["heavy"]
            self.assertEqual((g["weight"], g["priority"], g["own_cpus"], g["exclusive"]), (250, -3, str(CPU), False))
        c.close()

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
    def test_threads_follow_the_cpus(self):
        both = sorted(os.sched_getaffinity(0))[:2]
        c, go, began, seen = usf.Context(cpus=both), threading.Event(), threading.Semaphore(0), []

        def work(own):
            if own is not None:
                os.sched_setaffinity(0, {own})
            began.release()
            go.wait(WAIT)
            seen.append(os.sched_getaffinity(0))

        with c:
            threads = [threading.Thread(target=work, args=(own,)) for own in (None, both[0], both[1])]
            for t in threads:
                t.start()
                self.assertTrue(began.acquire(timeout=WAIT))
        masks = [usf._context_inside._sched_getaffinity(t.native_id) for t in threads]
        self.assertEqual(masks, [set(both), {both[0]}, {both[1]}])
        c.cpus = [both[1]]
        masks = [usf._context_inside._sched_getaffinity(t.native_id) for t in threads]
        self.assertEqual(masks, [{both[1]}] * 3)
        go.set()
        for t in threads:
            t.join(WAIT)
        self.assertEqual(seen, [{both[1]}] * 3)

    def test_memory(self):
        page = os.sysconf("SC_PAGESIZE")
        c, real = usf.Context(memory="64M"), os.sysconf("SC_PHYS_PAGES")
        with c:
            self.assertEqual((os.sysconf("SC_PHYS_PAGES") * page, os.sysconf(os.sysconf_names["SC_PHYS_PAGES"]) * page), (64 << 20, 64 << 20))
            self.assertLessEqual(os.sysconf("SC_AVPHYS_PAGES") * page, 64 << 20)
        self.assertEqual(os.sysconf("SC_PHYS_PAGES"), real)
        self.assertEqual(usf.Context(memory=1 << 60).run(os.sysconf, "SC_PHYS_PAGES"), real)
        self.assertEqual([usf._context._bytes_of(m) for m in (None, 1 << 20, "1048576", "1.5g", "2 GiB", "4TB")], [0, 1 << 20, 1 << 20, 3 << 29, 2 << 30, 4 << 40])
        for wrong in ("", "4X", "-1", "1K", 5, 0, -1):
            with self.assertRaisesRegex(ValueError, "memory"):
                usf.Context(memory=wrong)

    def test_threads_inherit(self):
        c, seen = usf.Context("threads"), []

        def see():
            seen.append(usf.current_context())

        with c:
            t = threading.Thread(target=lambda: (see(), threading.Thread(target=see).start()))
            t.start()
            with concurrent.futures.ThreadPoolExecutor(2) as e:
                self.assertIs(e.submit(usf.current_context).result(WAIT), c)
        t.join()
        t = threading.Thread(target=see)
        t.start()
        t.join()
        self.assertEqual(seen[-1], None)
        self.assertEqual(set(seen[:-1]), {c})

    def test_run_submit_and_decorators(self):
        c = usf.Context()
        self.assertIs(c.run(usf.current_context), c)
        self.assertIs(c.submit(usf.current_context).result(WAIT), c)
        with self.assertRaises(ZeroDivisionError):
            c.submit(lambda: 1 // 0).result(WAIT)

        @c
        def f(x):
            """doc"""
            return x, usf.current_context()

        self.assertEqual((f(1), f.__doc__), ((1, c), "doc"))
        with self.assertRaisesRegex(TypeError, "in pieces"):
            @c
            async def g():
                pass

    def test_nesting(self):
        a, b = usf.Context(), usf.Context()
        with a:
            with b, a:
                self.assertIs(usf.current_context(), a)
            self.assertIs(usf.current_context(), a)
        with self.assertRaises(ValueError), a:
            raise ValueError
        self.assertIsNone(usf.current_context())

    def test_leaving_in_the_wrong_order(self):
        a, b = usf.Context("first"), usf.Context()
        a.__enter__()
        b.__enter__()
        with self.assertRaisesRegex(RuntimeError, "first is not what this thread has entered last"):
            a.__exit__(None, None, None)
        b.__exit__(None, None, None)
        a.__exit__(None, None, None)

    def test_closing(self):
        c = usf.Context("c")
        c.close()
        c.close()
        with self.assertRaisesRegex(RuntimeError, "closed"), c:
            pass
        self.assertIn("closed", repr(c))

    def test_interleaved(self):
        """Of two generators that leave in the wrong order, the first is told; the second leaves both."""
        a, b = usf.Context(), usf.Context()

        def inside(context):
            with context:
                yield

        first, second = inside(a), inside(b)
        next(first)
        next(second)
        with self.assertRaisesRegex(RuntimeError, "opposite order"):
            first.close()
        self.assertIs(usf.current_context(), b)
        second.close()
        self.assertIsNone(usf.current_context())

    def test_vlc_names(self):
        a = usf.VLC()
        a.set_allowed_cpus([CPU])
        a.setenv("OMP_NUM_THREADS", "3")
        with a:
            self.assertEqual((os.environ["OMP_NUM_THREADS"], os.cpu_count()), ("3", 1))
        a.unsetenv("OMP_NUM_THREADS")
        self.assertIsNone(a.getenv("OMP_NUM_THREADS"))

    def test_fork_inside(self):
        c = usf.Context(env={"A": "1"})
        with c:
            pid = os.fork()
            if not pid:
                os._exit(0 if usf.current_context() is c and os.environ["A"] == "1" and c.submit(os.getenv, "A").result(WAIT) == "1" else 1)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)


    def test_executor(self):
        c = usf.Context()
        with c, usf.Executor(2) as e:
            self.assertIs(e.submit(usf.current_context).result(WAIT), c)


class Ends(unittest.TestCase):
    def check(self, text, out="", code=0):
        self.assertEqual(script(text), (code, out, ""))

    def test_with_live_contexts(self):
        self.check("import usf, atexit\nc = usf.Context()\natexit.register(lambda: print('end'))\nwith c:\n    import colorsys", "end\n")

    def test_inside(self):
        self.check("import usf, sys\nc = usf.Context()\nc.__enter__()\nprint('x')\nsys.exit(3)", "x\n", 3)

    def test_with_threads_inside(self):
        self.check("import usf, threading, time\nc = usf.Context()\nf = c.submit(time.sleep, 0.1)\n"
                   "with c:\n    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\nprint('x')", "x\n")

    def test_objects_are_finalised(self):
        """What a module of a context has written to a file is there at the end."""
        folder = tempfile.mkdtemp(prefix="usf-context-")
        self.addCleanup(shutil.rmtree, folder)
        write(folder, opens=f"import os\nf = open(os.path.join({folder!r}, 'out'), 'w')\nf.write('text')\ndef g():\n    pass\n")
        self.check(f"import usf\nwith usf.Context(path={folder!r}):\n    import opens")
        with open(os.path.join(folder, "out")) as f:
            self.assertEqual(f.read(), "text")

    def test_after_an_error_inside(self):
        code, out, err = script("import usf\nwith usf.Context():\n    1 / 0")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("ZeroDivisionError", err)


SOURCE = """
    #include <Python.h>
    static int number;
    static int api = 42;
    static PyObject *count(PyObject *s, PyObject *a) { return PyLong_FromLong(++number); }
    static PyObject *import(PyObject *s, PyObject *name) { return PyImport_ImportModule(PyUnicode_AsUTF8(name)); }
    static PyObject *import_object(PyObject *s, PyObject *name) { return PyImport_Import(name); }
    static PyObject *added(PyObject *s, PyObject *name) { return Py_NewRef(PyImport_AddModule(PyUnicode_AsUTF8(name))); }
    static PyObject *known(PyObject *s, PyObject *name) { PyObject *m = PyImport_GetModule(name); return m || PyErr_Occurred() ? m : Py_NewRef(Py_None); }
    static PyObject *in_dict(PyObject *s, PyObject *name) { return PyBool_FromLong(PyDict_Contains(PyImport_GetModuleDict(), name)); }
    static PyObject *builtins(PyObject *s, PyObject *a) { return Py_NewRef(PyEval_GetBuiltins()); }
    static PyObject *state(PyObject *s, PyObject *a) { return Py_NewRef(PyInterpreterState_GetDict(PyInterpreterState_Get())); }
    static PyObject *capsule(PyObject *s, PyObject *name)
    { void *p = PyCapsule_Import(PyUnicode_AsUTF8(name), 0); return p ? PyLong_FromVoidPtr(p) : 0; }
    static PyMethodDef methods[] = {{"count", count, METH_NOARGS, 0}, {"import_", import, METH_O, 0}, {"import_object", import_object, METH_O, 0},
        {"added", added, METH_O, 0}, {"known", known, METH_O, 0}, {"in_dict", in_dict, METH_O, 0}, {"builtins", builtins, METH_NOARGS, 0},
        {"state", state, METH_NOARGS, 0}, {"capsule", capsule, METH_O, 0}, {0}};
    static int fill(PyObject *m)
    { return PyModule_AddObject(m, "api", PyCapsule_New(&api, "NAME.api", 0)) || PyModule_AddObject(m, "address", PyLong_FromVoidPtr(&api)); }
"""
SINGLE = SOURCE + """
    static PyModuleDef def = {PyModuleDef_HEAD_INIT, "NAME", 0, -1, methods};
    PyMODINIT_FUNC PyInit_NAME(void) { PyObject *m = PyModule_Create(&def); if (m) fill(m); return m; }
"""
MULTI = SOURCE + """
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0}};
    static PyModuleDef def = {PyModuleDef_HEAD_INIT, "NAME", 0, 0, methods, slots};
    PyMODINIT_FUNC PyInit_NAME(void) { return PyModuleDef_Init(&def); }
"""


class Extensions(Folder):
    def check(self, name, text):
        path = compile_extension(self.folder, name, "#define Py_NewRef(x) (Py_XINCREF(x), (PyObject *)(x))\n".join(
            text.replace("NAME", name).partition("#include <Python.h>\n")[::2]).replace("#define", "#include <Python.h>\n#undef Py_NewRef\n#define", 1))
        if path is None:
            self.skipTest("without Python.h")
        write(self.folder, friend="")
        contexts = [usf.Context(n, path=[self.folder]) for n in "abc"]
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        modules = [c.run(importlib.import_module, name) for c in contexts] + [importlib.import_module(name)]
        self.assertEqual([m.count() for m in modules], [1] * 4)
        self.assertEqual(len({m.address for m in modules}), 4)
        for m, c in zip(modules, contexts):
            self.in_own_context(m, c, name)
        with contexts[1]:
            self.in_own_context(modules[0], contexts[0], name)
        self.assertNotIn("friend", sys.modules)
        self.assertIs(modules[3].import_("friend"), sys.modules["friend"])
        sys.modules.pop("friend"), sys.modules.pop(name)

    def in_own_context(self, m, c, name):
        self.assertEqual((m.__file__, m.__spec__.origin), (m.__spec__.origin, os.path.join(self.folder, os.path.basename(m.__file__))))
        friend = m.import_("friend")
        self.assertIs(friend, c.modules["friend"])
        self.assertIs(m.import_object("friend"), friend)
        self.assertIs(m.known("friend"), friend)
        self.assertIs(m.added("friend"), friend)
        self.assertTrue(m.in_dict("friend"))
        self.assertIs(m.import_("json"), importlib.import_module("json"))
        self.assertEqual(m.capsule(name + ".api"), m.address)
        self.assertIs(m.builtins(), c._builtins)
        self.assertIs(m.state(), c._state)
        self.assertIs(usf.context_of(m), c)
        with self.assertRaises(ImportError):
            m.import_("no_such_module_at_all")
        with self.assertRaises(AttributeError):
            m.capsule(name + ".nothing")

    def test_single_phase(self):
        self.check("usf_single", SINGLE)

    def test_multi_phase(self):
        self.check("usf_multi", MULTI)


def load_tests(loader, tests, pattern):
    for module in (usf._context, usf._context_view):
        tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    instance.main(100)
