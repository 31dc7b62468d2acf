#!/usr/bin/python3
# tests/odd/test_share.py - with whom an instance is shared.  SPDX-License-Identifier: Apache-2.0

from odd import LOAD, FILES, Case, main


class Share(Case):
    def instances(self, *options, add=None):
        """Those of a program, of a child of it, and of a run in it."""
        echo = "echo $USF_INSTANCE; sh -c 'echo $USF_INSTANCE'; %s run sh -c 'echo $USF_INSTANCE'" % FILES["usf"]
        r = self.run_it(FILES["usf"], "run", *options, "sh", "-c", echo, env={**self.env, **(add or {})})
        self.assertEqual((r.code, r.err), (0, ""), r)
        return r.out.split()

    def test_user(self):
        self.assertEqual(self.instances(), [self.instance] * 3)
        self.assertEqual(self.instances("--share=user"), [self.instance] * 3)

    def test_process(self):
        one, two = self.instances("--share", "process"), self.instances("--share", "process")
        self.assertEqual(len(set(one)), 1, one)
        self.assertNotEqual(one[0], two[0])
        self.assertTrue(one[0].startswith("run-"))
        for name in one[0], two[0]:
            self.addCleanup(self.clean, name)
        r = self.run_it(*self.usf("--stats", "--share", "process", LOAD))
        self.scheduled(r, 3)

    def test_from_elsewhere(self):
        name = self.instances(add={"USF_SHARE": "process"})[0]
        self.assertTrue(name.startswith("run-"), name)
        self.assertEqual(self.instances("-i", self.instance, add={"USF_SHARE": "process"})[0], self.instance)

    def test_mistakes(self):
        for options, word in ((["--share", "process", "-i", "x"], "exclude"), (["--share", "all"], "process|user")):
            r = self.run_it(FILES["usf"], "run", *options, "true")
            self.assertEqual(r.code, 125)
            self.assertIn(word, r.err)


if __name__ == "__main__":
    main()
