# Shells, coreutils, build tools, git, perl: processes more than threads.  SPDX-License-Identifier: Apache-2.0
PIDS = [(r'\[(\d+)\] \d+', r'[\1] PID'), (r'line \d+: +\d+ ', 'line N: PID ')]

case('sh-exit-codes', r'''
for c in 0 1 2 42 77 124 125 126 127 128 137 255; do $UNDER bash -c "exit $c"; echo "$c: $?"; done
$UNDER /no/such/program 2>/dev/null; echo "not found: $?"
$UNDER no-such-command 2>/dev/null; echo "not found: $?"
$UNDER /etc/passwd 2>/dev/null; echo "not executable: $?"
''', whole=False)

case('sh-death-by-signal', r'''
ulimit -c 0
for s in HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM VTALRM PROF SYS; do
  $UNDER sh -c "kill -$s \$\$; sleep 5"; echo "$s: $?"
done
$UNDER $PY -c 'import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)'; echo "int: $?"
$UNDER $PY -c 'import ctypes; ctypes.string_at(0)' 2>/dev/null; echo "segv: $?"
''', whole=False, stderr=False)

case('sh-death-seen-by-parent', r'''
$PY - <<'END'
import os, shlex, signal, subprocess
under = shlex.split(os.environ['UNDER'])
for s in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGINT):
    p = subprocess.Popen(under + ['/usr/bin/python3', '-c', f'import os, signal; signal.signal({int(s)}, 0) if {int(s)} != 9 else 0; os.kill(os.getpid(), {int(s)})'])
    print(s.name, p.wait())
p = subprocess.Popen(under + ['sleep', '100'])
p.terminate()
print('terminated from outside', p.wait())
END
''', whole=False)

case('sh-long-pipeline', r'''
set -o pipefail
seq 1 30000 | cat | tr 0-9 a-j | cat | sort -r | cat | uniq | cat | awk '{ n += length($0); print }' | cat | md5sum
false | true; echo "${PIPESTATUS[@]} $?"
yes | head -1000 | wc -l
seq 100000 | head -1; echo "${PIPESTATUS[*]}"
''')

case('sh-process-substitution', r'''
diff <(seq 1 500 | sort) <(seq 500 -1 1 | sort) && echo same
paste <(seq 5) <(seq 6 10) <(seq 11 15)
seq 10 | tee >(wc -l > lines) >(md5sum > sum) > /dev/null; until [ -s lines ] && [ -s sum ]; do sleep 0.01; done; cat lines sum
''')

case('sh-traps', r'''
trap 'echo exit $?' EXIT
trap 'echo term' TERM; kill -TERM $$
trap 'echo usr1 while waiting; ' USR1
(sleep 0.2; kill -USR1 $$) & wait $!; echo "wait: $?"
wait; trap 'echo child' CHLD; true & wait; trap - CHLD
trap 'echo err at $?' ERR; false; trap - ERR
bash -c 'trap "" INT; kill -INT $$; echo survived'
bash -c 'trap "echo bye; exit 7" INT; kill -INT $$; echo never'; echo $?
(trap 'echo inner exit' EXIT; exit 5); echo $?
exit 3
''')

case('sh-wait-jobs', r'''
for i in 1 2 3 4 5; do (sleep 0.0$i; exit $i) & pids[$i]=$!; done
for i in 5 3 1 2 4; do wait ${pids[$i]}; echo "$i: $?"; done
(exit 9) & wait -n; echo "any: $?"
sleep 100 & p=$!; kill $p; wait $p; echo "killed: $?"
coproc CAT { cat; }; echo hello >&${CAT[1]}; read -r x <&${CAT[0]}; echo "$x"; kill $CAT_PID
''', strip=PIDS)

case('sh-fifo-lock', r'''
mkfifo f; (for i in 1 2 3; do echo $i; sleep 0.02; done > f) & cat < f; wait
for i in 1 2 3 4 5 6; do (flock 9; n=$(cat n 2>/dev/null || echo 0); sleep 0.01; echo $((n + 1)) > n) 9> lock & done; wait; cat n
''')

