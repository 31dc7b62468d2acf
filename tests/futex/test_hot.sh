#!/bin/bash
# tests/futex/test_hot.sh USF PROGRAM - two threads at a lock with empty sections, each with a core, do not take turns at the speed of
# wake-ups: few of their sections end in one.  SPDX-License-Identifier: Apache-2.0
set -u
[ "$(nproc)" -ge 2 ] || { echo "needs two CPUs"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
out=$(XDG_CACHE_HOME=$dir timeout 50 "$1" run -i "hot-$$" --stats="$dir/stats" -- "$2" 5000000) || { echo "ended with $?"; exit 1; }
[ "$out" = 10000000 ] || { echo "it said: $out"; exit 1; }
waits=$(awk '/waits ended by polling| blocks / { n += $NF } END { print n }' "$dir/stats")
echo "$waits waits in 10000000 sections"
[ "$waits" -lt 20000 ]
