/* src/spin/machine.h - what the recogniser is told of the processor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SPIN_MACHINE_H
#define USF_SPIN_MACHINE_H

#if defined(__x86_64__)
#include "arch/x86_64/spin/machine.h"
#else
#error "no folder of src/arch for this processor"
#endif

#endif
