#!/bin/sh
# tests/futex/diff.sh - run a scenario bare and under usf and compare the logs.
# SPDX-License-Identifier: Apache-2.0
# usage: diff.sh FUTEX_DIFF SCENARIO [SEED...]     USF=path/to/usf; without it, bare twice.
# Exit status 0 same, 1 different, 77 skipped.
set -u
exe=$1 scenario=$2
shift 2
[ $# -gt 0 ] || set -- 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
USF_INSTANCE=${USF_INSTANCE:-test-futex-$$}
export USF_INSTANCE

bad=0
for seed; do
    "$exe" "$scenario" "$seed" >"$dir/bare" 2>"$dir/err"
    rc=$?
    [ $rc -eq 77 ] && { tail -1 "$dir/err"; exit 77; }
    if [ $rc -ne 0 ]; then
        echo "$scenario, seed $seed: bare run failed ($rc)"
        tail -3 "$dir/bare" "$dir/err"
        exit 1
    fi
    ${USF:+"$USF" run --} "$exe" "$scenario" "$seed" >"$dir/usf" 2>"$dir/err"
    rc=$?
    if [ $rc -ne 0 ] || ! cmp -s "$dir/bare" "$dir/usf"; then
        echo "$scenario, seed $seed: differs (exit status $rc); < bare, > ${USF:-bare again}"
        diff "$dir/bare" "$dir/usf" | head -40
        tail -3 "$dir/err"
        bad=1
    else
        echo "$scenario, seed $seed: $(wc -l <"$dir/bare") lines, the same"
    fi
done
exit $bad
