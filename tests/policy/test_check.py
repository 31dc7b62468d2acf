#!/usr/bin/python3
# tests/policy/test_check.py - the check finds what is wrong with a policy.  SPDX-License-Identifier: Apache-2.0
"""usage: test_check.py USF KIND=OBJECT...    objects of bad.c, by their fault"""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import unittest

USF = sys.argv[1]
OBJECTS = dict(a.split("=", 1) for a in sys.argv[2:])
SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))

# fault: (property that fails, operation, words)
FAULTS = {
    "crash": ("returns", "pick", "signal 11"),
    "divide": ("returns", "pick", "division by zero"),
    "loop": ("returns", "enqueue", "does not return"),
    "exit": ("syscalls", "enqueue", "system call number 231"),
    "syscall": ("syscalls", "enqueue", "system call number 39"),
    "import": ("imports", None, "malloc"),
    "vector": ("vectors", None, "-mgeneral-regs-only"),
    "variable": ("variables", None, "counter"),
    "address": ("addresses", "enqueue", "kept from an earlier call"),
    "foreign": ("foreign", "enqueue", "priority"),
    "share": ("foreign", "enqueue", "share_gen"),
    "idle": ("conserving", "pick", "one waits that may run"),
    "lost": ("conserving", "pick", "one waits that may run"),
    "anywhere": ("legal", "pick", "may not run"),
    "twice": ("legal", "pick", "in a queue"),
    "dequeue": ("legal", None, ""),
    "wipe": ("wipe", "init", "begin anew"),
    "greedy": ("starvation", None, "passed over"),
    "yielders": ("yielders", None, "passed over"),
    "keeps": ("legal", "yield", "usf_keep"),
}


def check(*args):
    p = subprocess.run([USF, "policy", "check", "--json", *args], capture_output=True, text=True, timeout=120)
    return p.returncode, json.loads(p.stdout), p


class Check(unittest.TestCase):
    def test_no_fault(self):
        code, found, p = check(OBJECTS["none"], "--seeds", "4", "--seed", str(SEED))
        self.assertEqual((code, found["passed"]), (0, True), p.stdout)
        results = {x["name"]: x["result"] for x in found["properties"]}
        if results["syscalls"] == "not-checked":
            del results["syscalls"]     # an old kernel
        self.assertEqual(set(results.values()), {"passed"}, p.stdout)
        self.assertGreater(found["calls"], 10000)

    def test_each_fault_is_found(self):
        for kind, (name, op, words) in FAULTS.items():
            with self.subTest(kind):
                code, found, p = check(OBJECTS[kind], "--seeds", "3", "--seed", str(SEED))
                by_name = {x["name"]: x for x in found["properties"]}
                if kind in ("exit", "syscall") and by_name["syscalls"]["result"] == "not-checked":
                    self.skipTest("this kernel cannot trap system calls")
                self.assertEqual((code, found["passed"]), (1, False), p.stdout)
                f = by_name[name]
                self.assertEqual(f["result"], "failed", p.stdout)
                self.assertIn(words, f["why"])
                if op:
                    self.assertEqual(f["operation"], op)

    def test_no_process_to_check_it_in(self):
        """That is no fault of the policy's."""
        other = {} if os.geteuid() else {"user": 60000 + os.getpid() % 5000, "group": 60000, "extra_groups": []}
        try:
            p = subprocess.run([USF, "policy", "check", "fifo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)), **other)
        except PermissionError:
            self.skipTest("another user cannot execute it")
        self.assertEqual((p.returncode, p.stdout), (125, ""), p.stderr)
        self.assertIn("fifo could not be checked: no process", p.stderr)

    def test_a_seed_repeats_a_failure(self):
        for kind in ("idle", "anywhere"):
            _, found, _ = check(OBJECTS[kind], "--seeds", "3", "--seed", str(SEED))
            failed = [x for x in found["properties"] if x["result"] == "failed" and x["history"] != "starvation"]
            self.assertTrue(failed, kind)
            for f in failed:
                _, again, _ = check(OBJECTS[kind], "--seeds", "1", "--seed", str(f["seed"]))
                self.assertIn(f, again["properties"])

    def test_starvation_that_is_owned_up_to_is_told(self):
        code, found, p = check(OBJECTS["greedy_and_says_so"], "--seeds", "3", "--seed", str(SEED))
        self.assertEqual((code, found["passed"]), (0, True), p.stdout)
        f, = [x for x in found["properties"] if x["name"] == "starvation"]
        self.assertEqual(f["result"], "not-promised")
        self.assertIn("passed over", f["why"])

    def test_words(self):
        p = subprocess.run([USF, "policy", "check", OBJECTS["idle"], "--seed", "5", "--seeds", "2"], capture_output=True, text=True, timeout=60)
        self.assertEqual(p.returncode, 1)
        self.assertRegex(p.stdout, r"FAILED +no core is idle")
        self.assertRegex(p.stdout, r"again: usf policy check \S+ --seed [56] --seeds 1")
        for args, code, words in ((["cop"], 125, "'coop'"), ([], 125, "needs a policy"), (["coop", "x"], 125, "too many"),
                                  (["coop", "--seeds", "0"], 125, "--seeds"), (["coop", "--seed", "x"], 125, "--seed"),
                                  (["coop", "--sed=1"], 125, "no option"), (["./none.so"], 1, "No such file")):
            p = subprocess.run([USF, "policy", "check", *args], capture_output=True, text=True, timeout=60)
            self.assertEqual((p.returncode, p.stdout, p.stderr.count("\n")), (code, "", 1), args)
            self.assertIn(words, p.stderr)
        p = subprocess.run([USF, "policy", "check", "linux"], capture_output=True, text=True, timeout=60)
        self.assertEqual(p.returncode, 0)
        self.assertIn("nothing to check", p.stdout)


if __name__ == "__main__":
    signal.alarm(300)
    print("seed", SEED, file=sys.stderr)
    unittest.main(argv=sys.argv[:1], verbosity=2)
