#!/bin/sh
# tests/loader/real_blas.sh - OpenBLAS in contexts, or 77.  SPDX-License-Identifier: Apache-2.0
[ -e "$2" ] || { echo "skipped: $2 is not installed"; exit 77; }
exec "$1" blas "$2"
