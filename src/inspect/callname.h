/* src/inspect/callname.h - system calls by number.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_INSPECT_CALLNAME_H
#define USF_INSPECT_CALLNAME_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_NAME_MAX 40
/* "read"; "system call 999", written into buf, if it is not known here. */
const char *call_name(uint64_t nr, char buf[static CALL_NAME_MAX]);
bool call_has_fd(uint64_t nr);

#endif
