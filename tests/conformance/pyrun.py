# tests/conformance/pyrun.py - run one module of CPython's own tests, one line per result.
# SPDX-License-Identifier: Apache-2.0
"""usage: pyrun.py MODULE RESULTS SKIP [ONLY]      (run by the Python whose tests they are)

RESULTS gets 'start ID', then 'passed|failed|error|skipped ID' and 'took ID SECONDS' for each test,
written at once, so that a hang leaves behind what was running.  Tests named in the file SKIP are not
run: that is how a run goes on after a test that hung.  With a file ONLY, no others are run."""
import faulthandler
import os
import sys
import tempfile
import time
import unittest


class Result(unittest.TestResult):
    def __init__(self, path):
        super().__init__()
        self.path, self.bad = path, None

    def line(self, text):
        # Opened anew each time: tests close, count and inherit descriptors.
        with open(self.path, 'a') as f:
            f.write(text + '\n')

    def startTest(self, test):
        super().startTest(test)
        self.bad, self.since = None, time.perf_counter()
        self.line('start ' + test.id())

    def stopTest(self, test):
        super().stopTest(test)
        self.line((self.bad or 'passed') + ' ' + test.id())
        self.line(f'took {test.id()} {time.perf_counter() - self.since:.2f}')

    def note(self, what, test, err):
        if hasattr(test, 'failureException') and hasattr(test, '_testMethodName'):
            self.bad = what
        else:  # setUpClass, setUpModule
            self.line(what + ' ' + test.id())
        print(f'\n--- {what} {test.id()}\n{self._exc_info_to_string(err, test)}', file=sys.stderr, flush=True)

    def addError(self, test, err):
        self.note('error', test, err)

    def addFailure(self, test, err):
        self.note('failed', test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note('failed' if issubclass(err[0], test.failureException) else 'error', test, err)

    def addSkip(self, test, reason):
        if hasattr(test, '_testMethodName'):
            self.bad = self.bad or 'skipped'
        else:
            self.line('skipped ' + test.id())

    def addUnexpectedSuccess(self, test):
        self.bad = 'failed'


def leaves(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from leaves(t)
        else:
            yield t


def chosen(suite, skip, only):
    """The suite less the tests not wanted, its structure (class and module fixtures) kept."""
    out = type(suite)()
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            out.addTest(chosen(t, skip, only))
        elif t.id() not in skip and (only is None or t.id() in only):
            out.addTest(t)
    return out


def names(path):
    with open(path) as f:
        return set(f.read().split('\n'))


def main():
    module, results, skip = sys.argv[1], sys.argv[2], names(sys.argv[3])
    only = names(sys.argv[4]) if len(sys.argv) > 4 else None
    faulthandler.enable()  # SIGABRT from outside shows where a hang is
    from test import support
    support.use_resources = []  # as regrtest without -u: nothing that needs the network or very long
    support.verbose = 0
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    suite = unittest.defaultTestLoader.loadTestsFromName('test.' + module)
    for t in leaves(suite):
        if isinstance(t, unittest.loader._FailedTest):
            print(f'{module} cannot be loaded: {t._exception}', file=sys.stderr)
            sys.exit(3)
    r = Result(results)
    chosen(suite, skip, only).run(r)
    r.line('end')


if __name__ == '__main__':
    main()
