#!/bin/sh
# `usf policy new` makes a folder that builds and passes the check.  SPDX-License-Identifier: Apache-2.0
# usage: new.sh USF LANGUAGE COMPILER
set -e
usf=$1 lang=$2 compiler=$3
for tool in make "$compiler"; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
umask 002
"$usf" policy new my_policy-1 --lang "$lang"
[ -f my_policy-1/README.md ] || { echo "FAILED: no README.md"; exit 1; }
if grep -rn '@[A-Z]*@' my_policy-1; then echo "FAILED: a mark was not replaced"; exit 1; fi
make -s -C my_policy-1
make -s -C my_policy-1 check
"$usf" policy info ./my_policy-1/my_policy-1.so | grep -q '^my_policy-1: '

# what was there is left alone
echo mine >my_policy-1/Makefile
if "$usf" policy new my_policy-1 --lang "$lang" 2>err; then echo "FAILED: overwritten"; exit 1; fi
grep -q 'exists already' err
[ "$(cat my_policy-1/Makefile)" = mine ] || { echo "FAILED: overwritten"; exit 1; }

refused() {     # WORDS ARGUMENT...
    words=$1
    shift
    if "$usf" policy new "$@" 2>err; then echo "FAILED: accepted: $*"; exit 1; fi
    grep -q -- "$words" err || { echo "FAILED: $*: expected '$words', got:"; cat err; exit 1; }
}
refused 'no name for a policy' Mine
refused 'no name for a policy' 'a b'
refused 'no name for a policy' abcdefghijklmnopqrstuvwxyz0123456789
refused 'built-in policy' coop
refused 'no language' x --lang go
refused 'needs a value' x --lang
refused 'no option' x --force
refused 'too many' x y
refused 'needs a name'
refused 'No such file' nowhere/x
ls | grep -qx x && { echo "FAILED: a refused folder was made"; exit 1; }
exit 0
