#!/usr/bin/python3
# tests/python/test_context_packages.py - numpy, scipy, scikit-learn, numba and torch in contexts.  SPDX-License-Identifier: Apache-2.0
"""test_context_packages.py [--usf]        --usf: under `usf run`

USF_TEST_VERSIONS=DIR  with folders NAME-VERSION (pip install --target DIR/NAME-VERSION NAME==VERSION): scripts/setup makes them
"""
import os
import pathlib
import pickle
import re
import unittest

from contexts import WAIT, instance, needs, script

import usf

N = 4
TUNABLE = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384"}       # copies of libgomp


def contexts(n=N):
    """With one and two threads in turn."""
    return [usf.Context(f"c{i}", env={v: str(1 + i % 2) for v in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}) for i in range(n)]


def everywhere(test, work):
    """In each context, then in the program, then in all contexts at once: the same results."""
    all_of_them = contexts()
    results = [c.run(work) for c in all_of_them]
    test.assertEqual(results, results[:1] * N)
    test.assertEqual(work(), results[0])
    futures = [c.submit(work) for c in all_of_them]
    test.assertEqual([f.result(WAIT) for f in futures], results)
    return all_of_them


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
class Machine(unittest.TestCase):
    """What packages find that look at the machine, in two contexts and the program."""

    def setUp(self):
        self.cpus = sorted(os.sched_getaffinity(0))
        self.one = usf.Context(cpus=self.cpus[1:2], memory="64M", env={"LOKY_MAX_CPU_COUNT": None})
        self.two = usf.Context(cpus=self.cpus[:2], env={"LOKY_MAX_CPU_COUNT": None})

    @needs("joblib")
    def test_joblib(self):
        def count():
            import joblib
            from joblib.externals import loky
            return joblib.cpu_count(), loky.cpu_count(), joblib.effective_n_jobs(-1)

        self.assertEqual((self.one.submit(count).result(WAIT), self.two.submit(count).result(WAIT), count()),
                         ((1, 1, 1), (2, 2, 2), (len(self.cpus),) * 3))

    @needs("psutil")
    def test_psutil(self):
        def look():
            import psutil
            return psutil.cpu_count(), psutil.virtual_memory().total

        real = look()
        self.assertEqual((self.one.run(look), self.two.run(look)), ((1, 64 << 20), (2, real[1])))


@needs("numpy")
class Numpy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.a, cls.b = cls.contexts = contexts(2)
        for c in cls.contexts:
            with c:
                import numpy
            c.np = numpy
        import numpy
        cls.np = numpy

    def test_results(self):
        def work():
            import numpy as np
            x = np.random.RandomState(1).rand(200, 200)
            return round(float(np.linalg.norm(np.linalg.inv(x) @ x - np.eye(200))), 6), float(np.sort(x, axis=None)[1234])

        everywhere(self, work)

    @needs("threadpoolctl")
    def test_threadpoolctl_sees_the_contexts_pools(self):
        def pools():
            import threadpoolctl
            return [p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]

        before = pools()
        self.assertEqual([c.run(pools) for c in self.contexts], [[1], [2]])
        with self.b:
            import threadpoolctl
            with threadpoolctl.threadpool_limits(1):
                self.assertEqual(pools(), [1])
        self.assertEqual((pools(), self.b.run(pools)), (before, [2]))
        self.assertEqual([p["num_threads"] for p in threadpoolctl.threadpool_info()], [2])       # b's copy, outside of b
        import threadpoolctl as programs
        with programs.threadpool_limits(1):
            self.assertEqual((set(pools()), [c.run(pools) for c in self.contexts]), ({1}, [[1], [2]]))
        with threadpoolctl.threadpool_limits(1), self.contexts[0]:
            self.assertEqual((pools(), self.b.run(pools)), ([1], [1]))
        self.assertEqual((pools(), self.b.run(pools)), (before, [2]))

    def test_views(self):
        for c in (self.a, self.b):
            for dtype in "?", "i1", "u8", "f2", "f4", "f8", "c16", "S3", "U2", "m8[s]", "M8[D]", [("x", "i4"), ("y", "f8")], "O":
                foreign = c.np.zeros((3, 4), dtype)[::2, 1:]
                own = usf.view(foreign)
                self.assertIsInstance(own, self.np.ndarray)
                self.assertEqual(own.__array_interface__["data"], foreign.__array_interface__["data"])
                self.assertEqual((own.shape, own.strides), (foreign.shape, foreign.strides))
                self.assertEqual(str(own.dtype), str(foreign.dtype))
        x = self.a.np.arange(3.0)
        with self.b:
            y = usf.view(x)
            y[0] = 7
            self.assertIsInstance(y, self.b.np.ndarray)
            self.assertIs(usf.view(y), y)
        self.assertEqual(x[0], 7)
        del x
        self.assertEqual(y.sum(), 10)
        readonly = self.a.np.arange(3)
        readonly.flags.writeable = False
        self.assertFalse(usf.view(readonly).flags.writeable)

    def test_views_of_dtypes_and_buffers(self):
        self.assertIs(usf.view(self.a.np.float32), self.np.float32)
        self.assertEqual(usf.view(self.a.np.dtype("i2")), self.np.dtype("i2"))
        data = bytearray(3)
        usf.view(data)[1] = 5
        self.assertEqual(data[1], 5)
        for bad in self.a.np.ma.zeros(3), 5, "text", self.a.np.float32(1):
            with self.assertRaises(TypeError):
                usf.view(bad)

    def test_mixing(self):
        a, b = self.a.np.ones(3), self.b.np.ones(3)
        with self.assertRaisesRegex(TypeError, "numpy arrays of 'c1', and this is the numpy of 'c0': convert them by usf.view"):
            a + b
        with self.assertRaises(TypeError):
            self.np.concatenate([self.np.ones(3), b])
        with self.assertRaises(TypeError):
            self.np.dtype(b.dtype)
        self.assertFalse(isinstance(a, self.np.ndarray))
        self.assertEqual([usf.context_of(x) for x in (a, b, self.np.ones(3), self.a.np.float32, self.a.np.sin)], [self.a, self.b, None, self.a, self.a])
        with self.assertRaisesRegex(pickle.PicklingError, "usf.Context"):
            pickle.dumps(a)
        with self.a:
            self.assertIsInstance(pickle.loads(pickle.dumps(a)), type(a))

    def test_scalar_types_of_another_numpy(self):
        self.assertEqual(self.a.np.zeros(2, dtype=self.b.np.float32).dtype, self.a.np.float32)
        self.assertEqual(self.b.np.dtype(self.np.int16), self.b.np.dtype("i2"))
        self.assertEqual(self.b.np.dtype(int), self.b.np.dtype("i8"))
        self.assertEqual(self.b.np.dtype(unittest.TestCase), self.b.np.dtype(object))
        self.assertEqual(self.b.np.dtype(__import__("ctypes").c_int), self.b.np.dtype("i4"))


