# tests/soak/board.py - the page on which loads tell their progress.  SPDX-License-Identifier: Apache-2.0
"""The file of load.h, from the killer's side."""
import mmap
import os
import struct

PAGE, SLOT, THREADS = 4096, 512, 10
SLOTS = 8
HEAD, THREAD = 40, 24  # bytes of a slot's head, and of each thread


class Board:
    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.truncate(PAGE + SLOTS * SLOT)
        fd = os.open(path, os.O_RDWR)
        self.m = mmap.mmap(fd, PAGE + SLOTS * SLOT)
        os.close(fd)
        self.epoch = 0

    def next_epoch(self):
        self.epoch += 1
        struct.pack_into("<Q", self.m, 0, self.epoch)

    def stop(self, yes=1):
        struct.pack_into("<Q", self.m, 8, yes)

    def clear(self, slot):
        at = PAGE + slot * SLOT
        self.m[at:at + SLOT] = bytes(SLOT)

    def head(self, slot):
        """pid, threads, bad, execs"""
        return struct.unpack_from("<4Q", self.m, PAGE + slot * SLOT)

    def cpus(self, slot):
        """... that it has run on since forget_cpus"""
        return struct.unpack_from("<Q", self.m, PAGE + slot * SLOT + 32)[0]

    def forget_cpus(self, slot):
        struct.pack_into("<Q", self.m, PAGE + slot * SLOT + 32, 0)

    def threads(self, slot):
        """(count, epoch, first_ns) of each"""
        n = self.head(slot)[1]
        at = PAGE + slot * SLOT + HEAD
        return [struct.unpack_from("<3Q", self.m, at + i * THREAD) for i in range(n)]

    def is_up(self, slot):
        t = self.threads(slot)
        return bool(t) and all(count for count, _, _ in t)

    def went_on(self, slot):
        """When its threads first did in this epoch; None for each that has not."""
        return [first if epoch == self.epoch else None for _, epoch, first in self.threads(slot)]
