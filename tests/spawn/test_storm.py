# tests/spawn/test_storm.py - the storm under usf.  SPDX-License-Identifier: Apache-2.0
# usage: test_storm.py [--seconds N] [--minutes N] [--points]
# Without --minutes one round.  --points: the build has perturbation points, which each round seeds.
import argparse
import os
import sys
import time

import spawn


class Storm(spawn.Case):
    def setUp(self):
        super().setUp()
        # A child of a fork during a dlopen of thread-local storage may end at its first pthread_create, bare as well: glibc (2.36) counts
        # the module before it counts the change, and asserts the order (_dl_allocate_tls_init).
        self.env["SPAWN_PLUGIN"] = spawn.program("plugin-without-tls.so")

    def test_storm(self):
        until = time.monotonic() + args.minutes * 60
        seed = spawn.instance.SEED
        while True:
            if args.points:
                self.env["USF_POINTS"] = "seed=%d,delay=100,yield=30" % seed
            r = self.run_it(spawn.USF, "run", "--", spawn.program("storm"), "storm", str(seed), str(args.seconds))
            self.assertEqual(r.code, 0, "seed %d: %s" % (seed, r))
            self.assertNotIn("bug:", r.ours)
            print(r.err.replace("\n", " "), file=sys.stderr, flush=True)
            seed = (seed + 1) % (1 << 30)
            if time.monotonic() >= until:
                break


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=2)
    p.add_argument("--minutes", type=float, default=0)
    p.add_argument("--points", action="store_true")
    args, sys.argv[1:] = p.parse_known_args()
    os.environ.setdefault("SPAWN_ALARM", str(int(args.minutes * 60) + 280))
    spawn.main()
