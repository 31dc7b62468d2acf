/* src/arch/fiber.h - stacks of fibers, which change by calls alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_FIBER_H
#define USF_ARCH_FIBER_H

#if defined(__x86_64__)
#include "arch/x86_64/fiber.h"
#else
#error "no folder of src/arch for this processor"
#endif

#endif
