/* tests/odd/marks.c - leaves a mark (its own path with .ran behind it) when it is run or loaded.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void mark(void)
{
    static char path[4096];
    Dl_info i;
    if (dladdr((void *)mark, &i)) snprintf(path, sizeof path, "%s.ran", i.dli_fname);
    close(open(path, O_CREAT | O_WRONLY, 0666));
}

int main(void) { return 0; }
