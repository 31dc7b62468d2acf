/* tests/spin/doubles.h - one made-up object with known functions.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TEST_SPIN_DOUBLES_H
#define USF_TEST_SPIN_DOUBLES_H
#include <stdint.h>
#include "gate/gate.h"
#define TEST_MAX_FUNCTIONS 4096
extern struct gate_object test_object;
extern uintptr_t test_fstart[TEST_MAX_FUNCTIONS], test_fend[TEST_MAX_FUNCTIONS];
extern unsigned test_nr_functions;
#endif
