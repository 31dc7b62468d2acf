#!/bin/sh
# A policy whose tick does not return: the monitor that is lost in it is replaced, and the policy by coop.  SPDX-License-Identifier: Apache-2.0
# usage: run_ticks.sh USF BUSY POLICY
usf=$1 busy=$2 policy=$3
instance=ticks-$$-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
dir=$(mktemp -d)
one= two=
: >"$dir/1.err"; : >"$dir/2.err"
# Whatever happens, no monitor is to be left in a loop: its number as of the last look.
watchmen() { "$usf" ps -i "$instance" --json 2>/dev/null | sed -n 's/.*"monitor_pid": *\([0-9][0-9]*\).*/\1/p' | head -1; }
# Prints how often the monitor has looked, if it holds the scheduler lock.
looks_with_lock() {
    "$usf" dump -i "$instance" 2>/dev/null |
        awk '/^word .*: held by the monitor/ { held = 1 } held && match($0, /, looks [0-9]+/) { print substr($0, RSTART + 8, RLENGTH - 8) }'
}
is_watchman() { [ -n "$1" ] && grep -q usf-monitor "/proc/$1/comm" 2>/dev/null; }
monitor=
cleanup() {
    touch "$dir/end"
    kill -9 $one $two 2>/dev/null
    wait 2>/dev/null
    last=$(watchmen)
    for pid in $monitor $last; do is_watchman "$pid" && kill -9 "$pid"; done
    "$usf" clean -i "$instance" --force >/dev/null 2>&1
    rm -rf "$dir"
}
trap cleanup EXIT
fail() { echo "FAILED: $1"; cat "$dir"/*.err "$dir"/show; exit 1; }
[ -r /proc/self/schedstat ] || { echo "skipped: the kernel does not tell a thread's CPU time (schedstat)"; exit 77; }

"$usf" run -i "$instance" --policy "$policy" -- "$busy" "$dir/end" >"$dir/1.out" 2>"$dir/1.err" & one=$!
"$usf" run -i "$instance" --policy "$policy" -- "$busy" "$dir/end" >"$dir/2.out" 2>"$dir/2.err" & two=$!
i=0
until "$usf" policy show -i "$instance" >"$dir/show" 2>&1; grep -q "replaced by .coop.*did not return" "$dir/show"; do
    i=$((i + 1))
    [ $i -lt 400 ] || fail "not replaced by coop"
    monitor=$(watchmen)
    sleep 0.1
done
touch "$dir/end"
wait $one || fail "a program did not end well"
wait $two || fail "a program did not end well"
[ "$(cat "$dir/1.out" "$dir/2.out" | tr '\n' ' ')" = "done done " ] || fail "the programs did not do their work"
grep -q unscheduled "$dir"/*.err && fail "a program left the instance"

two=
# All who would miss the monitor are killed while it is in there: it finds that out by itself.
"$usf" clean -i "$instance" --force >/dev/null 2>&1
rm -f "$dir/end"
"$usf" run -i "$instance" --policy "$policy" -- "$busy" "$dir/end" >"$dir/1.out" 2>"$dir/1.err" & one=$!
i=0
until monitor=$(watchmen); is_watchman "$monitor"; do
    i=$((i + 1))
    [ $i -lt 100 ] || fail "no monitor"
    sleep 0.1
done
i=0
until looks=$(looks_with_lock); [ -n "$looks" ] && sleep 0.02 && [ "$(looks_with_lock)" = "$looks" ]; do     # twice in one look
    i=$((i + 1))
    [ $i -lt 400 ] || fail "the monitor is not lost in the policy"
    sleep 0.02
done
kill -9 $one
i=0
while is_watchman "$monitor"; do
    i=$((i + 1))
    [ $i -lt 600 ] || fail "the monitor of nobody is still in the policy"
    sleep 0.1
done
exit 0
