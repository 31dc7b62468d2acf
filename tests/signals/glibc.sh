#!/bin/sh
# tests/signals/glibc.sh - run a program with other releases of glibc, by their own loaders.  SPDX-License-Identifier: Apache-2.0
# usage: USF=path/to/usf USF_TEST_GLIBC="DIR..." glibc.sh PROGRAM...     DIR: an unpacked libc6 package (dpkg -x)
# glibc 2.41 and later cancel threads in another way than those before.
set -u
[ -n "${USF_TEST_GLIBC:-}" ] || { echo "USF_TEST_GLIBC names no directory with another glibc"; exit 77; }
bad=0
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
done
exit $bad
