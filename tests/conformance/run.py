#!/usr/bin/python3
# tests/conformance/run.py - test suites of others, bare and under usf: same results?
# SPDX-License-Identifier: Apache-2.0
"""Runs CPython's tests, posixtestsuite's of interfaces, the tests of libgomp and of LLVM's OpenMP, those of Rust crates,
and stressors of stress-ng under usf.  What does not pass there is run bare as well: a test that ends differently bare has failed;
one that ends the same way, without passing, is left out (skipped).

Tests with limits on time fail on a busy machine, bare as well.  So one that differs is run some times more, bare and under usf in
turns: if bare it fails in some of these runs, and under usf not significantly more often (Fisher's exact test, 5 %), it is told with both
numbers and counted as unsteady; else it has failed.  So it has if there was time for a few rounds only, which cannot tell.

  USF=build/usf tests/conformance/run.py [--fast] [-j N] [-k PATTERN] [--only SUITE] [--resume]

Bare results are kept per package version and kernel in the cache folder (tests/apps/build.py says
where), but for those that failed, which are run again each time; --fresh runs all anew.  Ctrl-C ends the run with the table of
what was done; --resume goes on from there: it leaves out what this very build has done before without a difference. Without USF
everything is run bare, and what passes is counted.
At the end a table: per suite what passed, what ends without passing but alike (skipped), what is unsteady, and what differs.
A suite that cannot be had, or of which nothing passes, counts as failed, but in a subset:
--ci is one of seconds, of the suites that need no download or are in the cache already.
--fast leaves out some modules and the tests named in slow.txt (`--slowest 1` prints such a list); the
tests in unsteady.txt are always left out."""
import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import crates  # noqa: E402
import gomp  # noqa: E402
import llvmomp  # noqa: E402
import one  # noqa: E402
import posixsuite  # noqa: E402
import pythons  # noqa: E402
import sources  # noqa: E402
import stressng  # noqa: E402

SUITES = {'python': pythons, 'posix': posixsuite, 'gomp': gomp, 'llvm-omp': llvmomp, 'crates': crates, 'stress': stressng}
CACHE = sources.build.CACHE / 'conformance'
LOGS = CACHE / 'logs'
GOOD = {'passed', 'PASS'}
LASTING = GOOD | {'skipped', 'ignored', 'UNSUPPORTED', 'UNTESTED'}  # results that a test has each time
TRIALS, TRIALS_TIME = 8, 900  # rounds, of one bare run and one under usf; s after which no other round begins
TRIALS_LEAST = 6  # of 4, all failed against one bare could still be chance


def version_key(suite):
    names = ['libc6'] + (pythons.PACKAGES if suite == 'python' else [])
    text = subprocess.run(['dpkg-query', '-W'] + names, capture_output=True, text=True).stdout + platform.release()
    if suite != 'python':
        text += SUITES[suite].version()
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Bare:
    """Bare results of one module or folder, kept on disk."""

    def __init__(self, suite, item, fresh):
        self.suite, self.item = suite, item
        self.path = CACHE / f'{suite}-{version_key(suite)}-{item}.json'
        self.results, self.times = {}, {}
        if self.path.exists() and not fresh:
            d = json.loads(self.path.read_text())
            self.results, self.times = d['results'], d['times']

    def run(self, only, skip=()):
        log = LOGS / f'{self.suite}-{self.item}.bare'
        results, times = SUITES[self.suite].run(self.item, '', log, only, skip)
        self.results.update(results)
        self.times.update(times)
        temporary = self.path.with_suffix(f'.{os.getpid()}')
        temporary.write_text(json.dumps(dict(results=self.results, times=self.times), indent=1))
        temporary.rename(self.path)
        return results

    def of(self, tests):
        unknown = [t for t in tests if self.results.get(t) not in LASTING]
        if unknown:
            self.run(unknown)
        return {t: self.results.get(t, 'not run') for t in tests}


