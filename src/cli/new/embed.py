#!/usr/bin/python3
# src/cli/new/embed.py - files as C strings, for `usf policy new`.  SPDX-License-Identifier: Apache-2.0
"""usage: embed.py OUT FILE...    Writes OUT: const struct new_file new_files[], in the order of the files."""
import os
import sys

with open(sys.argv[1], "w", encoding="ascii") as out:
    out.write('#include "cli/new/files.h"\nconst struct new_file new_files[] = {\n')
    for path in sys.argv[2:]:
        with open(path, "rb") as f:
            lines = f.read().split(b"\n")
        out.write('    {"%s",\n' % os.path.basename(path))
        for i, line in enumerate(lines):
            text = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\?' else "\\%03o" % c for c in line)
            end = "\\n" if i + 1 < len(lines) else ""
            if text or end:
                out.write('     "%s%s"\n' % (text, end))
        out.write("    },\n")
    out.write("    {0},\n};\n")
