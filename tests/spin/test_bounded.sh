#!/bin/bash
# tests/spin/test_bounded.sh USF PROGRAM - spin-waits of bounded length are found while the program runs.
# SPDX-License-Identifier: Apache-2.0
set -u
cache=$(mktemp -d)
cpus=$(taskset -cp $$ | sed 's/.*: //')
program=
trap '[ -z "$program" ] || kill "$program" 2> /dev/null; wait; rm -rf "$cache"' EXIT

# ROUNDS ...: with nothing learned before
run() { XDG_CACHE_HOME=$(mktemp -d -p "$cache") exec timeout 50 "$usf" run -i "bounded-$$" -c "$cpus" "${@:2}" -- "$spins" "$1"; }
usf=$1 spins=$2

out=$( (run 20000) ) || { echo "ended with $?"; exit 1; }
[ "$out" = 20000 ] || { echo "it said: $out"; exit 1; }

# What is found on load.  One round would do for the monitor to find the loop now and then.
(run 0 --stats="$cache/none") > /dev/null || { echo "ended with $?"; exit 1; }
before=$(awk '/spin loops found/ { print $NF }' "$cache/none")
[ -n "$before" ] || { echo "no statistics"; exit 1; }
# The monitor looks at a thread now and then: it finds the loop when that is in it.
run 1000000000 > /dev/null &
program=$!
found=0
while [ "$found" -le "$before" ]; do
    kill -0 "$program" 2> /dev/null || { echo "spin loops found: $found, on load alone $before"; exit 1; }
    sleep 0.1
    found=$("$usf" ps -i "bounded-$$" --json 2> /dev/null | sed -n 's/.*"spin_sites": *\([0-9]*\).*/\1/p' | sort -n | tail -n 1)
    found=${found:-0}
done
