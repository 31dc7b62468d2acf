#!/bin/bash
# tests/futex/test_futile.sh USF PROGRAM - two threads that release a lock as Python's for each call, each with a core, do not take turns at the
# speed of wake-ups: few of their sections end in one.  SPDX-License-Identifier: Apache-2.0
#
# Without delays nine of ten do, with them one of thirty.  As in test_hot.sh, the test is passed if one of three runs is: a hypervisor
# may take a CPU, and then there are more.  Eight threads on the same cores all get on.
set -u
[ "$(nproc)" -ge 2 ] || { echo "needs two CPUs"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
run() { XDG_CACHE_HOME=$dir timeout 50 "$usf" run -i "futile-$$" --stats="$dir/stats" "$@"; }
usf=$1
out=$(run -- "$2" 8 20000) || { echo "8 threads: ended with $?"; exit 1; }
[ "${out% *}" = 160000 ] || { echo "8 threads said: $out"; exit 1; }
for attempt in 1 2 3; do
    out=$(run -- "$2" 2 200000) || { echo "ended with $?"; exit 1; }
    read -r sections taken <<< "$out"
    [ "$sections" = 400000 ] || { echo "it said: $out"; exit 1; }
    waits=$(awk '/waits ended by polling| blocks / { n += $NF } END { print n }' "$dir/stats")
    echo "$waits waits in $sections sections, CPUs taken $taken times"
    [ "$waits" -lt 100000 ] && exit 0
done
exit 1
