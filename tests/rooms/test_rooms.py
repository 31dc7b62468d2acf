#!/usr/bin/python3
# tests/rooms/test_rooms.py - each #include agrees with the map of rooms.  SPDX-License-Identifier: Apache-2.0
"""The map is the block in section 1 of docs/design.md.  A room begins with its path and what it is; an arrow names the rooms that it
includes, without src/; `private:` names headers that no other room includes, as it includes no other room's internal.h; `also:` names
files, without src/, that lie elsewhere and belong to the room.  src/arch/PROCESSOR/ROOM belongs to src/ROOM."""
import os
import re
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TREES = ("include", "sim", "src")
SOURCE = (".c", ".h", ".S")
MACHINE_PART = re.compile(r"^src/arch/[^/]+/(?=[^/]+/)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)


class Map:
    """What each room includes, in the map's order; and the private headers."""

    def __init__(self, text):
        self.rooms, self.private, self.also = {}, set(), {}
        room = None
        for line in text.splitlines():
            word, *rest = line.split()
            if word == "→":
                self.rooms[room] += rest
            elif word == "private:":
                self.private |= {os.path.join(room, name) for name in rest}
            elif word == "also:":
                self.also.update({"src/" + name: room for name in rest})
            elif not line.startswith(" "):
                room = word
                self.rooms[room] = []

    def room_of(self, path):
        """The innermost room that the file is in; a header may be one by itself."""
        if path in self.also:
            return self.also[path]
        path = MACHINE_PART.sub("src/", path)
        while path and path not in self.rooms:
            path = os.path.dirname(path)
        return path or None

    def path_of(self, name):
        return name if name in self.rooms else "src/" + name


def sources(root):
    for tree in TREES:
        for folder, _, names in os.walk(os.path.join(root, tree)):
            for name in names:
                if name.endswith(SOURCE):
                    yield os.path.relpath(os.path.join(folder, name), root)


def included(root, path):
    """The files of the project that a file includes, and those that are quoted and not there."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    for quoted, name in INCLUDE.findall(text):
        folders = ([os.path.dirname(path), "", "src"] if quoted else []) + ["include"]
        places = [os.path.normpath(os.path.join(folder, quoted or name)) for folder in folders]
        there = [p for p in places if os.path.isfile(os.path.join(root, p))]
        if there:
            yield there[0], True
        elif quoted:
            yield quoted, False


def faults(root, text):
    """Sentences about all that disagrees."""
    rooms = Map(text)
    order = list(rooms.rooms)
    found, used, inhabited = [], set(), set()
    for path in sorted(sources(root)):
        room = rooms.room_of(path)
        inhabited.add(room)
        if not room:
            found.append(f"{path} is in no room of the map")
            continue
        for header, is_there in included(root, path):
            other = rooms.room_of(header) if is_there else None
            if not is_there:
                found.append(f"{path} includes {header}, which is not there")
            elif other and other != room:
                used.add((room, other))
                if other not in map(rooms.path_of, rooms.rooms[room]):
                    found.append(f"{path} includes {header}, and the map has no arrow {room} → {other}")
                if header in rooms.private or os.path.basename(header) == "internal.h":
                    found.append(f"{path} includes {header}, which is private to {other}")
    for room, names in rooms.rooms.items():
        if room not in inhabited:
            found.append(f"{room} has no files")
        for name in names:
            other = rooms.path_of(name)
            if other not in rooms.rooms:
                found.append(f"{room} → {name}: there is no such room in the map")
            elif order.index(other) <= order.index(room):
                found.append(f"{room} → {name} points up: the map has a cycle, or is out of order")
            elif (room, other) not in used:
                found.append(f"{room} → {name}: nothing there includes it")
    return found


def design():
    with open(os.path.join(ROOT, "docs/design.md"), encoding="utf-8") as f:
        return re.search(r"^## 1\. Rooms$.*?^```\n(.*?)^```$", f.read(), re.M | re.S)[1]


class Project(unittest.TestCase):
    maxDiff = None

    def test_map(self):
        self.assertEqual("\n".join(faults(ROOT, design())), "")


class Finds(unittest.TestCase):
    """Each kind of fault is found, in a small tree."""
    FILES = {"src/top/a.c": '#include "low/low.h"\n#include <stdio.h>\n', "src/low/low.h": "#include <usf/x.h>\n",
             "src/low/hidden.h": "", "include/usf/x.h": ""}
    MAP = "src/top  above\n         → low\nsrc/low  below\n         → include\n         private: hidden.h\ninclude  public\n"

    def faults(self, text=MAP, **more):
        with tempfile.TemporaryDirectory() as root:
            for path, content in {**self.FILES, **more.get("files", {})}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(content)
            return faults(root, text)

    def check(self, words, text=MAP, files=()):
        found = self.faults(text, files=dict(files))
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_sound(self):
        self.assertEqual(self.faults(), [])

    def test_no_arrow(self):
        self.check("the map has no arrow src/top → include", files={"src/top/b.c": '#include "usf/x.h"\n'})

    def test_relative(self):
        self.check("the map has no arrow src/top → include", files={"src/top/b.c": '  #  include "../../include/usf/x.h"\n'})

    def test_unused(self):
        self.check("src/top → include: nothing there includes it", self.MAP.replace("→ low", "→ low include"))

    def test_up(self):
        self.check("src/low → top points up", self.MAP.replace("→ include", "→ include top"), {"src/low/b.c": '#include "top/top.h"\n',
                                                                                         "src/top/top.h": ""})

    def test_private(self):
        self.check("is private to src/low", files={"src/top/b.c": '#include "low/hidden.h"\n'})
        self.check("is private to src/low", files={"src/top/b.c": '#include "low/internal.h"\n', "src/low/internal.h": ""})

    def test_no_room(self):
        self.check("sim/new/a.c is in no room", files={"sim/new/a.c": ""})
        self.check("src/gone has no files", self.MAP + "src/gone  nothing\n")
        self.check("no such room", self.MAP.replace("→ low", "→ low lower"))

    def test_missing(self):
        self.check("which is not there", files={"src/top/b.c": '#include "low/gone.h"\n'})

    def test_machine_part(self):
        part = {"src/arch/cpu/low/a.c": '#include "low/internal.h"\n#include "arch/arch.h"\n', "src/low/internal.h": "", "src/arch/arch.h": "",
                "src/arch/cpu/b.c": ""}
        self.check("the map has no arrow src/low → src/arch", self.MAP.replace("include  public", "src/arch  processors\ninclude  public"), part)

    def test_header_alone(self):
        text = self.MAP.replace("src/low  below", "src/low/low.h  one header\n         → include\nsrc/low  below").replace("→ low\n", "→ low/low.h\n")
        self.check("src/low → include: nothing there", text)


if __name__ == "__main__":
    unittest.main()