case('sh-timeouts', r'''
$UNDER timeout 0.2 sleep 50; echo $?
$UNDER timeout -s KILL 0.2 sleep 50 2>/dev/null; echo $?
$UNDER timeout --preserve-status 0.2 sleep 50; echo $?
$UNDER timeout 20 true; echo $?
timeout 0.3 $UNDER sleep 50; echo $?
timeout -s INT 0.3 $UNDER bash -c 'trap "echo got int; exit 4" INT; while :; do sleep 0.05; done'; echo $?
''', whole=False, stderr=False)

case('sh-nohup-setsid', r'''
nohup $UNDER sh -c 'echo output; kill -HUP $$; echo survived' 2>/dev/null; echo $?
$UNDER setsid --wait sh -c 'ps -o sid= -p $$ | tr -d " " | grep -q "^$$\$" && echo leader; exit 6'; echo $?
$UNDER nice -n 5 sh -c nice
$UNDER setsid sh -c 'sleep 0.3; echo later > later'; until [ -s later ]; do sleep 0.01; done; cat later
''', whole=False)

case('sh-xargs', r'''
mkdir d; for i in $(seq 60); do echo "$i" > d/f$i; done
find d -type f | xargs -P4 -n3 md5sum | sort | md5sum
seq 40 | xargs -P8 -I{} sh -c 'echo $(({} * 2))' | sort -n | tail -3
seq 5 | xargs -n1 sh -c 'exit 1'; echo $?
find d -name 'f1*' -exec cat {} + | sort -n | tr '\n' ' '; echo
''')

case('sh-tar-gzip', r'''
mkdir d; for i in $(seq 30); do seq $i 5000 > d/f$i; done
tar c --sort=name --mtime=@0 --owner=0 --group=0 d | gzip -n | tee t.gz | md5sum
mkdir e; gzip -dc t.gz | tar x -C e; diff -r d e/d && echo same
tar cJf t.xz d && xz -dc -T2 t.xz | tar t | wc -l
tar c d | bzip2 | bzip2 -d | tar t | sort | tail -1
''')

case('sh-environment', r'''
$UNDER env -i sh -c 'echo "${HOME-unset} $((1 + 1))"'
$UNDER env -i A=1 /usr/bin/env | grep -v -e ^LD_PRELOAD= -e ^USF -e ^OMP_ -e ^KMP_ -e ^GOMP_ -e ^MKL_ -e ^TBB_ -e ^_=
A=2 $UNDER sh -c 'echo $A'
$UNDER $PY -c 'import os, sys; print(sys.argv, os.path.basename(sys.executable), os.getcwd() == os.environ["HOME"])' -- 'a b' '' '*'
exec -a odd $UNDER true; echo never
''', whole=False)

case('sh-limits', r'''
(ulimit -n 12; $UNDER sh -c 'cat /etc/hostname > /dev/null && seq 3 | cat | tail -1'); echo $?
(ulimit -s 256; $UNDER $BIN/threads); echo $?
(ulimit -s unlimited; $UNDER $BIN/threads); echo $?
(ulimit -v 600000; $UNDER $BIN/threads); echo $?
(ulimit -v 3000000; $UNDER $PY $P/py_threading.py | tail -1); echo $?
(ulimit -f 0; $UNDER sh -c 'echo fine'; echo $?) | cat
(ulimit -l 0; $UNDER $BIN/threads); echo $?
(ulimit -i 0 2>/dev/null; $UNDER $BIN/threads); echo $?
(ulimit -c 0; ulimit -t 30; $UNDER $BIN/threads); echo $?
''', whole=False, builds=['threads'], stderr=False)

case('sh-few-processes', r'''
[ "$(id -u)" = 0 ] || { echo "needs root to run as another user"; exit 77; }
chmod 755 .. .; cp $BIN/threads .
as() { setpriv --reuid=64123 --regid=64123 --clear-groups "$@"; }
as $UNDER ./threads; echo $?
as bash -c 'ulimit -u 2; $UNDER ./threads' 2>/dev/null; echo "too few: $?"
as bash -c 'ulimit -u 14; $UNDER ./threads'; echo "just enough: $?"
''', whole=False, builds=['threads'], needs=['setpriv'], stderr=False)

