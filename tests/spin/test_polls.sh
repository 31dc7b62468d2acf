#!/bin/bash
# tests/spin/test_polls.sh USF PROGRAM - a known progress function gives way, but not if the program's loop does so itself: each
# round would yield twice.  SPDX-License-Identifier: Apache-2.0
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
run()   # MODE: sets `yields` and `polls`
{
    out=$(timeout 50 "$1" run -i "polls-$$" -c "$cpu" --stats="$dir/stats" -- "$2" 2000 "$3") || { echo "ended with $?"; exit 1; }
    [ "$out" = 2000 ] || { echo "it said: $out"; exit 1; }
    yields=$(awk '/ yields [0-9 ]+$/ { print $NF }' "$dir/stats")
    polls=$(awk '/ yields of spin loops / { print $NF }' "$dir/stats")
    echo "$3: $yields yields of the program, $polls of its progress function"
}
run "$1" "$2" spin
[ "$polls" -ge 1000 ] || exit 1
run "$1" "$2" yield
[ "$yields" -ge 1000 ] && [ "$polls" -lt 100 ]
