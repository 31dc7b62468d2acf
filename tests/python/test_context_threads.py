#!/usr/bin/python3
# tests/python/test_context_threads.py - threads, pools, interrupts and ends of contexts.  SPDX-License-Identifier: Apache-2.0
"""test_context_threads.py [--usf]        --usf: under `usf run`"""
import asyncio
import concurrent.futures
import contextlib
import contextvars
import functools
import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import threading
import unittest
import weakref

from contexts import WAIT, Folder, instance, script, write

import usf
import usf._context_who

IN_USF = os.environ.get("TEST_IN_USF") == "1"
CPU = min(os.sched_getaffinity(0))


class Groups(unittest.TestCase):
    """Under `usf run` a context is a group: this is how many threads `usf ps` counts there."""

    def groups(self):
        p = subprocess.run([os.environ["USF"], "ps", "-i", os.environ["USF_INSTANCE"]], capture_output=True, text=True, timeout=WAIT, check=True)
        return {name: int(n) for name, n in re.findall(r"group (\S+): (\d+) thread", p.stdout)}

    def check(self, **expected):
        found = self.groups()
        self.assertEqual({n: found.get(n) for n in expected}, expected)

    def setUp(self):
        self.a, self.b = usf.Context("group-a", cpus=[CPU]), usf.Context("group-b")
        self.end = threading.Event()

    def tearDown(self):
        self.end.set()
        for c in self.a, self.b:
            c.close()

    def numbers(self, a, b):
        self.check(**{"group-a": a, "group-b": b})

    def test_the_thread_that_enters(self):
        self.numbers(0, 0)
        with self.a:
            self.numbers(1, 0)
            with self.b:
                self.numbers(0, 1)
            self.numbers(1, 0)
            with self.assertRaises(ZeroDivisionError), self.b:
                1 // 0
            self.numbers(1, 0)
        self.numbers(0, 0)
        self.a.run(self.numbers, 1, 0)
        self.b(self.numbers)(0, 1)
        self.numbers(0, 0)

    def test_threads(self):
        with self.a:
            thread = threading.Thread(target=self.end.wait)
            thread.start()
            pool = concurrent.futures.ThreadPoolExecutor(2)
        calls = [pool.submit(self.end.wait) for _ in range(2)]
        future = self.b.submit(self.end.wait)
        self.numbers(3, 1)
        self.end.set()
        thread.join()
        concurrent.futures.wait([*calls, future], WAIT)
        pool.shutdown()

    def test_leaving_in_another_order(self):
        self.a.__enter__()
        self.b.__enter__()
        with self.assertRaises(RuntimeError):
            self.a.__exit__(None, None, None)
        self.numbers(0, 1)
        self.b.__exit__(None, None, None)
        self.numbers(0, 0)
        self.a.__exit__(None, None, None)
        self.numbers(0, 0)

    def test_a_child_of_fork(self):
        with self.a:
            pid = os.fork()
            if not pid:
                with self.b:
                    os._exit(usf.current_context() is not self.b)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.numbers(1, 0)


if not IN_USF:
    del Groups


class Forks(unittest.TestCase):
    def test_a_fork_while_another_thread_makes_the_first_context(self):
        code, out, errors = script("""
            import os, signal, threading, time
            import usf, usf._context_import as parts
            install, begun = parts.install, threading.Event()
            def slowly():
                begun.set()
                time.sleep(0.2)
                install()
            parts.install = slowly
            other = threading.Thread(target=usf.Context)
            other.start()
            begun.wait()
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                usf.Context("child").run(os.getpid)
                os._exit(0)
            other.join()
            print(os.waitpid(pid, 0)[1])
            """)
        self.assertEqual((code, out, errors), (0, "0\n", ""))


class Pools(unittest.TestCase):
    def setUp(self):
        self.a, self.b = usf.Context("a"), usf.Context("b")

    def of(self, pool):
        return {f.result(WAIT) for f in [pool.submit(usf.current_context) for _ in range(8)]}

    def test_the_maker_counts(self):
        for cls in concurrent.futures.ThreadPoolExecutor, usf.Executor:
            with self.subTest(cls.__name__), cls(4) as pool:
                with self.a:
                    self.assertEqual(self.of(pool), {None})
                with self.b, cls(4) as own:
                    self.assertEqual(self.of(own), {self.b})
                    with self.a:
                        self.assertEqual(self.of(own), {self.b})
                    self.assertEqual(self.of(pool), {None})

    def test_a_pool_of_a_context_that_was_freed(self):
        context = usf.Context()
        with context:
            pool = concurrent.futures.ThreadPoolExecutor(1)
        context.close()
        with self.assertRaisesRegex(RuntimeError, "closed"):
            pool.submit(len, "")

    def test_asyncio(self):
        variable = contextvars.ContextVar("variable", default=0)

        async def work():
            loop = asyncio.get_running_loop()
            variable.set(5)

            def submit():
                return loop.run_in_executor(None, usf.current_context)

            seen = [await submit()]
            for context in self.a, self.b:
                with context:
                    call = submit()
                seen += [await call, await submit()]
            if hasattr(asyncio, "to_thread"):
                seen.append(await asyncio.to_thread(lambda: (usf.current_context(), variable.get())))
            with self.a, concurrent.futures.ThreadPoolExecutor(1) as pool:
                seen.append(await loop.run_in_executor(pool, usf.current_context))
            return seen

        self.assertEqual(asyncio.run(work()), [None, self.a, None, self.b, None, (None, 5), self.a])

    def test_functions_in_pieces(self):
        async def coroutine():
            pass

        async def generator_of_async():
            yield

        def generator():
            yield

        class Callable:
            async def __call__(self):
                pass

        context = self.a
        for function in coroutine, generator_of_async, generator, Callable(), functools.partial(coroutine):
            for give in context.run, context.submit, context:
                with self.assertRaisesRegex(TypeError, "in pieces"):
                    give(function)
        self.assertEqual(context.run(functools.partial(len, "abc")), 3)


