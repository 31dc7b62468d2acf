#!/bin/sh
# An example's own Makefile makes an object that passes the check.  SPDX-License-Identifier: Apache-2.0
# usage: example_make.sh USF SOURCE_ROOT FOLDER [COMPILER]       FOLDER: of examples/
set -e
usf=$1 root=$2 folder=$3 compiler=${4:-cc}
for tool in make "$compiler"; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 002                               # as where each user has a group of his own
mkdir "$dir/examples"
cp -r "$root/include" "$dir"
cp -r "$root/examples/$folder" "$dir/examples"
make -s -C "$dir/examples/$folder" clean
make -s -C "$dir/examples/$folder"
make -s -C "$dir/examples/$folder" USF="$usf" check
