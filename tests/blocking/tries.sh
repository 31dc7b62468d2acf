#!/bin/sh
# tests/blocking/tries.sh - PROGRAM under usf on one core, with the thread cache and without it.  SPDX-License-Identifier: Apache-2.0
set -eu
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')
"$USF" run --share process --cpus "$cpu" -- "$1"
"$USF" run --share process --cpus "$cpu" --thread-cache off -- "$1"
