#!/bin/sh
# The examples of tasks in C++ are made by their own Makefile, and run.  SPDX-License-Identifier: Apache-2.0
# usage: example_make.sh SOURCE_ROOT LIBNOSV COMPILER
set -e
root=$1 library=$2 compiler=$3
for tool in make "$compiler"; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r "$root/examples/tasks-cpp" "$dir"
make -s -C "$dir/tasks-cpp" clean
make -s -C "$dir/tasks-cpp" check CXX="$compiler" CXXFLAGS='-O2 -Wall -Wextra -Werror' NOSV="-I$root/include $library -Wl,-rpath,$(dirname "$library")"
