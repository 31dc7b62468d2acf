#!/usr/bin/python3
# tests/cli/test_config.py - the option table and its origins.  SPDX-License-Identifier: Apache-2.0
import json
import os
import pwd
import random
import subprocess
import tomllib
import unittest

from common import FILES, Case, main


def harness(mode, data=b"", env=None):
    return subprocess.run([FILES["harness"], mode], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          env={} if env is None else env)


class Origins(Case):
    def setUp(self):
        super().setUp()
        del self.env["USF_MONITOR_LINGER"]

    def test_order(self):
        name = "quantum"
        o, _ = self.options()
        self.assertEqual((o[name]["value"], o[name]["origin"]), ("20", "default"))
        path = self.system_config("# comment\nquantum = 11\npoll = 7\n")
        o, _ = self.options()
        self.assertEqual((o[name]["value"], o[name]["origin"], o[name]["where"]), ("11", "system file", path + ":2"))
        path = self.user_config("quantum = 12\n")
        o, _ = self.options()
        self.assertEqual((o[name]["value"], o[name]["origin"], o[name]["where"]), ("12", "user file", path + ":1"))
        self.assertEqual(o["poll"]["value"], "7")
        o, _ = self.options(add={"USF_QUANTUM": "13"})
        self.assertEqual((o[name]["value"], o[name]["origin"], o[name]["where"]), ("13", "environment", "USF_QUANTUM"))
        for spelled in (["--quantum", "14"], ["--quantum=14"]):
            o, _ = self.options(*spelled, add={"USF_QUANTUM": "13"})
            self.assertEqual((o[name]["value"], o[name]["origin"]), ("14", "command line"))

    def test_empty_variable_is_unset(self):
        o, err = self.options(add={"USF_QUANTUM": ""})
        self.assertEqual(o["quantum"]["origin"], "default")
        self.assertEqual(err, "")

    def test_every_option_from_everywhere(self):
        values = {"instance": "abc", "cpus": "0", "policy": "fifo", "quantum": 3, "poll": 4, "progress": 5, "lend": 6,
                  "slice": 8, "static-tls": 16, "topology-blind": "on", "weight": 9, "priority": -10, "no-gang": "on", "malleable": "on", "affinity": "strict",
                  "attach": "late", "thread-cache": "off", "float": "off", "without": "probes", "shared-code": "off", "cache-dir": "/x", "monitor-linger": 7, "verbose": 1,
                  "stats": "/tmp/s", "keep-env": "on", "contexts": "a=0; b c=0-1,3", "share": "process", "profile": self.write("empty.toml", "")}
        o, _ = self.options(drop=["USF_INSTANCE"])
        self.assertEqual(set(o), set(values))
        self.user_config("".join("%s = %s\n" % (k, json.dumps(v)) for k, v in values.items()))
        o, err = self.options(drop=["USF_INSTANCE"])
        self.assertEqual(err, "")
        for k, v in values.items():
            self.assertEqual((o[k]["value"], o[k]["origin"]), (str(v), "user file"), k)
        self.user_config("")
        env = {o[k]["variable"]: str(v) for k, v in values.items()}
        o, err = self.options(add=env)
        self.assertEqual(err, "")
        for k, v in values.items():
            self.assertEqual((o[k]["value"], o[k]["origin"]), (str(v), "environment"), k)
        o, err = self.options(*["--%s=%s" % (k, v) for k, v in values.items()])
        for k, v in values.items():
            self.assertEqual((o[k]["value"], o[k]["origin"]), (str(v), "command line"), k)

    def test_short_and_counting(self):
        o, _ = self.options("-vvc0", "-i", "xy")
        self.assertEqual((o["verbose"]["value"], o["cpus"]["value"], o["instance"]["value"]), ("2", "0", "xy"))
        o, _ = self.options("-vvvvv")
        self.assertEqual(o["verbose"]["value"], "3")
        o, _ = self.options("--stats", "--keep-env")
        self.assertEqual((o["stats"]["value"], o["keep-env"]["value"]), ("on", "on"))

    def test_booleans_in_files(self):
        self.user_config("thread-cache = false\nkeep-env = true\nstats = true\n")
        o, err = self.options()
        self.assertEqual((o["thread-cache"]["value"], o["keep-env"]["value"], o["stats"]["value"], err), ("off", "on", "on", ""))

    def test_xdg(self):
        base = os.path.join(self.dir, "xdg")
        self.write("xdg/usf/config.toml", "quantum = 33\n")
        o, _ = self.options(add={"XDG_CONFIG_HOME": base, "XDG_CACHE_HOME": "/cachehome"})
        self.assertEqual(o["quantum"]["value"], "33")
        self.assertEqual(o["cache-dir"]["value"], "/cachehome/usf")
        o, _ = self.options(add={"XDG_CONFIG_HOME": "relative"})
        self.assertEqual(o["quantum"]["value"], "20")
        self.assertEqual(o["cache-dir"]["value"], self.home + "/.cache/usf")
        o, _ = self.options(drop=["HOME"])
        self.assertEqual(o["cache-dir"]["value"], pwd.getpwuid(os.geteuid()).pw_dir + "/.cache/usf")
        o, _ = self.options(add={"HOME": "relative"})
        self.assertEqual(o["cache-dir"]["value"], "")

    def test_files_with_mistakes_warn_and_are_passed_over(self):
        cases = [
            ("quantun = 5\n", ["unknown key 'quantun'", "'quantum'", ":1:"]),
            ("quantum = \"5\"\n", ["quantum takes a whole number", ":1:"]),
            ("quantum = 0\n", ["'0' is not a whole number from 1 to 10000", ":1:"]),
            ("\nattach = \"lat\"\n", ["none of now|late", "'late'", ":2:"]),
            ("cpus = 3\n", ["cpus takes text in quotes"]),
            ("quantum = [1]\n", ["arrays are not accepted", "passed over"]),
            ("quantum = 1.5\n", ["fractions are not accepted"]),
            ("a.b = 1\n", ["key with dots"]),
            ("quantum = 1\nquantum = 2\n", ["comes twice", ":2:"]),
            ("instance = \"\"\"x\"\"\"\n", ["several lines"]),
            ("d = 2020-01-01\n", ["dates"]),
            ("[[x]]\n", ["arrays of tables"]),
            ("[other]\nquantum = 3\n", ["section [other] is not known"]),
            (b"quantum = 5 \xff\n", ["UTF-8"]),
            (b"quantum = 5\0\n", ["NUL"]),
            (b"#" * 70000, ["longer than 65536"]),
        ]
        for text, words in cases:
            self.user_config(text)
            o, err = self.options()
            self.assertEqual(o["quantum"]["value"], "20", text[:80])
            self.assertEqual(len(err.splitlines()), 1, err)
            for w in words:
                self.assertIn(w, err)

    def test_a_good_entry_beside_a_bad_one_counts(self):
        self.user_config("attach = \"x\"\nquantum = 9\n")
        o, err = self.options()
        self.assertEqual((o["quantum"]["value"], o["attach"]["value"]), ("9", "late"))

    def test_odd_files(self):
        path = os.path.join(self.home, ".config/usf/config.toml")
        os.mkdir(path)
        o, err = self.options()
        self.assertIn("not a file", err)
        os.rmdir(path)
        os.mkfifo(path)     # must not block
        o, err = self.options()
        self.assertIn("not a file", err)

    def test_times_have_units(self):
        for text, good in (("20", True), ("20ms", True), ("1.5s", True), ("2500us", True), ("0.001s", True), ("10s", True), ("1ns", False), ("11s", False),
                           ("1h", False), ("5 ms", False), ("5 m", False), ("ms", False), ("-1ms", False), ("1.s", False), ("1e3", False), ("", False),
                           ("18446744073709551617ns", False)):
            p = self.run_usf("config", "show", "--quantum=" + text)
            self.assertEqual(p.returncode, 0 if good else 125, text)
        self.user_config('poll = "1ms"\nlend = 60\nslice = "2.5ms"\n')
        o, err = self.options(add={"USF_PROGRESS": "1s"})
        self.assertEqual((err, o["poll"]["value"], o["lend"]["value"], o["slice"]["value"], o["progress"]["value"]), ("", "1ms", "60", "2.5ms", "1s"))
        p = self.run_usf("run", "--quantum", "2500us", "true", add={"USF_PROGRESS": "1s"})
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        i, = json.loads(self.run_usf("ps", "-i", self.instance, "--json").stdout)
        self.assertEqual((i["quantum_ns"], i["slice_ns"]), (2500000, 2500000))

    def test_unknown_variable(self):
        o, err = self.options(add={"USF_QUANTUN": "1"})
        self.assertIn("unknown variable USF_QUANTUN", err)
        self.assertIn("USF_QUANTUM", err)
        for known in ("USF_RUN", "USF_POINTS", "USF_TEST_ANYTHING", "USF_SEED"):
            o, err = self.options(add={known: "1"})
            self.assertEqual(err, "")

    def test_wrong_values(self):
        for args, words in [
            (["--quantum", "0"], ["--quantum", "1 to 10000"]),
            (["--quantum", "99999999999999999999999"], ["1 to 10000"]),
            (["--quantum="], ["--quantum"]),
            (["--quantum"], ["--quantum needs a value"]),
            (["-c"], ["-c needs a value"]),
            (["-c", "3-1"], ["character"]),
            (["-c", "0,,1"], ["character 3"]),
            (["-i", "a/b"], ["instance name"]),
            (["-i", "x" * 48], ["instance name"]),
            (["--policy", "NO"], ["policy"]),
            (["--attach", "lat"], ["'late'"]),
            (["--cache-dir", "rel"], ["absolute"]),
            (["--verbos"], ["--verbose"]),
            (["--keep-env=maybe"], ["off|on"]),
            (["-z"], ["-z"]),
            (["--quantum", "\033[31m"], ["?[31m"]),
        ]:
            self.one_line(self.run_usf("config", "show", *args), 125, *words)
        self.one_line(self.run_usf("config", "show", add={"USF_LEND": "x"}), 125, "USF_LEND", "'x'")
        self.one_line(self.run_usf("config", "show", "extra"), 125, "extra")
        self.one_line(self.run_usf("config", "shwo"), 125, "show")

    def test_text_form(self):
        p = self.run_usf("config", "show")
        self.assertEqual(p.returncode, 0)
        self.assertRegex(p.stdout, r"(?m)^quantum +20 +default$")
        self.assertNotIn("\033", p.stdout)


