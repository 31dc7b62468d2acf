#!/bin/bash
# tests/spin/test_bounded.sh USF PROGRAM - spin-waits of bounded length are found while the program runs.
# SPDX-License-Identifier: Apache-2.0
set -u
cache=$(mktemp -d)      # nothing learned before
trap 'rm -rf "$cache"' EXIT
out=$(XDG_CACHE_HOME=$cache timeout 110 "$1" run -i "bounded-$$" -c "$(taskset -cp $$ | sed 's/.*: //')" --stats="$cache/stats" -- "$2" 20000) \
    || { echo "ended with $?"; exit 1; }
[ "$out" = 20000 ] || { echo "it said: $out"; exit 1; }
before=$(XDG_CACHE_HOME=$(mktemp -d -p "$cache") "$1" run -i "bounded-$$" --stats="$cache/none" -- "$2" 1 > /dev/null
         awk '/spin loops found/ { print $NF }' "$cache/none")
after=$(awk '/spin loops found/ { print $NF }' "$cache/stats")
[ "$after" -gt "$before" ] || { echo "spin loops found: $after, on load alone $before"; exit 1; }
