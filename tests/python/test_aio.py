#!/usr/bin/python3
# tests/python/test_aio.py - usf.Executor with asyncio.  SPDX-License-Identifier: Apache-2.0
import asyncio
import contextvars
import functools
import threading

from executor import WAIT, Executor, Test, instance, label

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")


class Asyncio(Test):
    def aio(self, main):
        async def limited():
            return await asyncio.wait_for(main(), WAIT)

        return asyncio.run(limited())

    def test_run(self):
        async def main():
            with Executor(2, "pool") as e:
                self.assertEqual(await e.run(functools.partial(pow, 2), 5), 32)
                self.assertEqual(await e.run(dict, self=1, fn=2, priority=3), {"self": 1, "fn": 2, "priority": 3})
                self.assertEqual(await e.run(label), "pool")
                self.assertEqual(await e.options(label="other").run(label), "other")
                with self.assertRaises(ZeroDivisionError):
                    await e.run(lambda: 1 / 0)
                self.assertEqual(await asyncio.gather(*[e.run(abs, -i) for i in range(50)]), list(range(50)))

        self.aio(main)

    def test_context_is_copied(self):
        def change():
            before = VARIABLE.get()
            VARIABLE.set("changed")
            return before

        async def main():
            with Executor(1) as e:
                VARIABLE.set("mine")
                self.assertEqual(await e.run(change), "mine")
                self.assertEqual(VARIABLE.get(), "mine")

        self.aio(main)

    def test_cancel(self):
        async def main():
            begun, go = threading.Event(), threading.Event()
            with Executor(1) as e:
                first = asyncio.create_task(e.run(lambda: (begun.set(), go.wait(WAIT))))
                while not begun.is_set():
                    await asyncio.sleep(0.001)
                second = asyncio.create_task(e.run(self.fail))
                await asyncio.sleep(0)
                first.cancel()
                second.cancel()
                for task in first, second:
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                go.set()
                self.assertEqual(await e.run(abs, -1), 1)

        self.aio(main)

    def test_loops(self):
        async def main():
            loop = asyncio.get_running_loop()
            e = Executor(3, "default")
            self.assertEqual(await loop.run_in_executor(e, label), "default")
            self.assertEqual(await loop.run_in_executor(e.options(label="urgent", priority=1), label), "urgent")
            loop.set_default_executor(e)
            self.assertEqual(await loop.run_in_executor(None, label), "default")
            self.assertEqual(await asyncio.to_thread(label), "default")
            return e

        e = self.aio(main)      # the loop shuts its default executor down
        with self.assertRaises(RuntimeError):
            e.submit(abs, 1)


if __name__ == "__main__":
    instance.main(60)
