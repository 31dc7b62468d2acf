# Signals, terminals, job control, debuggers, preloaded libraries, daemons.  SPDX-License-Identifier: Apache-2.0
LIB = '/usr/lib/x86_64-linux-gnu'

case('c-threads', '$BIN/threads', builds=['threads'])
case('c-smallest-stacks', '$BIN/smallstack', builds=['smallstack'])
case('c-signals', '$BIN/signals-exact', builds=['signals-exact'])
case('c-signals-atomic', '$BIN/signals-atomic', builds=['signals-atomic'])
case('c-signals-storm', '$BIN/signals-storm', builds=['signals-storm'])
case('c-failing-exec', '$BIN/goes-on exec', builds=['goes-on'])
case('c-tracer', '$BIN/goes-on trace', builds=['goes-on'])
case('c-filters-itself', '$BIN/filters-itself', builds=['filters-itself'])
case('c-closes-descriptors', '$UNDER $BIN/closefds', builds=['closefds'], whole=False)
case('cxx-threads', '$BIN/cxx', builds=['cxx'])
case('omp-gcc', '$BIN/omp', builds=['omp'])
case('omp-clang', '$BIN/omp-clang', builds=['omp-clang'], needs=['clang'])
case('omp-active', 'OMP_WAIT_POLICY=active $BIN/omp', builds=['omp'], fast=False, timeout=180)
case('rust-threads', '$BIN/rust', builds=['rust'], needs=['rustc'])
case('java-threads', 'java -cp $BIN/java Threads', builds=['java'], needs=['java', 'javac'], timeout=120)
case('javac', 'cp $P/Threads.java . && javac -d out Threads.java && ls out | sort', needs=['javac'], fast=False,
     timeout=120)
case('node', 'node $P/threads.mjs', needs=['node'], timeout=60)

case('signals-same-dispositions', r'''
$UNDER $BIN/signals-exact | head -1
(trap '' HUP PIPE USR1; $UNDER $BIN/signals-exact | head -1)
$PY -c 'import os, signal, shlex; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM, 40}); a = shlex.split(os.environ["UNDER"]) + [os.environ["BIN"] + "/signals-exact"]; os.execvp(a[0], a)' | head -1
''', builds=['signals-exact'], whole=False, stderr=False)

case('daemon', r'''
$UNDER $BIN/daemonise there; echo $?
for i in $(seq 100); do [ -f there ] && break; sleep 0.05; done; cat there
''', builds=['daemonise'], whole=False)

case('inherits-affinity', r'''
$UNDER $PY -c 'import os; print(len(os.sched_getaffinity(0)), os.cpu_count())'
$UNDER nproc
$UNDER $PY -c '
import os, subprocess, threading
full = os.sched_getaffinity(0)
t = [threading.Thread(target=lambda: print(subprocess.check_output(["nproc"], text=True), end="")) for _ in range(4)]
[x.start() for x in t]; [x.join() for x in t]
os.sched_setaffinity(0, {min(full)}); print(len(os.sched_getaffinity(0)))
print(subprocess.check_output(["nproc"], text=True), end="")
os.sched_setaffinity(0, full); print(os.sched_getaffinity(0) == full)'
$UNDER taskset -c 0 nproc
taskset -c 0 $UNDER nproc
''', whole=False, needs=['taskset'])

case('tty', r'$PY $P/on_tty.py tty', whole=False)
case('tty-ctrl-c', r'$PY $P/on_tty.py interrupt', whole=False)
case('tty-job-control', r'$PY $P/on_tty.py jobs', whole=False, timeout=90)
case('tty-script', r'script -qec "$UNDER sh -c \"tty > /dev/null && echo terminal; exit 7\"" /dev/null < /dev/null; echo $?',
     whole=False, needs=['script'])
