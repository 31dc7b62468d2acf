#!/usr/bin/python3
# tests/python/test_executor.py - usf.Executor: calls as tasks, blocking calls, order, ends.  SPDX-License-Identifier: Apache-2.0
"""test_executor.py [--usf]        --usf: under `usf run`"""
import concurrent.futures
import gc
import os
import queue
import random
import subprocess
import sys
import threading
import time
import traceback
import unittest
import weakref

from executor import CPUS, WAIT, Executor, Test, _slots, instance, label, nosv, priority

UNDER_USF = "--usf" in sys.argv[1:]
if UNDER_USF:
    sys.argv.remove("--usf")
    if os.environ.get("TEST_IN_USF") != "1":
        name = "test-python-%d" % os.getpid()
        env = {**os.environ, "TEST_IN_USF": "1", "USF_MONITOR_LINGER": "0"}
        code = subprocess.run([os.environ["USF"], "run", "-i", name, "--", sys.executable, __file__, "--usf"], env=env, check=False).returncode
        subprocess.run([os.environ["USF"], "clean", "-i", name, "--force"], capture_output=True, check=False)
        sys.exit(code)


def script(text):
    """What a program prints that ends by itself."""
    p = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=WAIT, check=False)
    return p.returncode, p.stdout, p.stderr


class Calls(Test):
    def test_a_call_is_a_task(self):
        self.assertIsNone(label())
        with Executor(2, "pool") as e:
            self.assertEqual(e.submit(label).result(), "pool")
            self.assertEqual(e.options(label="other", priority=7).submit(lambda: (label(), priority())).result(), ("other", 7))
            self.assertEqual(e.submit(lambda: (label(), priority())).result(), ("pool", 0))
        self.assertIsNone(label())

    def test_masks(self):
        """A task without an affinity has the mask of its thread, and one with an affinity its place."""
        with Executor(2) as e:
            self.assertEqual(sorted(e.submit(os.sched_getaffinity, 0).result()), CPUS)
            for cpu in CPUS:
                place = e.options(affinity="cpu-%d" % cpu)
                self.assertEqual(place.submit(nosv.nosv_get_current_system_cpu).result(), cpu)
            self.assertEqual(sorted(e.submit(os.sched_getaffinity, 0).result()), CPUS)
            child = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
            self.assertEqual(e.submit(subprocess.check_output, child).result().decode().strip(), str(CPUS))

    def test_no_more_tasks_than_cpus(self):
        lock, now, most = threading.Lock(), 0, 0

        def call(_):
            nonlocal now, most
            if not label():
                return          # the watchdog has taken another one for blocked
            with lock:
                now += 1
                most = max(most, now)
            sum(range(2000))
            with lock:
                now -= 1

        with Executor(8) as e:
            list(e.map(call, range(400)))
        self.assertLessEqual(most, len(CPUS))

    def test_one_worker_is_one_thread(self):
        inner = Executor(4)
        with Executor(1) as e:
            threads = {e.submit(lambda: (inner.submit(threading.get_ident).result(), threading.get_ident())[1]).result() for _ in range(20)}
            blocked = list(e.map(lambda _: (time.sleep(0.02), threading.get_ident())[1], range(4)))
        inner.shutdown()
        self.assertEqual(threads, set(blocked))
        self.assertEqual(len(threads), 1)

    def test_arguments_are_the_functions(self):
        def call(*args, **kwargs):
            return args, kwargs

        wanted = ((1, 2), {"priority": 3, "label": 4, "fn": 5, "self": 6, "affinity": 7, "timeout": 8})
        with Executor(1) as e:
            self.assertEqual(e.submit(call, *wanted[0], **wanted[1]).result(), wanted)
            self.assertEqual(e.options(priority=1).submit(call, *wanted[0], **wanted[1]).result(), wanted)

    def test_options_are_checked(self):
        with Executor(1) as e:
            for wrong in ({"affinity": "cpu"}, {"affinity": "cpu-100000"}, {"affinity": "core-0"}, {"affinity": "cpu-0 "}, {"priority": 1 << 31}):
                with self.assertRaises(ValueError, msg=wrong):
                    e.options(**wrong)
            for wrong in ({"priority": 1.5}, {"affinity": 3}, {"no_such": 1}):
                with self.assertRaises((TypeError, AttributeError), msg=wrong):
                    e.options(**wrong)

    def test_priorities(self):
        begun, go, order = threading.Event(), threading.Event(), []
        with Executor(1) as e:
            e.submit(lambda: (begun.set(), go.wait()))
            begun.wait()
            for p in (0, 3, -1, 3, 5):
                e.options(priority=p).submit(order.append, p)
            go.set()
        self.assertEqual(order, [5, 3, 3, 0, -1])

    def test_exceptions_have_their_traceback(self):
        def culprit():
            raise KeyError("why")

        with Executor(1) as e:
            error = e.submit(culprit).exception()
        self.assertEqual(error.args, ("why",))
        self.assertIn("culprit", traceback.format_tb(error.__traceback__)[-1])

    def test_map(self):
        with Executor(3) as e:
            self.assertEqual(list(e.map(pow, range(50), [2] * 50, chunksize=7)), [i * i for i in range(50)])
            self.assertEqual(list(e.options(priority=2).map(abs, [-1, 2])), [1, 2])
            go = threading.Event()
            with self.assertRaises(concurrent.futures.TimeoutError):
                list(e.map(lambda _: go.wait(), [0], timeout=0.01))
            go.set()

    def test_cancel(self):
        begun, go = threading.Event(), threading.Event()
        with Executor(1) as e:
            first = e.submit(lambda: (begun.set(), go.wait()))
            begun.wait()
            second = e.submit(self.fail)
            self.assertEqual((first.cancel(), second.cancel(), second.cancelled()), (False, True, True))
            go.set()

    def test_initializer(self):
        here = threading.local()
        with Executor(3, initializer=lambda x: setattr(here, "x", x), initargs=(5,)) as e:
            self.assertEqual(list(e.map(lambda _: here.x, range(20))), [5] * 20)


