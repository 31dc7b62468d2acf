/* src/context/share.h - libraries that exist once in a process, whatever context asks for them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SHARE_H
#define USF_CONTEXT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct share_rule { const char *pattern, *reason; };    /* pattern: of the file's name, as for fnmatch */

/* name: a path, or a name as in DT_NEEDED. */
bool share_is(const char *name);
/* The rule that holds for it, or null. */
const struct share_rule *share_rule_of(const char *name);
/* Rule number i, or null when there are no more. */
const struct share_rule *share_rule_at(unsigned i);
/* One more rule, before all others; private: the opposite.  0, or an errno value. */
int share_add(const char *pattern, const char *reason, bool private_copies);
/* Changes with each share_add. */
uint64_t share_rules(void);

#endif
