# tests/python/contexts.py - what the tests of usf.Context share.  SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import instance  # noqa: E402

WAIT = 60

if "--usf" in sys.argv[1:]:
    sys.argv.remove("--usf")
    if os.environ.get("TEST_IN_USF") != "1":
        name = "test-context-%d" % os.getpid()
        env = {**os.environ, "TEST_IN_USF": "1", "USF_MONITOR_LINGER": "0", "USF_INSTANCE": name}
        code = subprocess.run([os.environ["USF"], "run", "--", sys.executable, sys.argv[0], "--usf"], env=env, check=False).returncode
        subprocess.run([os.environ["USF"], "clean", "-i", name, "--force"], capture_output=True, check=False)
        sys.exit(code)


def script(text, **env):
    """What a program prints: its exit code, and both outputs."""
    p = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=WAIT, check=False, env={**os.environ, **env})
    return p.returncode, p.stdout, p.stderr


def program(folder, *argv, **env):
    """The same of a program that is started in the folder, with its arguments for Python."""
    p = subprocess.run([sys.executable, *argv], capture_output=True, text=True, timeout=WAIT, check=False, cwd=folder, env={**os.environ, **env})
    return p.returncode, p.stdout, p.stderr


def needs(*packages):
    """Skips a test, with the package that is missing."""
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    return unittest.skipIf(missing, f"without {', '.join(missing)}")


def write(folder, files=(), **more):
    """Modules of these names, or paths without `.py`."""
    for name, text in {**dict(files), **more}.items():
        path = pathlib.Path(folder, name + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def compile_extension(folder, name, text, suffix=".c", compiler=("cc",)):
    """An extension module; None where there is no Python.h."""
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        return None
    source = pathlib.Path(folder, name + suffix)
    source.write_text(textwrap.dedent(text))
    target = pathlib.Path(folder, name + sysconfig.get_config_var("EXT_SUFFIX"))
    command = [*compiler, "-shared", "-fPIC", "-O1", "-I", include, str(source), "-o", str(target)]
    p = subprocess.run(command, capture_output=True, text=True, check=False)
    if p.returncode:
        raise AssertionError(p.stderr)
    return target


class Folder(unittest.TestCase):
    """A folder that modules are imported from."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="usf-context-")
        self.addCleanup(shutil.rmtree, self.folder)

    def in_program(self):
        """The program imports from the folder as well; what it has imported is forgotten at the end."""
        before = set(sys.modules)
        sys.path.insert(0, self.folder)
        self.addCleanup(lambda: [sys.modules.pop(n) for n in set(sys.modules) - before if getattr(sys.modules[n], "__file__", None)
                                 and sys.modules[n].__file__.startswith(self.folder)])
        self.addCleanup(sys.path.remove, self.folder)
