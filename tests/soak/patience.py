# tests/soak/patience.py - a time limit for what others do.  SPDX-License-Identifier: Apache-2.0
import time


class Patience:
    """So many seconds in which we ourselves ran: when we get no CPU (real-time threads have it, the whole machine stood
    still) those whom we wait for may not have had it, either."""

    LONGEST_LOOK = 0.25     # between two looks; what is more is the machine's doing

    def __init__(self, seconds):
        self.left = seconds
        self.last = time.monotonic()

    def is_over(self):
        now = time.monotonic()
        self.left -= min(now - self.last, self.LONGEST_LOOK)
        self.last = now
        return self.left < 0
