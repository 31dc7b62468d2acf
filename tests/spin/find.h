/* tests/spin/find.h - every loop of a function, the site at an address, the names of verdicts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TEST_SPIN_FIND_H
#define USF_TEST_SPIN_FIND_H
#include "spin/spin.h"
/* fn is called for each spin-wait of the function, in address order; returns their number.  fn may prepare and commit
 * them.  `code` is read again after each call. */
int spin_for_each_loop(const uint8_t *code, uintptr_t fstart, uintptr_t fend,
                       void (*fn)(const struct spin_loop *l, void *arg), void *arg);
/* The site whose original bytes or stub hold pc, or -1. */
int spin_site_at(uintptr_t pc);
const char *spin_verdict_name(enum spin_verdict v);
#endif
