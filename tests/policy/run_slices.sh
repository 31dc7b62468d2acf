#!/bin/sh
# Threads that never reach a scheduling point give way at the time that their policy says, though the progress guarantee is a minute away.
# SPDX-License-Identifier: Apache-2.0
# usage: run_slices.sh USF PROGRAM POLICY
usf=$1 program=$2 policy=$3
instance=slices-$$-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
trap '"$usf" clean -i "$instance" >/dev/null 2>&1' EXIT
run() { timeout 60 "$usf" run -i "$instance" -c "$cpu" --progress 60000 "$@" -- "$program" 2 800; }
out=$(run --policy "$policy" --slice 5) || { echo "FAILED: $out"; exit 1; }
echo "slices of 5 ms: $out"
turns=$(echo "$out" | sed 's/turns \([0-9]*\),.*/\1/')
# 160 by the book; the machine may be loaded, and none at all without slices
[ "$turns" -ge 5 ] || { echo "FAILED: $turns turns"; exit 1; }
"$usf" clean -i "$instance" >/dev/null 2>&1
instance=$instance-b
out=$(run --policy fifo) || { echo "FAILED: $out"; exit 1; }
echo "none: $out"
turns=$(echo "$out" | sed 's/turns \([0-9]*\),.*/\1/')
[ "$turns" -le 2 ] || { echo "FAILED: $turns turns without slices"; exit 1; }
