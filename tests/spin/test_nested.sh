#!/bin/bash
# tests/spin/test_nested.sh USF PROGRAM - a long wait that consists of short ones gives way by itself, before the progress guarantee has it do so.
# SPDX-License-Identifier: Apache-2.0
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
for looks in 200 200 8; do    # the first finds the loop
    out=$(XDG_CACHE_HOME=$dir timeout 50 "$1" run -i "nested-$$" -c "$cpu" --stats="$dir/stats" -- "$2" 200 "$looks") || { echo "ended with $?"; exit 1; }
    [ "$out" = 200 ] || { echo "it said: $out"; exit 1; }
done
preempted=$(awk '/ preemptions / { print $NF }' "$dir/stats")
echo "$preempted times preempted in 200 barriers"
[ "$preempted" -lt 50 ]
