#!/usr/bin/python3
# tests/sched/test_stall.py USF STALL - programs go on while another is stopped with the lock.
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from game import Players
from instance import main

USF, STALL = sys.argv[1:3]
HOG = 'import signal; signal.alarm(100)\nwhile True: pass'     # also if this test is killed


def state_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        return f.read().rpartition(')')[2].split()[0]


def end_stopped(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Stall(Players):
    tool, kind = USF, 'stall'

    def stall(self, mode):
        p = self.start(STALL, self.instance, mode)
        self.assertEqual(p.stdout.readline(), 'holds\n')
        return p

    def check_stopped(self, mode):
        game = self.play()
        stopped = self.stall(mode)
        self.goes_on(game)
        self.assertEqual(game.communicate(timeout=60), ('end\n', ''))
        for _ in range(100):
            if state_of(stopped.pid) == 'T':
                break
            time.sleep(0.05)
        self.assertEqual(state_of(stopped.pid), 'T')
        os.kill(stopped.pid, signal.SIGCONT)        # it may have been stopped again before it could say so
        self.assertEqual(stopped.stdout.readline(), 'released\n')

    def test_stopped_by_a_signal(self):
        """It is helped out of the critical section and is stopped again; nobody else notices."""
        self.check_stopped('signal')

    def test_stopped_by_a_signal_and_slow(self):
        """It is helped more than once: it may not get a CPU at first."""
        self.check_stopped('again')

    def desert(self, stop):
        """The others run on unscheduled and say so; later ones join again once it is over."""
        games = [self.play() for _ in range(2)]
        stopped = stop()
        for game in games:
            self.goes_on(game)
        for game in games:
            out, err = game.communicate(timeout=60)
            self.assertEqual(out, 'end\n')
            self.assertRegex(err, r"^usf: 'stall' \(process \d+\) is stopped while instance '%s' waits "
                             r'for it: \S+ runs unscheduled from now on\n$' % self.instance)
        return stopped

    def ends_well(self):
        later = self.play()
        self.goes_on(later)
        self.assertEqual(later.communicate(timeout=60), ('end\n', ''))

    def test_stopped_by_a_tracer(self):
        stopped = self.desert(lambda: self.stall('trace'))
        stopped.communicate(timeout=20)
        self.ends_well()

    def frozen(self, group, file, freeze, thaw, with_monitor=False):
        """A group whose processes are frozen by writing `freeze` into its `file`."""
        try:
            os.mkdir(group)
        except OSError as e:
            self.skipTest(f'{group}: {e.strerror}')

        def put(name, what):
            with open(os.path.join(group, name), 'w', encoding='ascii') as f:
                f.write(what)

        # It thaws and removes the group in the end, also if this test is killed.
        guard = self.start('/bin/sh', '-c', 'read _; echo "$1" >"$0/$2"; for i in $(seq 200); do '
                           'rmdir "$0" 2>/dev/null && exit; sleep 0.05; done; exit 1', group, thaw, file, start_new_session=True)

        def remove():                       # until those in it have been reaped
            guard.communicate()
            self.assertEqual(guard.returncode, 0, f'{group} cannot be removed')

        def stop():
            p = self.stall('hold')
            put('cgroup.procs', str(p.pid))
            if with_monitor:
                put('cgroup.procs', str(self.shown()['monitor_pid']))
            self.addCleanup(put, file, thaw)    # before p is waited for
            put(file, freeze)
            return p
        self.addCleanup(remove)
        p = self.desert(stop)
        put(file, thaw)
        p.stdin.write('\n')
        self.assertEqual(p.communicate(timeout=20)[0], 'released\n')
        self.ends_well()

    def frozen_v2(self, with_monitor=False):
        with open('/proc/self/mounts', encoding='utf-8') as f:
            mounts = [line.split() for line in f]
        where = [m[1] for m in mounts if m[2] == 'cgroup2'] or self.skipTest('no cgroup v2')
        self.frozen(f'{where[0]}/usf-stall-{os.getpid()}', 'cgroup.freeze', '1', '0', with_monitor)

    def test_frozen(self):
        self.frozen(f'/sys/fs/cgroup/freezer/usf-stall-{os.getpid()}', 'freezer.state', 'FROZEN', 'THAWED')

    def test_frozen_v2(self):
        self.frozen_v2()

    def test_frozen_with_the_monitor(self):
        """A job that is frozen as a whole may be the one that had started the monitor."""
        self.frozen(f'/sys/fs/cgroup/freezer/usf-stall-{os.getpid()}', 'freezer.state', 'FROZEN', 'THAWED', True)

    def test_frozen_v2_with_the_monitor(self):
        self.frozen_v2(True)

    def test_monitor_stopped(self):
        """Threads that never stop by themselves have all cores, and nobody takes one from them: another monitor is started."""
        game = self.play()
        monitor = self.shown()['monitor_pid']
        os.kill(monitor, signal.SIGSTOP)
        self.addCleanup(end_stopped, monitor)
        hogs = [self.start(USF, 'run', '-i', self.instance, '--', '/usr/bin/python3', '-c', HOG)
                for _ in range(2 * len(os.sched_getaffinity(0)))]
        self.soon(lambda: self.shown()['monitor_pid'] != monitor, 'no other monitor is started')
        self.assertEqual(game.communicate(timeout=60), ('end\n', ''))
        for hog in hogs:
            self.assertIsNone(hog.poll())


if __name__ == '__main__':
    main(150, taken=2, verbosity=2)