FIGURE_6 = """
a, b = VLC(), VLC()
a.set_allowed_cpus([0])
b.set_allowed_cpus([1,2,3,4,5,6,7])
with a:
    import numpy
    async_computation()
with b:
    import numpy
    async_computation()
"""


@needs("numpy")
class Figure6(unittest.TestCase):
    def test_verbatim(self):
        """With the lists of CPUs cut to what there is."""
        allowed = os.sched_getaffinity(0)
        figure = re.sub(r"\[.*?\]", lambda m: str([c for c in eval(m[0]) if c in allowed] or [min(allowed)]), FIGURE_6)
        self.assertTrue({*range(8)} - allowed or figure.replace(" ", "") == FIGURE_6.replace(" ", ""))
        code, out, err = script(f"""
import os, threading
from usf import VLC, context_of
threads, results = [], []

def async_computation():
    def compute(numpy, cpus):
        results.append((context_of(numpy), numpy.ones((9, 9)).dot(numpy.ones((9, 9))).sum(), os.cpu_count(), os.sched_getaffinity(0)))
    threads.append(threading.Thread(target=compute, args=(numpy, os.cpu_count())))
    threads[-1].start()
{figure}
for thread in threads:
    thread.join()
results.sort(key=lambda r: r[0].id)
assert [r[0] for r in results] == [a, b]
assert [r[1] for r in results] == [729.0] * 2
assert [(r[2], r[3]) for r in results] == [(len(c.cpus), set(c.cpus)) for c in (a, b)], results
assert a.modules["numpy"] is not b.modules["numpy"] and numpy is b.modules["numpy"]
print("ok")
""")
        self.assertEqual((code, out, err), (0, "ok\n", ""))


@needs("numpy", "threadpoolctl")
class Page(unittest.TestCase):
    def test_examples_of_the_page(self):
        page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "contexts-python.md"
        examples = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        self.assertGreater(len(examples), 4)
        for example in examples:
            code, _, err = script(example)
            self.assertEqual((code, err), (0, ""), example)


