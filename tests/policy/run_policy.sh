#!/bin/sh
# A program runs under a user's policy, and runs on under coop when that lies.  SPDX-License-Identifier: Apache-2.0
# usage: run_policy.sh USF PROGRAM POLICY [WORDS]     WORDS: what standard error must say about the replacement
usf=$1 program=$2 policy=$3 words=${4:-}
instance=policy-$$-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
err=$(mktemp)
trap 'rm -f "$err"; "$usf" clean "$instance" >/dev/null 2>&1' EXIT
out=$(timeout 60 "$usf" run -i "$instance" --policy "$policy" -- "$program" 2>"$err")
code=$?
echo "exit $code, output: $out"
cat "$err"
[ $code -eq 0 ] && [ "$out" = "sum 14400" ] || { echo "FAILED: the program did not end as it does bare"; exit 1; }
if [ -n "$words" ]; then
    grep -q "replaced by .coop.*$words" "$err" || { echo "FAILED: expected: $words"; exit 1; }
elif [ -s "$err" ]; then
    echo "FAILED: unexpected words on standard error"
    exit 1
fi
