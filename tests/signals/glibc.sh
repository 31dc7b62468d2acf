#!/bin/sh
# tests/signals/glibc.sh - programs with another release of glibc, by its own loader.
# SPDX-License-Identifier: Apache-2.0
# usage: USF=path/to/usf [USF_TEST_CACHE=DIR] [POINTS=signals-points] [FLOAT=float-signals]
#        glibc.sh PROGRAM...
# USF_TEST_GLIBC="DIR...": unpacked libc6 packages (dpkg -x).  Unset: Debian 13's (2.41), which is
# downloaded into the cache; without a network the test is skipped.
# glibc 2.41 and later make cancellable calls in a function of their own.
set -u
bad=0
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

# Downloads with a state of its own: nothing of the machine's package manager changes.
fetch() {
    dir=${USF_TEST_CACHE:-$out}/glibc-trixie
    [ -d "$dir" ] || {
        mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial" || return 1
        key=/usr/share/keyrings/debian-archive-keyring.gpg
        echo "deb [signed-by=$key] http://deb.debian.org/debian trixie main" >"$out/apt/sources.list"
        cat >"$out/apt.conf" <<EOF
Dir::Etc::SourceList "$out/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$out/apt/lists";
Dir::Cache "$out/apt/cache";
APT::Sandbox::User "";
Acquire::Languages "none";
EOF
        (cd "$out/apt" && export APT_CONFIG="$out/apt.conf" && timeout 200 apt-get -qq update &&
            timeout 100 apt-get -qq download libc6/trixie && dpkg -x libc6_*.deb root) || return 1
        mkdir -p "${dir%/*}" && mv "$out/apt/root" "$dir" || return 1
    }
    USF_TEST_GLIBC=$dir
}
[ -n "${USF_TEST_GLIBC:-}" ] || fetch || { echo "Debian 13's libc6 cannot be had"; exit 77; }

for dir in $USF_TEST_GLIBC; do
    lib=$dir/usr/lib/x86_64-linux-gnu
    [ -x "$lib/ld-linux-x86-64.so.2" ] || { echo "$dir has no loader"; exit 1; }
    loader="$lib/ld-linux-x86-64.so.2 --library-path $lib:/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu"
    for program; do
        for with in "" "$USF run --"; do
            # shellcheck disable=SC2086 # words
            timeout -k 1 60 $with $loader "$program" >/dev/null
            rc=$?
            [ $rc -eq 0 ] || { echo "$dir, $program, ${with:-bare}: $rc"; bad=1; }
        done
    done
    for case in ${FLOAT:+signals raise foreign ppoll world process homing}; do
        # shellcheck disable=SC2086 # words
        timeout -k 1 60 "$USF" run --cpus 0 -- $loader "$FLOAT" "$case" || { echo "$dir, $case: $?"; bad=1; }
    done
    for mode in ${POINTS:+pending blocked storm}; do
        for with in "" "$USF run --"; do
            # shellcheck disable=SC2086 # words
            timeout -k 1 60 $with $loader "$POINTS" "$mode" >"$out/usf" 2>"$out/err" ||
                { echo "$dir, $mode: $?"; cat "$out/err"; bad=1; }
            [ -n "$with" ] || mv "$out/usf" "$out/bare"
        done
        diff "$out/bare" "$out/usf" || { echo "$dir, $mode: differs, < bare, > usf"; bad=1; }
    done
done
exit $bad