class Library(unittest.TestCase):
    """What the preloaded library reads is what the tool exports."""

    def read(self, **env):
        p = harness("env", env=env)
        self.assertEqual(p.returncode, 0, p.stderr)
        return json.loads(p.stdout), p.stderr.decode()

    def test_defaults(self):
        s, err = self.read()
        self.assertEqual(err, "")
        self.assertEqual(s, {"instance": "default", "cpus": "", "policy": "coop", "policy_path": "", "quantum_ns": 20000000,
                             "poll_ns": 200000, "progress_ns": 5000000, "lend_ns": 50000, "linger_ns": 1000000000,
                             "thread_cache": 1, "shared_code": 1, "verbose": 0, "cache_dir": "", "run": 0})

    def test_values(self):
        s, err = self.read(USF_INSTANCE="a", USF_CPUS="0-3,8", USF_POLICY="/x/y.so", USF_QUANTUM="1", USF_POLL="0",
                           USF_PROGRESS="2", USF_LEND="3", USF_MONITOR_LINGER="0", USF_THREAD_CACHE="off", USF_SHARED_CODE="off",
                           USF_VERBOSE="2", USF_CACHE_DIR="/c", USF_RUN="64")
        self.assertEqual(err, "")
        self.assertEqual(s, {"instance": "a", "cpus": "0-3,8", "policy": "", "policy_path": "/x/y.so", "quantum_ns": 1000000,
                             "poll_ns": 2**64 - 1, "progress_ns": 2000000, "lend_ns": 3000, "linger_ns": 0,
                             "thread_cache": 0, "shared_code": 0, "verbose": 2, "cache_dir": "/c", "run": 64})

    def test_malformed_warns_once_and_takes_the_default(self):
        good, _ = self.read()
        for name, bad in [("QUANTUM", "x"), ("QUANTUM", "0"), ("QUANTUM", "18446744073709551617"), ("CPUS", "a"), ("ATTACH", "no"),
                          ("POLICY", "A B"), ("INSTANCE", "../x"), ("CACHE_DIR", "rel"), ("THREAD_CACHE", "yes"), ("RUN", "65"),
                          ("RUN", "-1"), ("VERBOSE", "9"), ("POLICY", "/" + "x" * 2000), ("CACHE_DIR", "/" + "x" * 2000)]:
            s, err = self.read(**{"USF_" + name: bad})
            self.assertEqual(s, good, name)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn("USF_" + name, err)

    def test_random_environment(self):
        good, _ = self.read()
        alphabet = "0123456789-,:abcdefpldo/.\n \x7fé" + "x" * 3
        for _ in range(150):
            env = {"USF_" + n: "".join(random.choice(alphabet) for _ in range(random.choice([0, 1, 2, 5, 40, 1200])))
                   for n in ("INSTANCE", "CPUS", "POLICY", "QUANTUM", "POLL", "LOCK", "CACHE_DIR", "RUN", "VERBOSE")}
            p = harness("env", env=env)
            self.assertEqual(p.returncode, 0, env)

    def test_exported_by_the_tool(self):
        # covered end to end in test_run.py; here: whatever `config show` accepts, the library accepts too
        s, err = self.read(USF_CPUS="0-1023", USF_QUANTUM="10000", USF_LEND="1000000", USF_INSTANCE="x" * 47)
        self.assertEqual(err, "")
        self.assertEqual(s["cpus"], "0-1023")


