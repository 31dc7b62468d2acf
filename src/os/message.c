/* src/os/message.c - where messages go.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "os/syscall.h"

void usf_put_line(const char *line, size_t n) { usf_syscall(__NR_write, 2, line, n); }
