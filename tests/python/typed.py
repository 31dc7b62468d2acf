# tests/python/typed.py - a program that uses the interface: `mypy --strict` accepts it.  SPDX-License-Identifier: Apache-2.0
from concurrent.futures import Future
from pathlib import Path
from typing import Any, List, Optional

import usf


def work(n: int, scale: float = 1.0) -> float:
    return n * scale


a: usf.Context = usf.Context("a", cpus=[0], env={"A": "1", "B": None}, path=Path("/nowhere"), strict=False)
b = usf.Context(cpus="0", path=["/nowhere", Path("/none")])
with a as inside:
    entered: usf.Context = inside
result: float = a.run(work, 3, scale=2.0)
future: Future[float] = a.submit(work, 3)
numbers: List[int] = a.cpus
a.cpus = [0]
a.setenv("A", "2")
value: Any = a.getenv("A")
a.unsetenv("A")
name: str = a.name
number: int = a.id
page: str = a._repr_html_()


@a
def decorated(n: int) -> str:
    return str(n)


text: str = decorated(3)
current: Optional[usf.Context] = usf.current_context()
owner: Optional[usf.Context] = usf.context_of(work)
view: Any = usf.view(bytearray(3))
usf.share_modules("one", "two")
vlc: usf.VLC = usf.VLC()
vlc.set_allowed_cpus([0])
a.close()
paths: List[str] = [usf.library_path(), usf.command_path(), usf.include_path()]
with usf.Executor(2, thread_name_prefix="x") as executor:
    call: Future[float] = executor.submit(work, 1)
    urgent: Future[float] = executor.options(priority=3, affinity="cpu-0", strict=False, label="urgent").submit(work, 2, scale=1.0)


async def awaits() -> float:
    return await executor.run(work, 1)
