# signal: handlers, alarms, timers, waits, masks, interrupted calls.  SPDX-License-Identifier: Apache-2.0
import os
import select
import signal
import socket
import threading
import time

hits = []
signal.signal(signal.SIGALRM, lambda s, f: hits.append(s))
signal.alarm(1)
signal.pause()
print('alarm', len(hits))
hits.clear()
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
while len(hits) < 20:
    time.sleep(0.5)
signal.setitimer(signal.ITIMER_REAL, 0)
print('itimer')


class Stop(Exception):
    pass


def stop(s, f):
    raise Stop


signal.signal(signal.SIGALRM, stop)
lock, event, cond = threading.Lock(), threading.Event(), threading.Condition()
lock.acquire()
r, w = os.pipe()
left, right = socket.socketpair()
poll = select.poll()
poll.register(r, select.POLLIN)
epoll = select.epoll()
epoll.register(r, select.EPOLLIN)
for name, call in (('lock', lock.acquire), ('timed lock', lambda: lock.acquire(timeout=50)), ('event', event.wait),
                   ('sleep', lambda: time.sleep(50)), ('read', lambda: os.read(r, 1)), ('recv', lambda: left.recv(1)),
                   ('select', lambda: select.select([r], [], [], 50)), ('poll', poll.poll),
                   ('epoll', lambda: epoll.poll(50)), ('wait', lambda: os.waitpid(child, 0)),
                   ('join', lambda: thread.join())):
    if name == 'wait':
        child = os.fork()
        if not child:
            time.sleep(50)
            os._exit(0)
    if name == 'join':
        thread = threading.Thread(target=event.wait, daemon=True)
        thread.start()
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        call()
        print(name, 'returned')
    except Stop:
        print(name, 'stopped')
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
event.set()
thread.join()

signal.signal(signal.SIGALRM, lambda s, f: hits.append(s))
signal.setitimer(signal.ITIMER_REAL, 0.03)
# Blocked before the writer starts: a join in Python ends before the thread has left the kernel, and would be no guard.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2})
threading.Timer(0.15, os.write, (w, b'x')).start()
print('retried', os.read(r, 1))
os.kill(os.getpid(), signal.SIGUSR1)
print('pending', signal.sigpending() == {signal.SIGUSR1}, signal.sigwait({signal.SIGUSR1}).name)
print('timedwait', signal.sigtimedwait({signal.SIGUSR2}, 0.05))
threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR2)).start()
print('waitinfo', signal.sigwaitinfo({signal.SIGUSR2}).si_signo == signal.SIGUSR2)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1, signal.SIGUSR2})
fds = socket.socketpair()
fds[1].setblocking(False)
signal.set_wakeup_fd(fds[1].fileno())
signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
print('wakeup', fds[0].recv(1)[0] == signal.SIGUSR1)
signal.set_wakeup_fd(-1)
worker_id, started = None, threading.Event()
names = []
signal.signal(signal.SIGUSR2, lambda *_: names.append(threading.current_thread() is threading.main_thread()))
waiter = threading.Thread(target=event.wait, args=(0.3,))
event.clear()
waiter.start()
signal.pthread_kill(waiter.ident, signal.SIGUSR2)
waiter.join()
print('handled by main', names)
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(50)
except KeyboardInterrupt:
    print('keyboard')
