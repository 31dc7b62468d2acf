#!/usr/bin/python3
# tests/sim/test_replay.py - workloads executed for real, and compared with the simulator.  SPDX-License-Identifier: Apache-2.0
"""Counts, ends and errors; never times, but for what no machine may undercut."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

REPLAY, SIM, USF, ROOT = (os.environ.pop(n) for n in ('USF_REPLAY', 'USF_SIM', 'USF_TOOL', 'USF_ROOT'))
BUILD = os.path.dirname(REPLAY)
SPEED = '0.2,8000,0.9'      # given, so that nothing is measured here: rounds per ns, MB/s, chain
WAITS = ('blocking', 'yielding', 'spinning', 'adaptive', 'polite')


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def file(self, text, name='w.usfw'):
        path = os.path.join(self.dir.name, name)
        with open(path, 'w') as f:
            f.write(text)
        return path

    def call(self, *args, code=0, tool=(), timeout=90):
        r = subprocess.run([*tool, REPLAY, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        self.assertEqual(r.returncode, code, f'{args}\n{r.stdout}\n{r.stderr}')
        return r

    def replay(self, text, *args, tool=()):
        return json.loads(self.call('--json', '--speed', SPEED, '--timeout', '60', *args, self.file(text), tool=tool).stdout)

    def ops(self, text, *args, tool=()):
        """Of the only program."""
        out = self.replay(text, *args, tool=tool)
        self.assertEqual(len(out['programs']), 1)
        return out['programs'][0]['operations'], out['programs'][0]


def program(body, head='', count='', options=''):
    return f'program p {options}\n{head}\nthread {count}\n{body}\nend\nend\nstart p\n'


class Constructs(Base):
    def test_compute(self):
        ops, p = self.ops(program('repeat 5\ncompute 1ms\ncompute exp(100us)\ncompute uniform(1us, 9us)\nend'))
        self.assertEqual(ops, {'compute': 15})
        self.assertEqual(p['threads'], 1)
        self.assertGreater(p['cpu_ns'], 0)

    def test_barriers(self):
        for how in WAITS:
            ops, p = self.ops(program('repeat 10\ncompute 20us\nbarrier B\nend', f'barrier B 4 {how}', 4, 'spin 100us'))
            self.assertEqual(ops, {'compute': 40, 'barrier': 40, 'spawn': 1, 'join': 1}, how)
            self.assertEqual(p['threads'], 4, how)

    def test_locks(self):
        for how in WAITS:
            ops, _ = self.ops(program('repeat 50\ncritical L 5us\nlock M[1]\nunlock M[1]\nend', f'lock L {how}\nlock M[2] {how}', 3, 'spin 50us'))
            self.assertEqual((ops['lock'], ops['unlock'], ops['compute']), (300, 300, 150), how)

    def test_teams(self):
        for how in WAITS:
            ops, p = self.ops(program(f'repeat 8\nparallel 3 {how}\ncompute 300us divided\nbarrier team {how}\nend\nend\nparallel 5 {how}\ncompute 1us\nend\n'
                                      f'parallel 1\ncompute 1us\nend\n', options='spin 50us'))
            self.assertEqual((ops['parallel'], ops['compute'], ops['barrier']), (10, 8 * 3 + 5 + 1, 24), how)
            self.assertEqual(p['threads'], 5, how)

    def test_nested_teams(self):
        ops, p = self.ops(program('parallel 3\nrepeat 4\nparallel 2 yielding\ncompute 10us\nbarrier team\nend\nend\nend'))
        self.assertEqual((ops['parallel'], ops['compute'], ops['barrier']), (13, 24, 24))
        self.assertEqual(p['threads'], 6)

    def test_default_team(self):
        ops, _ = self.ops(program('parallel\ncompute 10us\nend'))
        self.assertEqual(ops['compute'], len(os.sched_getaffinity(0)))
        ops, _ = self.ops(program('parallel\ncompute 10us\nend', options='width 7'))
        self.assertEqual(ops['compute'], 7)

    def test_tasks(self):
        for how in WAITS:
            ops, _ = self.ops(program(f'repeat 3\ntaskgraph 3 {how}\nfor i = 0 to 9\ntask inout A(i % 3)\ncompute 20us\nend\ntask in A(0) out B(i)\ncompute 5us\n'
                                      f'compute 5us\nend\nend\nend\nend', options='spin 50us'))
            self.assertEqual((ops['taskgraph'], ops['compute']), (9, 90), how)

    def test_messages(self):
        for how in WAITS:
            head = f'channel C 3 {how}\nsemaphore S 2 {how}'
            body = 'repeat 60\nsend C\nend\nend\nthread second 1\nrepeat 20\nrecv C 6\nwait S\npost S\nend'
            ops, _ = self.ops(program(body, head, 'first 2', 'spin 50us'))
            self.assertEqual((ops['send'], ops['recv']), (120 + 20, 20 + 20), how)

    def test_threads(self):
        ops, p = self.ops('program p\nthread w 0\ncompute 10us\nend\nthread main\nspawn w 5\njoin\nspawn w 2\njoin\nend\nend\nstart p\n')
        self.assertEqual((ops['compute'], ops['spawn']), (7, 2))
        self.assertEqual(p['threads'], 8)

    def test_sleeping(self):
        out = self.replay(program('repeat 3\nio 2ms\nsleep 3ms\nyield\nend'))
        self.assertEqual(out['programs'][0]['operations'], {'sleep': 6, 'yield': 3})
        self.assertGreaterEqual(out['makespan_ns'], 15_000_000)     # the kernel wakes nobody too soon

    def test_memory(self):
        ops, _ = self.ops(program('repeat 3\ncompute 1ms bandwidth 2GB/s memory 0.5\nend'))
        self.assertEqual(ops, {'compute': 3})

    def test_requests(self):
        text = 'channel to 4\nchannel back 0\n'
        text += 'program client\nthread\nrepeat 20\nrequest\nsend to\nrecv back\nanswer\nend\nend\nend\n'
        text += 'program server\nthread\nrepeat 20\nrecv to\ncompute 50us\nsend back\nend\nend\nend\nstart client\nstart server\n'
        out = self.replay(text)
        client, server = out['programs']
        self.assertEqual(client['requests']['number'], 20)
        self.assertLessEqual(client['requests']['p50_ns'], client['requests']['max_ns'])
        self.assertNotIn('requests', server)
        self.assertEqual(server['operations'], {'compute': 20, 'send': 20, 'recv': 20})

    def test_arrivals_and_arguments(self):
        text = 'param n = 2\nprogram p(k = 1)\nthread\nrepeat k * n\ncompute 10us\nend\nend\nend\nstart p at 5ms\nstart p(k = 3) 2 at 30ms every 10ms\n'
        out = self.replay(text, '--set', 'n=4')
        self.assertEqual([p['arrival_ns'] for p in out['programs']], [5_000_000, 30_000_000, 40_000_000])
        self.assertEqual([p['operations']['compute'] for p in out['programs']], [4, 12, 12])
        for p in out['programs']:
            self.assertGreaterEqual(p['start_ns'], p['arrival_ns'])
            self.assertEqual(p['response_ns'], p['end_ns'] - p['arrival_ns'])
        self.assertEqual(out['makespan_ns'], max(p['end_ns'] for p in out['programs']))

    def test_cpus_and_nice(self):
        ops, _ = self.ops(program('parallel\ncompute 10us\nend', options='on "0" nice 5'))
        self.assertEqual(ops['compute'], 1)     # a team as wide as its CPUs

    def test_under_usf(self):
        tool = [USF, 'run', '-i', f'replay-test-{os.getpid()}', '--policy', 'fair', '--']
        for how in ('blocking', 'spinning'):
            ops, _ = self.ops(program(f'repeat 5\nparallel 6 {how}\ncompute 100us\nend\nio 100us\nend', options='weight 200'), tool=tool)
            self.assertEqual((ops['compute'], ops['parallel'], ops['sleep']), (30, 5, 5), how)


class Errors(Base):
    def wrong(self, text, said, *args, code=125, tool=()):
        r = self.call('--speed', SPEED, *args, self.file(text), code=code, tool=tool)
        self.assertIn(said, r.stderr)
        self.assertEqual(r.stdout, '')

    def test_what_cannot_be_had(self):
        self.wrong(program('compute 1ms bandwidth 9GB/s memory 0.5'), 'one thread can read 8000 MB/s here', code=126)
        self.wrong(program('compute 1ms bandwidth 1GB/s memory 0'), "'memory 0'", code=126)
        self.wrong(program('taskgraph\ntask\ncompute 1ms bandwidth 0GB/s memory 0.5\nend\nend'), "'bandwidth 0'", code=126)
        self.wrong(program('parallel 2\ncompute 1ms bandwidth 90GB/s\nend'), 'program p: 90000 MB/s', code=126)

    def test_what_usf_cannot_be_told(self):
        tool = [USF, 'run', '-i', f'replay-test-{os.getpid()}', '--']
        self.wrong(program('progress'), "'progress' cannot be told", code=126, tool=tool)
        self.wrong(program('compute 1us', options='malleable'), "'malleable' cannot be declared", code=126, tool=tool)
        self.ops(program('progress', options='malleable'))      # to Linux they are nothing

    def test_programs_that_are_wrong(self):
        self.wrong(program('lock L\nlock L', 'lock L'), 'locks what it has locked', code=1)
        self.wrong(program('unlock L', 'lock L'), 'unlocks what it has not locked', code=1)
        self.wrong(program('wait S', 'semaphore S'), 'did not end within 1 s', '--timeout', '1', code=1)
        self.wrong('program p\nthread\ncompute 5\nend\nend\nstart p\n', ':3:9: ')
        self.wrong(program('compute 1ms'), "has no param 'x'", '--set', 'x=3')

    def test_usage(self):
        self.assertIn('usage:', self.call(code=125).stderr)
        self.assertIn('usage:', self.call('--help').stdout)
        self.call('--frobnicate', 'x', code=125)
        self.assertIn('--seed is to be', self.call('--seed', 'x', self.file(program('yield')), code=125).stderr)
        self.assertIn('--speed is to be', self.call('--speed', '1,2', self.file(program('yield')), code=125).stderr)
        self.assertIn('nowhere.usfw', self.call('--speed', SPEED, 'nowhere.usfw', code=125).stderr)

    def test_measure(self):
        numbers = [float(x) for x in self.call('--measure').stdout.split(',')]
        self.assertEqual(len(numbers), 3)
        self.assertTrue(all(x > 0 for x in numbers))


class Library(Base):
    def test_all_are_right(self):
        folder = os.path.join(ROOT, 'bench', 'validation')
        names = sorted(n for n in os.listdir(folder) if n.endswith('.usfw'))
        self.assertGreaterEqual(len(names), 12)
        for n in names:
            subprocess.run([SIM, 'check', os.path.join(folder, n), '-m', 'core:2'], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def test_operations_of_one(self):
        with open(os.path.join(ROOT, 'bench', 'validation', 'pipeline.usfw')) as f:
            ops, _ = self.ops(f.read(), '--set', 'items=20')
        self.assertEqual((ops['send'], ops['recv'], ops['compute']), (40 + 40, 40 + 40, 40 + 40 + 40))


class Validate(Base):
    def run_it(self, *args, code=0):
        r = subprocess.run([sys.executable, os.path.join(ROOT, 'bench', 'validate.py'), '--build', BUILD, *args], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=150)
        self.assertEqual(r.returncode, code, r.stderr)
        return r

    def test_quick(self):
        self.file(program('repeat 5\nparallel 4\ncompute 200us\nend\nend'), 'tiny.usfw')
        self.file(program('compute 1ms bandwidth 900TB/s memory 0.9'), 'fast.usfw')
        kept, doc = os.path.join(self.dir.name, 'kept.json'), os.path.join(self.dir.name, 'doc.md')
        r = self.run_it('--quick', '--float', 'off', '--policies', 'fair,fl', '--workloads', self.dir.name, '--keep', kept, '--machine', '2-core-vm')
        self.assertIn('| tiny | fair | ', r.stdout)
        self.assertIn('cannot execute it: `fast` (', r.stdout)
        self.assertNotIn('| fast | ', r.stdout)
        self.assertNotIn('| tiny | fl | ', r.stdout)
        self.assertIn('of 1 pairs of workload and policy', r.stdout)
        with open(kept) as f:
            data = json.load(f)
        self.assertEqual({p: len(t) for p, t in data['measured']['tiny'].items()}, {'linux': 1, 'fair': 1})
        self.assertIn('`--float off`.', r.stdout)
        # The same report again, of what was kept, into a document
        with open(doc, 'w') as f:
            f.write('before\n<!-- validation: begin -->\nold\n<!-- validation: end -->\nafter\n')
        self.run_it('--measured', kept, '--policies', 'fair', '--workloads', self.dir.name, '--doc', doc, '--machine', '2-core-vm')
        with open(doc) as f:
            text = f.read()
        self.assertTrue(text.startswith('before\n<!-- validation: begin -->\nMachine: ') and text.endswith('<!-- validation: end -->\nafter\n'))
        self.assertNotIn('\nold\n', text)
        for part in ('| tiny | fair | ', '`fast` (', '### Outliers', '### Linux alone', 'topology ', 'Error of the ratio: median ', '`--float off`.'):
            self.assertIn(part, text)

    def test_wrong(self):
        self.file('program p\nthread\ncompote 1ms\nend\nend\nstart p\n', 'wrong.usfw')     # not left out: it is wrong
        self.assertIn("not 'compote'", self.run_it('--quick', '--workloads', self.dir.name, '--machine', '2-core-vm', code=1).stderr)
        self.assertIn('there is no workload nothing', self.run_it('--only', 'nothing', code=1).stderr)
        self.assertIn('is not there', self.run_it('--build', self.dir.name, code=1).stderr)


class Calibrate(Base):
    def test_its_file_is_a_machine(self):
        path = os.path.join(self.dir.name, 'this.machine')
        subprocess.run([SIM, 'calibrate', '-o', path], check=True, timeout=60, stderr=subprocess.DEVNULL)
        with open(path) as f:
            text = f.read()
        for cost in ('switch', 'block', 'wake', 'idle-wake', 'idle-kick', 'yield', 'cold-core', 'create', 'migrate'):
            self.assertRegex(text, rf'\b{cost}=\d+(ns|us|ms)')
        r = subprocess.run([SIM, 'run', self.file(program('parallel 4\ncompute 1ms\nend')), '-m', path, '-p', 'coop,eevdf', '--json', '--no-alone'],
                           check=True, timeout=60, capture_output=True, text=True)
        self.assertEqual([x['ok'] for x in json.loads(r.stdout)['runs']], [True, True])


if __name__ == '__main__':
    unittest.main(verbosity=1)
