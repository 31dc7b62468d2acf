#!/bin/sh
# tests/signals/glibc.sh - run a program with other releases of glibc, by their own loaders.  SPDX-License-Identifier: Apache-2.0
# usage: USF=path/to/usf USF_TEST_GLIBC="DIR..." [POINTS=signals-points] glibc.sh PROGRAM...
# DIR: an unpacked libc6 package (dpkg -x)
# glibc 2.41 and later cancel threads in another way than those before.
set -u
[ -n "${USF_TEST_GLIBC:-}" ] || { echo "USF_TEST_GLIBC names no directory with another glibc"; exit 77; }
bad=0
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
for dir in $USF_TEST_GLIBC; do
    lib=$dir/usr/lib/x86_64-linux-gnu
    [ -x "$lib/ld-linux-x86-64.so.2" ] || { echo "$dir has no loader"; exit 1; }
    for program; do
        for with in "" "$USF run --"; do
            # shellcheck disable=SC2086 # words
            timeout -k 1 60 $with "$lib/ld-linux-x86-64.so.2" --library-path "$lib:/usr/lib/x86_64-linux-gnu" "$program" >/dev/null
            rc=$?
            [ $rc -eq 0 ] || { echo "$dir, $program, ${with:-bare}: $rc"; bad=1; }
        done
    done
    for mode in ${POINTS:+pending blocked storm}; do
        for with in "" "$USF run --"; do
            # shellcheck disable=SC2086 # words
            timeout -k 1 60 $with "$lib/ld-linux-x86-64.so.2" --library-path "$lib:/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu" \
                "$POINTS" $mode >"$out/usf" 2>"$out/err" || { echo "$dir, $mode: $?"; cat "$out/err"; bad=1; }
            [ -n "$with" ] || mv "$out/usf" "$out/bare"
        done
        diff "$out/bare" "$out/usf" || { echo "$dir, $mode: differs, < bare, > usf"; bad=1; }
    done
done
exit $bad
