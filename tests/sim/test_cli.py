#!/usr/bin/python3
# tests/sim/test_cli.py - usf sim: workloads, machines, results, command line.  SPDX-License-Identifier: Apache-2.0
import json
import os
import resource
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

SIM, USF = os.environ['USF_SIM'], os.environ['USF_TOOL']


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def file(self, text, name='w.usfw'):
        with open(self.path(name), 'w') as f:
            f.write(text)
        return self.path(name)

    def sim(self, *args, code=0, tool=None):
        r = subprocess.run([*(tool or [SIM]), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, code, f'{args}\n{r.stdout}\n{r.stderr}')
        return r

    def run_json(self, text, *args, code=0):
        return json.loads(self.sim('run', self.file(text), '--json', *args, code=code).stdout)

    def one(self, text, *args):
        return self.run_json(text, '-m', 'core:4', *args)['runs'][0]


def threads(body, count='', head=''):
    return f'program p\n{head}\nthread {count}\n{body}\nend\nend\nstart p\n'


class Language(Base):
    WRONG = [  # text, line, column, what is said
        ('program p\nthread\ncompute 5\nend\nend\nstart p\n', 3, 9, "is to be a time (like 5ms), and is a number"),
        ('program p\nthread\ncompute 5ms + 2MB\nend\nend\nstart p\n', 3, 13, 'cannot be added or compared'),
        ('program p\nthread\ncompute 5 ms\nend\nend\n', 3, 9, 'is to be a time'),
        ('program p\nthread\ncompute 5parsec\n', 3, 9, "unknown unit 'parsec'"),
        ('program p\nthread\nfrobnicate 3\nend\nend\n', 3, 1, "expected a statement"),
        ('program p\nthread\nlock L\nend\nend\n', 3, 6, "there is no lock 'L'"),
        ('program p\nbarrier B 2\nthread\nlock B\nend\nend\n', 4, 6, "'B' is a barrier, not a lock"),
        ('program p\nthread\nrepeat 3\ncompute 1ms\n', 5, 1, "the 'repeat' of line 3 has no 'end'"),
        ('program p\nend\nstart p\n', 1, 9, "the program 'p' has no threads"),
        ('program p\nthread\nsubmit t\nend\nend\n', 3, 8, "there is no task 't' above"),
        ('program p\ntask t\njoin\nend\nend\n', 3, 1, "'join' within parallel or a task"),
        ('semaphore s 0\nprogram p\ntask t\npause s\nend\nend\n', 4, 1, 'a semaphore of its program'),
        ('program p\ntask t\nend\nend\nstart p\n', 1, 1, "no thread of 'p' is there at its start"),
        ('start q\n', 1, 7, "there is no program 'q' above"),
        ('program p\nthread\nend\nend\n', 5, 1, 'nothing is started'),
        ('param a = exp(3)\n', 1, 11, 'must be the same all the time'),
        ('param s = 3\n', 1, 7, "'s' is a unit"),
        ('param a = \u00a05\n', 1, 11, 'no meaning here (0xc2)'),
        ('param a = 1 +\n', 1, 14, 'expected a value, not the end of the line'),
        ('program p\nthread\ntaskgraph 2\ncompute 1ms\nend\nend\nend\n', 4, 1, 'in none of its tasks'),
        ('program p\nthread\ntask\nend\nend\nend\n', 3, 1, "'task' outside of taskgraph"),
        ('program p\nthread\nparallel 2\ncompute thread * 1ms\nend\nend\nend\nstart p', 4, 9, 'is not known within parallel'),
        ('program p\nthread\ncompute 1ms divided\nend\nend\n', 3, 1, "'divided' outside of parallel"),
        ('curve c 1:1 1:2\n', 1, 13, 'in order of x'),
        ('program p\nthread\nset x = 1\nset x = 1ms\nend\nend\n', 4, 5, "'x' is a number already"),
        ('include "nowhere"\n', 1, 9, 'cannot read'),
        ('workload "a\n', 1, 10, "without its closing"),
        ('lock L\n', 1, 6, 'write it within the program'),
        ('param a = ' + '(' * 40 + '1' + ')' * 40 + '\n', 1, 42, 'nested more than 32 deep'),
        # found when it is set up
        (threads('repeat 1/2\ncompute 1ms\nend'), 4, 9, 'is to be a whole number, and is 0.5'),
        (threads('compute 1ms / (1 - 1)'), 4, 13, 'a division by zero'),
        (threads('while 1\nset x = 1\nend'), 5, 1, 'does not come to an end'),
        (threads('wait a[3]', head='semaphore a[3]'), 4, 8, 'the index is to be 0 to 2'),
        (threads('parallel 2\ncompute lognormal(1ms, 1)\nend'), 5, 9, 'within parallel only'),
        (threads('compute 1ms', count='0'), 1, 1, 'all have a count of 0'),
    ]

    def test_errors(self):
        for text, line, col, what in self.WRONG:
            with self.subTest(text=text):
                path = self.file(text)
                said = self.sim('check', path, code=1).stderr
                if 'nested' not in what:
                    self.assertIn(f'{path}:{line}:{col}: ', said)
                self.assertIn(what, said)
                self.assertEqual(said.count('\n'), 1)
                self.sim('run', path, code=125)

    def test_work(self):
        self.assertEqual(self.one(threads('compute 3ms\nrepeat 5\ncompute 1ms\nend'))['programs'][0]['work_ns'], 8000000)
        self.assertEqual(self.one(threads('for i = 1 to 4\ncompute i * 1ms\nend'))['programs'][0]['work_ns'], 10000000)
        self.assertEqual(self.one(threads('set x = 1ms\nrepeat 3\ncompute x\nset x = 2 * x\nend'))['programs'][0]['work_ns'], 7000000)
        self.assertEqual(self.one(threads('if cores == 4 and not (1 > 2)\ncompute 1ms\nelse\ncompute 9ms\nend'))['programs'][0]['work_ns'], 1000000)
        self.assertEqual(self.one(threads('compute (thread + 1) * 1ms', count='4'))['programs'][0]['work_ns'], 10000000)
        self.assertEqual(self.one(threads('compute max(1ms, 2ms, min(7ms, 3ms)) \\\n + ceil(1.2) * 1ms'))['programs'][0]['work_ns'], 5000000)
        self.assertEqual(self.one('curve c 1:1 3:5\n' + threads('compute c(2) * 1ms'))['programs'][0]['work_ns'], 3000000)

    def test_params(self):
        text = 'param n = 2\nparam t = n * 1ms\n' + threads('repeat n\ncompute t\nend')
        self.assertEqual(self.one(text)['programs'][0]['work_ns'], 4000000)
        self.assertEqual(self.one(text, '--set', 'n=3')['programs'][0]['work_ns'], 9000000)
        path = self.file(text)
        self.assertIn('--set:1:1: n is to be a number, and is a time', self.sim('check', path, '--set', 'n=3ms', code=1).stderr)
        self.assertIn("has no param 'm'", self.sim('check', path, '--set', 'm=3', code=1).stderr)
        self.assertIn('expected NAME=VALUE', self.sim('check', path, '--set', 'm', code=1).stderr)
        self.assertIn("no variable 'n'", self.sim('check', path, '--set', 'n=n', code=1).stderr)

    def test_arguments_and_arrivals(self):
        text = 'program p(n = 1, t = 1ms)\nthread\nrepeat n\ncompute t\nend\nend\nend\nstart p\nstart p(n = 3) 2 at 5ms every 2ms\n'
        programs = self.one(text)['programs']
        self.assertEqual([(p['arrival_ns'], p['work_ns']) for p in programs], [(0, 1000000), (5000000, 3000000), (7000000, 3000000)])
        self.file('10ms p 2\n# nothing\n20ms p(t = 4ms)\n', 'arrivals')
        programs = self.one(text + 'start trace "arrivals"\n')['programs']
        self.assertEqual([p['arrival_ns'] for p in programs], [0, 5000000, 7000000, 10000000, 10000000, 20000000])
        self.assertEqual(programs[-1]['work_ns'], 4000000)

    def test_poisson(self):
        text = 'program a\nthread\ncompute 1us\nend\nend\nprogram b\nthread\ncompute 1us\nend\nend\nstart any(a, b) 400 poisson 1000/s\n'
        programs = self.one(text, '--no-alone')['programs']
        times = [p['arrival_ns'] for p in programs]
        self.assertEqual(times, sorted(times))
        self.assertTrue(300e6 < times[-1] < 500e6, times[-1])       # 400 ms; 5 deviations
        self.assertTrue(140 < sum(p['name'] == 'a' for p in programs) < 260)
        self.assertNotEqual(times, [p['arrival_ns'] for p in self.one(text, '--no-alone', '-s', '2')['programs']])

    def test_include(self):
        self.file('program p\nthread\ncompute 2ms\nend\nend\n', 'lib.usfw')
        self.assertEqual(self.one('include "lib.usfw"\nstart p\n')['programs'][0]['work_ns'], 2000000)
        self.file('include "me.usfw"\n', 'me.usfw')
        self.assertIn('deep', self.sim('check', self.path('me.usfw'), code=1).stderr)

    def test_fork_join(self):
        r = self.one(threads('repeat 3\nparallel 4\ncompute 1ms\nend\nend'))
        self.assertEqual(r['programs'][0]['work_ns'], 12000000)
        self.assertTrue(3000000 < r['makespan_ns'] < 6000000)
        r = self.one('curve c 1:1 4:2\nprogram p speedup c\nthread\nparallel 4 spinning\ncompute 8ms divided\nend\nend\nend\nstart p\n')
        self.assertTrue(4000000 < r['makespan_ns'] < 5000000)
        r = self.one('program p\nthread 4\nrepeat 10\nbarrier b\nend\nend\nbarrier c 1\nend\nstart p\n'.replace('thread 4', 'barrier b threads\nthread 4', 1)
                     .replace('barrier b threads', 'barrier b 4'))
        self.assertTrue(r['ok'])

    def test_tasks(self):
        chain = self.one(threads('taskgraph 4\nfor i = 1 to 8\ntask inout A\ncompute 1ms\nend\nend\nend'))
        wide = self.one(threads('taskgraph 4\nfor i = 1 to 8\ntask inout A(i)\ncompute 1ms\nend\nend\nend'))
        self.assertTrue(8000000 < chain['makespan_ns'] < 10000000)
        self.assertTrue(2000000 < wide['makespan_ns'] < 4000000)
        # a writer waits for all readers: 1, then 3 at once, then 1
        readers = self.one(threads('taskgraph 4\ntask out A\ncompute 1ms\nend\nfor i = 1 to 3\ntask in A out B(i)\ncompute 1ms\nend\nend\ntask inout A\ncompute 1ms\nend\nend'))
        self.assertTrue(3000000 < readers['makespan_ns'] < 4500000)

    RUNTIME = '''program p slots 2
    semaphore s 0
    semaphore done 0
    task inner
        compute 1ms
        post s
    end
    task outer
        compute 4ms
        submit inner 2
        pause s 2
        post done
    end
    thread
        submit outer 10
        wait done 10
    end
end
start p
'''

    def test_runtime(self):
        """Tasks of a runtime: no more at once than it has slots, none of which is idle while a task is ready; a paused task keeps no slot."""
        for policy in ('coop', 'fifo', 'eevdf'):
            run = self.one(self.RUNTIME, '-p', policy, '--check')
            program = run['programs'][0]
            self.assertEqual((program['tasks'], program['work_ns']), (30, 60000000), policy)
            self.assertGreaterEqual(run['makespan_ns'], 30000000)       # 60 ms of work on 2 slots
            self.assertLess(run['makespan_ns'], 33000000)

    def test_runtime_of_one_slot(self):
        for slots in (1, 3):
            text = f'program p slots {slots}\ntask t\ncompute 1ms\nend\nthread\nsubmit t 12\nend\nend\nstart p\n'
            run = self.one(text)        # all are executed before the program ends
            self.assertEqual(run['programs'][0]['tasks'], 12)
            self.assertEqual(run['makespan_ns'] // 1000000, 12 // slots)
            self.assertEqual(run['programs'][0]['threads'], 1 + slots)      # without pauses no more workers than slots

    def test_runtime_of_a_long_row(self):
        """Each task submits the next one: as many kinds of tasks as a recording may come to."""
        kinds = 'task t0\ncompute 1us\nend\n' + ''.join(f'task t{i}\ncompute 1us\nsubmit t{i - 1}\nend\n' for i in range(1, 2000))
        run = self.one(f'program p slots 2\n{kinds}thread\nsubmit t1999\nend\nend\nstart p\n')
        self.assertEqual((run['programs'][0]['tasks'], run['programs'][0]['work_ns']), (2000, 2000000))

    def test_messages(self):
        text = ('semaphore s\nprogram a\nthread\ncompute 5ms\npost s 2\nend\nend\n'
                'program b\nthread\nwait s 2\ncompute 1ms\nend\nend\nstart b\nstart a\n')
        r = self.one(text)
        self.assertTrue(r['programs'][0]['end_ns'] > 6000000)
        self.assertNotIn('slowdown_mean', r)
        said = self.run_json(threads('wait s', head='semaphore s'), code=1)['runs'][0]
        self.assertFalse(said['ok'])
        self.assertIn('nobody can go on', said['error'])

    def test_all_threads_end(self):
        """A program is there until its last thread has ended, not its first."""
        r = self.one('program p\nthread a 2\ncompute thread * 1ms\nend\nthread b 2\nsleep 3ms\ncompute 2ms\nend\nend\nstart p\n')
        self.assertEqual(r['programs'][0]['work_ns'], 5000000)
        self.assertTrue(r['makespan_ns'] > 5000000)

    def test_spawn(self):
        r = self.one('program p\nthread helper 0\ncompute 2ms\nend\nthread\nrepeat 2\nspawn helper 3\njoin\nend\ncompute 1ms\nend\nend\nstart p\n')
        self.assertEqual(r['programs'][0]['work_ns'], 13000000)
        self.assertTrue(r['makespan_ns'] > 5000000)


class Machines(Base):
    def shape(self, spec):
        return self.run_json(threads('compute 1ms'), '-m', spec)['topology']

    def test_descriptions(self):
        self.assertEqual(self.shape('package:2 numa:4 l3:8 core:56 pu:2'), '2 packages, 4 nodes, 8 caches, 56 cores, 112 CPUs')
        self.assertEqual(self.shape('package:2 core:*28'), '2 packages, 2 nodes, 2 caches, 56 cores, 56 CPUs')
        for spec, what in [('core:0', 'expected a whole number'), ('package:2 core:3', 'cannot be divided'), ('core:4 package:2', 'the order is'),
                           ('wheel:4', "unknown level 'wheel'"), ('core:4 switch=fast', 'expected a time'), ('core:4 speed=3us', "unknown cost 'speed'"),
                           ('core:99999', '1 to 16384'), ('package:9000 core:*2', 'more than'), ('core:4 pu:9', 'hardware threads'), ('nowhere', "no machine 'nowhere'")]:
            said = self.sim('run', 'example-tasks', '-m', spec, code=125).stderr
            self.assertIn(what, said)

    def test_files(self):
        for name in ['1x16', '2-core-vm', '4x6-opteron', '2x56', 'phi-57x4', 'package:2 numa:4 core:8 pu:2 switch=1234ns']:
            first = self.sim('machines', name).stdout
            self.assertEqual(self.sim('machines', self.file(first, 'm.machine')).stdout, first)
        self.assertIn('switch=1234ns', first)
        self.assertIn('4x6-opteron', self.sim('machines').stdout)
        for text, where, what in [('machine "a"\n', ':2:1: ', 'no topology'), ('topology core:4\ndistance 10 20\n', ':2:13: ', 'expected the end of the line'),
                                  ('bandwidth 3GB/s\n', ':1:1: ', 'before the topology'), ('topology numa:2 core:4\ndistance 10 20 20\n', ':2:18: ', 'expected 4 distances'),
                                  ('topology core:2\nsmt 900\n', ':2:5: ', 'the first speed')]:
            said = self.sim('machines', self.file(text, 'm.machine'), code=125).stderr
            self.assertIn(where, said)
            self.assertIn(what, said)

    XML2 = '''<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">
<object type="Machine" os_index="0" cpuset="0x000000ff"><!-- <object type="PU" os_index="77"/> -->
%s</object><distances2 type="NUMANode" nbobjs="2" kind="5" indexing="os"><indexes length="4">0 1 </indexes>
<u64values length="12">10 31 </u64values><u64values length="12">31 10 </u64values></distances2></topology>'''
    PACKAGE = '''<object type="Package" os_index="%d" cpuset="%#x"><object type="NUMANode" os_index="%d" cpuset="%#x"/><object type="L3Cache" cpuset="%#x">%s</object></object>'''

    def xml(self):
        packages = ''
        for p in range(2):
            mask, cores = 0x33 << 2 * p, ''
            for c in range(2):
                i = 2 * p + c
                cores += f'<object type="L2Cache" cpuset="{0x11 << i:#x}"><object type="Core" cpuset="{0x11 << i:#x}">'
                cores += f'<object type="PU" os_index="{i}" cpuset="{1 << i:#x}"/><object type="PU" os_index="{i + 4}" cpuset="{16 << i:#x}"/></object></object>'
            packages += self.PACKAGE % (p, mask, p, mask, mask, cores)
        return self.XML2 % packages

    def test_hwloc(self):
        path = self.file(self.xml(), 'm.xml')
        self.assertEqual(self.shape(path), '2 packages, 2 nodes, 2 caches, 4 cores, 8 CPUs')
        self.assertIn('distance 10 31 31 10', self.sim('machines', path).stdout)
        both = self.file('machine "mine"\nhwloc "m.xml"\ncost switch=7us\n', 'm.machine')
        out = self.sim('machines', both).stdout
        self.assertIn('switch=7us', out)
        self.assertIn('machine "mine"', out)
        for text in ['<topology>', '<a b=c>', '<topology><object type="PU" os_index="999999"/></topology>', '<topology><object type="PU"', '<' * 100,
                     '<topology><object type="Core" cpuset="0xzz"/></topology>']:
            self.assertIn('m2.xml', self.sim('machines', self.file(text, 'm2.xml'), code=125).stderr)


class Results(Base):
    TWO = 'program p\nthread 4\nrepeat 20\ncompute exp(200us)\nyield\nend\nend\nend\nstart p 2\n'

    def test_same_seed_same_output(self):
        path = self.file(self.TWO)
        args = ['run', path, '-m', 'core:4', '-p', 'coop,fifo,plain', '-n', '3']
        for more in (['--json'], ['--programs']):
            first = self.sim(*args, *more, '-j', '1').stdout
            self.assertEqual(first, self.sim(*args, *more, '-j', '3').stdout)
        runs = json.loads(self.sim(*args, '--json').stdout)['runs']
        self.assertEqual(len({(r['policy'], r['trace_hash']) for r in runs}), 9)

    def test_long_gap(self):
        """Nobody is there for longer than it takes to find that nobody can go on."""
        for policy in ('coop', 'equi', 'eevdf'):
            r = self.run_json('program p\nthread\ncompute 1ms\nend\nend\nstart p\nstart p at 60s\n', '-m', 'core:4', '-p', policy)['runs'][0]
            self.assertTrue(r['ok'], r)

    def test_speedup(self):
        """A program that makes use of cores gets them from one that does not."""
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'sim', 'workloads', 'speedup-mix.usfw')
        end = {r['policy']: r['makespan_ns'] for r in json.loads(self.sim('run', path, '-m', '4x6-opteron', '-p', 'equi,speedup', '--no-alone', '--json').stdout)['runs']}
        self.assertLess(end['speedup'], 0.95 * end['equi'])
        self.assertLess(end['equi'], 45e9, 'not widened when the other had ended')

    def test_kept_cores(self):
        """Programs at barriers keep their cores (usf_keep), are made to give way, and go on where others keep theirs."""
        self.sim('run', 'npb-set-a', '-m', '4x6-opteron', '-p', 'batch', '--set', 'jobs=4', '--set', 'regions=20')

    def test_numbers(self):
        r = self.run_json(self.TWO, '-m', 'core:4', '-p', 'coop')['runs'][0]
        self.assertEqual(r['busy_ns'] + r['spin_ns'] + r['kernel_ns'] + r['idle_ns'], r['makespan_ns'] * 4)
        slow = [p['response_ns'] / p['alone_ns'] for p in r['programs']]
        self.assertAlmostEqual(r['slowdown_mean'], sum(slow) / 2, places=4)
        self.assertAlmostEqual(r['slowdown_max'], max(slow), places=4)
        x = [1 / s for s in slow]
        self.assertAlmostEqual(r['jain'], sum(x) ** 2 / (2 * sum(v * v for v in x)), places=4)
        self.assertTrue(1.2 < r['slowdown_mean'] < 2.5)
        self.assertNotIn('jain', self.run_json(self.TWO, '--no-alone')['runs'][0])

    def test_trace(self):
        path = self.file(self.TWO)
        self.sim('run', path, '-m', 'core:2', '--trace', self.path('t.json'), '--gantt', self.path('g.svg'))
        end = self.run_json(self.TWO, '-m', 'core:2')['runs'][0]['makespan_ns'] / 1000
        with open(self.path('t.json')) as f:
            events = json.load(f)['traceEvents']
        for lane in (1, 2):
            slices = sorted((e['ts'], e['dur']) for e in events if e['ph'] == 'X' and e['pid'] == 1 and e['tid'] == lane and not e['name'].startswith('spins'))
            self.assertGreater(len(slices), 10)
            for (a, d), (b, _) in zip(slices, slices[1:]):
                self.assertLessEqual(a + d, b + 0.0015)
            self.assertLessEqual(slices[-1][0] + slices[-1][1], end + 0.0015)
        root = xml.etree.ElementTree.parse(self.path('g.svg')).getroot()
        self.assertGreater(len(root.findall('{http://www.w3.org/2000/svg}rect')), 4)
        out = self.sim('run', path, '-m', 'core:2', '--gantt', '-').stdout
        self.assertIn('CPU 1', out)
        self.assertIn('A = p #0', out)
        self.sim('run', path, '-p', 'coop,fifo', '--trace', self.path('x.json'))
        self.assertTrue(os.path.exists(self.path('x.coop.1.json')) and os.path.exists(self.path('x.fifo.1.json')))
        for file in '--trace', '--gantt':      # at once, and not after a simulation of hours
            self.assertIn('cannot write', self.sim('run', path, '--events', '10', file, self.path('no/file'), code=1).stdout)

    def test_large_machine(self):
        r = self.run_json(threads('parallel 300\ncompute 1ms\nend'), '-m', 'package:4 core:512')
        self.assertEqual(r['topology'], '4 packages, 4 nodes, 4 caches, 512 cores, 512 CPUs')
        self.assertTrue(r['runs'][0]['ok'])

    def test_linux(self):
        """The policy `linux` is the kernel, with busy-waits that yield."""
        text = 'program p\nthread\nrepeat 4\nparallel 4 spinning\ncompute 1ms\nend\nend\nend\nend\nstart p 2\n'
        runs = self.run_json(text, '-m', 'core:2', '-p', 'linux@plain,plain', '--no-alone')['runs']
        self.assertTrue(runs[0]['yields'] > 10 * runs[1]['yields'])
        self.assertTrue(runs[0]['makespan_ns'] < runs[1]['makespan_ns'])

    def test_limits(self):
        self.assertIn('limit', self.run_json(self.TWO, '--limit', '1ms', code=1)['runs'][0]['error'])

    def test_requests(self):
        r = self.one(threads('repeat 10\nrequest\ncompute 1ms\nanswer\nend'))
        self.assertEqual(r['programs'][0]['requests']['number'], 10)
        self.assertTrue(1000000 <= r['programs'][0]['requests']['mean_ns'] < 1100000)


class CommandLine(Base):
    def test_sweep(self):
        path = self.file('param n = 1\n' + threads('repeat n\ncompute 1ms\nend'))
        out = self.sim('sweep', path, '-p', 'coop,fifo', '--vary', 'n=1,2', '--vary', 'machine=core:2,core:4', '--vary', 'quantum=5ms', '--csv').stdout.splitlines()
        self.assertEqual([line.split(',')[:3] for line in out[1:]],
                         [[f'"n={n} machine=core:{c} quantum=5ms"', p, '1'] for n in (1, 2) for c in (2, 4) for p in ('coop', 'fifo')])
        self.assertIn('needs --vary', self.sim('sweep', path, code=125).stderr)
        self.assertIn('is no time', self.sim('sweep', path, '--vary', 'quantum=5', code=125).stderr)
        self.assertIn('is given twice', self.sim('sweep', path, '--vary', 'n=1', '--vary', 'n=2', code=125).stderr)
        self.assertIn("has no param 'k'", self.sim('sweep', path, '--vary', 'k=5', code=125).stderr)

    def test_mistakes(self):
        for args, what in [(['run'], 'needs a workload'), (['fly'], 'unknown command'), (['run', 'example-tasks', '--fly'], 'unknown option --fly'),
                           (['run', 'example-tasks', '-p', 'coup'], "the nearest is 'coop'"), (['run', 'example-tasks', '-p', 'coop@x'], 'no model of a kernel'),
                           (['run', 'no-such'], "no workload 'no-such'"), (['run', 'example-tasks', '--seed', 'x'], 'is no number'),
                           (['run', 'example-tasks', '-p', './no.so'], 'cannot be loaded'), (['run', 'a', 'b'], 'one argument too many'),
                           (['run', 'example-tasks', '-p', ','], '--policy needs P')]:
            self.assertIn(what, self.sim(*args, code=125).stderr)

    def test_lists(self):
        self.assertIn('example-tasks', self.sim('workloads').stdout)
        self.assertIn('start cholesky', self.sim('workloads', 'example-tasks').stdout)
        for word in ('coop', 'fifo', 'plain'):
            self.assertIn(f'  {word} ', self.sim('policies').stdout)
        for c in ('run', 'sweep', 'check', 'machines', 'workloads', 'policies', 'calibrate'):
            self.assertIn(f'usage: usf sim {c}', self.sim(c, '--help').stdout)

    def test_few_processes(self):
        """Where not as many may be started as are to run at once, fewer do."""
        other = {} if os.geteuid() else {'user': 55000 + os.getpid() % 5000, 'group': 55000, 'extra_groups': []}
        path = self.file(threads('compute 1ms'))
        os.chmod(self.dir.name, 0o755)
        try:
            for most, code in ((0, 1), (2, 0)):
                if code == 0 and not other:
                    continue        # one's other processes count
                r = subprocess.run([SIM, 'sweep', path, '--vary', 'machine=core:1,core:2,core:3,core:4', '-j', '4', '--csv'], capture_output=True, text=True,
                                   timeout=120, preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)), **other)
                self.assertEqual((r.returncode, len(r.stdout.splitlines())), (code, 0 if code else 5), r.stderr)
        except PermissionError:
            self.skipTest('another user cannot execute it')

    def test_library(self):
        for line in self.sim('workloads').stdout.splitlines():
            if not line.startswith(' '):
                self.sim('check', line.split()[0])

    def test_tool(self):
        self.assertEqual(self.sim('machines', tool=[USF, 'sim']).stdout, self.sim('machines').stdout)
        self.sim('run', tool=[USF, 'sim'], code=125)
        r = subprocess.run(['unshare', '-rm', 'sh', '-c', 'mount -t tmpfs none /proc || exit 77; exec "$0" sim policies', USF], capture_output=True, text=True, timeout=60)
        if r.returncode != 77 and 'unshare' not in r.stderr:
            self.assertEqual((r.returncode, r.stderr.count('mount /proc')), (1, 1), r.stderr)

    def test_calibrate(self):
        self.sim('calibrate', '-o', self.path('m.machine'))
        out = self.sim('machines', self.path('m.machine')).stdout
        costs = dict(w.split('=') for w in out.split() if '=' in w)
        self.assertEqual(len([k for k in costs if k not in ('busy', 'spin', 'idle')]), 21)   # spin is a cost, too
        self.assertTrue(all(v != '0ns' for k, v in costs.items() if k in ('switch', 'wake', 'yield', 'float', 'pin', 'create')), costs)
        self.assertTrue(self.run_json(threads('compute 1ms'), '-m', self.path('m.machine'))['runs'][0]['ok'])


