# tests/float/test_sanitizers.py - programs built with sanitizers report under usf what they report bare.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hung
from instance import HANG, Instance, main

USF = os.environ["USF"]
CANNOT_RUN = r"FATAL: ThreadSanitizer|LeakSanitizer has encountered a fatal error|Shadow memory range interleaves"


class Sanitizers(Instance):
    tool, kind = USF, "sanitized"

    def run_it(self, program, case, before=(), **add):
        p = subprocess.Popen([*before, program, case], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             errors="replace", env={**self.env, **add}, start_new_session=True)
        out, err = hung.output(self, p, HANG)
        if re.search(CANNOT_RUN, err):
            self.skipTest(re.search(".*(?:%s).*" % CANNOT_RUN, err).group())
        return p.returncode, out, re.findall(r"^SUMMARY: (.*)$", err, re.M), err

    def compare(self, sanitizer, case, report=None, **options):
        """The same end, the same output, and reports of the same kinds at the same places."""
        program = os.environ.get("FLOAT_" + sanitizer.upper())
        if not program:
            self.skipTest("the compiler has no -fsanitize=" + {"asan": "address", "tsan": "thread"}[sanitizer])
        bare = self.run_it(program, case, **options)
        ours = self.run_it(program, case, before=(USF, "run", "--"), FLOATS="1", **options)
        self.assertEqual(bare[:3], ours[:3], "\n--- bare\n%s\n--- under usf\n%s" % (bare[3], ours[3]))
        if report:
            self.assertTrue(bare[0] and bare[2], bare[3])
            for line in bare[2]:
                self.assertIn(report, line)
        else:
            self.assertEqual((bare[0], bare[2]), (0, []), bare[3])

    def test_thread_right(self):
        self.compare("tsan", "right")

    def test_thread_race(self):
        self.compare("tsan", "race", "ThreadSanitizer: data race")

    def test_thread_lock_order(self):
        self.compare("tsan", "order", "ThreadSanitizer: lock-order-inversion")

    def test_thread_use_after_free(self):
        self.compare("tsan", "freed", "ThreadSanitizer: heap-use-after-free")

    def test_address_right(self):
        for fake_stacks in "01":
            with self.subTest(fake_stacks=fake_stacks):
                self.compare("asan", "right", ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=" + fake_stacks)

    def test_address_use_after_free(self):
        self.compare("asan", "freed", "AddressSanitizer: heap-use-after-free", ASAN_OPTIONS="detect_leaks=0")

    def test_address_stack(self):
        for fake_stacks in "01":
            with self.subTest(fake_stacks=fake_stacks):
                self.compare("asan", "stack", "AddressSanitizer: stack-buffer-overflow",
                             ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=" + fake_stacks)

    def test_leaks_right(self):
        self.compare("asan", "kept", ASAN_OPTIONS="detect_leaks=1")

    def test_leaks_lost(self):
        self.compare("asan", "lost", "AddressSanitizer: 1234 byte(s) leaked in 1 allocation(s)", ASAN_OPTIONS="detect_leaks=1")


if __name__ == "__main__":
    main(300, verbosity=2)
