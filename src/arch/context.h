/* src/arch/context.h - user contexts.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_CONTEXT_H
#define USF_ARCH_CONTEXT_H

#if defined(__x86_64__)
#include "arch/x86_64/context.h"
#else
#error "no folder of src/arch for this processor"
#endif

#endif
