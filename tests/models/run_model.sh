#!/bin/sh
# Search a Promela model to the end.  SPDX-License-Identifier: Apache-2.0
# usage: run_model.sh [--trail] holds|fails full|bits=N MODEL [-DFLAG...]
#   --trail: print the steps to the error that is found, all of them (of a mutation, too); the shortest that a breadth-first search
#   finds with `full`, or at all the first
#   holds: no error may be found; fails: a mutation, whose error must be found
#   full: every state; bits=N: for big models, a hash table of 2^N bits (may overlook states, never invents errors;
#   the fuller the table, the sooner the search ends)
set -u
trail=
[ "${1-}" = --trail ] && { trail=1; shift; }
[ $# -ge 3 ] || { echo "usage: run_model.sh [--trail] holds|fails full|bits=N MODEL [-DFLAG...]"; exit 2; }
expect=$1 search=$2 model=$3
shift 3
command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
cc=${CC:-gcc}
command -v "$cc" >/dev/null || { echo "no C compiler"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
spin -a "$@" "$model" >generate.log 2>&1 || { cat generate.log; exit 1; }
case $search in
full) flags="-DCOLLAPSE -DMEMLIM=2000${trail:+ -DBFS}" options="" ;;
bits=*) flags="-DBITSTATE" options="-w${search#bits=}" ;;
*) echo "search is full or bits=N, not $search"; exit 1 ;;
esac
"$cc" -O2 -w -DSAFETY $flags -o pan pan.c || exit 1
./pan -m100000 $options >search.log 2>&1
errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' search.log)
grep -E 'errors:|states, stored' search.log
if grep -qE 'out of memory|max search depth too small|exceeded' search.log; then
    cat search.log
    echo "the search was not complete"
    exit 1
fi
# Where no spin step says what it does, the line of the model that it executes does.
if [ -n "$trail" ] && [ -f "$(basename "$model").trail" ]; then
    spin -t -p -g -l -k "$(basename "$model").trail" "$@" "$model"
elif [ -n "$trail" ]; then
    echo "no error was found: there is no trail"
fi
case $expect/$errors in
holds/0) exit 0 ;;
fails/[1-9]*) grep '^pan:1' search.log; exit 0 ;;
holds/*) cat search.log; [ -f ./*.trail ] && spin -t -p "$@" "$model" | tail -60; exit 1 ;;
*) echo "the mutation $* was not noticed"; exit 1 ;;
esac
