#!/bin/sh
# The example's own Makefile makes an object that passes the check.  SPDX-License-Identifier: Apache-2.0
# usage: example_make.sh USF SOURCE_ROOT
set -e
usf=$1 root=$2
command -v make >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 022
cp "$root/examples/policy/Makefile" "$root/examples/policy/priority.c" "$dir"
make -s -C "$dir" SOURCE="$root"
make -s -C "$dir" SOURCE="$root" USF="$usf" check
