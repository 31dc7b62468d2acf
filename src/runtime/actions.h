/* src/runtime/actions.h - the signal actions that the program has set.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of actions.c, for signals.c.  No function takes a lock: a handler's entry may call them. */
#ifndef USF_RUNTIME_ACTIONS_H
#define USF_RUNTIME_ACTIONS_H

#include "runtime/runtime.h"

#define RT_DFL ((void (*)(int, siginfo_t *, void *))0)
#define RT_IGN ((void (*)(int, siginfo_t *, void *))1)

void rt_actions_init(void);
const struct rt_action *rt_action_of(int sig);  /* as the program set it */
bool rt_action_is_seen(int sig);                /* its handler is in code whose system calls the gate sees */
uint64_t rt_actions_handled(void);              /* the signals that have a handler, and the runtime's own; not RT_SYNCHRONOUS */
/* The handler of the action is called: SA_RESETHAND ends it, unless there is another by now. */
void rt_action_is_used(int sig, const struct rt_action *a);

/* Does the handler's entry block all signals until it has moved its frame to the program's stack? */
bool rt_entry_blocks_all(int sig, const struct rt_action *a);
/* Signals that are let in late, when the handler of another is about to be called.  libc's request
 * to cancel: its handler may unwind, not through an entry whose pc in a springboard is not shown as
 * the program's yet.  And the runtime's own, which an entry that is moved to an alternate stack has
 * blocked. */
uint64_t rt_late_signals(int sig, const struct rt_action *a);

#endif
