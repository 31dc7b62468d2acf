/* src/arch/code.h - machine code: what patches instructions knows of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_CODE_H
#define USF_ARCH_CODE_H

#if defined(__x86_64__)
#include "arch/x86_64/code.h"
#else
#error "no folder of src/arch for this processor"
#endif

#endif