class Blocking(Test):
    """Calls that block keep none from executing that a ThreadPoolExecutor with as many workers would execute."""

    def test_all_workers_meet(self):
        for n in (2, 5, 24):
            meeting = threading.Barrier(n)
            with Executor(n) as e:
                self.assertEqual(sorted(e.map(lambda i: (meeting.wait(WAIT), i)[1], range(n))), list(range(n)))

    def test_calls_wait_for_calls(self):
        def down(n):
            return 0 if n == 0 else 1 + e.submit(down, n - 1).result(WAIT)

        with Executor(41) as e:
            self.assertEqual(down(40), 40)
            done = e.submit(lambda: [f.result() for f in concurrent.futures.as_completed([e.submit(pow, i, 2) for i in range(9)], WAIT)])
            self.assertEqual(sorted(done.result()), [i * i for i in range(9)])

    def test_executors_wait_for_each_other(self):
        with Executor(10) as a, Executor(6) as b:
            def ping(n):
                return n and 1 + (a if n % 2 else b).submit(ping, n - 1).result(WAIT)

            self.assertEqual(list(a.map(ping, [7, 7])), [7, 7])

    def test_an_executor_in_a_call(self):
        def inner(n):
            with Executor(2) as e:
                return sum(e.map(abs, range(n)))

        with Executor(4) as e:
            self.assertEqual(list(e.map(inner, [10] * 8)), [45] * 8)

    def test_producers_and_consumers(self):
        q, n = queue.Queue(1), 6
        with Executor(2 * n) as e:
            got = [e.submit(lambda: [q.get(timeout=WAIT) for _ in range(50)]) for _ in range(n)]
            for _ in range(n):
                e.submit(lambda: [q.put(i, timeout=WAIT) for i in range(50)])
            self.assertEqual(sorted(sum((f.result() for f in got), [])), sorted(list(range(50)) * n))

    def test_others_execute_beside_blocked_calls(self):
        """All slots are kept by calls that block until all the others have ended."""
        go, n = threading.Event(), len(CPUS)
        with Executor(n + 1) as e:
            waiting = [e.submit(go.wait, WAIT) for _ in range(n)]
            self.assertEqual(list(e.map(abs, range(300))), list(range(300)))
            self.assertFalse(any(f.done() for f in waiting))
            go.set()
            self.assertTrue(all(f.result() for f in waiting))

    def test_a_full_executor_does_not_keep_others_from_executing(self):
        go, n = threading.Event(), len(CPUS)
        with Executor(n) as full, Executor(1) as other:
            waiting = [full.submit(go.wait, WAIT) for _ in range(3 * n)]
            self.assertEqual(list(other.map(abs, range(30))), list(range(30)))
            go.set()
            self.assertTrue(all(f.result() for f in waiting))

    def test_a_strict_call_waits_for_its_place(self):
        """It has not begun, and can be cancelled; what comes after it executes."""
        begun, go = threading.Event(), threading.Event()
        with Executor(4) as e:
            place = e.options(affinity="cpu-%d" % CPUS[0])
            first = place.submit(lambda: (begun.set(), go.wait(WAIT)))
            begun.wait(WAIT)
            second, third = place.submit(label), place.submit(label)
            self.assertEqual(list(e.map(abs, range(10))), list(range(10)))
            self.assertTrue(second.cancel())
            self.assertFalse(third.done())
            go.set()
            self.assertIsNotNone(third.result(WAIT))
            first.result()

    def test_a_strict_call_that_waits_comes_back_to_its_place(self):
        with Executor(4) as e:
            place = e.options(affinity="cpu-%d" % CPUS[-1])
            inner = place.submit(lambda: (place.submit(label).result(WAIT), nosv.nosv_get_current_system_cpu()))
            self.assertEqual(inner.result(WAIT)[1], CPUS[-1])