case('stdin', r'''
echo "a line" | $UNDER cat
printf '1\n2\n3\n' | $UNDER sh -c 'read x; echo "first $x"; cat'
$UNDER cat < /etc/hostname | cmp - /etc/hostname && echo same
$UNDER $PY -c 'import sys; print(sys.stdin.isatty(), sys.stdin.read())' <<< text
$UNDER sh -c 'cat <&7' 7<<< seven
$UNDER sh -c 'read x' <&-; echo "closed stdin: $?"
$UNDER sh -c 'echo x' >&- 2>/dev/null; echo "closed stdout: $?"
$UNDER sh -c 'exit 3' >&- 2>&- <&-; echo "all closed: $?"
''', whole=False, stderr=False)

case('stop-and-continue', r'''
$UNDER $PY $P/ticker.py 20 > a & p=$!
$UNDER $PY $P/ticker.py 20 > b & q=$!
sleep 0.5; kill -STOP $p
wait $q; echo "other went on: $? $(wc -l < b)"
kill -CONT $p; wait $p; echo "stopped one ends: $? $(wc -l < a)"
''', whole=False, stderr=False)

case('kill-one-of-several', r'''
for i in 1 2 3 4 5; do $UNDER $BIN/threads 3 > o$i & p[$i]=$!; done
sleep 0.7; $UNDER $PY $P/ticker.py 15 > t & q=$!
kill -9 ${p[2]}; sleep 0.1; kill -9 ${p[4]}; sleep 0.1; kill -SEGV ${p[5]}
for i in 1 2 3 4 5; do wait ${p[$i]}; echo "$i: $?"; done
wait $q; echo "ticker: $? $(wc -l < t)"
cat o1 o3
$UNDER $BIN/threads
''', builds=['threads'], whole=False, stderr=False, env={'LC_ALL': 'C'})

case('kill-in-the-middle', r'''
for round in 1 2 3 4 5 6; do
  for i in 1 2 3; do $UNDER bash -c 'while :; do $0 > /dev/null; done' $BIN/threads & p[$i]=$!; done
  $UNDER $BIN/threads & q=$!
  sleep 0.2; kill -9 ${p[1]} ${p[2]} ${p[3]}; wait ${p[1]} ${p[2]} ${p[3]} 2>/dev/null
  wait $q; echo "$round: $?"
done; sleep 0.3
''', builds=['threads'], whole=False, stderr=False)

GDB_LOG = r'''grep -c 'hit Breakpoint 1' log; grep -o '^#[01] .*run (' log | grep -o 'run'
grep '^\$1 = ' log; grep -o 'counter 1600 .*' log; grep -o 'exited normally' log; true'''
GDB = "gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'handle SIGUSR1 nostop noprint'"
GDB_STEPS = "-ex 'break breakpoint_here' -ex run -ex 'bt 2' -ex 'print counter >= 0' -ex 'info threads' -ex continue"
case('gdb-breakpoint', f'''
{GDB} -ex "set exec-wrapper ${{UNDER:-env}}" {GDB_STEPS} $BIN/threads > log 2>&1
{GDB_LOG}''', needs=['gdb'], builds=['threads'], whole=False, timeout=120)
case('gdb-under-usf', f'''{GDB} {GDB_STEPS} $BIN/threads > log 2>&1
{GDB_LOG}''', needs=['gdb'], builds=['threads'], timeout=120, fast=False)
case('gdb-attach', r'''
$UNDER $BIN/threads 6 > out & p=$!
for i in $(seq 100); do [ -s out ] && break; sleep 0.1; done
gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'print counter' -ex detach -p $p 2>/dev/null | grep '^\$1'
wait $p; echo $?; cat out
''', needs=['gdb'], builds=['threads'], whole=False, timeout=120)

