/* tests/lock/test_order.c - the check of the locks' order finds what docs/locking.md forbids.  SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "base/base.h"
#include <stdlib.h>
#include <unistd.h>

static unsigned bugs;
static void on_bug(void) { bugs++; }

int main(void)
{
    alarm(30);
    usf_on_bug = on_bug;
    usf_lock_taken(USF_RANK_LIST);
    usf_lock_taken(USF_RANK_BUCKET);
    usf_lock_taken(USF_RANK_BUCKET_2);
    usf_lock_wanted(USF_RANK_SCHED);
    CHECK(bugs == 0); /* the right order */
    usf_lock_wanted(USF_RANK_BUCKET_2);
    CHECK(bugs == 1); /* the same lock twice */
    usf_lock_released(USF_RANK_LIST);       /* in any order */
    usf_lock_wanted(USF_RANK_LIST);
    CHECK(bugs == 2); /* an earlier lock */
    usf_lock_released(USF_RANK_BUCKET_2);
    usf_lock_released(USF_RANK_BUCKET);
    usf_lock_wanted(USF_RANK_CACHE);
    CHECK(bugs == 2); /* nothing is held */
    usf_lock_taken(USF_RANK_BUCKET_2);
    usf_lock_taken(USF_RANK_ALARM);
    usf_lock_taken(USF_RANK_SPARE);
    usf_lock_wanted(USF_RANK_SCHED);
    CHECK(bugs == 2); /* the locks of carriers come between these */
    usf_lock_wanted(USF_RANK_ALARM);
    CHECK(bugs == 3);
    usf_lock_none_held();
    usf_lock_wanted(USF_RANK_CACHE);
    CHECK(bugs == 3 && !usf_lock_is_held(USF_RANK_SPARE));
    usf_lock_released(USF_RANK_CACHE);
    CHECK(bugs == 4); /* released without being held */
    usf_lock_unchecked();
    usf_lock_released(USF_RANK_CACHE);
    CHECK(bugs == 4);
    return 0;
}
