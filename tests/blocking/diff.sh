#!/bin/sh
# tests/blocking/diff.sh - a group of blocking calls, bare and under usf with one core: the same results?
# SPDX-License-Identifier: Apache-2.0
# usage: USF=path/to/usf diff.sh BLOCKING GROUP|CASE      Exit status 0 same, 1 different.
set -u
exe=$1 group=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
core=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')

env -u USF_INSTANCE "$exe" "$group" >"$dir/bare" 2>"$dir/err" || { cat "$dir/err"; exit 1; }
USF_MONITOR_LINGER=0 "$USF" run -i "test-blocking-$group-$$" --cpus "$core" -- "$exe" "$group" >"$dir/usf" 2>"$dir/err"
rc=$?
cat "$dir/err"
if [ $rc -ne 0 ] || ! diff "$dir/bare" "$dir/usf"; then
    echo "$group: differs (exit status $rc); < bare, > usf"
    exit 1
fi
grep skipped "$dir/usf"
echo "$group: $(wc -l <"$dir/bare") results, the same"