class Callbacks(Test):
    """What is done to a future from outside costs no worker and no slot."""

    def setUp(self):
        super().setUp()
        logger = concurrent.futures._base.LOGGER
        logger.disabled = True
        self.addCleanup(setattr, logger, "disabled", False)

    def test_one_that_waits_for_a_call(self):
        go, got = threading.Event(), queue.Queue()
        with Executor(4) as e:
            f = e.submit(go.wait, WAIT)
            f.add_done_callback(lambda f: got.put(e.submit(abs, -5).result(WAIT)))
            go.set()
            self.assertEqual(got.get(timeout=WAIT), 5)

    def test_one_that_ends_its_thread(self):
        go = threading.Event()
        with Executor(1) as e:
            f = e.submit(go.wait, WAIT)
            f.add_done_callback(lambda f: sys.exit(3))
            rest = [e.submit(abs, -i) for i in range(3)]
            go.set()
            self.assertEqual([r.result(WAIT) for r in rest], [0, 1, 2])

    def test_a_result_from_elsewhere(self):
        go = threading.Event()
        with Executor(1) as e:
            f = e.submit(go.wait, WAIT)
            while not f.running():
                time.sleep(0.001)
            f.set_result(1)
            go.set()
            self.assertEqual(e.submit(abs, -2).result(WAIT), 2)

    def test_cancelled_before_the_initializer_fails(self):
        go = threading.Event()

        def fail():
            go.wait(WAIT)
            raise ValueError

        e = Executor(1, initializer=fail)
        calls = [e.submit(abs, i) for i in range(4)]
        self.assertTrue(calls[0].cancel() and calls[1].cancel())
        go.set()
        for f in calls[2:]:
            self.assertIsInstance(f.exception(WAIT), concurrent.futures.BrokenExecutor)
        e.shutdown()


