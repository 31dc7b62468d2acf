/* src/cli/new/files.h - what `usf policy new` copies.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CLI_NEW_FILES_H
#define USF_CLI_NEW_FILES_H

struct new_file { const char *name, *text; };
extern const struct new_file new_files[];       /* made by embed.py; ends with a null name */

#endif
