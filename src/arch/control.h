/* src/arch/control.h - how a thread computes: floating point, protection keys.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_CONTROL_H
#define USF_ARCH_CONTROL_H

#if defined(__x86_64__)
#include "arch/x86_64/control.h"
#else
#error "no folder of src/arch for this processor"
#endif

#endif