case('make-j4', r'''
for i in $(seq 12); do echo "int f$i(int x) { return x * $i; }" > f$i.c; done
{ echo '#include <stdio.h>'; for i in $(seq 12); do echo "int f$i(int);"; done
  echo 'int main(void) { int s = 0;'; for i in $(seq 12); do echo "s += f$i(1);"; done
  echo 'printf("%d\n", s); return 0; }'; } > main.c
cat > Makefile <<'END'
OBJS := $(patsubst %.c,%.o,$(wildcard *.c))
prog: $(OBJS) ; $(CC) -o $@ $^
%.o: %.c ; @$(CC) -c -o $@ $<
sub: ; +@$(MAKE) --no-print-directory -C . clean && $(MAKE) --no-print-directory -C . prog
clean: ; rm -f *.o prog
fail: ; @exit 3
END
make -s -j4 prog > /dev/null && ./prog
make -s -j4 sub > /dev/null && ./prog
make -j4 -k fail sub > /dev/null 2> err; echo $?; grep -c 'Error 3' err
''', needs=['make', 'gcc'], timeout=120)

case('git', r'''
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git init -q -b main r && cd r
for i in $(seq 8); do seq $i 2000 > f$i; git add .; git commit -q -m "commit $i"; done
git rev-parse HEAD
git checkout -q -b other HEAD~3 && echo x > g && git add g && git commit -q -m g && git merge -q --no-edit main && git rev-parse HEAD^{tree}
git -c pack.threads=4 gc -q --aggressive && git fsck 2>/dev/null && git count-objects -v | grep in-pack
cd .. && git clone -q --no-local r c 2>&1 && cd c && git log --oneline | wc -l && git grep -c 1999 | wc -l
echo change > f1; git stash -q && git stash pop | tail -1 | sed 's/(.*)//'
GIT_EDITOR=true git rebase -q HEAD~2 && git status --short
''', needs=['git'], timeout=90)

case('perl', r'''
perl -Mthreads -Mthreads::shared -MThread::Queue -e '
my $n :shared = 0; my $q = Thread::Queue->new;
my @t = map { my $i = $_; threads->create(sub { for (1..100) { lock($n); $n++ } $q->enqueue($i) }) } 1..6;
$_->join for @t; $q->end; my $s = 0; while (defined(my $x = $q->dequeue)) { $s += $x } print "threads $n $s\n";'
perl -e '
my @p; for my $i (1..6) { my $p = fork // die; if (!$p) { select undef, undef, undef, 0.01; exit $i } push @p, $p }
my $s = 0; for (@p) { waitpid $_, 0; $s += $? >> 8 } print "forks $s\n";
$SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; sleep 20 }; print $@;
open my $h, "-|", "seq 5" or die; my @l = <$h>; close $h; print scalar(@l), " lines $?\n"; print `echo backquote`; system "exit 4"; print $? >> 8, "\n";'
''', needs=['perl'])

case('static-busybox', r'$UNDER busybox sh -c "echo static; exit 5"', needs=['busybox'], whole=False, note=True)
case('static-threads', r'$UNDER $BIN/threads-static', builds=['threads-static'], whole=False, note=True)
case('static-go', r'$UNDER $BIN/go', builds=['go'], needs=['go'], whole=False, note=True)
case('static-child', r'$BIN/go; $BIN/threads-static; $BIN/threads', builds=['go', 'threads', 'threads-static'],
     needs=['go'], stderr=False)

case('sh-eight-copies', r'seq 2000 | sort | md5sum; (sleep 0.1; exit 3) & wait $!; echo $?', copies=8)
case('threads-two-copies', r'for i in 1 2 3; do $BIN/threads; done', builds=['threads'], copies=2)
case('threads-eight-copies', r'for i in 1 2 3; do $BIN/threads; done', builds=['threads'], copies=8)
