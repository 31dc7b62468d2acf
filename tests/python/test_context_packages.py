#!/usr/bin/python3
# tests/python/test_context_packages.py - numpy, scipy, scikit-learn, numba and torch in contexts.  SPDX-License-Identifier: Apache-2.0
"""test_context_packages.py [--usf]        --usf: under `usf run`

USF_TEST_NUMPYS=DIR:DIR  folders with a numpy of two versions (pip install --target DIR numpy==VERSION)
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


@needs("numpy")
class Figure6(unittest.TestCase):
    def test_verbatim(self):
        code, out, err = script("""
            from usf import VLC
            def async_computation():
                import os
                results.append((numpy, numpy.ones((9, 9)).dot(numpy.ones((9, 9))).sum(), os.cpu_count()))
            results = []
            a, b = VLC(), VLC()
            a.set_allowed_cpus([CPU])
            b.set_allowed_cpus([CPU])
            with a:
                import numpy
                async_computation()
            with b:
                import numpy
                async_computation()
            print(results[0][0] is results[1][0], results[0][1:], results[1][1:])
            """.replace("CPU", str(min(os.sched_getaffinity(0)))))
        self.assertEqual((code, out, err), (0, "False (729.0, 1) (729.0, 1)\n", ""))


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
    def test_two_numpys(self):
        folders = [f for f in os.environ.get("USF_TEST_NUMPYS", "").split(":") if f]
        if not folders:
            self.skipTest("without USF_TEST_NUMPYS")
        versions = set()
        for folder in folders:
            with usf.Context(path=folder):
                import numpy
                versions.add(numpy.__version__)
                self.assertEqual(numpy.linalg.solve([[2.0, 0], [0, 4]], [2, 4]).tolist(), [1, 1])
        self.assertEqual(len(versions), len(folders))


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
