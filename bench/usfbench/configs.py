# bench/usfbench/configs.py - under what a program is run.  SPDX-License-Identifier: Apache-2.0
import itertools
import os
from dataclasses import dataclass, field

from .launch import Command

PASSIVE = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
# Variables that would change what is measured if the caller's shell had them set.
SCRUB = ["OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS",
         "OMP_NESTED", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY", "KMP_BLOCKTIME", "KMP_AFFINITY", "OPENBLAS_NUM_THREADS",
         "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "TBB_NUM_THREADS", "LD_PRELOAD"]


@dataclass
class Program:
    """A program as its user would start it, and the settings that belong to the cell (thread counts)."""
    argv: list
    env: dict = field(default_factory=dict)
    cpus: str = ""                              # confined to these CPUs, "" = all
    timer: list = field(default_factory=list)   # a command that starts and times it (goes in front of everything)


@dataclass
class Config:
    name: str
    env: dict = field(default_factory=dict)
    usf: list = field(default_factory=list)     # options of `usf run`; None or empty = plain Linux
    _serial = itertools.count(1)

    def commands(self, programs, usf):
        """The commands to run; those of one call share an instance of usf, which no other run uses."""
        env = dict(self.env)
        if self.usf:
            env["USF_INSTANCE"] = f"bench-{os.getpid()}-{next(Config._serial)}"
            if not any(p.timer for p in programs):  # starts are timed as users have them: the instance is there
                env["USF_MONITOR_LINGER"] = "0"
        return [self._command(p, env, usf) for p in programs]

    def _command(self, p, env, usf):
        if self.usf:
            prefix = [usf, "run", *self.usf, *(["-c", p.cpus] if p.cpus else []), "--"]
        else:
            prefix = ["taskset", "-c", p.cpus] if p.cpus else []
        return Command([*p.timer, *prefix, *p.argv], {**p.env, **env})


CONFIGS = {c.name: c for c in [
    Config("linux"),
    Config("linux-passive", PASSIVE),
    Config("usf-linux", usf=["--policy", "linux"]),
    Config("usf-coop", usf=["--policy", "coop"]),
]}
TUNED = "linux-tuned"   # not a Config: the best of the cell's grid, see measure.py
ALL = ["linux", "linux-passive", TUNED, "usf-linux", "usf-coop"]


def scrub_environment():
    for name in SCRUB:
        os.environ.pop(name, None)
    for name in [n for n in os.environ if n.startswith("USF_")]:
        del os.environ[name]
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONDONTWRITEBYTECODE": "1"})
