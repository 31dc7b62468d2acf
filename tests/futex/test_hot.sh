#!/bin/bash
# tests/futex/test_hot.sh USF PROGRAM - two threads at a lock with empty sections, each with a core, do not take turns at the speed of
# wake-ups: few of their sections end in one.  SPDX-License-Identifier: Apache-2.0
#
# Without delays some 200,000 do.  A thread that finds the lock not in use, since the kernel has given the other's CPU to another program, goes
# without delays for DELAY_COLD_WAITS waits (src/sync/delay.c): so many are allowed for each time.  A hypervisor does not say when it takes a
# CPU, so the test is passed if one of three runs is.
set -u
[ "$(nproc)" -ge 2 ] || { echo "needs two CPUs"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for attempt in 1 2 3; do
    out=$(XDG_CACHE_HOME=$dir timeout 50 "$1" run -i "hot-$$" --stats="$dir/stats" -- "$2" 5000000) || { echo "ended with $?"; exit 1; }
    read -r sections taken <<< "$out"
    [ "$sections" = 10000000 ] || { echo "it said: $out"; exit 1; }
    waits=$(awk '/waits ended by polling| blocks / { n += $NF } END { print n }' "$dir/stats")
    echo "$waits waits in $sections sections, CPUs taken $taken times"
    [ "$waits" -lt $((20000 + 1000 * taken)) ] && exit 0
done
exit 1
