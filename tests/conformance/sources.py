# tests/conformance/sources.py - upstream's tests, from Debian's source packages.
# SPDX-License-Identifier: Apache-2.0
"""Fetched by apt, which checks the signature of the archive and the checksums of what it downloads, into
the cache folder; nothing of it comes into this tree."""
import shutil
import subprocess
import sys
import pathlib
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'apps'))
import build  # noqa: E402

APT_LINE = 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n'
APT = build.CACHE / 'apt'
lock = threading.Lock()


def apt(command, folder):
    """apt-get with lists of its own: the machine's sources need not name deb-src.  '' or why not."""
    options = ['-o', f'Dir::Etc::sourcelist={APT}/sources.list', '-o', 'Dir::Etc::sourceparts=/dev/null', '-o',
               f'Dir::State::lists={APT}/lists', '-o', f'Dir::Cache={APT}/cache', '-o', 'APT::Sandbox::User=root', '-q']
    r = subprocess.run(['apt-get'] + options + command, cwd=folder, capture_output=True, text=True)
    return '' if r.returncode == 0 else (r.stderr.strip() or 'no message').splitlines()[-1]


def source(package, folder, *options):
    """`apt-get source` into the folder; '' or why not."""
    if not shutil.which('apt-get') or not shutil.which('dpkg-source'):
        return 'apt-get source does not work here'
    with lock:
        for part in ('lists/partial', 'cache/archives/partial'):
            (APT / part).mkdir(parents=True, exist_ok=True)
        (APT / 'sources.list').write_text(APT_LINE)
        folder.mkdir(parents=True, exist_ok=True)
        why = apt(['update'], folder) or apt([*options, 'source', package], folder)
    return f'source package {package} not to be had: {why}' if why else ''


def unpack(command, folder):
    """A pipe of tar commands that takes a part out of the upstream archive; '' or why not."""
    r = subprocess.run(['/bin/bash', '-o', 'pipefail', '-c', command], cwd=folder, capture_output=True, text=True)
    return '' if r.returncode == 0 else 'cannot unpack: ' + (r.stderr.strip() or 'no message').splitlines()[-1]


def has_part(folder, command):
    """Has this very command unpacked it?"""
    mark = folder / 'complete'
    return mark.exists() and mark.read_text() == command


def part_of(package, folder, command):
    """Once: what `command` unpacks of the upstream archive, which is deleted then; '' or why not."""
    if has_part(folder, command):
        return ''
    shutil.rmtree(folder, ignore_errors=True)
    why = source(package, folder, '--download-only', '--tar-only') or unpack(command, folder)
    if why:
        return why
    for archive in folder.glob('*.orig.tar.*'):
        archive.unlink()
    (folder / 'complete').write_text(command)
    return ''
