/* src/arch/signal.h - signals' frames.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_ARCH_SIGNAL_H
#define USF_ARCH_SIGNAL_H

#if defined(__x86_64__)
#include "arch/x86_64/signal.h"
#else
#error "no folder of src/arch for this processor"
#endif

#endif
