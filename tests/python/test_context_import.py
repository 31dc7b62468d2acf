#!/usr/bin/python3
# tests/python/test_context_import.py - whose module is it?  SPDX-License-Identifier: Apache-2.0
import builtins
import gettext
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import os
import pkgutil
import runpy
import sys
import traceback
import unittest
from unittest import mock

from contexts import Folder, instance, script, write

import usf


class Parts(Folder):
    """A package of the program's that is called inside, and imports a part of itself only then."""

    def setUp(self):
        super().setUp()
        write(self.folder, {
            "lib/__init__": """
                import importlib
                import importlib.util
                def by_from():
                    from . import one
                    return one
                def by_name():
                    import lib.two
                    return lib.two
                def by_importlib():
                    return importlib.import_module(".three", __name__)
                def spec():
                    return importlib.util.find_spec("lib.one")
                def __getattr__(name):
                    if name != "four":
                        raise AttributeError(name)
                    return importlib.import_module("lib.four")
                def call(function):
                    return function()
                """,
            "lib/base": "", "dep": "",
            "app/__init__": "",
            "app/work": """
                def go(context):
                    with context:
                        from . import solver
                        return solver
                def job():
                    from . import tool
                    return tool
                """,
            "app/solver": "", "app/tool": "",
        })
        write(self.folder, {f"lib/{n}": "import dep\nfrom . import base" for n in ("one", "two", "three", "four")})
        self.in_program()
        self.context = usf.Context("parts", path=[self.folder])
        self.lib, self.work = importlib.import_module("lib"), importlib.import_module("app.work")

    def test_it_gets_its_own_part(self):
        with self.context:
            for ask in self.lib.by_from, self.lib.by_name, self.lib.by_importlib, lambda: self.lib.four:
                part = ask()
                self.assertIsNone(usf.context_of(part))
                self.assertIs(part, dict.get(sys.modules, part.__name__))
                self.assertIs(part.base, self.lib.base)
                self.assertIsNone(usf.context_of(part.dep))     # it was imported while the part was executed
            self.assertIsNotNone(self.lib.spec())
            self.assertIs(usf.current_context(), self.context)
        self.assertEqual(self.context.modules, {})

    def test_beside_a_private_copy(self):
        with self.context:
            import lib
            self.assertIsNot(lib, self.lib)
            for ask in "by_from", "by_name", "by_importlib":
                own, programs = getattr(lib, ask)(), getattr(self.lib, ask)()
                self.assertIs(usf.context_of(own), self.context)
                self.assertIsNone(usf.context_of(programs))
            self.assertIs(usf.context_of(lib.call(self.lib.by_from)), None)
            self.assertIs(usf.context_of(self.lib.call(lib.by_from)), self.context)
        self.assertIs(usf.context_of(lib.four), self.context)       # outside

    def test_what_enters_by_itself_gets_the_contexts(self):
        self.assertIs(usf.context_of(self.work.go(self.context)), self.context)
        self.assertIs(usf.context_of(self.context.run(self.work.job)), self.context)
        self.assertIs(usf.context_of(self.context.submit(self.work.job).result(60)), self.context)

    def test_python_m(self):
        write(self.folder, {"app/__main__": """
            import usf
            from . import work
            with usf.Context("m") as c:
                from . import solver
                print(usf.context_of(solver).name, usf.context_of(work.job()).name)
            """})
        self.assertEqual(script("import runpy; runpy.run_module('app', alter_sys=True, run_name='__main__')", PYTHONPATH=self.folder + os.pathsep +
                                os.environ["PYTHONPATH"]), (0, "m m\n", ""))