class Done:
    """What earlier runs of the same build have done, and found no difference in."""

    def __init__(self, usf, fast):
        build = [pathlib.Path(usf), pathlib.Path(usf).with_name('libusf.so')] if usf else []
        text = b''.join(p.read_bytes() for p in build if p.exists()) + str(fast).encode()
        self.path = CACHE / f'done-{hashlib.sha256(text).hexdigest()[:12]}.json'
        self.items = {}

    def read(self):
        if self.path.exists():
            self.items = json.loads(self.path.read_text())

    def add(self, suite, item, *sums):
        self.items[f'{suite} {item}'] = sums
        self.path.write_text(json.dumps(self.items, indent=1))

    def of(self, suite, item):
        return self.items.get(f'{suite} {item}')


def names_in(file):
    lines = (HERE / file).read_text().splitlines()
    return {x for x in lines if x and not x.startswith('#')}


def is_unsteady(bare, ours, n):
    """Bare it fails, too, and may well fail as often as under usf: `bare` and `ours` times of n."""
    return n >= TRIALS_LEAST and bare > 0 and not is_worse(bare, ours, n)


def is_worse(bare, ours, n):
    """Are so many failures of n too many to be chance, if bare there are `bare` of n?"""
    both = bare + ours
    tail = sum(math.comb(n, k) * math.comb(n, both - k) for k in range(ours, min(n, both) + 1))
    return tail / math.comb(2 * n, both) < 0.05


def trials(suite, item, usf, tests):
    """{test: (failures bare, failures under usf, rounds)}.  A suite whose tests run side by side in one process runs them all
    again: alone they have a quieter machine."""
    together, start, n = getattr(SUITES[suite], 'TOGETHER', False), time.monotonic(), 0
    failures = {t: [0, 0] for t in tests}
    while n < TRIALS and (n == 0 or time.monotonic() - start < TRIALS_TIME):
        n += 1
        for i, how in enumerate(('', usf)):
            log = LOGS / f'{suite}-{item}.trial-{"usf" if how else "bare"}'
            results, _ = SUITES[suite].run(item, how, log, None if together else tests)
            for t in tests:
                failures[t][i] += results.get(t) not in GOOD
    return {t: (bare, ours, n) for t, (bare, ours) in failures.items()}


def run_item(suite, item, usf, fast, fresh):
    """(tests passed, {test: (result bare, result now)} of failed ones, tests left out, those of the failed that are unsteady,
    {test: result of its trials}, slowest tests, seconds)"""
    skip = names_in('unsteady.txt') | (names_in('slow.txt') if fast else set())
    start, bare = time.monotonic(), Bare(suite, item, fresh)
    if usf:
        log = LOGS / f'{suite}-{item}.usf'
        log.unlink(missing_ok=True)
        ours, times = SUITES[suite].run(item, usf, log, None, skip)
    else:
        ours, times = bare.run(None, skip), bare.times
    passed = [t for t, r in ours.items() if r in GOOD]
    rest = [t for t in ours if t not in passed]
    bare_results = bare.of(rest) if usf else ours
    whole = [t for t in rest if t.endswith(' as a whole')]
    failed = {t: (bare_results[t], ours[t]) for t in rest if bare_results[t] != ours[t] or (t in whole and usf)}
    left_out = [t for t in rest if t not in failed]
    again = [t for t in failed if t not in whole]
    tried = trials(suite, item, usf, again) if usf and again else {}
    unsteady = [t for t, counts in tried.items() if is_unsteady(*counts)]
    return passed, failed, left_out, unsteady, tried, times, time.monotonic() - start


class Sums:
    """A line of the table."""

    def __init__(self):
        self.passed = self.alike = self.unsteady = self.differ = 0
        self.seconds, self.items, self.why = 0.0, 0, ''

    def add(self, passed, alike, unsteady, differ, seconds):
        self.passed += passed
        self.alike += alike
        self.unsteady += unsteady
        self.differ += differ
        self.seconds += seconds

    @property
    def is_empty(self):
        return bool(self.why or self.items and not self.passed)


def items_of(module, o):
    wanted = [i for i in module.items(o.fast) if i in module.CI] if o.ci else module.items(o.fast)
    return [i for i in wanted if re.search(o.k, i)]


