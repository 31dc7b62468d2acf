/* tests/loader/under.c - a library that is not linked with what it uses.  SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/state.h"

int under_count(void) { return dep_count(); }