class Importlib(Folder):
    def setUp(self):
        super().setUp()
        write(self.folder, {
            "dep": "", "dep_late": "", "res/__init__": """
                import importlib.resources
                import importlib.util
                import pkgutil
                import runpy
                def by_resources():
                    return importlib.resources.files("res").joinpath("data.txt").read_text()
                def by_pkgutil():
                    return pkgutil.get_data("res", "data.txt").decode()
                def executed():
                    return runpy.run_module("prog")
                def load(path):
                    spec = importlib.util.spec_from_file_location("loose", path)
                    module = importlib.util.module_from_spec(spec)
                    spec.loader.exec_module(module)
                    return module
                """,
            "res/sub": "", "prog": "import dep\nimport usf\nowner = usf.context_of(dep)\ndef late():\n    import dep_late\n    return dep_late\n",
            "elsewhere/loose": "import dep\ndef late():\n    import dep_late\n    return dep_late\n"})
        info = os.path.join(self.folder, "thing-1.5.dist-info")
        os.mkdir(info)
        for path, text in ((os.path.join(self.folder, "res", "data.txt"), "text"), (os.path.join(info, "METADATA"), "Name: thing\nVersion: 1.5\n"),
                           (os.path.join(info, "entry_points.txt"), "[usf.test]\nmine = res.sub\n")):
            with open(path, "w") as f:
                f.write(text)
        self.context = usf.Context("importlib", path=[self.folder])
        with self.context:
            self.res = importlib.import_module("res")

    def check(self, module):
        self.assertIs(usf.context_of(module), self.context)
        self.assertIs(usf.context_of(module.dep), self.context)
        self.assertIs(usf.context_of(module.late()), self.context)

    def test_spec_from_file_location(self):
        path = os.path.join(self.folder, "elsewhere", "loose.py")
        self.check(self.res.load(path))
        with self.context:
            spec = importlib.util.spec_from_file_location("loose", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        self.check(module)

    def test_runpy(self):
        with self.context:
            inside = [runpy.run_module("prog"), runpy.run_path(os.path.join(self.folder, "prog.py"))]
        for values in *inside, self.res.executed():
            self.assertIs(values["owner"], self.context)
            self.assertIs(usf.context_of(values["late"]()), self.context)

    def test_resources(self):
        self.assertEqual((self.res.by_resources(), self.res.by_pkgutil()), ("text", "text"))
        with self.context:
            self.assertEqual(pkgutil.get_data("res", "data.txt"), b"text")
            self.assertLessEqual({"res", "dep"}, {m.name for m in pkgutil.iter_modules()})
            self.assertEqual(["res.sub"], [m.name for m in pkgutil.walk_packages(self.res.__path__, "res.")])
        self.assertNotIn("res", {m.name for m in pkgutil.iter_modules()})

    def test_metadata(self):
        with self.context:
            self.assertEqual(importlib.metadata.version("thing"), "1.5")
            points = importlib.metadata.entry_points()
            point, = points.select(group="usf.test") if hasattr(points, "select") else points["usf.test"]
            self.assertIs(usf.context_of(point.load()), self.context)
        with self.assertRaises(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version("thing")

    def test_tracebacks_have_no_frames_of_importlib(self):
        write(self.folder, fails="1 / 0")
        self.in_program()
        with self.assertRaises(ZeroDivisionError) as e:
            import fails  # noqa: F401
        self.assertNotIn("_context_import", "".join(traceback.format_tb(e.exception.__traceback__)))


class Builtins(Folder):
    def setUp(self):
        super().setUp()
        write(self.folder, uses="def name():\n    return usf_test_name\ndef text():\n    return _('text')\ndef opened():\n    return open('x')\n")
        self.context = usf.Context("builtins", path=[self.folder])
        with self.context:
            self.uses = importlib.import_module("uses")

    def test_what_is_set_later_is_seen(self):
        with self.assertRaises(NameError):
            self.uses.name()
        for value in 1, 2:
            builtins.usf_test_name = value
            self.assertEqual(self.uses.name(), value)
        del builtins.usf_test_name
        with self.assertRaises(NameError):
            self.uses.name()
        with mock.patch("builtins.open", lambda name: name + " mocked"):
            self.assertEqual(self.uses.opened(), "x mocked")

    def test_gettext(self):
        gettext.install("usf-test")
        self.addCleanup(delattr, builtins, "_")
        self.assertEqual(self.uses.text(), "text")

    def test_a_new_module_sees_all(self):
        vars(builtins)["usf_test_name"] = 3
        self.addCleanup(delattr, builtins, "usf_test_name")
        write(self.folder, more="")
        with self.context:
            importlib.import_module("more")
        self.assertEqual(self.uses.name(), 3)

    def test_imports_stay_private(self):
        with mock.patch("builtins.__import__", wraps=builtins.__import__) as seen:
            write(self.folder, importing="import uses")
            with self.context:
                importing = importlib.import_module("importing")
        self.assertIs(importing.uses, self.uses)
        self.assertIn("uses", [c.args[0] for c in seen.call_args_list])


if __name__ == "__main__":
    instance.main(100)
