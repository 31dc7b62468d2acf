# bench/usfbench/benches.py - the benchmarks: which cells, and the grids of hand-tuning.  SPDX-License-Identifier: Apache-2.0
"""Each function below returns (cells, grids) and is listed in BENCHES; see measure.py for what these are."""
import itertools
import os
import shutil
from dataclasses import dataclass

from . import configs
from .configs import PASSIVE, Program
from .measure import Cell

LIBDIR = "/usr/lib/x86_64-linux-gnu"
BLAS = {
    "openblas-pthread": f"{LIBDIR}/openblas-pthread/libopenblas.so.0",
    "openblas-openmp": f"{LIBDIR}/openblas-openmp/libopenblas.so.0",
    "blis-pthread": f"{LIBDIR}/blis-pthread/libblis.so.4",
    "blis-openmp": f"{LIBDIR}/blis-openmp/libblis.so.4",
}
WORKLOADS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "workloads")
ACTIVE = {"OMP_WAIT_POLICY": "active"}
SERVERS = {"redis": "redis-benchmark", "memcached": "threads of Python", "postgres": "pgbench -S",
           "http": "http.server", "pipeline": "seq to wc"}
BARRIERS = ["pthread", "spin-pause", "spin-yield", "spin-yield-1000", "spin-1000-futex", "spin-300000-futex"]
LOCKS = ["mutex", "tas-pause", "tas-yield", "ticket-pause", "ticket-yield", "ticket-yield-100"]
LINUX_AND_USF = ("linux", "usf-linux", "usf-coop")  # where a wait policy of OpenMP changes nothing


@dataclass
class Options:
    bin: str              # the built workloads
    usf: str
    python: str           # an interpreter with the wheels of numpy and scikit-learn
    cores: int
    loops_per_us: float   # one calibration for all runs, so that all do the same work
    small: bool = False
    seconds: float = 0.5  # a time-bounded run

    def tool(self, name):
        return os.path.join(self.bin, name)

    def some(self, full, small):
        return small if self.small else full

    def worked(self):
        return ["--cores", str(self.cores), "--loops-per-us", f"{self.loops_per_us:.1f}"]


# ---- nested BLAS -------------------------------------------------------------------------------

def nested_program(o, library, op, outer, outer_threads, inner_threads, rounds=None):
    """Tiles enough for every core; inner threads set as the libraries' users do."""
    tiles = 4
    while tiles * tiles < 4 * o.cores:
        tiles *= 2
    length = ["--rounds", str(rounds), "--seconds", "0"] if rounds else ["--seconds", str(o.seconds)]
    argv = [o.tool(f"nested-{outer}"), "--blas", BLAS[library], "--op", op, "--n", str(256 * tiles), "--tile", "256",
            "--outer", str(outer_threads), "--inner", str(inner_threads), *length]
    env = {"OPENBLAS_NUM_THREADS": str(inner_threads), "BLIS_NUM_THREADS": str(inner_threads),
           "OMP_NUM_THREADS": str(inner_threads), "OMP_MAX_ACTIVE_LEVELS": "2"}
    return Program(argv, env)


def nested(o):
    threads = o.some([1, 2, 4, 8, 16], [2, 8])
    ops = o.some(["dgemm", "cholesky"], ["dgemm"])
    outers = o.some(["pthread", "gomp", "tbb"], ["pthread"])
    cells, grids = [], {}
    for op, library in itertools.product(ops, BLAS):
        group = ("nested", op, library)
        grids[group] = [
            (f"{outer} {a}x{b}{label}", Cell({"setting": f"{outer} {a}x{b}{label}"},
                                             [with_env(nested_program(o, library, op, outer, a, b), env)], "GFLOP/s", group=group))
            for outer in outers
            for a, b in {(o.cores, 1), (1, o.cores), (1, 1)}
            for label, env in (("", {}), (" passive", PASSIVE))]
        for outer, a, b in itertools.product(outers, threads, threads):
            cells.append(Cell({"op": op, "library": library, "outer": outer, "outer threads": a, "inner threads": b},
                              [nested_program(o, library, op, outer, a, b)], "GFLOP/s", timeout=o.some(12, 6), group=group))
    return cells, grids


