#!/bin/bash
# tests/futex/test_message.sh USF PROGRAM - a wait with the value that locks are waited for with ends as any other, if others wait for the
# thread that was woken.  SPDX-License-Identifier: Apache-2.0
set -u
[ "$(nproc)" -ge 2 ] || { echo "needs two CPUs"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
XDG_CACHE_HOME=$dir timeout 100 "$1" run -i "message-$$" -- "$2"
