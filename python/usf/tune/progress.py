# python/usf/tune/progress.py - one line on a terminal while a search runs.  SPDX-License-Identifier: Apache-2.0
import math
import shutil
import time

from .figures import number

_BAR = 20


def _time(seconds):
    seconds = int(seconds)
    return "%d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60) if seconds >= 3600 else "%d:%02d" % (seconds // 60, seconds % 60)


class Bar:
    """Called after each run. It writes nothing where the stream is no terminal."""

    def __init__(self, stream, quiet=False):
        self._stream = stream
        self._on = not quiet and stream.isatty()
        self._start = time.monotonic()
        self._shown = False

    def __call__(self, state, outcome):
        if not self._on:
            return
        left = state.left()
        total = state.nr_runs + left
        done = state.nr_runs / total if 0 < total < math.inf else 0
        chosen = state.chosen()
        text = "%d/%s runs" % (state.nr_runs, "?" if math.isinf(total) else int(total))
        if done:
            text += ", %s left" % _time((time.monotonic() - self._start) / state.nr_runs * left)
        if chosen:
            text += ", best %s (%s)" % (number(state.sign * chosen.score), " ".join("%s=%s" % item for item in chosen.candidate.items()))
        line = "[%s] %s" % (("#" * int(done * _BAR)).ljust(_BAR, "-"), text)
        self._stream.write("\r%s\033[K" % line[:shutil.get_terminal_size().columns - 1])
        self._stream.flush()
        self._shown = True

    def clear(self):
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()
            self._shown = False