class Versions(unittest.TestCase):
    def versions(self, name):
        folder = os.environ.get("USF_TEST_VERSIONS", "")
        found = sorted(n for n in os.listdir(folder) if re.fullmatch(name + r"-[0-9.]+", n)) if os.path.isdir(folder) else []
        return {n.partition("-")[2]: os.path.join(folder, n) for n in found}

    def test_threadpoolctl(self):
        """Recent releases look at the files that are mapped, and not at the names that the dynamic linker has."""
        numpys, folders = self.versions("numpy"), self.versions("threadpoolctl")
        if not numpys or not folders:
            self.skipTest("without folders numpy-VERSION and threadpoolctl-VERSION in USF_TEST_VERSIONS")
        every = [usf.Context(f"{numpy} {n}", path=[numpys[numpy], folder], env={"OPENBLAS_NUM_THREADS": str(n)})
                 for numpy in numpys for folder in folders.values() for n in (1, 2)]

        def pools():
            import numpy, threadpoolctl  # noqa: F401, E401
            return [p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]

        expected = [[int(c.name[-1])] for c in every]
        self.assertEqual([c.run(pools) for c in every], expected)
        with every[-1]:
            import threadpoolctl
            with threadpoolctl.threadpool_limits(1):
                self.assertEqual([c.run(pools) for c in every], [*expected[:-1], [1]])
        self.assertEqual([c.run(pools) for c in every], expected)

    def test_numpys(self):
        """Several versions in one process, beside the program's own."""
        versions = self.versions("numpy")
        if len(versions) < 2:
            self.skipTest("without two folders numpy-VERSION in USF_TEST_VERSIONS")
        all_of_them = [usf.Context(v, path=versions[v], env={"OPENBLAS_NUM_THREADS": "2"}) for v in versions for _ in range(2)]

        def work():
            import numpy
            x = numpy.random.RandomState(3).rand(80, 80)
            return numpy.__version__, round(float(numpy.linalg.norm(numpy.linalg.solve(x, x @ x) - x)), 6)

        self.assertEqual([c.run(work) for c in all_of_them], [(c.name, 0.0) for c in all_of_them])
        self.assertEqual([f.result(WAIT) for f in [c.submit(work) for c in all_of_them]], [(c.name, 0.0) for c in all_of_them])
        first, last = (c.modules["numpy"] for c in (all_of_them[0], all_of_them[-1]))
        x = first.arange(4.0)
        with all_of_them[-1]:
            y = usf.view(x)
        y[1] = 9
        self.assertIsInstance(y, last.ndarray)
        self.assertEqual(x.tolist(), [0, 9, 2, 3])
        with self.assertRaisesRegex(TypeError, "numpy arrays of"):
            x + y


class Packages(unittest.TestCase):
    """Each in a process of its own: copies of libgomp need room that is set aside at its start."""

    def check(self, work):
        text = f"""
import sys, unittest
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import test_context_packages as t
{work}
c = t.everywhere(unittest.TestCase(), work)[0]
print(repr(c))
"""
        code, out, err = script(text, **TUNABLE)
        self.assertEqual((code, err), (0, ""))
        return out

    @needs("scipy")
    def test_scipy(self):
        self.assertIn("scipy", self.check("""
def work():
    import numpy as np, scipy.optimize, scipy.sparse as sp, scipy.sparse.linalg, scipy.fft, scipy.stats
    n = 300
    m = sp.diags([2.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], [0, 1, -1]).tocsc()
    values = sp.linalg.eigsh(m, k=3, sigma=0)[0]
    least = scipy.optimize.minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(4)).x
    return np.round(values, 9).tolist(), np.round(least, 4).tolist(), scipy.stats.norm.cdf(0), round(float(abs(scipy.fft.fft(np.arange(8.0))).sum()), 6)
"""))

    @needs("sklearn")
    def test_sklearn(self):
        self.assertIn("sklearn", self.check("""
def work():
    import numpy as np
    from sklearn.cluster import KMeans
    from sklearn.ensemble import RandomForestClassifier
    x = np.random.RandomState(0).rand(300, 4)
    y = x[:, 0] > 0.5
    kmeans = KMeans(3, n_init=2, random_state=0).fit(x)
    return round(float(kmeans.inertia_), 6), RandomForestClassifier(10, n_jobs=2, random_state=0).fit(x, y).score(x, y)
"""))

    @needs("numba")
    def test_numba(self):
        self.assertIn("numba", self.check("""
def work():
    import numba, numpy as np
    @numba.njit(parallel=True)
    def f(x):
        s = 0.0
        for i in numba.prange(x.shape[0]):
            s += x[i] * x[i]
        return s
    return f(np.arange(100.0))
"""))

    @needs("torch")
    def test_torch(self):
        self.assertIn("torch", self.check("""
def work():
    import torch
    torch.manual_seed(0)
    layer = torch.nn.Linear(10, 2)
    layer(torch.ones(3, 10)).sum().backward()
    return round(layer.weight.grad.sum().item(), 4), (torch.ones(50, 50) @ torch.ones(50, 50)).sum().item()
"""))

    @needs("torch")
    def test_tensors(self):
        code, out, err = script("""
import usf
a, b = usf.Context("a"), usf.Context("b")
with a:
    import torch as one
    x = one.arange(4.0)
with b:
    import torch as two
    y = usf.view(x)
    y[0] = 9
print(x.sum().item(), isinstance(y, two.Tensor), usf.context_of(y) is b)
try:
    one.add(x, y)
except TypeError as e:
    print(e)
""", **TUNABLE)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines()[0], "15.0 True True")
        self.assertIn("convert them by usf.view", out)


if __name__ == "__main__":
    instance.main(280)
