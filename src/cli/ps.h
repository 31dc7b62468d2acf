/* src/cli/ps.h - between the files of `usf ps`.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_PS_H
#define USF_CLI_PS_H

#include "inspect/view.h"
#include "inspect/why.h"
#include "text/json.h"

/* One instance.  r null: without the reasons of waits. */
void ps_json(struct json *j, const struct view *v, struct why_reader *r);

#endif
