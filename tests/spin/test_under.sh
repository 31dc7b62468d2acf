#!/bin/bash
# tests/spin/test_under.sh USF PROGRAM - a loop is replaced only when no thread is in it that does not answer.
# SPDX-License-Identifier: Apache-2.0
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
out=$(XDG_CACHE_HOME=$dir timeout 70 "$1" run -i "under-$$" -- "$2") || { echo "ended with $?"; exit 1; }
echo "$out"
[ "$out" = "as before, then replaced" ]
