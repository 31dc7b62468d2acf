#!/bin/sh
# The example's own Makefile makes an object that loads and runs.  SPDX-License-Identifier: Apache-2.0
# usage: example_make.sh TEST_POLICY SOURCE_ROOT
set -e
test_policy=$1 root=$2
command -v make >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$root/examples/policy/Makefile" "$root/examples/policy/fair.c" "$dir"
make -s -C "$dir" USF="$root"
chmod go-w "$dir/fair.so"
"$test_policy" "$dir/fair.so"