class Interrupts(unittest.TestCase):
    @unittest.skipIf(sys.version_info < (3, 10), "this Python looks for signals between the end of a `with` block and leaving it")
    def test_ctrl_c(self):
        """Wherever an interrupt comes, the thread is outside afterwards."""
        context, outside, interrupts = usf.Context(), [], [0]

        class Interrupt(BaseException):
            pass

        def handler(*_):
            interrupts[0] += 1
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])     # or the next could come where nothing catches it
            raise Interrupt

        def enter_until_interrupted():
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
                while True:
                    with context:
                        pass
            except Interrupt:
                pass

        def run_until_interrupted():
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
                while True:
                    context.run(int)
            except Interrupt:
                pass

        before = signal.signal(signal.SIGALRM, handler)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
            while interrupts[0] < 2000:
                for step in enter_until_interrupted, run_until_interrupted:
                    step()
                    outside.append(usf.current_context() is None)
                    while usf.current_context():
                        usf._context_who.lib.usf_context_python_leave()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_IGN)       # one that is pending goes
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(outside.count(False), 0)

    def test_enter_and_exit_are_methods(self):
        class Derived(usf.Context):
            def __enter__(self):
                return super().__enter__()

        for context in usf.Context(), usf.VLC(), Derived():
            with contextlib.ExitStack() as stack:
                self.assertIs(stack.enter_context(context), context)
                self.assertIs(usf.current_context(), context)
            self.assertIsNone(usf.current_context())
            self.assertIs(usf.Context.__enter__(context), context)
            usf.Context.__exit__(context, None, None, None)
        with self.assertRaises(TypeError):
            usf.Context.__enter__(5)


class Closing(Folder):
    def test_without_modules_it_is_freed(self):
        context = usf.Context("gone", env={"A": "1"})
        with context:
            self.assertEqual(os.environ["A"], "1")
        context.close()
        self.assertNotIn(context, usf._context_who.by_address.values())
        self.assertEqual(context.name, "gone")
        for use in context.__enter__, context.submit, lambda: context.cpus, lambda: context.getenv("A"), lambda: context.setenv("A", "2"):
            with self.assertRaisesRegex(RuntimeError, "gone is closed"):
                use(*[len] * (use == context.submit))
        for text in repr(context), context._repr_html_():
            self.assertIn("closed", text)
        reference = weakref.ref(context)
        del context, use
        gc.collect()
        self.assertIsNone(reference())

    def test_with_a_thread_inside_it_is_freed_later(self):
        context, end = usf.Context(), threading.Event()
        future = context.submit(end.wait)
        context.close()
        self.assertIn(context, usf._context_who.by_address.values())
        end.set()
        future.result(WAIT)
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and thread.name.startswith(context.name):
                thread.join(WAIT)
        usf.Context().close()
        self.assertNotIn(context, usf._context_who.by_address.values())

    def test_inside(self):
        context = usf.Context()
        with context:
            context.close()
            self.assertIs(usf.current_context(), context)
        context.close()
        self.assertNotIn(context, usf._context_who.by_address.values())

    def test_with_modules_it_stays(self):
        write(self.folder, {"kept": "import sys\ndef late():\n    import late_part\n    return late_part\n", "late_part": ""})
        context = usf.Context(path=[self.folder])
        kept = context.run(importlib.import_module, "kept")
        context.close()
        reference = weakref.ref(context)
        del context
        gc.collect()
        self.assertIs(usf.context_of(kept.late()), reference())

    def test_no_leak(self):
        def use(n):
            for i in range(n):
                context = usf.Context(f"leak-{i}", cpus=[CPU], env={"A": str(i)})
                with context:
                    os.environ["B"] = "2"
                context.submit(os.getenv, "B").result(WAIT)
                context.close()
            for thread in threading.enumerate():
                if thread.name.startswith("leak-"):
                    thread.join(WAIT)
            usf.Context().close()
            gc.collect()
            with open("/proc/self/statm") as f, open("/proc/self/maps") as maps:
                return (len(usf._context_who.by_address), len(gc.get_objects()), len(os.listdir("/proc/self/fd")),
                        sum("memfd" in line or "context" in line for line in maps)), int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        use(100)
        before, memory = use(50)
        after, more = use(200)
        self.assertLess(abs(after[1] - before[1]), 100)
        self.assertEqual((after[0], *after[2:]), (before[0], *before[2:]))
        self.assertLess(more - memory, 1 << 20)         # 200 contexts that stay take 3 MB

    def test_handlers_at_the_end(self):
        write(self.folder, ends="import atexit\ndef end():\n    import late_end, os, usf\n"
              "    print(usf.context_of(late_end).name, os.environ['X'])\natexit.register(end)\n", late_end="")
        for close in "", "context.close()":
            self.assertEqual(script(f"import usf\ncontext = usf.Context('c', path={self.folder!r}, env={{'X': 'own'}})\nwith context:\n    import ends\n{close}"),
                             (0, "c own\n", ""))


if __name__ == "__main__":
    instance.main(100)
