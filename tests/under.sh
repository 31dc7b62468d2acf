#!/bin/sh
# tests/under.sh - run a command under usf when USF names it, bare when USF is empty or unset.
# SPDX-License-Identifier: Apache-2.0
# usage: [USF=path/to/usf] [USF_FLAGS="..."] under.sh COMMAND...
[ -n "${USF:-}" ] || exec "$@"
# shellcheck disable=SC2086 # the flags are words
exec "$USF" run ${USF_FLAGS:-} -- "$@"
