#!/usr/bin/env python3
"""The version script of the thread cache names what the sources export, no more and no less.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

text = re.sub(r"/\*.*?\*/", "", open(sys.argv[1]).read(), flags=re.S)
named = set(re.findall(r"(\w+);", text.split("global:")[1].split("local:")[0]))
lines = subprocess.run(["nm", "-D", "--defined-only", sys.argv[2]], capture_output=True, text=True, check=True).stdout
exported = {l.split()[2].split("@")[0] for l in lines.splitlines()}
exported -= {s for s in exported if s.startswith(("cache_test_", "_init", "_fini", "_edata", "_end", "__bss_start"))}
for name in sorted(named ^ exported):
    print(f"{name}: only in the {'version script' if name in named else 'sources'}")
sys.exit(bool(named ^ exported))
