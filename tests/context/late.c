/* tests/context/late.c - a library whose stub is loaded late; it needs the other one.  SPDX-License-Identifier: Apache-2.0 */
#include "counter.h"

int late_next(void);
int late_next(void)
{
    static int count;
    return counter_constructed() ? ++count : -1;
}