case('strace-follow', r'''
strace -f -o log -e trace=execve,exit_group $BIN/threads; echo $?; grep -c exit_group log
strace -f -o log2 $UNDER $BIN/threads; echo $?
strace -f -c -o log3 bash -c 'seq 100 | sort | tail -1; (exit 3); echo $?'
''', needs=['strace'], builds=['threads'], whole=False, timeout=120)
case('strace-under-usf', r'strace -f -o log $BIN/threads; echo $?', needs=['strace'], builds=['threads'], timeout=120)
case('perf', r'''
perf record -o data -e cpu-clock true > /dev/null 2>&1 || { echo "perf record is not permitted"; exit 77; }
perf record -o data -e cpu-clock -g $UNDER $BIN/threads > out 2>/dev/null; echo $?; cat out
perf report -i data --stdio 2>/dev/null | grep -c . | awk '{ print ($1 > 5) }'
perf stat -e task-clock $UNDER $BIN/threads 2>/dev/null
''', needs=['perf'], builds=['threads'], whole=False, fast=False)

for name, lib in (('jemalloc', f'{LIB}/libjemalloc.so.2'), ('mimalloc', f'{LIB}/libmimalloc.so.2.0')):
    case(f'preload-{name}', f'''
export LD_PRELOAD={lib}
$UNDER $BIN/threads; $UNDER $PY $P/py_threading.py; $UNDER bash -c 'seq 100 | tail -1'
grep -q {name} <($UNDER cat /proc/self/maps) && echo loaded
''', needs=[lib], builds=['threads'], whole=False)
case('preload-faketime', r'''
$UNDER faketime '2001-02-03 04:05:06' date +%F
faketime '2001-02-03 04:05:06' $UNDER date +%F
$UNDER faketime -f '+1h' $BIN/threads
$UNDER faketime '2001-02-03 04:05:06' $PY -c 'import time; t = time.monotonic(); time.sleep(0.05); print(time.localtime().tm_year, time.monotonic() >= t)'
''', needs=['faketime'], builds=['threads'], whole=False,
     stderr=False)  # libfaketime's exit complains that its shared objects are gone already: CHANGELOG, known issues
case('preload-stdbuf', r'stdbuf -oL $UNDER sh -c "echo line" | cat; $UNDER stdbuf -o0 printf x; echo', whole=False)

case('vfork-spawn-exec', r'''
$PY - <<'END'
import os, signal, threading
def spawn(n):
    for i in range(n):
        pid = os.posix_spawn('/bin/sh', ['sh', '-c', f'exit {i % 7}'], os.environ, setsigmask=[signal.SIGUSR1])
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == i % 7
threads = [threading.Thread(target=spawn, args=(15,)) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print('spawned')
pid = os.fork()
if not pid: os.execv('/bin/echo', ['echo', 'from a fork'])
os.waitpid(pid, 0)
threading.Thread(target=lambda: os.execv('/bin/sh', ['sh', '-c', 'echo exec in a thread; exit 9'])).start()
threading.Event().wait()
END
echo $?
''')
case('posix-spawn-failing', r'''$PY -c '
import os, subprocess
for path in ("/no/such", "/etc/passwd", "/"):
    try: os.posix_spawn(path, [path], {})
    except OSError as e: print(e.strerror)
    try: subprocess.run([path])
    except OSError as e: print(e.strerror)
' ''')
case('nested', r'$UNDER $UNDER $BIN/threads; $UNDER bash -c "$UNDER $BIN/threads; exit 5"; echo $?', builds=['threads'],
     whole=False)
case('setuid-child', r'su -s /bin/sh nobody -c "echo as another user" 2>&1 || exit 77', stderr=False)
case('cores-come-back', r'''
# after heavy killing as many programs must run at once as before it
before=$($PY $P/at_once.py)
for i in 1 2 3 4 5 6 7 8; do $UNDER $BIN/threads 5 > /dev/null & k="$k $!"; done
sleep 1; kill -9 $k; wait 2>/dev/null
after=$($PY $P/at_once.py); [ "$before" -gt 0 ] && [ "$after" -ge "$before" ] && echo "as many" || echo "$before, then $after"
for i in 1 2; do $UNDER $BIN/threads & done; wait; echo done
''', builds=['threads'], whole=False, stderr=False)
