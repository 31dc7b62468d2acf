# tests/soak/patience.py - a time limit for what others do.  SPDX-License-Identifier: Apache-2.0
import time


class Patience:
    """So many seconds in which we ourselves ran: when we get no CPU (real-time threads have it, the whole machine stood
    still) those whom we wait for may not have had it, either.  With a probe: on every CPU."""

    LONGEST_LOOK = 0.25     # between two looks; what is more is the machine's doing

    def __init__(self, seconds, probe=None):
        self.left = seconds
        self.last = time.monotonic()
        self.probe = probe
        self.disturbed = False      # the kernel has not run us for a while

    def is_over(self):
        now = time.monotonic()
        late = now - self.last > self.LONGEST_LOOK
        if self.probe and self.probe.is_late():
            self.disturbed = True
        else:
            self.left -= self.LONGEST_LOOK if late else now - self.last
        self.disturbed |= late
        self.last = now
        return self.left < 0
