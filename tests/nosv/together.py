#!/usr/bin/python3
# tests/nosv/together.py - eight copies of each test at once.  SPDX-License-Identifier: Apache-2.0
"""usage: together.py PROGRAM..."""
import os
import subprocess
import sys

COPIES = 8


def run(program):
    """The copies end by themselves after a minute."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NOSV_", "USF_"))}
    copies = [subprocess.Popen([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL) for _ in range(COPIES)]
    outputs = [p.communicate()[0] for p in copies]
    bad = [(p.returncode, text) for p, text in zip(copies, outputs) if p.returncode not in (0, 77)]
    for code, text in bad:
        print("%s: %d\n%s" % (os.path.basename(program), code, text))
    return not bad


sys.exit(not all([run(program) for program in sys.argv[1:]]))
