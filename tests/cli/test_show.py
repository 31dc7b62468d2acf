#!/usr/bin/python3
# tests/cli/test_show.py - ps, doctor, policy, clean, help.  SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import re
import shutil
import subprocess
import time

from common import FILES, Case, main, number, places

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../docs/meson.build")) as built:
    BUILT = ["usf.1"] + ["usf-%s.1" % name for name in re.findall(r"'([a-z]+)'", re.search(r"foreach name : \[(.*?)\]", built.read()).group(1))]


def sim_help():
    return subprocess.run([os.path.join(os.path.dirname(FILES["usf"]), "usf-sim"), "run", "--help"], capture_output=True, text=True, timeout=30).stdout


class Instances(Case):
    def setUp(self):
        super().setUp()
        self.env["USF_MONITOR_LINGER"] = "30000"

    def make(self):
        self.assertEqual(self.run_usf("run", "true").returncode, 0)
        self.assertTrue(os.path.exists(self.segment))

    def test_ps(self):
        self.make()
        p = self.run_usf("ps", "-i", self.instance)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertIn("instance " + self.instance, p.stdout)
        self.assertIn("policy coop", p.stdout)
        self.assertNotIn("\033", p.stdout)
        p = self.run_usf("ps", "-i", self.instance, "--json")
        i, = json.loads(p.stdout)
        self.assertEqual((i["name"], i["policy"], i["quantum_ns"], i["processes"]), (self.instance, "coop", 20000000, []))
        self.assertEqual({c["cpu"] for c in i["cores"]} - os.sched_getaffinity(0), set())
        self.assertTrue(all(c["state"] == "idle" and c["tid"] is None for c in i["cores"]))
        p = self.run_usf("ps", "--json")
        self.assertIn(self.instance, [x["name"] for x in json.loads(p.stdout)])

    def test_ps_of_none(self):
        p = self.run_usf("ps", "-i", self.instance)
        self.one_line(p, 1, self.instance)
        p = self.run_usf("ps", "-i", self.instance, "--json")
        self.assertEqual((p.returncode, json.loads(p.stdout)), (1, []))

    def test_clean(self):
        self.make()
        p = self.run_usf("clean", "-i", self.instance)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertIn("removed", p.stdout)
        self.assertFalse(os.path.exists(self.segment))
        self.one_line(self.run_usf("clean", "-i", self.instance), 1, self.instance)
        self.one_line(self.run_usf("clean", "--all", "-i", self.instance), 125, "exclude")

    def test_clean_damaged(self):
        self.write_segment(b"junk" * 1000)
        self.one_line(self.run_usf("clean"), 1, "damaged", "--force")
        self.assertTrue(os.path.exists(self.segment))
        p = self.run_usf("clean", "--force")
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertFalse(os.path.exists(self.segment))

    def write_segment(self, data, mode=0o600):
        with open(self.segment, "wb") as f:
            f.write(data)
        os.chmod(self.segment, mode)

    def sane(self, *args):
        p = subprocess.run([self.usf, *args], env=self.env, capture_output=True, timeout=60)
        self.assertIn(p.returncode, (0, 1, 2), (args, p.stderr))
        json.loads(p.stdout)
        return p

    def test_random_segments(self):
        """Whatever lies there: an answer, never a crash."""
        self.make()
        with open(self.segment, "rb") as f:
            good = bytearray(f.read(1 << 20))
            size = os.fstat(f.fileno()).st_size
        self.run_usf("clean", "-i", self.instance)
        header = number(good, places()["header_size"], 4)
        for i in range(120):
            data = bytearray(good)
            for _ in range(random.choice([1, 2, 8, 300])):
                at = random.choice([random.randrange(200), random.randrange(2500), random.randrange(header), random.randrange(len(data))])
                data[at] = random.choice([0, 1, 0x7f, 0xff, random.randrange(256)])
            self.write_segment(bytes(data[:random.choice([len(data)] * 8 + [0, 1, 100, 5000])]), random.choice([0o600] * 9 + [0o644]))
            if random.random() < 0.8:
                os.truncate(self.segment, size)
            self.sane("ps", "--json", "-i", self.instance)
            if i % 10 == 0:
                self.sane("doctor", "--json")
                p = self.run_usf("run", FILES["hello"], "2", text=False)
                self.assertEqual((p.returncode, p.stdout), (2, b"hello\n"), p.stderr)
            os.unlink(self.segment)

    def test_truncated_while_shown(self):
        self.make()
        for _ in range(30):
            p = subprocess.Popen([self.usf, "ps", "--json", "-i", self.instance], env=self.env, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(random.random() * 0.002)
            os.truncate(self.segment, random.choice([0, 4096, 20000]))
            self.assertIn(p.wait(20), (0, 1))
            os.unlink(self.segment)
            self.make()

    def test_names_that_are_not_utf8(self):
        # a thread may call itself anything: written into a core's table by hand is not possible here, so
        # take the name of the instance's policy message
        self.make()
        with open(self.segment, "rb") as f:
            at = f.read(20000).find(b"coop\0")
        self.assertGreater(at, 0)
        with open(self.segment, "r+b") as f:
            f.seek(at)
            f.write(b"\xff\xfe\x1b[31m")
        for args in (["ps", "-i", self.instance], ["ps", "--json", "-i", self.instance]):
            p = subprocess.run([self.usf, *args], env=self.env, capture_output=True, timeout=30)
            self.assertNotIn(b"\x1b", p.stdout + p.stderr)
            if "--json" in args:
                json.loads(p.stdout.decode())

    def test_doctor(self):
        self.make()
        p = self.sane("doctor", "--json")
        d = json.loads(p.stdout)
        sections = {f["section"] for f in d["findings"]}
        self.assertLessEqual({"machine", "options", "instances"}, sections)
        mine = [f for f in d["findings"] if f["check"] == self.instance]
        self.assertEqual(len(mine), 1, mine)
        self.assertIn(mine[0]["result"], ("note", "ok"))
        self.assertTrue(d["able"])
        lib, = [f for f in d["findings"] if f["check"] == "library"]
        self.assertEqual(lib["result"], "ok")
        self.assertRegex(lib["text"], "^" + re.escape(self.lib) + ", build [0-9a-f]+$")

    def test_doctor_sees_what_is_wrong(self):
        self.write_segment(b"x" * 100000)
        os.unlink(self.lib)
        self.user_config("quantun = 3\n")
        p = self.sane("doctor", "--json")
        self.assertEqual(p.returncode, 1)
        found = {f["check"]: f for f in json.loads(p.stdout)["findings"]}
        self.assertEqual(found[self.instance]["result"], "wrong")
        self.assertEqual(found["library"]["result"], "wrong")
        self.assertIn("quantun", found["configuration"]["text"])

    def test_doctor_program(self):
        p = self.sane("doctor", "--json", "--program", FILES["hello"])
        f = [x for x in json.loads(p.stdout)["findings"] if x["section"] == "program"]
        self.assertTrue(any("is scheduled" in x["text"] for x in f), f)
        self.assertTrue(any(x["check"] == "glibc" and x["result"] == "ok" for x in f), f)
        sites = [x for x in f if x["check"] == "sites"]
        self.assertTrue(any("libc.so.6" in x["text"] for x in sites), f)
        cover, = [x for x in f if x["check"] == "coverage"]
        self.assertGreater(int(cover["text"].split()[0]), 100)
        p = self.sane("doctor", "--json", "--program", FILES["static"])
        self.assertIn("statically linked", p.stdout.decode())
        p = self.sane("doctor", "--json", "--program", "no-such-program")
        self.assertEqual(p.returncode, 1)


class Words(Case):
    def test_policies(self):
        p = self.run_usf("policy", "list")
        self.assertEqual(p.returncode, 0)
        names = [x.split()[0] for x in p.stdout.splitlines()]
        self.assertLessEqual({"coop", "fifo", "linux"}, set(names))
        self.assertEqual([x["name"] for x in json.loads(self.run_usf("policy", "list", "--json").stdout)], names)
        p = self.run_usf("policy", "info", "coop", "--json")
        self.assertIn("enqueue", json.loads(p.stdout)["operations"])
        self.assertIn("enqueue", self.run_usf("policy", "info", "fifo").stdout)
        self.one_line(self.run_usf("policy", "info", "cooop"), 125, "'coop'")
        self.one_line(self.run_usf("policy", "info"), 125)
        self.one_line(self.run_usf("policy"), 125)
        self.one_line(self.run_usf("policy", "lst"), 125, "'list'")
        self.one_line(self.run_usf("policy", "list", "x"), 125, "too many")
        self.one_line(self.run_usf("policy", "info", "./none.so"), 1, "none.so")
        self.one_line(self.run_usf("policy", "info", self.lib), 1, "usf_policy")

    def test_version_and_help(self):
        self.assertRegex(self.run_usf("--version").stdout, r"^usf \d+\.\d+\.\d+\n$")
        for args in (["--help"], ["-h"], ["help"]):
            p = self.run_usf(*args)
            self.assertEqual((p.returncode, p.stderr), (0, ""))
            for c in ("run", "ps", "policy", "config", "doctor", "dump", "shim", "clean"):
                self.assertRegex(p.stdout, r"(?m)^  %s " % c)
            self.assertNotIn("monitor ", p.stdout)
        for c in ("run", "ps", "policy", "config", "doctor", "dump", "shim", "clean"):
            a, b = self.run_usf("help", c), self.run_usf(c, "--help")
            self.assertEqual((a.stdout, a.returncode, b.returncode), (b.stdout, 0, 0))
        self.one_line(self.run_usf("help", "rn"), 125, "'run'")
        self.one_line(self.run_usf("ps", "--jsn"), 125, "--json")
        self.one_line(self.run_usf("ps", "x"), 125, "too many")
        self.one_line(self.run_usf("monitor"), 125)

    def test_every_option_is_in_the_help(self):
        p = self.run_usf("run", "--help")
        for o in json.loads(self.run_usf("config", "show", "--json").stdout):
            self.assertIn("--" + o["name"], p.stdout)

    def test_man_page_is_that_of_the_table(self):
        with open(os.path.join(HERE, "../../docs/usf.1")) as f:
            self.assertEqual(f.read(), self.run_usf("help", "man").stdout, "make it anew: usf help man > docs/usf.1")
        for page in ["usf.1"] + ["usf-%s.1" % c for c in self.commands() if c != "help"]:
            text = self.run_usf("help", page).stdout
            self.assertTrue(text.startswith(".\\\""), page)
            self.assertIn(page, BUILT, "docs/meson.build makes no " + page)
            if shutil.which("groff"):
                p = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=text, capture_output=True, text=True)
                self.assertEqual(p.stderr, "", page)
        self.one_line(self.run_usf("help", "usf-frobnicate.1"), 125)
        self.one_line(self.run_usf("help", "usf-ps.1x"), 125)

    def commands(self):
        """Those that the overview names."""
        text = self.run_usf("help").stdout
        return re.findall(r"^  ([a-z]+) ", text[text.index("Commands:"):], re.M)

    def options_of(self, command):
        """(long name, letter or '') of every option that the help of a command lists."""
        text = self.run_usf("help", command).stdout
        return [(long, letter) for letter, long in re.findall(r"^  (?:-([a-zA-Z]), |    )--([a-z-]+)", text, re.M)]

    def test_help_fits_a_terminal(self):
        self.assertGreaterEqual(len(self.commands()), 10)
        for args in [("help",), ("--help",)] + [("help", c) for c in self.commands()] + [(c, "--help") for c in self.commands() if c != "sim"]:
            p = self.run_usf(*args)
            self.assertEqual(p.returncode, 0, args)
            self.assertEqual([line for line in p.stdout.splitlines() if len(line) > 79], [], args)
            self.assertNotRegex(p.stdout, r"(?m) $", args)

    def test_options_of_run_are_grouped(self):
        p = self.run_usf("run", "--help")
        titles = re.findall(r"^([A-Z][^:\n]*).*:$", p.stdout, re.M)
        self.assertEqual([t.split()[0] for t in titles], ["Common", "Placement", "Waiting", "Output"])
        self.assertLess(p.stdout.index("--policy"), p.stdout.index("Placement:"))

    def test_a_letter_means_the_same_everywhere(self):
        meaning = {}
        for command in self.commands():
            for name, letter in self.options_of(command):
                if letter:
                    self.assertEqual(meaning.setdefault(letter, name), name, "-%s of %s" % (letter, command))
        self.assertEqual(meaning["p"], "policy")
        sim = {letter: name for letter, name in re.findall(r"^  -([a-z]), --([a-z-]+)", sim_help(), re.M)}
        self.assertEqual({k: v for k, v in sim.items() if meaning.get(k, v) != v}, {})

    def test_man_pages_and_completions_know_every_option(self):
        scripts = {s: self.run_usf("help", "completion", s).stdout for s in ("bash", "zsh", "fish")}
        for command in self.commands():
            page = self.run_usf("help", "usf-%s.1" % command).stdout
            for name, letter in self.options_of(command):
                self.assertIn("\\-\\-" + name.replace("-", "\\-"), page, command)
                self.assertIn("--" + name, scripts["bash"])
                self.assertIn("--" + name, scripts["zsh"])
                self.assertRegex(scripts["fish"], r"from %s' -l %s\b" % (command, name))

    def test_completions_are_sound_in_their_shells(self):
        for shell, check in ("bash", ["bash", "--norc", "-c", "source complete && complete -p usf"]), \
                            ("zsh", ["zsh", "-f", "-c", "autoload -Uz compinit && compinit -u -d dump && source ./complete && whence _usf && print $_comps[usf]"]), \
                            ("fish", ["fish", "--no-config", "-c", "source complete; complete -C 'usf run --qu'; complete -C 'usf policy s'"]):
            if not shutil.which(shell):
                print("skipped: %s: not installed" % shell)
                continue
            self.write("complete", self.run_usf("help", "completion", shell).stdout)
            p = subprocess.run(check, cwd=self.dir, env=dict(self.env, PATH=self.bin + ":/usr/bin:/bin", TERM="dumb"), capture_output=True, text=True,
                               timeout=60, stdin=subprocess.DEVNULL)
            self.assertEqual((p.returncode, p.stderr), (0, ""), shell)
            self.assertIn("quantum" if shell == "fish" else "_usf", p.stdout, shell)
        self.one_line(self.run_usf("help", "completion", "tcsh"), 125, "bash, zsh or fish")

    def test_completion(self):
        script = self.run_usf("help", "completion").stdout
        path = self.write("complete", script)
        def complete(*words):
            p = subprocess.run(["bash", "-c", ". %s; COMP_WORDS=(%s); COMP_CWORD=%d; _usf; printf '%%s\\n' \"${COMPREPLY[@]}\"" %
                                (path, " ".join("'%s'" % w for w in words), len(words) - 1)],
                               env=dict(self.env, PATH=self.bin + ":/usr/bin:/bin"), capture_output=True, text=True, timeout=30, cwd=self.dir)
            self.assertEqual(p.stderr, "")
            return p.stdout.split()
        self.assertEqual(complete("usf", "po"), ["policy"])
        self.assertEqual(complete("usf", "run", "--qu"), ["--quantum"])
        self.assertEqual(complete("usf", "run", "--policy", "co"), ["coop"])
        self.assertEqual(complete("usf", "run", "--malleable", ""), ["auto", "on", "off"])
        self.assertIn("list", complete("usf", "policy", "l"))
        self.assertEqual(complete("usf", "run", "--policy", "=", "fif"), ["fifo"])
        self.assertEqual(complete("usf", "policy", "set", "fif"), ["fifo"])
        self.assertEqual(complete("usf", "policy", "new", "--lang", "ru"), ["rust"])
        self.assertEqual(complete("usf", "help", "ru"), ["run"])
        self.assertEqual(complete("usf", "help", "compl"), ["completion"])
        self.assertEqual(complete("usf", "help", "completion", ""), ["bash", "zsh", "fish"])
        self.assertIn("--force", complete("usf", "clean", "--f"))
        self.assertNotIn("--quantum", complete("usf", "run", "--", "--"))       # words of the program's command line
        self.assertNotIn("--quantum", complete("usf", "run", "--", "--qu"))
        self.assertIn("true", complete("usf", "run", "--", "tru"))
        self.assertEqual(complete("usf", "tune", "--search", "ba"), ["bayes"])
        self.assertIn("true", complete("usf", "tune", "--vary", "n=1", "--", "tru"))
        self.write("beside.txt", "")
        self.assertIn("beside.txt", complete("usf", "run", "-c", "0", "--", "cat", "besi"))
        self.assertIn("beside.txt", complete("usf", "trace", "info", "besi"))

    def test_no_colour(self):
        # on a terminal there is colour, unless NO_COLOR asks for none
        import pty
        for no, expect in (("", True), ("1", False)):
            pid, fd = pty.fork()
            if pid == 0:
                os.execve(self.usf, ["usf", "config", "show"], dict(self.env, TERM="xterm", NO_COLOR=no))
            out = b""
            while True:
                try:
                    piece = os.read(fd, 4096)
                except OSError:
                    break
                if not piece:
                    break
                out += piece
            os.waitpid(pid, 0)
            os.close(fd)
            self.assertEqual(b"\033[" in out, expect)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as f:
            p = subprocess.run([self.usf, "config", "show"], env=self.env, stdout=f, stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual(p.returncode, 1)
        self.assertTrue(re.match("usf: .*written", p.stderr))


if __name__ == "__main__":
    main()
