/* src/context/memory.h - the memory that a context's libraries see.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_MEMORY_H
#define USF_CONTEXT_MEMORY_H

#include <stdint.h>
#include <sys/sysinfo.h>

/* `limit` in bytes; 0: the machine's. */
int memory_sysinfo(uint64_t limit, struct sysinfo *info);
long memory_pages(uint64_t limit, int name);        /* name: _SC_PHYS_PAGES or _SC_AVPHYS_PAGES, as for sysconf */

#endif
