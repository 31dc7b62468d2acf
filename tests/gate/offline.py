#!/usr/bin/python3
# tests/gate/offline.py - the scanner against an independent disassembler.  SPDX-License-Identifier: Apache-2.0
"""offline.py SCAN_FILE local | debian

Each site that the scanner reports must be a syscall instruction for objdump, each of objdump's must be
reported, all must be patchable (signal returns excepted), and no window may cross an instruction, hold
control flow, or be entered by a branch that objdump shows.

local: libc, the dynamic linker and libgomp of this machine.
debian: every glibc and libgomp that Debian's suites offer, downloaded; skipped (77) if they cannot be had.
"""
import glob, os, re, shutil, subprocess, sys, tempfile

BRANCH = re.compile(r'^(?:bnd |notrack )?(j\w+|call|loop\w*|xbegin)\s+([0-9a-f]+)')
FLOW = re.compile(r'^(?:bnd |notrack |repz )*(j\w+|call|ret|loop\w*|syscall|int3?|ud2|hlt)\b')


def disassemble(path):
    """{address: text}, {branch targets} and {address: next address}."""
    out = subprocess.run(['objdump', '-dw', '--no-show-raw-insn', path], capture_output=True, text=True, check=True).stdout
    insns, targets = {}, set()
    for line in out.splitlines():
        m = re.match(r'^\s+([0-9a-f]+):\s+(.*)$', line)
        if not m:
            continue
        at, text = int(m[1], 16), m[2].split('#')[0].strip()
        insns[at] = text
        b = BRANCH.match(text)
        if b:
            targets.add(int(b[2], 16))
    return insns, targets


def check(scan, path):
    insns, targets = disassemble(path)
    want = {a for a, t in insns.items() if t == 'syscall'}
    out = subprocess.run([scan, path], capture_output=True, text=True)
    problems, seen, left, cancel = [], set(), [], []
    if out.returncode:
        return ['scanner failed: ' + out.stderr.strip()]
    windows = []
    for line in out.stdout.splitlines():
        at, cls, start, length, *why = line.split(None, 4)
        at, start, length = int(at, 16), int(start, 16), int(length)
        if cls == 'cancel':
            cancel.append(at)
            if not insns.get(at, '').startswith('call'):
                problems.append(f'{at:x}: cancellation call is no call')
            continue
        seen.add(at)
        if cls == 'left':
            left.append((at, why[0] if why else ''))
            continue
        end = start + length
        windows.append((start, end))
        inside = [a for a in range(start, end) if a in insns]
        if length < 5 or start not in insns or end not in insns and end - 1 not in insns and not inside:
            problems.append(f'{at:x}: window {start:x}+{length} is not made of instructions')
        if any(FLOW.match(insns[a]) and a != at for a in inside):
            problems.append(f'{at:x}: control flow in the window')
        if any(start < t < end for t in targets):
            problems.append(f'{at:x}: a branch leads into the window')
    windows.sort()
    problems += [f'windows overlap at {b[0]:x}' for a, b in zip(windows, windows[1:]) if a[1] > b[0]]
    problems += [f'{a:x}: no such instruction for objdump' for a in seen - want]
    missed = want - seen
    if cancel:      # the one in the cancellation window itself is reached through the call
        if len(missed) != 1:
            problems.append(f'{len(missed)} sites missed beside the cancellation window')
    else:
        problems += [f'{a:x}: missed' for a in missed]
    problems += [f'{a:x}: left: {why}' for a, why in left if 'signal' not in why]
    name = os.path.basename(path)
    print(f'{name}: {len(seen)} sites, {len(left)} left, {len(cancel)} cancellation calls, {len(problems)} problems')
    return problems


def local():
    return [p for p in ('/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2',
                        '/usr/lib/x86_64-linux-gnu/libgomp.so.1') if os.path.exists(p)]


def debian(tmp):
    """Downloads with a state of its own: nothing of the machine's package manager changes."""
    for d in ('lists/partial', 'cache/archives/partial', 'debs'):
        os.makedirs(f'{tmp}/{d}')
    suites = 'bullseye', 'bookworm', 'bookworm-backports', 'trixie', 'sid'
    open(f'{tmp}/sources.list', 'w').writelines(f'deb http://deb.debian.org/debian {s} main\n' for s in suites)
    open(f'{tmp}/apt.conf', 'w').write(
        f'Dir::Etc::SourceList "{tmp}/sources.list";\nDir::Etc::SourceParts "/dev/null";\nDir::State::Lists "{tmp}/lists";\n'
        f'Dir::Cache "{tmp}/cache";\nAPT::Sandbox::User "";\nAcquire::Languages "none";\n'
        'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";\n')
    env = dict(os.environ, APT_CONFIG=f'{tmp}/apt.conf')
    if not shutil.which('apt-get') or subprocess.run(['apt-get', '-qq', 'update'], env=env, timeout=300).returncode > 100:
        return []
    table = subprocess.run(['apt-cache', 'madison', 'libc6', 'libgomp1'], env=env, capture_output=True, text=True).stdout
    wanted = sorted({f'{a[0].strip()}={a[1].strip()}' for a in (l.split('|') for l in table.splitlines()) if len(a) == 3})
    subprocess.run(['apt-get', '-qq', 'download'] + wanted, env=env, cwd=f'{tmp}/debs', timeout=300)
    found = []
    for deb in sorted(glob.glob(f'{tmp}/debs/*.deb')):
        out = deb[:-4]
        subprocess.run(['dpkg', '-x', deb, out], check=True)
        for p in glob.glob(f'{out}/**/*', recursive=True):
            if re.search(r'/(libc[.-]|ld-|libgomp|libpthread-)[^/]*so', p) and not os.path.islink(p) and os.path.isfile(p):
                if open(p, 'rb').read(4) == b'\x7fELF':
                    found.append(p)
    print('\n'.join(wanted))
    return found


def main():
    scan, which = sys.argv[1:3]
    if not shutil.which('objdump'):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp:
        files = local() if which == 'local' else debian(tmp)
        if not files:
            print('no files to be had')
            sys.exit(77)
        bad = 0
        for path in files:
            for p in check(scan, path):
                print(f'  {path}: {p}')
                bad += 1
    sys.exit(bad != 0)


main()