def distance(a, b):
    """Optimal string alignment, straight from its definition."""
    d = {(-1, -1): 0}
    for i in range(-1, len(a)):
        for j in range(-1, len(b)):
            if i < 0 or j < 0:
                d[i, j] = i + j + 2
                continue
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i] != b[j]))
            if i and j and a[i] == b[j - 1] and a[i - 1] == b[j]:
                d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)
    return d[len(a) - 1, len(b) - 1]


class Words(unittest.TestCase):
    def test_distance(self):
        pairs = [("", ""), ("a", ""), ("quantum", "quantun"), ("ab", "ba"), ("a" * 63, "b" * 63)]
        pairs += [tuple("".join(random.choice("abc") for _ in range(random.randrange(12))) for _ in range(2)) for _ in range(400)]
        out = harness("words", "".join("%s\n%s\n" % p for p in pairs).encode()).stdout.split()
        self.assertEqual([int(x) for x in out], [distance(a, b) for a, b in pairs])


PIECES = ["quantum", "a", "b-c_1", "=", " = ", "[x]", "[x.y]", "[[z]]", "[ s ]", "\n", "\r\n", "\r", " ", "\t", "# comment", "\"text\"", "'lit'",
          "\"\"", "''", "\"\"\"", "'''", "\"\\n\\t\\\\\\\"\"", "\"\\u00e9\\U0001F600\"", "\"\\ud800\"", "\"\\q\"", "\"é\"", "1", "0", "01",
          "-0", "+5", "-17", "1_000", "1__0", "_1", "1_", "0x1F", "0o17", "0b101", "0xg", "+0x1", "9223372036854775807",
          "9223372036854775808", "-9223372036854775808", "1.5", "1e3", "inf", "-nan", "true", "false", "truely", "2020-01-01", "07:32:00",
          "[1, 2]", "{a = 1}", "a.b", "\"k\"", "\0", "\x01", "\x7f", ",", "]", "[", "é", "\ufeff"]


