# Programs with stacks of their own: that of a JIT's code, of goroutines, fibers, coroutines.  SPDX-License-Identifier: Apache-2.0
#
# The runtime's own signal comes often: many more threads than cores, and a guarantee of progress of 1 ms.
SHORT = {'USF_PROGRESS': '1'}
FIRST = {}                              # the usual guarantee
ONE = {'USF_CPUS': '0', 'USF_PROGRESS': '1'}

ERLANG = 'cp $P/sums.erl . && erlc sums.erl && for i in 1 2 3; do erl +S 8:8 -noshell -s sums main; done'
for name, env in (('', FIRST), ('-short', SHORT), ('-one', ONE)):
    case('erlang' + name, ERLANG, needs=['erlc'], env=env, timeout=180)
    case('ucontexts' + name, 'for i in 1 2 3; do $BIN/ucontexts; done', builds=['ucontexts'], env=env, timeout=120)
    case('boost-fibers' + name, '$BIN/fibers', builds=['fibers'], env=env, timeout=120)
    case('go-library' + name, '$BIN/golib $BIN/golib.so', builds=['golib', 'golib.so'], env=env, timeout=180)
    case('java-stacks' + name, 'java -Xss512k -cp $BIN/java-stacks Stacks', needs=['java'], builds=['java-stacks'], env=env, timeout=240)
case('elixir', 'elixir --erl "+S 8:8" $P/tasks.exs', needs=['elixir'], env=SHORT, timeout=180)
case('luajit', 'luajit $P/coroutines.lua', needs=['luajit'], env=SHORT, copies=4, timeout=120)
case('luajit-interpreted', 'luajit -joff $P/coroutines.lua', needs=['luajit'], env=SHORT, copies=4, timeout=120)
