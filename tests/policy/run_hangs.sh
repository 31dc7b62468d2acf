#!/bin/sh
# A policy that does not return holds up its own program alone, and is replaced when that has ended.  SPDX-License-Identifier: Apache-2.0
# usage: run_hangs.sh USF BUSY POLICY
usf=$1 busy=$2 policy=$3
instance=hangs-$$-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
dir=$(mktemp -d)
one= two=
: >"$dir/1.err"; : >"$dir/2.err"
cleanup() {
    touch "$dir/end"
    kill -9 $one $two 2>/dev/null
    wait 2>/dev/null
    "$usf" clean -i "$instance" --force >/dev/null 2>&1
    rm -rf "$dir"
}
trap cleanup EXIT
fail() { echo "FAILED: $1"; cat "$dir"/*.err; exit 1; }
[ -r /proc/self/schedstat ] || { echo "skipped: the kernel does not tell a thread's CPU time (schedstat)"; exit 77; }

"$usf" run -i "$instance" --policy "$policy" -- "$busy" "$dir/end" >"$dir/1.out" 2>"$dir/1.err" & one=$!
"$usf" run -i "$instance" --policy "$policy" -- "$busy" "$dir/end" >"$dir/2.out" 2>"$dir/2.err" & two=$!
words="does not come back from policy .hangs."
i=0
until grep -q "$words" "$dir"/1.err "$dir"/2.err; do
    i=$((i + 1))
    [ $i -lt 600 ] || fail "nobody says that the policy hangs"
    sleep 0.1
done
# the one that says it goes on, the other one stands still and is ended
if grep -q "$words" "$dir/1.err"; then free=$one held=$two out=$dir/1.out; else free=$two held=$one out=$dir/2.out; fi
touch "$dir/end"
wait "$free" || fail "the other program did not end well"
[ "$(cat "$out")" = done ] || fail "the other program did not do its work"
kill -0 "$held" || fail "the program in the policy ended by itself"
"$usf" run -i "$instance" -- sleep 300 >/dev/null 2>"$dir/3.err" & three=$!     # keeps the instance, if it may join at all
kill -9 "$held"
i=0
until "$usf" policy show -i "$instance" 2>/dev/null | grep -q "replaced by .coop.*did not return" || grep -q "did not return" "$dir"/*.err; do
    i=$((i + 1))
    [ $i -lt 200 ] || { kill $three; "$usf" policy show -i "$instance"; fail "not replaced by coop after the end of the program"; }
    sleep 0.1
done
kill $three
exit 0
