/* src/context/guard.h - cleaning up when an exception passes through C.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_GUARD_H
#define USF_CONTEXT_GUARD_H

/* Calls body(arg), then cleanup(arg): also when an exception, the thread's cancellation or
 * pthread_exit leaves body.  cleanup must not throw.  longjmp out of body does not clean up. */
void guard_call(void (*body)(void *), void (*cleanup)(void *), void *arg);

#endif
