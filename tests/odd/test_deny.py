#!/usr/bin/python3
# tests/odd/test_deny.py - kernels and sandboxes that lack system calls.  SPDX-License-Identifier: Apache-2.0
#
# A filter that is there before `usf run` holds for the tool, the program and the monitor.  With `all` as the argument each
# call by itself, in the order of what usf uses; without it, calls that usf can do without all at once.
import sys

from odd import FILES, LOAD, Case, can, main

ERRORS = ("ENOSYS", "EPERM")
# newer than the kernels that usf wants, or refused by this and that sandbox; nothing here depends on them
DISPENSABLE = ("pidfd_open", "close_range", "statx", "openat2", "rseq", "membarrier", "futex_waitv", "faccessat2", "epoll_pwait2",
               "madvise", "prctl", "sched_setattr", "getpriority", "setrlimit", "waitid", "kill", "tgkill", "setsid", "chdir",
               "readlinkat", "getdents64", "sched_yield", "set_robust_list", "getresuid", "faccessat", "process_vm_readv",
               "sigaltstack", "getrandom", "pwrite64", "rt_sigtimedwait", "poll")
# without these there is no instance, or nobody to watch it: unscheduled, with a word
NEEDED = {"linkat": "cannot make", "ftruncate": "cannot make", "fchmod": "cannot make", "epoll_create1": "monitor",
          "epoll_ctl": "monitor", "epoll_wait": "monitor", "eventfd2": "monitor", "rt_tgsigqueueinfo": "monitor",
          "sched_getaffinity": "CPUs", "readlink": "/proc"}
# scheduled, but with leftovers that `usf clean` removes
UNTIDY = ("unlinkat", "flock")


class Deny(Case):
    def deny(self, what, error):
        command = [FILES["deny"], "=" + error, *what, "--"]
        bare = self.run_it(*command, LOAD)
        if bare.code == 77:
            self.skipTest("no filters of system calls here")
        self.assertEqual((bare.code, bare.out), (0, "done\n"), "bare: %s" % bare)
        return self.run_it(*command, *self.usf("--stats", LOAD))

    def each(self, names, check):
        for name in names:
            for error in ERRORS:
                with self.subTest(call=name, error=error):
                    check(self.deny([name], error), name)

    def test_without_all_that_is_dispensable(self):
        for error in ERRORS:
            with self.subTest(error=error):
                self.scheduled(self.deny(["=ENOSYS", "clone3", "=" + error, *DISPENSABLE], error), 3)
                self.gone_soon()

    def test_the_supervisor(self):
        """It is not told of the monitor's end, or cannot wait for that: it looks."""
        for what in ["prctl"], ["rt_sigtimedwait"], ["prctl", "rt_sigtimedwait"]:
            with self.subTest(calls=what):
                self.scheduled(self.deny(what, "EPERM"), 3)
                self.gone_soon()

    def test_as_docker(self):
        self.scheduled(self.deny(["docker"], "EPERM"), 3)
        self.gone_soon()

    def test_threads_that_cannot_be_bound(self):
        self.scheduled(self.deny(["sched_setaffinity"], "EPERM"), 3)
        self.gone_soon()

    def test_code_that_cannot_be_written_through_proc(self):
        """Neither by writing nor at all: by making pages writable for the moment."""
        self.scheduled(self.deny(["pwrite64", "madvise"], "EPERM"), 3)

    def test_without_a_monitor(self):
        self.unscheduled(self.deny(["epoll_create1"], "ENOSYS"), "monitor", "does not start")
        self.gone_soon()
        self.unscheduled(self.deny(["rt_tgsigqueueinfo"], "EPERM"), "monitor", "does not start")

    def test_without_an_instance(self):
        self.unscheduled(self.deny(["linkat"], "EPERM"), "cannot make")
        self.unscheduled(self.deny(["sched_getaffinity"], "EPERM"), "CPUs")


class Each(Deny):
    """The long version."""

    def test_dispensable(self):
        self.each(DISPENSABLE, lambda r, name: self.scheduled(r, 3))

    def test_needed(self):
        self.each(NEEDED, lambda r, name: self.unscheduled(r, NEEDED[name]))

    def test_untidy(self):
        def check(r, name):
            self.scheduled(r, 3)
            self.tidy()
        self.each(UNTIDY, check)

    def tidy(self):
        self.assertTrue(can(FILES["usf"], "clean", "-i", self.instance, "--force"))


if __name__ == "__main__":
    if sys.argv[1:] == ["all"]:
        sys.argv[1:] = ["Each.test_dispensable", "Each.test_needed", "Each.test_untidy"]
    else:
        sys.argv[1:] = sys.argv[1:] or ["Deny"]
    main()
