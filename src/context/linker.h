/* src/context/linker.h - work that is done while no other thread loads or unloads libraries.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_LINKER_H
#define USF_CONTEXT_LINKER_H

#include <stdbool.h>

/* Calls f(arg) in this thread, which holds ld.so's lock meanwhile.  f may load libraries, and may
 * call this once more.  The caller holds no lock of this library's. 0, or an errno value, said. */
int linker_call(void (*f)(void *), void *arg);

/* Does the calling thread hold ld.so's lock: is it in linker_call, or in a constructor or
 * destructor that dlopen or dlclose executes?  False before the first linker_call. */
bool linker_is_held(void);

/* Around a fork; hold contexts.lock.  The first waits until no other thread is in linker_call. */
void linker_before_fork(void);
void linker_in_child(void);

#endif
