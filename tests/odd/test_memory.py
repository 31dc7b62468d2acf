#!/usr/bin/python3
# tests/odd/test_memory.py - a program that the kernel kills for its memory, beside others.  SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess

from groups import Group
from odd import FILES, HANG, Case, main

from game import GAME, Game

# Threads take memory in turns, holding locks and waiting for them when the end comes.
EATERS = '''
import signal, threading
signal.alarm(100)
turn, kept, cond = 0, [], threading.Condition()
def eat(me):
    global turn
    while True:
        with cond:
            while turn %% 4 != me: cond.wait()
            kept.append(b"x" * %d)
            turn += 1
            cond.notify_all()
threads = [threading.Thread(target=eat, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
'''
ROOM = 48 << 20
BITES = (1 << 14, 1 << 17, 1 << 20)     # bytes at a time: from the heap, and in mappings of their own


class Memory(Game, Case):
    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest("only root can make control groups")
        self.group = Group("memory", self.instance)
        self.addCleanup(self.group.remove)
        self.group.memory(ROOM)
        self.group.killed()

    def python(self, program, **kw):
        p = subprocess.Popen(self.usf("/usr/bin/python3", "-c", program), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        return p

    def complaints(self):
        r = self.run_it(FILES["usf"], "doctor", "--json")
        return [f["text"] for f in json.loads(r.out)["findings"] if f["check"] == self.instance and f["result"] not in ("ok", "note")]

    def processes(self):
        r = self.run_it(FILES["usf"], "ps", "-i", self.instance, "--json")
        return [p["pid"] for p in json.loads(r.out)[0]["processes"]]

    def test_others_go_on(self):
        game = self.python(GAME, stdin=subprocess.PIPE)
        self.assertEqual(game.stdout.readline(), "up\n")
        for n, bite in enumerate(BITES, 1):
            with self.subTest(bite=bite):
                victim = self.python(EATERS % bite, stdin=subprocess.DEVNULL, preexec_fn=self.group.enter())
                _, err = victim.communicate(timeout=HANG)
                self.assertEqual((victim.returncode, err), (-signal.SIGKILL, ""))
                self.assertEqual(self.group.killed(), n)
                self.goes_on(game)
                self.soon(lambda: self.processes() == [game.pid], "its record stays")
                self.soon(lambda: not self.complaints(), "usf doctor complains")
        out, err = game.communicate(timeout=HANG)
        self.assertEqual((out, err), ("end\n", ""))
        self.gone_soon()


if __name__ == "__main__":
    main()