def with_env(program, env):
    return Program(program.argv, {**program.env, **env}, program.cpus, program.timer)


# ---- OpenMP programs ---------------------------------------------------------------------------

def mini(o, which, threads, scale=1.0, runtime="gomp"):
    """An OpenMP program with a fixed amount of work: about 1.5 s alone on 2 cores of 2025 at scale 1."""
    sized = {
        "cg32": ("omp_cg", ["--n", "32", "--iterations"], 26000),
        "cg96": ("omp_cg", ["--n", "96", "--iterations"], 700),
        "nbody": ("omp_nbody", ["--n", "2000", "--steps"], 240),
        "sort": ("omp_sort", ["--n", "200000", "--rounds"], 6500),
    }
    name, argv, amount = sized[which]
    return Program([o.tool(f"{name}-{runtime}"), *argv, str(max(1, int(amount * scale)))], {"OMP_NUM_THREADS": str(threads)})


def makespan(key, programs, timeout, group=(), one_by_one=False):
    return Cell(key, programs, "1/s", timeout, "makespan", one_by_one, group, inverse=("s", 1))


def shares(cores, parts):
    """The CPUs we may use, cut into `parts` of nearly equal size, as CPU lists (at least one CPU each)."""
    cpus = sorted(os.sched_getaffinity(0))[:cores]
    return [",".join(map(str, cpus[i * len(cpus) // parts:max(i * len(cpus) // parts + 1, (i + 1) * len(cpus) // parts)]))
            for i in range(parts)]


def beside(o, label, make, timeout, counts):
    """Programs side by side: make(threads, inner) -> list of programs, where `inner` are the threads of the libraries
    below, None = their default.  Returns (cells, grid); whoever tunes by hand sets the inner threads to 1."""
    group = ("beside", label)
    alone = make(o.cores, 1)
    parts = shares(o.cores, len(alone))
    divided = [Program(p.argv, p.env, cpus) for p, cpus in zip(make(max(1, o.cores // len(alone)), 1), parts)]
    grid = [
        ("one after the other", makespan({"setting": "one after the other"}, alone, timeout, group, one_by_one=True)),
        ("static partition", makespan({"setting": "static partition"}, divided, timeout, group)),
        ("together, passive", makespan({"setting": "together, passive"}, [with_env(p, PASSIVE) for p in alone], timeout, group)),
    ]
    cells = [makespan({"programs": label, "threads each": t}, make(t, None), timeout, group) for t in counts]
    return cells, (group, grid)


def pairs(o):
    couples = [("cg96", "nbody"), ("cg32", "nbody"), ("cg32", "cg96"), ("sort", "nbody"), ("cg32", "sort")]
    scale = o.some(1.0, 0.2)
    cells, grids = [], {}
    for runtime, couple in itertools.product(o.some(["gomp", "libomp"], ["gomp"]), o.some(couples, couples[:2])):
        c, (group, grid) = beside(o, f"{couple[0]} + {couple[1]} ({runtime})",
                                  lambda t, _, couple=couple, runtime=runtime: [mini(o, w, t, scale, runtime) for w in couple],
                                  o.some(30, 6), o.some([2, 4, 8], [2, 8]))
        cells += c
        grids[group] = grid
    return cells, grids


def kinds(o, scale):
    """One program of every kind, with fixed work: kind -> f(threads, inner)."""
    def times(n):
        return str(max(1, int(n * scale)))

    return {
        "cg": lambda t, _: mini(o, "cg32", t, scale),
        "nbody": lambda t, _: mini(o, "nbody", t, scale),
        "sort": lambda t, _: mini(o, "sort", t, scale, "libomp"),
        "blis": lambda t, i: nested_program(o, "blis-pthread", "dgemm", "pthread", t, i or o.cores, rounds=times(25)),
        "openblas": lambda t, i: nested_program(o, "openblas-openmp", "cholesky", "tbb", t, i or o.cores, rounds=times(250)),
        "forkjoin": lambda t, _: Program([o.tool("forkjoin-gomp"), "--threads", str(t), "--us", "100", *o.worked(), "--regions",
                                          times(13000), "--seconds", "0"]),
        "mpich": lambda t, _: mpi_program(o, "mpich", t, ["--steps", times(10000), "--seconds", "0"]),
        "python": lambda t, i: numpy_program(o, "matmul", t, ["--rounds", times(60), "--seconds", "0"], i),
    }


def mix(o):
    couples = [("cg", "blis"), ("forkjoin", "python"), ("mpich", "nbody"), ("openblas", "sort"), ("blis", "mpich"),
               ("python", "cg"), ("cg", "blis", "mpich", "python"), ("nbody", "openblas", "forkjoin", "sort")]
    make = kinds(o, o.some(1.0, 0.2))
    cells, grids = [], {}
    for names in o.some(couples, couples[:1] + couples[-2:-1]):
        c, (group, grid) = beside(o, " + ".join(names), lambda t, inner, names=names: [make[n](t, inner) for n in names],
                                  o.some(60, 10), o.some([2, 4], [4]))
        cells += c
        grids[group] = grid
    return cells, grids


def forkjoin(o):
    cells, grids = [], {}
    for runtime, us, t in itertools.product(o.some(["gomp", "libomp"], ["gomp"]), o.some([10, 100, 1000], [10, 1000]),
                                            o.some([2, 4, 8, 32], [2, 8])):
        program = Program([o.tool(f"forkjoin-{runtime}"), "--threads", str(t), "--us", str(us), *o.worked(), "--seconds",
                           str(o.seconds)], {"OMP_NUM_THREADS": str(t)})
        group = ("forkjoin", runtime, us, t)
        grids[group] = [(label, Cell({"setting": label}, [with_env(program, env)], "region/s", group=group))
                        for label, env in (("active", ACTIVE), ("passive", PASSIVE), ("default", {}),
                                           ("GOMP_SPINCOUNT=1000", {"GOMP_SPINCOUNT": "1000"}))]
        cells.append(Cell({"runtime": runtime, "work us": us, "threads": t}, [program], "region/s", group=group))
    return cells, grids


# ---- barriers, locks, threads ------------------------------------------------------------------

def barriers(o):
    cells = [Cell({"barrier": kind, "work us": us, "threads": t},
                  [Program([o.tool("barrier"), "--kind", kind, "--threads", str(t), "--us", str(us), *o.worked(),
                            "--seconds", str(o.seconds)])], "barrier/s", only=LINUX_AND_USF, peers=(us, t))
             for us, t, kind in itertools.product(o.some([10, 100], [100]), o.some([2, 4, 8, 16, 32, 64], [2, 8]), BARRIERS)]
    return cells, {}


def locks(o):
    cells = [Cell({"lock": kind, "threads": t},
                  [Program([o.tool("lock"), "--kind", kind, "--threads", str(t), "--loops-per-us", f"{o.loops_per_us:.1f}",
                            "--seconds", str(o.seconds)])], "op/s", only=LINUX_AND_USF, peers=(t,))
             for t, kind in itertools.product(o.some([2, 4, 8, 16, 32, 64], [2, 8]), LOCKS)]
    return cells, {}


def hotlocks(o):
    """One lock that all threads want all the time: kinds, sections (ns, or a hash table's operation), threads; and runs of a fixed length."""
    def cell(kind, section, threads, ops=0):
        args = ["--op", "hash"] if section == "hash" else ["--held", str(section)]
        length = ["--ops", str(ops)] if ops else ["--seconds", str(o.seconds)]
        return Cell({"lock": kind, "section": section, "threads": threads, "operations": ops or "all the time"},
                    [Program([o.tool("hotlock"), "--kind", kind, "--threads", str(threads), *args, *length,
                              "--loops-per-us", f"{o.loops_per_us:.1f}"])], "op/s", only=LINUX_AND_USF)

    kinds = o.some(["tas", "ttas", "ticket", "mcs", "clh", "spin", "mutex"], ["ttas", "mcs", "mutex"])
    sections, threads = o.some([0, 100, 1000, 10000, "hash"], [0, "hash"]), o.some([1, 2, 8, 64], [2, 8])
    cells = [cell(k, s, t) for k, s, t in itertools.product(kinds, sections, threads)]
    cells += [cell("rand", 0, t) for t in threads]
    cells += [cell(k, s, t, 20000) for k, s, t in itertools.product(["ticket", "mcs"], [0, "hash"], [2, 8])]
    return cells, {}


def storm(o):
    cells = [Cell({"threads": t, "work us": us},
                  [Program([o.tool("storm"), "--threads", str(t), "--us", str(us), "--loops-per-us", f"{o.loops_per_us:.1f}",
                            "--seconds", str(o.seconds)])], "thread/s", only=LINUX_AND_USF)
             for us, t in itertools.product(o.some([0, 20, 200], [0]), o.some([1, 2, 4, 8, 16, 64], [2, 16]))]
    return cells, {}


# ---- single operations -------------------------------------------------------------------------

def micro(o):
    one = str(min(os.sched_getaffinity(0)))
    rounds = o.some(200000, 20000)

    def cell(what, args, cpus=""):
        return Cell({"operation": what}, [Program([o.tool("micro"), *args], cpus=cpus)], "op/s", only=LINUX_AND_USF,
                    inverse=("ns", 1e9))

    cells = [
        cell("getppid", ["--op", "getppid", "--rounds", str(rounds * 10)]),
        *(cell(f"{call} that does not block", ["--op", call, "--rounds", str(rounds)])
          for call in ("read", "write", "getrandom", "recv", "pread", "fstat", "pipe")),
        *(cell(f"short calls of {t} threads", ["--op", "calls", "--threads", str(t), "--rounds", str(rounds // t)]) for t in (1, 2, 8)),
        cell("block and wake, one core", ["--op", "pingpong", "--rounds", str(rounds)], one),
        cell("block and wake, two cores", ["--op", "pingpong", "--rounds", str(rounds // 10), "--pin", "1"]),
        *(cell(f"yield among {t}, one core", ["--op", "yield", "--threads", str(t), "--rounds", str(rounds)], one)
          for t in (2, 8)),
        *(cell(f"wake a thread on an idle core, every {gap} us",
               ["--op", "idlewake", "--gap", str(gap), "--rounds", str(n), "--pin", "1"]) for gap, n in ((10, 2000), (1000, 500))),
    ]
    return cells, {}


def startup(o):
    commands = {"true": ["true"], "bash": ["bash", "-c", ":"], "python3": [o.python, "-c", "pass"],
                "python3, numpy": [o.python, "-c", "import numpy"], "python3, sklearn": [o.python, "-c", "import sklearn.ensemble"]}
    cells = [Cell({"command": label}, [Program(argv, timer=[o.tool("startup"), str(o.some(20, 5))])], "start/s", timeout=60,
                  only=LINUX_AND_USF, inverse=("ms", 1e3)) for label, argv in commands.items()]
    return cells, {}


# ---- Python and MPI ----------------------------------------------------------------------------

def numpy_program(o, op, workers, length=None, limit=None):
    env = {"OPENBLAS_NUM_THREADS": str(limit)} if limit else {}
    return Program([o.python, os.path.join(WORKLOADS, "py_numpy.py"), "--op", op, "--workers", str(workers),
                    *(length or ["--seconds", str(o.seconds)])], env)


def sklearn_program(o, pipeline, jobs, limit=None, backend="threading"):
    env = {"OPENBLAS_NUM_THREADS": str(limit), "OMP_NUM_THREADS": str(limit)} if limit else {}
    return Program([o.python, os.path.join(WORKLOADS, "py_sklearn.py"), "--pipeline", pipeline, "--jobs", str(jobs),
                    "--backend", backend, "--seconds", str(o.seconds)], env)


def python(o):
    cells, grids = [], {}

    def add(key, make, unit, timeout):
        """make(workers or jobs, limit); the best thread limit is looked for at 8 and at as many as cores."""
        group = ("python", *key.values())
        grids[group] = [(f"{n} workers, limit {limit}", Cell({"setting": f"{n}, limit {limit}"}, [make(n, limit)], unit, timeout,
                                                             group=group))
                        for n in dict.fromkeys([8, o.cores, 1]) for limit in dict.fromkeys([1, o.cores])]
        cells.append(Cell(key, [make(8, None)], unit, timeout, group=group))

    for op in ("matmul", "linalg"):
        add({"program": f"ThreadPoolExecutor(8) x numpy {op}"}, lambda n, limit, op=op: numpy_program(o, op, n, limit=limit),
            "task/s", 20)
    for pipeline in o.some(["pca-ridge", "boosting", "kmeans"], ["pca-ridge"]):
        add({"program": f"joblib(8) x scikit-learn {pipeline}"},
            lambda n, limit, pipeline=pipeline: sklearn_program(o, pipeline, n, limit), "fit/s", 40)
    if not o.small:
        add({"program": "joblib(8), processes (loky) x scikit-learn boosting"},
            lambda n, limit: sklearn_program(o, "boosting", n, limit, "loky"), "fit/s", 40)
    return cells, grids


def mpi_program(o, kind, ranks, length=None):
    launcher = {"mpich": ["mpirun.mpich", "-n", str(ranks)],
                "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]}
    launcher["openmpi-tcp"] = [*launcher["openmpi"], "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]
    return Program([*launcher[kind], o.tool(f"mpi_halo-{kind.removesuffix('-tcp')}"), *(length or ["--seconds", str(o.seconds)])])


def mpi(o):
    cells, grids = [], {}
    for kind, cells_per_ring in itertools.product(["mpich", "openmpi", "openmpi-tcp"], o.some([2000, 200000, 2000000], [200000])):
        size = ["--cells", str(cells_per_ring), "--seconds", str(o.seconds)]
        group = ("mpi", kind, cells_per_ring)
        grids[group] = [(f"{n} ranks", Cell({"setting": f"{n} ranks"}, [mpi_program(o, kind, n, size)], "step/s", group=group))
                        for n in dict.fromkeys([o.cores, max(1, o.cores // 2)])]
        for n in o.some([2, 4, 8, 16], [4]):
            cells.append(Cell({"library": kind, "ring": cells_per_ring, "ranks": n}, [mpi_program(o, kind, n, size)], "step/s",
                              timeout=o.some(15, 8), group=group, only=LINUX_AND_USF))
    return cells, grids


def pytest_program(o, workers):
    return Program([o.python, os.path.join(WORKLOADS, "py_pytest.py"), "--workers", str(workers), "--seconds", "0"])


def mlp_program(o, threads):
    return Program(["/usr/bin/python3", os.path.join(WORKLOADS, "py_mlp.py"), "--threads", str(threads), "--seconds", str(o.seconds)])


def torch_program(o, processes):
    """Debian's PyTorch belongs to Debian's Python."""
    return Program(["/usr/bin/python3", os.path.join(WORKLOADS, "py_torch.py"), "--processes", str(processes), "--seconds", "0"])


# ---- servers -----------------------------------------------------------------------------------

def redis_io_program(o, threads):
    return Program([o.python, os.path.join(WORKLOADS, "served.py"), "--kind", "redis-io", "--threads", str(threads), "--seconds",
                    str(o.seconds)])


def servers(o):
    """Programs that live in system calls: they get nothing from a scheduler, and are not to lose anything."""
    programs = {f"echo, {n} clients": Program([o.tool("echo"), "--clients", str(n), "--seconds", str(o.seconds)])
                for n in o.some([1, 2, 8, 32], [8])}
    for kind, what in SERVERS.items():
        programs[f"{kind} ({what})"] = Program([o.python, os.path.join(WORKLOADS, "served.py"), "--kind", kind, "--seconds",
                                                str(2 * o.seconds)])
    cells = [Cell({"program": label}, [program], "per s", 40, only=LINUX_AND_USF) for label, program in programs.items()
             if not lacking(label.split()[0])]
    return cells, {}


def lacking(kind):
    """Whether the machine lacks the server that is to be measured."""
    needs = {"redis": "redis-server", "memcached": "memcached", "postgres": "pg_ctlcluster"}
    return not shutil.which(needs.get(kind, "bash"))


def serving(o):
    """A server with its clients, or MPI, beside an OpenMP program: how long until both have done their work."""
    scale = o.some(1.0, 0.2)

    def server(kind, requests):
        number = ["--requests", str(int(requests * scale))]
        if kind.startswith(("mpich", "openmpi")):
            return mpi_program(o, kind, o.cores, ["--steps", str(int(requests * scale)), "--seconds", "0"])
        return Program([o.tool("echo"), "--clients", "8", *number] if kind == "echo" else
                       [o.python, os.path.join(WORKLOADS, "served.py"), "--kind", kind, *number])

    cells, grids = [], {}
    for (kind, requests), which in o.some([(("echo", 150000), "cg32"), (("redis", 120000), "nbody"), (("postgres", 30000), "cg32"),
                                           (("http", 2000), "nbody"), (("pipeline", 4000000), "cg96"),
                                           (("memcached", 30000), "nbody"), (("mpich", 6000), "cg32"),
                                           (("openmpi-tcp", 6000), "nbody")], [(("echo", 150000), "nbody")]):
        if lacking(kind):
            continue
        c, (group, grid) = beside(o, f"{kind} + {which}", lambda t, _, kind=kind, requests=requests, which=which:
                                  [server(kind, requests), mini(o, which, t, scale)], o.some(40, 10), o.some([2, 4, 8], [4]))
        cells += c
        grids[group] = grid
    return cells, grids


# ---- threads <= cores --------------------------------------------------------------------------

def fits(o):
    """Programs that do not oversubscribe: usf has to leave them as fast as they are bare."""
    programs = {f"{which} ({runtime})": mini(o, which, o.cores, o.some(0.5, 0.1), runtime)
                for which, runtime in itertools.product(["cg32", "cg96", "nbody", "sort"], o.some(["gomp", "libomp"], ["gomp"]))}
    for library in BLAS:
        programs[f"{library} dgemm {o.cores}x1"] = nested_program(o, library, "dgemm", "pthread", o.cores, 1)
        programs[f"{library} dgemm 1x{o.cores}"] = nested_program(o, library, "dgemm", "pthread", 1, o.cores)
    programs["numpy matmul, 1 worker"] = numpy_program(o, "matmul", 1)
    programs[f"numpy matmul, {o.cores} workers, limit 1"] = numpy_program(o, "matmul", o.cores, limit=1)
    programs[f"PyTorch, 12 layers, {o.cores} threads"] = mlp_program(o, o.cores)
    programs[f"mpich, {o.cores} ranks"] = mpi_program(o, "mpich", o.cores)
    cells, grids = [], {}
    for label, program in programs.items():
        unit = "per s"
        group = ("fits", label)
        grids[group] = [(name, Cell({"setting": name}, [with_env(program, env)], unit, 20, group=group))
                        for name, env in (("default", {}), ("passive", PASSIVE), ("active", ACTIVE))]
        cells.append(Cell({"program": label}, [program], unit, 20, group=group))
    return cells, grids


BENCHES = {f.__name__: f for f in (nested, pairs, mix, forkjoin, barriers, locks, hotlocks, storm, micro, startup, python, mpi, servers,
                                     serving, fits)}


# What the workloads in Python need besides an interpreter.
NEEDS = {"py_mlp.py": "/usr/lib/python3/dist-packages/torch", "py_torch.py": "/usr/lib/python3/dist-packages/torch", "redis-io": "redis-benchmark"}


def lacks(o, cell):
    """What this machine lacks of a cell's programs, libraries, interpreters; or None."""
    for p in cell.programs:
        for word in p.argv:
            need = NEEDS.get(os.path.basename(word))
            if need and not (os.path.exists(need) or shutil.which(need)):
                return need
        for word in [p.argv[0], *(a for a in p.argv if a.startswith("/") or a.startswith(o.bin))]:
            if not (os.path.exists(word) or shutil.which(word)):
                return word
    return None
