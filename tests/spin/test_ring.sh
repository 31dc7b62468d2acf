#!/bin/bash
# tests/spin/test_ring.sh USF PROGRAM - an unproductive spin is passed over: a turn that goes round takes about one switch
# each time, not one for every thread that waits.  SPDX-License-Identifier: Apache-2.0
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
for n in 5000 80000; do    # the first finds the loop
    out=$(XDG_CACHE_HOME=$dir timeout 50 "$1" run -i "ring-$$" -c "$cpu" --stats="$dir/stats" -- "$2" "$n") || { echo "ended with $?"; exit 1; }
    [ "$out" = "$n" ] || { echo "it said: $out"; exit 1; }
done
switches=$(awk '/ switches / { print $NF }' "$dir/stats")
echo "$switches switches for 80000 turns"
[ "$switches" -lt 160000 ]
