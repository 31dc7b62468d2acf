# subprocess: pipes, timeouts, groups, many at once, from threads.  SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import threading

print(subprocess.run(['cat'], input='text', capture_output=True, text=True).stdout)
print(subprocess.run('echo out; echo err >&2; exit 5', shell=True, capture_output=True, text=True))
try:
    subprocess.run(['sleep', '100'], timeout=0.1)
except subprocess.TimeoutExpired:
    print('timeout')
p = subprocess.Popen(['sleep', '100'], start_new_session=True)
os.killpg(p.pid, signal.SIGTERM)
print('group', p.wait())
big = 'x' * 300000
print('big', len(subprocess.run(['cat'], input=big, capture_output=True, text=True).stdout))
many = [subprocess.Popen(['sh', '-c', f'sleep 0.0{i % 5}; exit {i % 9}']) for i in range(20)]
print('many', sum(p.wait() for p in many))
codes = []


def run(n):
    for i in range(5):
        codes.append(subprocess.call([sys.executable, '-S', '-E', '-c', f'import sys; sys.exit({n})']))


threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print('threads', sum(codes))
a = subprocess.Popen(['seq', '1000'], stdout=subprocess.PIPE)
b = subprocess.Popen(['sort', '-r'], stdin=a.stdout, stdout=subprocess.PIPE, text=True)
a.stdout.close()
print('pipeline', b.communicate()[0].split()[0], a.wait(), b.returncode)
print('before exec', subprocess.run(['sh', '-c', 'echo $X; umask'], env={'X': '1', 'PATH': os.environ['PATH']},
                                    preexec_fn=lambda: os.umask(0o77), stdout=subprocess.PIPE, text=True).stdout.split())
print('descriptor', subprocess.run(['sh', '-c', 'ls /proc/self/fd | wc -l'], capture_output=True, text=True).stdout.strip())