def document():
    if random.random() < 0.4:
        lines = []
        for _ in range(random.randrange(6)):
            lines.append(random.choice(["%s = %s", "%s=%s", " %s =\t%s # c", "%s %s", "[%s] #%s"]) %
                         (random.choice(["a", "b", "cc", "d-e", "1", "quantum"]), random.choice(PIECES)))
        return (random.choice(["\n", "\r\n"]).join(lines) + random.choice(["", "\n"])).encode("utf-8", "surrogatepass")
    raw = bytearray("".join(random.choice(PIECES) for _ in range(random.randrange(14))).encode())
    for _ in range(random.choice([0, 0, 0, 1, 3])):
        if raw:
            raw[random.randrange(len(raw))] = random.randrange(256)
    return bytes(raw)


class Toml(unittest.TestCase):
    """Whatever the parser accepts means the same to Python's."""

    def parse(self, docs):
        data = b"".join(b"%d\n%s" % (len(d), d) for d in docs)
        p = harness("toml", data)
        self.assertEqual(p.returncode, 0, p.stderr.decode(errors="replace")[-2000:])
        out = [json.loads(x) for x in p.stdout.decode().split("\n--\n") if x.strip()]
        self.assertEqual(len(out), len(docs))
        return out

    def same(self, doc, ours):
        theirs = tomllib.loads(doc.decode())
        flat = {}
        for k, v in theirs.items():
            if isinstance(v, dict):
                for kk, vv in v.items():
                    flat[k, kk] = vv
            else:
                flat["", k] = v
        self.assertEqual({(e["section"], e["key"]) for e in ours["entries"]}, set(flat), doc)
        for e in ours["entries"]:
            v = flat[e["section"], e["key"]]
            kind = {bool: "boolean", int: "integer", str: "string"}[type(v)]
            text = str(v).lower() if kind == "boolean" else str(v)
            self.assertEqual((e["type"], e["text"]), (kind, text), doc)

    def test_random_documents(self):
        accepted = 0
        for _ in range(8):
            docs = [document() for _ in range(600)]
            for doc, ours in zip(docs, self.parse(docs)):
                if "error" in ours:
                    self.assertEqual(ours["entries"], [])
                    self.assertGreaterEqual(ours["line"], 1)
                    self.assertTrue(ours["error"])
                    continue
                accepted += 1
                self.same(doc, ours)
        self.assertGreater(accepted, 200)

    def test_flat_documents_are_accepted(self):
        doc = (b"# head\r\n\r\ninstance = \"a\\u00e9b\" # tail\nquantum=20\npoll\t=\t1_000\nx = 0xff\ny = -3\nkeep-env = true\n"
               b"p = 'C:\\x'\n[s]\nquantum = 1\n[ t ]\n\n")
        ours, = self.parse([doc])
        self.assertNotIn("error", ours)
        self.same(doc, ours)
        self.assertEqual([e["line"] for e in ours["entries"]], [3, 4, 5, 6, 7, 8, 9, 11])

    def test_limits(self):
        docs = [b"k = \"" + b"x" * 2047 + b"\"", b"k = \"" + b"x" * 2048 + b"\"", b"k" * 63 + b" = 1", b"k" * 64 + b" = 1",
                b"".join(b"k%d = %d\n" % (i, i) for i in range(300)), b"", b"\n" * 1000]
        out = self.parse(docs)
        self.assertEqual(["error" in o for o in out], [False, True, False, True, False, False, False])


if __name__ == "__main__":
    main()
