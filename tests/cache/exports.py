#!/usr/bin/env python3
"""The version script names what the sources of the thread cache export, and nothing that the library does not have.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

text = re.sub(r"/\*.*?\*/", "", open(sys.argv[1]).read(), flags=re.S)
named = set(re.findall(r"(\w+);", text.split("global:")[1].split("local:")[0]))


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[2].split("@")[0] for line in lines.splitlines()}
    return {s for s in names if not s.startswith(("cache_test_", "_init", "_fini", "_edata", "_end", "__bss_start"))}


sources, library = map(exported, sys.argv[2:4])
for name in sorted(named - library):
    print(f"{name}: only in the version script")
for name in sorted(sources - named):
    print(f"{name}: only in the sources")
sys.exit(bool(named - library or sources - named))
