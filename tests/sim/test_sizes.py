#!/usr/bin/python3
# tests/sim/test_sizes.py - what usf-sim and usf-sim-large share does not depend on how large a machine can be.  SPDX-License-Identifier: Apache-2.0
"""test_sizes.py BUILD ARGS SOURCE...

Compiles each SOURCE as BUILD/compile_commands.json says, with ARGS (of the large simulator, in one word) and without: the objects must be the
same.  One that is not belongs to the sized sources in sim/meson.build."""
import concurrent.futures
import filecmp
import json
import os
import shlex
import subprocess
import sys
import tempfile

build, large, sources = sys.argv[1], shlex.split(sys.argv[2]), {os.path.realpath(s) for s in sys.argv[3:]}
with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
    entries = [e for e in json.load(f) if "sim.p/" in e["output"] or "libusf-sim.a.p/" in e["output"]]
commands = {os.path.realpath(os.path.join(e["directory"], e["file"])): e for e in entries}


def words_of(entry):
    words = [w for w in shlex.split(entry["command"]) if w not in ("-MD", "-g")]
    for option in "-o", "-MQ", "-MF":
        at = words.index(option)
        del words[at:at + 2]
    return words


def is_same(source, folder):
    entry, objects = commands[source], []
    for args in [], large:
        objects.append(os.path.join(folder, "%s-%d.o" % (source.replace("/", "_"), len(objects))))
        subprocess.run(words_of(entry) + args + ["-O0", "-g0", "-o", objects[-1]], cwd=entry["directory"], check=True)
    return filecmp.cmp(*objects, shallow=False)


assert large and sources and sources <= set(commands), sources - set(commands)
with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    differ = [s for s, same in zip(sorted(sources), pool.map(lambda s: is_same(s, top), sorted(sources))) if not same]
print("%d sources compiled twice" % len(sources))
if differ:
    sys.exit("their code depends on the size: " + " ".join(differ))
