#!/bin/bash
# tests/spin/test_counted.sh USF PROGRAM - waits of a few rounds that end by themselves do not give way, though others wait for the core:
# neither once the loop is known, nor while it is found.  SPDX-License-Identifier: Apache-2.0
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
for run in 1 2; do    # the first finds the loop
    out=$(XDG_CACHE_HOME=$dir timeout 50 "$1" run -i "counted-$$" -c "$cpu" --stats="$dir/stats" -- "$2" 200000) || { echo "ended with $?"; exit 1; }
    [ "$out" = 800000 ] || { echo "it said: $out"; exit 1; }
done
found=$(awk '/spin loops found/ { print $NF }' "$dir/stats")
yields=$(awk '/yields of spin loops/ { print $NF }' "$dir/stats")
echo "$yields yields of spin loops in 800000 waits, $found loops found"
[ "$found" -gt 0 ] && [ "$yields" -lt 8000 ]
