/* tests/loader/tls.c - a library whose variable lies in static thread-local storage.  SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/state.h"

static __thread int n[8] __attribute__((tls_model("initial-exec")));
int tls_count(void) { return ++n[7]; }