class Floating(Base):
    """What a hand-over of the core costs: within a program by a switch in user space, between programs by the kernel."""
    COST = {'switch': 1000, 'block': 200, 'wake': 300, 'float': 50, 'yield': 70, 'sched': 11, 'lock': 13, 'signal': 0, 'cold-same': 0}
    KERNEL = COST['wake'] + COST['block'] + COST['switch']
    DECISION = COST['sched'] + COST['lock']
    POLICIES = ('coop', 'fair', 'coop@eevdf', 'coop@cfs')

    def per_turn(self, text, policy, *args):
        """ns and floats of each hand-over of two threads: what 1000 more rounds of both add."""
        machine = 'core:1 ' + ' '.join(f'{k}={v}ns' for k, v in self.COST.items())
        runs = [self.run_json(text, '--set', f'n={n}', '-m', machine, '-p', policy, '--no-poll', '--no-alone', '--progress', '10s',
                              '--quantum', '10s', '--check', *args)['runs'][0] for n in (100, 1100)]
        more = {k: runs[1][k] - runs[0][k] for k in ('makespan_ns', 'floats', 'switches')}
        self.assertEqual(more['switches'], 2000)
        return more['makespan_ns'] / 2000, more['floats'] / 2000

    @staticmethod
    def yielders(threads, programs, option=''):
        return (f'param n = 1\nprogram p {option}\nthread {threads}\ncompute 20ms\nrepeat n\ncompute 10us\nyield\nend\nend\nend\n'
                f'start p {programs}\n')

    def test_yield(self):
        """All that a yield costs, to the nanosecond."""
        work = 10000
        for policy in self.POLICIES:
            with self.subTest(policy=policy):
                self.assertEqual(self.per_turn(self.yielders(2, 1), policy), (work + self.DECISION + self.COST['float'], 1))
                self.assertEqual(self.per_turn(self.yielders(1, 2), policy), (work + self.DECISION + self.KERNEL, 0))
                off = work + self.DECISION + self.KERNEL + self.COST['yield'], 0        # which enters the kernel first
                self.assertEqual(self.per_turn(self.yielders(2, 1), policy, '--float', 'off'), off)
                self.assertEqual(self.per_turn(self.yielders(2, 1, 'nofloat'), policy), off)

    def test_semaphore(self):
        text = ('param n = 1\nprogram p\nsemaphore a 0\nsemaphore b 0\nthread\nrepeat n\npost a\nwait b\nend\nend\n'
                'thread\nrepeat n\nwait a\npost b\nend\nend\nend\nstart p\n')
        for policy in self.POLICIES:
            with self.subTest(policy=policy):
                on, floats = self.per_turn(text, policy)
                off, none = self.per_turn(text, policy, '--float', 'off')
                self.assertEqual((floats, none), (1, 0))
                self.assertEqual(off - on, self.KERNEL - self.COST['float'])

    def test_idle(self):
        """A wake-up of an idle core costs the same: the kernel does it."""
        text = ('program p\nsemaphore a 0\nthread\nrepeat 100\ncompute 1ms\npost a\nend\nend\n'
                'thread\nrepeat 100\nwait a\ncompute 10us\nend\nend\nend\nstart p\n')
        on, off = (self.run_json(text, '-m', 'core:2', '--no-poll', '--no-alone', '--float', f)['runs'][0] for f in ('on', 'off'))
        self.assertEqual((on['floats'], on['makespan_ns'], on['kernel_ns']), (0, off['makespan_ns'], off['kernel_ns']))

    def test_preempted(self):
        """A thread that the monitor's signal preempts keeps its kernel thread, which its handler's frame lies on."""
        run = self.run_json(threads('compute 60ms', count=2), '-m', 'core:1', '--progress', '5ms')['runs'][0]
        self.assertGreater(run['preemptions'], 10)
        self.assertEqual(run['floats'], 0)


if __name__ == '__main__':
    unittest.main()
