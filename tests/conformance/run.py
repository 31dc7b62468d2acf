#!/usr/bin/python3
# tests/conformance/run.py - test suites of others, bare and under usf: same results?
# SPDX-License-Identifier: Apache-2.0
"""Runs CPython's tests and posixtestsuite's pthread and sem tests, each bare and under usf.  A test
that passes bare must pass under usf; one that does not pass bare is left out.  Nothing is retried.

  USF=build/usf tests/conformance/run.py [--fast] [-j N] [-k PATTERN] [--only python|posix]

Bare results are kept per package version and kernel in the cache folder (tests/apps/build.py says
where); --fresh runs them anew.  Without USF there is only the bare run."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import posixsuite  # noqa: E402
import pythons  # noqa: E402

CACHE = posixsuite.build.CACHE / 'conformance'
GOOD = {'passed', 'PASS'}
NEUTRAL = {'skipped', 'UNSUPPORTED', 'UNTESTED'}
FAST_SECONDS = 1.5  # a posix test that takes longer bare is left out of the fast subset


def version_key(suite):
    if suite == 'posix':
        text = posixsuite.version()
    else:
        text = subprocess.run(['dpkg-query', '-W'] + pythons.PACKAGES, capture_output=True, text=True).stdout
    libc = subprocess.run(['dpkg-query', '-W', 'libc6'], capture_output=True, text=True).stdout
    return hashlib.sha256((text + libc + platform.release()).encode()).hexdigest()[:12]


def bare_results(suite, item, log, fresh):
    """({test: result}, seconds), from the cache if it is there."""
    kept = CACHE / f'{suite}-{version_key(suite)}-{item}.json'
    if kept.exists() and not fresh:
        d = json.loads(kept.read_text())
        return d['results'], d['seconds'], d.get('times', {})
    start, times = time.monotonic(), {}
    if suite == 'posix':
        results = {}
        for name in sorted(f'{item}/{t.stem}' for t in (posixsuite.source_folder() / 'conformance/interfaces' / item).glob('*.test')):
            t0 = time.monotonic()
            results.update(posixsuite.run(item, '', log, {name}))
            times[name] = round(time.monotonic() - t0, 2)
    else:
        results = pythons.run(item, '', log)
    seconds = time.monotonic() - start
    temporary = kept.with_suffix(f'.{os.getpid()}')
    temporary.write_text(json.dumps(dict(results=results, seconds=round(seconds, 1), times=times), indent=1))
    temporary.rename(kept)
    return results, seconds, times


def run_item(suite, item, usf, fast, fresh, logs):
    bare_log, usf_log = logs / f'{suite}-{item}.bare', logs / f'{suite}-{item}.usf'
    for f in (bare_log, usf_log):
        f.unlink(missing_ok=True)
    bare, bare_seconds, times = bare_results(suite, item, bare_log, fresh)
    good = {t for t, r in bare.items() if r in GOOD}
    if fast and suite == 'posix':
        good = {t for t in good if times.get(t, 0) <= FAST_SECONDS}
        bare = {t: r for t, r in bare.items() if times.get(t, 0) <= FAST_SECONDS}
    start = time.monotonic()
    if not usf:
        ours = bare
    elif suite == 'posix':
        ours = posixsuite.run(item, usf, usf_log, good)
    else:
        ours = pythons.run(item, usf, usf_log)
    seconds = time.monotonic() - start
    differs = {t: ours.get(t, 'not run') for t in sorted(good) if ours.get(t) not in GOOD}
    # What only the run under usf reports (a module that ends too early, a fixture that fails).
    differs.update({t: r for t, r in ours.items() if t not in bare and r not in GOOD | NEUTRAL})
    count = dict(passed=len(good) - len([t for t in differs if t in good]), failed=len(differs), skipped=len(bare) - len(good))
    return count, differs, bare_seconds, seconds


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument('--fast', action='store_true', help='the subset for CI')
    a.add_argument('--fresh', action='store_true', help='run bare again, too')
    a.add_argument('-j', type=int, default=2, metavar='N', help='groups at once (2)')
    a.add_argument('-k', default='', metavar='PATTERN', help='only modules and folders that match')
    a.add_argument('--only', choices=('python', 'posix'), help='only one of the suites')
    o = a.parse_args()
    usf = os.environ.get('USF', '')
    usf = os.path.abspath(usf) if usf else ''
    CACHE.mkdir(parents=True, exist_ok=True)
    logs = CACHE / 'logs'
    logs.mkdir(exist_ok=True)
    jobs, total = {}, dict(passed=0, failed=0, skipped=0)
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        for suite, module in (('python', pythons), ('posix', posixsuite)):
            if o.only and o.only != suite:
                continue
            why = module.missing()
            if why:
                print(f'skipped {suite}: {why}')
                total['skipped'] += 1
                continue
            for item in module.items(o.fast):
                if re.search(o.k, item):
                    jobs[pool.submit(run_item, suite, item, usf, o.fast, o.fresh, logs)] = (suite, item)
        for done in concurrent.futures.as_completed(jobs):
            suite, item = jobs[done]
            count, differs, bare, ours = done.result()
            for k, n in count.items():
                total[k] += n
            print(f"{suite:7}{item:40} bare {bare:6.1f} s  now {ours:6.1f} s  {count['passed']} passed"
                  f"{', ' + str(count['skipped']) + ' left out' if count['skipped'] else ''}"
                  f"{', ' + str(count['failed']) + ' DIFFER' if differs else ''}")
            for test, result in differs.items():
                print(f'        passes bare, now {result}: {test}')
            sys.stdout.flush()
    if total['failed']:
        print(f'output of the runs: {logs}')
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
