#!/usr/bin/python3
# tests/rust/test_sys.py - the crate's declarations are those of the C headers.  SPDX-License-Identifier: Apache-2.0
"""usage: test_sys.py SYS.RS INCLUDE-FOLDER
Each item of SYS.RS becomes a C declaration after the headers: the C compiler refuses one that differs."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SYS, INCLUDE = sys.argv[1:3]
del sys.argv[1:]
COMPILER = shutil.which("gcc") or shutil.which("cc")
PLAIN = {"u64": "uint64_t", "u32": "uint32_t", "usize": "size_t", "c_int": "int", "c_uint": "unsigned int", "c_char": "char", "c_void": "void"}


def c_type(rust):
    """Names that are no plain types are the same in C."""
    if rust.startswith("*mut "):
        return c_type(rust[5:]) + " *"
    if rust.startswith("*const "):
        return "const " + c_type(rust[7:]) + " *"
    return PLAIN.get(rust, {"nosv_task": "struct nosv_task", "nosv_task_type": "struct nosv_task_type"}.get(rust, rust))


def parameters(rust):
    return ", ".join(c_type(p.split(": ")[1]) for p in rust.split(", ") if p) or "void"


def translate(source):
    """The C text, and how many functions, constants and types there are."""
    out, count = ["#include <nosv.h>", "#include <nosv/affinity.h>", "#include <nosv/error.h>", "#include <nosv/hwinfo.h>"], [0, 0, 0]
    for name, args, result in re.findall(r"^    pub fn (\w+)\((.*)\)(?: -> (.+))?;$", source, re.M):
        out.append("%s %s(%s);" % (c_type(result) if result else "void", name, parameters(args)))
        count[0] += 1
    for name, kind, value in re.findall(r"^pub const (\w+): (\w+) = (.+);$", source, re.M):
        out.append("_Static_assert(%s == %s, \"value\");" % (name, value))
        out.append("_Static_assert(sizeof(%s) >= sizeof %s, \"size\");" % (c_type(kind), name))
        count[1] += 1
    for name, what in re.findall(r"^pub type (\w+) = (.+);$", source, re.M):
        callback = re.fullmatch(r"Option<unsafe extern \"C\" fn\((.*)\)(?: -> (.+))?>", what)
        text = "%s (*)(%s)" % (c_type(callback[2]) if callback[2] else "void", parameters(callback[1])) if callback else c_type(what)
        out.append("_Static_assert(_Generic((%s){0}, %s: 1, default: 0), \"type %s\");" % (name, text, name))
        count[2] += 1
    out.append("_Static_assert(sizeof(nosv_affinity_t) == 4 && _Alignof(nosv_affinity_t) == 4, \"affinity\");")
    return "\n".join(out) + "\n", count


def refused(text):
    p = subprocess.run([COMPILER, "-x", "c", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE, "-"],
                       input=text, capture_output=True, text=True, timeout=60)
    return p.stderr if p.returncode else ""


class Declarations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(SYS, encoding="utf-8") as f:
            cls.source = f.read()

    def test_all_are_looked_at(self):
        _, count = translate(self.source)
        self.assertEqual(count, [len(re.findall(r"\bpub %s " % what, self.source)) for what in ("fn", "const", "type")])
        self.assertEqual(set(re.findall(r"pub (?:enum|struct) (\w+)", self.source)), {"nosv_task", "nosv_task_type", "nosv_affinity_t"})

    def test_the_compiler_agrees(self):
        self.assertEqual(refused(translate(self.source)[0]), "")

    def test_the_compiler_would_not(self):
        """Each kind of difference is found."""
        for right, wrong in (("metadata_size: usize", "metadata_size: c_int"), ("nosv_init() -> c_int", "nosv_init() -> u64"),
                             ("DEADLINE_WAKE: nosv_flags_t = 16", "DEADLINE_WAKE: nosv_flags_t = 8"), ("nosv_flags_t = u64", "nosv_flags_t = u32"),
                             ("priority: c_int)", "priority: c_int, more: c_int)"), ("(task: nosv_task_t)>", "(task: nosv_task_t, more: c_int)>"),
                             ("label: *const c_char", "label: *mut c_char")):
            with self.subTest(wrong=wrong):
                self.assertIn(right, self.source)
                self.assertNotEqual(refused(translate(self.source.replace(right, wrong))[0]), "")

    def test_bits_of_an_affinity(self):
        body = """#include <string.h>
int main(void)
{
    for (uint32_t level = 0; level < 4; level++)
        for (uint32_t type = 0; type < 2; type++) {
            nosv_affinity_t a = nosv_affinity_get(0x1234567, (nosv_affinity_level_t)level, (nosv_affinity_type_t)type);
            uint32_t bits, expected = level | type << 2 | 0x1234567u << 3;
            memcpy(&bits, &a, 4);
            if (bits != expected) return 1;
        }
    return 0;
}
"""
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "affinity")
            subprocess.run([COMPILER, "-x", "c", "-I", INCLUDE, "-o", program, "-"], input=translate(self.source)[0] + body, text=True, check=True, timeout=60)
            self.assertEqual(subprocess.run([program], timeout=60).returncode, 0)


if not COMPILER:
    print("skipped: no C compiler")
    sys.exit(77)
unittest.main()
