#!/usr/bin/python3
# tests/gate/imports.py - code that runs inside programs calls nothing of libc's.  SPDX-License-Identifier: Apache-2.0
"""imports.py ARCHIVE-OR-FOLDER...: the objects that libusf.so is made of, without src/threads, which stands in for libc calls.

The program's libc and its dynamic linker may be in any state when the gate or the dynamic linker's notification calls us: inside malloc, in
the middle of a change to the list of objects, in the child of a fork."""
import os, shutil, subprocess, sys

ALLOWED = {
    '_GLOBAL_OFFSET_TABLE_': 'the static linker',
    '__ehdr_start': 'the static linker: our own beginning',
    '__popcountdi2': 'libgcc, linked statically',
    '_r_debug': 'data: the list of objects',
    'environ': 'data',
    'getauxval': 'what the kernel has told at the start, read at the start',
}
PREFIXES = ('Zydis', 'threads_', 'usf_threads_')        # linked statically; src/threads
AT_START = 'src_policy_loader.c.o'                      # loads a policy's object before the gate acts


def symbols(path, option):
    """(name, object)"""
    out = subprocess.run(['nm', '-A', option, path], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        where, rest = line.split(':')[-2:]
        yield rest.split()[-1], os.path.basename(where)


def main():
    if not shutil.which('nm'):
        print('no nm')
        return 77
    files = []
    for path in sys.argv[1:]:
        files += [os.path.join(path, f) for f in os.listdir(path) if f.endswith('.o')] if os.path.isdir(path) else [path]
    defined = {name for f in files for name, _ in symbols(f, '--defined-only')}
    bad = sorted({(name, where) for f in files for name, where in symbols(f, '--undefined-only')
                  if name not in defined and name not in ALLOWED and not name.startswith(PREFIXES) and where != AT_START})
    for name, where in bad:
        print('%s calls %s' % (where, name))
    print('%d files, %d names' % (len(files), len(defined)))
    return bool(bad) or len(defined) < 500


sys.exit(main())
