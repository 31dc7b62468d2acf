/* src/arch/arch.h - what all code asks of the processor.  SPDX-License-Identifier: Apache-2.0
 *
 * All functions are inline, and the same for each processor. */
#ifndef USF_ARCH_ARCH_H
#define USF_ARCH_ARCH_H

#if defined(__x86_64__)
#include "arch/x86_64/cpu.h"
#else
#error "no folder of src/arch for this processor"
#endif

#endif
