/* src/os/vdso.h - functions that the kernel maps into every process (internal).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_OS_VDSO_H
#define USF_OS_VDSO_H

/* Address of the vDSO's function of that name, or null. */
void *vdso_find(const char *name);

#endif
