#!/usr/bin/python3
# tests/rooms/test_processor.py - only src/arch knows the processor.  SPDX-License-Identifier: Apache-2.0
"""Registers, instructions and what reads them are in src/arch alone, so that another processor is a folder more."""
import os
import re
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TREES = ("src", "sim")
OURS = os.path.join("src", "arch")

KNOWLEDGE = {
    "a register": r"\bREG_[RE][A-Z0-9]+\b|\bREG_CSGSFS\b|\bgregs\b|\bfpregs\b|(?:->|\.)r(?:ax|bx|cx|dx|si|di|sp|bp|8|9|1[0-5])\b",
    # An empty one tells the compiler something, of any processor.
    "an instruction": r'\b(?:__asm__|__asm|asm)\s*(?:volatile\s*)?\((?!\s*"")',
    "a built-in function": r"\b__builtin_ia32_\w+|\b_mm\d*_\w+|\b__rdtscp?\b",
    "a header": r"\b(?:x86intrin|cpuid|\w*mmintrin|asm/prctl|sys/platform/x86)\.h\b|\barch/x86_64/",
    "the decoder": r"\bZydis",
    "a number of ELF's": r"\bEM_X86_64\b|\bR_X86_64_\w+",
    "a level of the processor": r"\bx86-64-v\d\b",
}
EXCEPTIONS = {
    '__asm__("__restore_rt")': "the name of a symbol",
    "__asm__(mangled)": "the name of a symbol",
    '#include "arch/x86_64/spin/machine.h"': "src/spin/machine.h picks the folder, as the headers of src/arch do",
    'case EM_X86_64: return "x86-64"': "inspect names every processor",
}


def faults(root):
    for tree in TREES:
        for folder, _, names in os.walk(os.path.join(root, tree)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), root)
                if path.startswith(OURS + os.sep):
                    continue
                if name.endswith(".S"):
                    yield f"{path}: assembly"
                if not name.endswith((".c", ".h")):
                    continue
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    text = f.read()
                for exception in EXCEPTIONS:
                    text = text.replace(exception, "")
                for what, pattern in KNOWLEDGE.items():
                    for found in re.finditer(pattern, text):
                        yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {what}: {found[0]}"


class Project(unittest.TestCase):
    maxDiff = None

    def test_project(self):
        self.assertEqual("\n".join(sorted(faults(ROOT))), "")

    def test_exceptions_are_needed(self):
        texts = []
        for tree in TREES:
            for folder, _, names in os.walk(os.path.join(ROOT, tree)):
                for name in names:
                    if name.endswith((".c", ".h")):
                        with open(os.path.join(folder, name), encoding="utf-8") as f:
                            texts.append(f.read())
        for exception in EXCEPTIONS:
            self.assertTrue(any(exception in text for text in texts), exception)


class Finds(unittest.TestCase):
    def found(self, text, path="src/a/a.c"):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
            return list(faults(root))

    def test_each(self):
        for text in ("uc->uc_mcontext.gregs[0]", "x[REG_RIP]", "f->rdi", "s.call.r10", '__asm__("mov %%fs:0, %0" : "=r"(x));',
                     '__asm__ volatile(\n    "syscall")', "__builtin_ia32_pause();", "#include <cpuid.h>", "#include <immintrin.h>",
                     "#include <sys/platform/x86.h>", "x86-64-v3", '#include "arch/x86_64/cpu.h"',
                     "ZydisDecoder d;", "EM_X86_64", "R_X86_64_RELATIVE", "_mm_getcsr()"):
            self.assertEqual(len(self.found(text)), 1, text)
        self.assertEqual(self.found("\n\n__builtin_ia32_rdtsc()"), ["src/a/a.c:3: a built-in function: __builtin_ia32_rdtsc"])
        self.assertEqual(self.found("", "sim/switch.S"), ["sim/switch.S: assembly"])

    def test_sound(self):
        self.assertEqual(self.found("f->arg[0]; f->nr; x.r100;"), [])
        self.assertEqual(self.found('__asm__ volatile("" ::: "memory");'), [])
        self.assertEqual(self.found("REG_RIP", "src/arch/cpu/a.c"), [])


if __name__ == "__main__":
    unittest.main()