class Ends(Test):
    def test_after_shutdown(self):
        e = Executor(2)
        e.shutdown()
        with self.assertRaises(RuntimeError):
            e.submit(abs, 1)
        with self.assertRaises(RuntimeError):
            e.options(priority=1).submit(abs, 1)
        e.shutdown()

    def test_cancelled_by_shutdown(self):
        begun, go = threading.Event(), threading.Event()
        e = Executor(1)
        first = e.submit(lambda: (begun.set(), go.wait()))
        begun.wait()
        rest = [e.submit(self.fail) for _ in range(20)]
        e.shutdown(wait=False, cancel_futures=True)
        self.assertEqual(len(concurrent.futures.wait(rest, WAIT).done), 20)
        self.assertTrue(all(f.cancelled() for f in rest))
        go.set()
        first.result()

    def test_a_lost_executor_executes_what_it_has(self):
        f = [Executor(2).submit(pow, i, 2) for i in range(5)]
        self.assertEqual([x.result(WAIT) for x in f], [0, 1, 4, 9, 16])

    def test_nothing_is_kept(self):
        class Big:
            pass

        with Executor(1) as e:
            big = Big()
            gone = weakref.ref(big)
            f = e.submit(id, big)
            f.result()
            del big
            end = time.monotonic() + WAIT
            while gone() and time.monotonic() < end:
                time.sleep(0.001)
            self.assertIsNone(gone())
        alone = weakref.ref(e)
        gc.collect()
        del e
        gc.collect()
        self.assertIsNone(alone())

    def test_a_failing_initializer(self):
        e = Executor(2, initializer=lambda: 1 / 0)
        logger = concurrent.futures._base.LOGGER
        logger.disabled = True
        try:
            f = e.submit(abs, 1)
            with self.assertRaises(concurrent.futures.BrokenExecutor):
                f.result(WAIT)
            with self.assertRaises(concurrent.futures.BrokenExecutor):
                e.submit(abs, 1)
            e.shutdown()
        finally:
            logger.disabled = False

    def test_exit_executes_what_waits(self):
        code, out, err = script("import usf\ne = usf.Executor(2)\nfor i in range(50): e.submit(print, end='x')")
        self.assertEqual((code, out, err), (0, "x" * 50, ""))
        code, out, err = script("import usf, time\ne = usf.Executor(9)\nfor i in range(18): e.submit(lambda: (time.sleep(.05), print(end='x')))")
        self.assertEqual((code, out, err), (0, "x" * 18, ""))
        code, out, err = script("import usf, atexit\ne = usf.Executor(2)\natexit.register(lambda: e.submit(abs, 1))")
        self.assertIn("cannot schedule new futures after interpreter shutdown", err)

    def in_child(self, what, pid=None):
        """What a child of fork returns: 0."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                what()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_children_begin_anew(self):
        go = threading.Event()
        with Executor(2) as e:
            busy = [e.submit(go.wait, WAIT) for _ in range(8)]

            def child():
                with self.assertRaisesRegex(RuntimeError, "fork"):
                    e.submit(abs, 1)
                e.shutdown()
                with Executor(3) as mine:
                    assert list(mine.map(abs, range(9))) == list(range(9))
                    assert mine.submit(label).result() is not None
                self.check()

            self.in_child(child)
            go.set()
            self.assertTrue(all(f.result() for f in busy))

    def test_a_call_that_forks(self):
        def child():
            with Executor(1) as mine:
                assert mine.submit(abs, -1).result() == 1

        with Executor(2) as e:
            e.submit(self.in_child, child).result(WAIT)
            self.assertEqual(e.submit(abs, -2).result(WAIT), 2)

    def test_without_the_library(self):
        p = subprocess.run([sys.executable, "-c", "import usf; print(usf.__version__); usf.Executor(1)"], capture_output=True, text=True, check=False,
                           env={**os.environ, "LD_LIBRARY_PATH": "/nowhere"})
        if p.returncode == 0:
            self.skipTest("the library is installed")
        self.assertIn("libnosv.so.0 cannot be loaded", p.stderr)
        self.assertTrue(p.stdout)


class All(Test):
    def test_at_random(self):
        rng = random.Random(instance.SEED)
        executors = [Executor(n) for n in (1, 2, 5, 16)]

        def call(kind, x):
            if kind == 0:
                time.sleep(0.001 * x)
            elif kind == 1:
                return executors[3].submit(abs, x).result(WAIT)
            elif kind == 2:
                raise KeyError(x)
            elif kind == 3:
                sum(range(1000 * x))
            return x

        def submit(seed):
            rng, futures = random.Random(seed), []
            for _ in range(80):
                e = executors[rng.randrange(3)]
                if rng.random() < 0.4:
                    e = e.options(priority=rng.randrange(-3, 3), affinity=rng.choice([None, "cpu-%d" % rng.choice(CPUS)]), strict=rng.random() < 0.5)
                kind, x = rng.randrange(5), rng.randrange(5)
                futures.append((e.submit(call, kind, x), kind, x))
                if rng.random() < 0.1:
                    rng.choice(futures)[0].cancel()
            return futures

        with concurrent.futures.ThreadPoolExecutor(3) as submitters:
            made = list(submitters.map(submit, [rng.random() for _ in range(3)]))
        for future, kind, x in sum(made, []):
            try:
                self.assertEqual(future.result(WAIT), x)
            except KeyError:
                self.assertEqual(kind, 2)
            except concurrent.futures.CancelledError:
                pass
        for e in executors:
            e.shutdown()


if __name__ == "__main__":
    instance.main(60)
