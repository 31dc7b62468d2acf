#!/usr/bin/python3
# tests/state/code.py - the preloaded library has no vector or floating-point instructions.  SPDX-License-Identifier: Apache-2.0
"""Usage: code.py LIBRARY.  The gate, the stubs and the signals' entry save general registers alone: what they call must not use others."""
import collections
import re
import shutil
import subprocess
import sys

# Those save, or set, just these registers.
ALLOWED = {"usf_arch_switch", "teams_entry", "fresh_capture", "fresh_apply"}
OTHER = re.compile(r"%(?:[xyz]?mm\d|tmm\d|k[0-7]\b|st\b)"
                   r"|^ *[0-9a-f]+:\s+(?:f(?!s\b)\w+|emms|vzero\w+|v?(?:ld|st)mxcsr|x(?:save|rstor)\w*)\b")

if not shutil.which("objdump"):
    print("objdump is not installed")
    sys.exit(77)
listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", sys.argv[1]], capture_output=True, text=True, check=True).stdout
used, name, seen = collections.Counter(), "", 0
for line in listing.splitlines():
    if m := re.match(r"[0-9a-f]+ <(.*)>:", line):
        name = m[1].split(".")[0]
        seen += 1
    elif OTHER.search(line.split("#")[0]):
        used[name] += 1
assert seen > 500 and used["teams_entry"], "the listing is not understood"
for name in sorted(used.keys() - ALLOWED):
    print(f"{name}: {used[name]} instructions with vector or floating-point registers")
sys.exit(bool(used.keys() - ALLOWED))
