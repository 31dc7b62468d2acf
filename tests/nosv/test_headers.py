#!/usr/bin/python3
# tests/nosv/test_headers.py - the headers of the tasking API by themselves.  SPDX-License-Identifier: Apache-2.0
"""usage: test_headers.py INCLUDE-FOLDER MAN-FOLDER"""
import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import unittest

INCLUDE, MAN = sys.argv[1:3]
del sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = ["nosv.h"] + sorted(os.path.relpath(path, INCLUDE) for path in glob.glob(os.path.join(INCLUDE, "nosv/*.h")))
CXX_HEADERS = ["nosv.hpp"] + sorted(os.path.relpath(path, INCLUDE) for path in glob.glob(os.path.join(INCLUDE, "nosv/*.hpp")))
DIALECTS = [(compiler, language, standard) for compilers, language, standards in (
    (("gcc", "clang"), "c", ("c11", "c17")), (("g++", "clang++"), "c++", ("c++11", "c++17", "c++20")))
    for compiler in compilers if shutil.which(compiler) for standard in standards]


def compiled(compiler, language, standard, *options, text=None):
    p = subprocess.run([compiler, "-x", language, "-std=" + standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused", "-fsyntax-only", "-I", INCLUDE,
                        *options], input=text, capture_output=True, text=True, timeout=60)
    return p.stderr if p.returncode else ""


class Headers(unittest.TestCase):
    def test_each_alone_and_twice(self):
        self.assertEqual(len(HEADERS), 8)
        for (compiler, language, standard), header in itertools.product(DIALECTS, HEADERS):
            with self.subTest(compiler=compiler, standard=standard, header=header):
                self.assertEqual(compiled(compiler, language, standard, "-DHEADER=<%s>" % header, os.path.join(HERE, "headers.c")), "")

    def test_any_order(self):
        for (compiler, language, standard), back in itertools.product(DIALECTS, (False, True)):
            text = "".join("#include <%s>\n" % h for h in (reversed(HEADERS) if back else HEADERS)) + "int main(void) { return 0; }\n"
            with self.subTest(compiler=compiler, standard=standard, back=back):
                self.assertEqual(compiled(compiler, language, standard, "-", text=text), "")

    def test_cxx_headers(self):
        """Each alone and twice, all in each standard, without run-time types, and with all warnings that users may want."""
        self.assertEqual(len(CXX_HEADERS), 5)
        options = ["-fno-rtti", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast", "-Wnon-virtual-dtor"]
        cases = [("nosv.hpp", "c++17"), ("nosv.hpp", "c++2b")] + [(header, "c++20") for header in CXX_HEADERS]
        for compiler, (header, standard) in itertools.product([c for c in ("g++", "clang++") if shutil.which(c)], cases):
            with self.subTest(compiler=compiler, standard=standard, header=header):
                text = "#include <%s>\n#include <%s>\n#include <nosv/alpi.h>\nint main() { return 0; }\n" % (header, header)
                self.assertEqual(compiled(compiler, "c++", standard, *options, "-", text=text), "")
        if shutil.which("g++"):
            self.assertIn("needs C++17", compiled("g++", "c++", "c++14", "-", text="#include <nosv.hpp>\n"))

    def test_they_declare_what_the_library_exports(self):
        """Hidden visibility in the program does not hide the library's functions, and C++ does not mangle them."""
        functions = set()
        for header in HEADERS:
            with open(os.path.join(INCLUDE, header), encoding="ascii") as f:
                source = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
            functions |= set(re.findall(r"\b((?:nosv|alpi)_\w+)\([^;{}]*\);", source))
        functions -= {name for name in functions if name.endswith("_t")}
        self.assertEqual(len([f for f in functions if f.startswith("alpi_")]), 22)
        text = "".join("#include <%s>\n" % h for h in HEADERS) + "void *all[] = {%s};\n" % ", ".join("(void *)" + f for f in sorted(functions))
        for compiler, language in (("gcc", "c"), ("g++", "c++")):
            if not shutil.which(compiler):
                continue
            p = subprocess.run([compiler, "-x", language, "-fvisibility=hidden", "-fPIC", "-S", "-o", "-", "-I", INCLUDE, "-"], input=text, capture_output=True,
                               text=True, timeout=60)
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertEqual(functions, set(re.findall(r"\.quad\s+((?:nosv|alpi)_\w+)$", p.stdout, re.M)))
            self.assertNotIn(".hidden\tnosv", p.stdout)
        library = os.environ.get("LIBNOSV")
        if library:
            names = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True, timeout=60).stdout
            exported = set(re.findall(r"\b[TW] ((?:nosv|alpi)_\w+)$", names, re.M))
            self.assertEqual(functions, exported)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "no man")
    def test_pages(self):
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANROFFOPT": "", "MANWIDTH": "100"}
        pages = glob.glob(os.path.join(MAN, "*.3"))
        self.assertGreater(len(pages), 100)
        for page in pages:
            with open(page, encoding="ascii") as f:
                text = f.read()
            if text.startswith(".so man3/"):
                self.assertTrue(os.path.exists(os.path.join(MAN, text[9:].strip())), page)
                continue
            p = subprocess.run(["man", "--warnings", "-l", page], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((p.returncode, p.stderr), (0, ""), page)
            self.assertIn("DESCRIPTION", p.stdout)


unittest.main()
