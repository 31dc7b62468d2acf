/* src/tcm/second_name.c - libtcm.so of the wheel, which has no links: it needs libtcm.so.1.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tcm/abi.h"

/* For the linker, which leaves out libraries that nothing refers to. */
__attribute__((used)) static unsigned (*const needed)(void) = tcmGetVersion;
