#!/bin/sh
# tests/python/example.sh - an example that needs scipy, or 77.  SPDX-License-Identifier: Apache-2.0
/usr/bin/python3 -c 'import scipy' 2>/dev/null || { echo "skipped: python3-scipy is not installed"; exit 77; }
exec /usr/bin/python3 "$@"
