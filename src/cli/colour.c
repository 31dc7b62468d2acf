/* src/cli/colour.c - colours on terminals.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool colours(void)
{
    static int known = -1;
    if (known < 0) {
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
        known = !(no && *no) && term && strcmp(term, "dumb") && isatty(STDOUT_FILENO);
    }
    return known;
}

const char *text_on(enum text_style s)
{
    static const char *const codes[] = {"", "\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[1m"};
    return colours() ? codes[s] : "";
}
const char *text_off(void) { return colours() ? "\033[0m" : ""; }
