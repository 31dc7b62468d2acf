#!/usr/bin/python3
# tests/rooms/test_imports.py LIBRARY ARCHIVE... - what the preloaded library uses of other libraries is in imports.txt.
# SPDX-License-Identifier: Apache-2.0
"""A name that an object uses belongs here if the dynamic linker resolves it: another library has it, or this one exports it, so that
another definition may come first.  The objects are those of the library and of the archives that it consists of."""
import glob
import os
import re
import subprocess
import sys
import unittest

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "imports.txt")
TARGETS = sys.argv[1:]


class Group:
    def __init__(self, sources):
        self.sources, self.why, self.names, self.optional = sources, "", set(), set()

    def has(self, source):
        """Does the group speak of this file?  A name that ends in a slash stands for a folder."""
        return any(source == s or s.endswith("/") and source.startswith(s) for s in self.sources)


def read_list(text):
    groups = []
    for line in text[text.index("\n[") + 1:].splitlines():
        if line.startswith("["):
            groups.append(Group(line.strip("[]").split()))
        elif line.startswith("#"):
            groups[-1].why += line[1:]
        else:
            groups[-1].names |= {name.rstrip("?") for name in line.split()}
            groups[-1].optional |= {name.rstrip("?") for name in line.split() if name.endswith("?")}
    return groups


def faults(groups, uses):
    """Sentences about all that disagrees.  uses: pairs of a source file and a name."""
    found = [f"{source} uses {name}" for source, name in sorted(uses)
             if not any(g.has(source) and name in g.names for g in groups)]
    for g in groups:
        used = {name for source, name in uses if g.has(source)}
        found += [f"{' '.join(g.sources)}: {name} is not used" for name in sorted(g.names - g.optional - used)]
        found += [f"{' '.join(g.sources)}: no reason is given"] if not g.why.strip() else []
    return found


def nm(*args):
    """Pairs of an object's path and a name, without its version."""
    text = subprocess.run(["nm", "-A", *args], check=True, capture_output=True, text=True).stdout
    return {(line.rpartition(":")[0], line.split()[-1].partition("@")[0]) for line in text.splitlines()}


def source_of(path, sources):
    """Of the object's path below the build folder, in which meson replaces slashes: src/os/libx.a.p/.._src_os_time.c.o"""
    flat = re.sub(r"[^/]*\.p/", "", path).removesuffix(".o").replace("/", "_").replace(".._", "")
    return next((s for s in sources if s.replace("/", "_") == flat), flat)


def uses_of(targets):
    library = targets[0]
    root = os.path.dirname(library)
    tree = os.path.join(os.path.dirname(LIST), "../../src")
    sources = [os.path.relpath(os.path.join(folder, name), os.path.join(tree, ".."))
               for folder, _, names in os.walk(tree) for name in names]
    imported = {name for _, name in nm("-D", "--undefined-only", library)}
    exported = {name for _, name in nm("-D", "--defined-only", library)}
    uses = set()
    for target in targets:
        objects = glob.glob(glob.escape(target) + ".p/*.o")
        assert objects, target
        uses |= {(source_of(os.path.relpath(path, root), sources), name) for path, name in nm("-u", *objects)
                 if name in imported | exported}
    # What no object asks for: startup files, static parts of libc, and calls from the object that exports the function.
    text = subprocess.run(["readelf", "-rW", library], check=True, capture_output=True, text=True).stdout
    bound = {m[1] for m in re.finditer(r"R_X86_64_(?:JUMP_SLOT|GLOB_DAT|64)\s+[0-9a-f]+ (\w+)", text)}
    own = {(source_of(os.path.relpath(path, root), sources), name) for target in targets
           for path, name in nm("--defined-only", *glob.glob(glob.escape(target) + ".p/*.o")) if name in exported & bound}
    known = {name for _, name in uses}
    return uses | own | {("toolchain", name) for name in imported - known}


class Library(unittest.TestCase):
    maxDiff = None

    def test_list(self):
        with open(LIST, encoding="utf-8") as f:
            self.assertEqual("\n".join(faults(read_list(f.read()), uses_of(TARGETS))), "")


class Finds(unittest.TestCase):
    LIST = read_list("head\n[src/a/]\n# why\nopen close?\n[src/b/c.c]\n# why\nread\n")
    USES = {("src/a/x.c", "open"), ("src/b/c.c", "read")}

    def test_sound(self):
        self.assertEqual(faults(self.LIST, self.USES), [])
        self.assertEqual(faults(self.LIST, self.USES | {("src/a/y.c", "close")}), [])

    def test_unlisted(self):
        for use in (("src/a/x.c", "write"), ("src/ab/x.c", "open"), ("src/b/d.c", "read"), ("toolchain", "read")):
            self.assertEqual(faults(self.LIST, self.USES | {use}), [" uses ".join(use)])

    def test_unused(self):
        self.assertEqual(faults(self.LIST, {("src/a/x.c", "open")}), ["src/b/c.c: read is not used"])

    def test_no_reason(self):
        self.assertEqual(faults(read_list("head\n[src/a/]\nopen\n"), {("src/a/x.c", "open")}), ["src/a/: no reason is given"])

    def test_objects(self):
        sources = ["src/os/time.c", "src/threads/syscall.S"]
        self.assertEqual(source_of("libusf-core.a.p/src_os_time.c.o", sources), "src/os/time.c")
        self.assertEqual(source_of("src/threads/libusf-threads.a.p/syscall.S.o", sources), "src/threads/syscall.S")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