def summary(table, whole):
    """The table; 1 if anything differs, or is to be run as a whole and is not."""
    print(f"\n{'suite':<10}{'passed':>8}{'alike':>8}{'unsteady':>10}{'differ':>8}{'s':>9}")
    for suite, n in table.items():
        print(f'{suite:<10}' + (f'  skipped: {n.why}' if n.why else f'{n.passed:>8}{n.alike:>8}{n.unsteady:>10}{n.differ:>8}{n.seconds:>9.1f}'))
    differ = sum(n.differ for n in table.values())
    if differ:
        print(f'output of the runs: {LOGS}')
    empty = [suite for suite, n in table.items() if n.is_empty]
    if whole and empty:
        print(f'FAILED: nothing of {", ".join(empty)} has been run, or has passed')
    failed = differ + (len(empty) if whole else 0)
    skipped = sum(n.alike for n in table.values()) + (0 if whole else len(empty))
    unsteady = sum(n.unsteady for n in table.values())
    print(f'{sum(n.passed for n in table.values())} passed, {failed} failed, {skipped} skipped, {unsteady} unsteady')
    return 1 if failed else 0


def start(pool, o, usf, done, table):
    """{job: (suite, item)} of all that is to be run."""
    jobs = {}
    for suite, module in SUITES.items():
        if o.only and o.only != suite:
            continue
        table[suite] = n = Sums()
        n.why = 'not in the cache' if o.ci and not getattr(module, 'ready', lambda: True)() else module.missing()
        for item in [] if n.why else items_of(module, o):
            n.items += 1
            if done.of(suite, item):
                n.add(*done.of(suite, item))
            else:
                jobs[pool.submit(run_item, suite, item, usf, o.fast or o.ci, o.fresh)] = (suite, item)
    return jobs


def tell(suite, item, passed, failed, left_out, unsteady, tried, seconds):
    counts = (len(left_out), 'left out'), (len(unsteady), 'unsteady'), (len(failed) - len(unsteady), 'FAILED')
    print(f'{suite:9}{item:40}{seconds:7.1f} s  {len(passed)} passed' + ''.join(f', {n} {what}' for n, what in counts if n))
    for test, (then, now) in failed.items():
        rates = '; then bare {} and now {} of {} failed'.format(*tried[test]) if test in tried else ''
        print(f'        {"unsteady: " * (test in unsteady)}bare {then}, now {now}: {test}{rates}')
    sys.stdout.flush()


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument('--fast', action='store_true', help='leave out what takes long')
    a.add_argument('--ci', action='store_true', help='the subset that needs seconds, and no download')
    a.add_argument('--fresh', action='store_true', help='forget earlier bare results')
    a.add_argument('-j', type=int, default=2, metavar='N', help='groups at once (2)')
    a.add_argument('-k', default='', metavar='PATTERN', help='only modules and folders that match')
    a.add_argument('--resume', action='store_true', help='go on where a run was stopped')
    a.add_argument('--only', choices=SUITES, help='only one of the suites')
    a.add_argument('--slowest', type=float, metavar='S', help='print the tests that took longer')
    o = a.parse_args()
    usf = os.environ.get('USF', '')
    usf = os.path.abspath(usf) if usf else ''
    LOGS.mkdir(parents=True, exist_ok=True)
    slow, table, done, stopped = [], {}, Done(usf, o.fast or o.ci), False
    if o.resume:
        done.read()
    pool = concurrent.futures.ThreadPoolExecutor(o.j)
    try:
        jobs = start(pool, o, usf, done, table)
        for job in concurrent.futures.as_completed(jobs):
            suite, item = jobs[job]
            passed, failed, left_out, unsteady, tried, times, seconds = job.result()
            sums = len(passed), len(left_out), len(unsteady), len(failed) - len(unsteady), seconds
            table[suite].add(*sums)
            if len(failed) == len(unsteady):
                done.add(suite, item, *sums)
            slow += [t for t, s in times.items() if o.slowest and s > o.slowest]
            tell(suite, item, passed, failed, left_out, unsteady, tried, seconds)
    except KeyboardInterrupt:
        stopped = True
        print('\nstopped; --resume goes on')
        one.stop()
    pool.shutdown(cancel_futures=True)
    for name in one.instances if usf else ():
        one.watch.remove_instance(usf, name)
    if slow:
        print('\n'.join(sorted(slow)))
    return summary(table, not (o.ci or o.fast or o.k or stopped)) or 130 * stopped


if __name__ == '__main__':
    sys.exit(main())
