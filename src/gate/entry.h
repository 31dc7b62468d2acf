/* src/gate/entry.h - what entry.S and C agree on.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_GATE_ENTRY_H
#define USF_GATE_ENTRY_H

#define USF_NR_SYSCALLS  512
#define GATE_TABLE       65536  /* entries of usf_gate_handlers */
#define GATE_ACTION      72     /* offsets in struct gate_frame */
#define GATE_CANCEL      80
#define GATE_CANCEL_ARCH 88
#define ACTION_SITE_CALLS  1    /* enum gate_action */
#define ACTION_ENTRY_CALLS 2

#endif
