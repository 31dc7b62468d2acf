/* sim/mach/files.c - reading files, and where the ready ones lie.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/mach/mach.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *sim_read_file(const char *path, size_t max, size_t *size, char *why, size_t cap)
{
    FILE *f = fopen(path, "rbe");
    struct stat st;
    char *text = NULL;
    size_t room = 65536, n = 0;
    *why = 0;
    if (!f || fstat(fileno(f), &st)) snprintf(why, cap, "%s", strerror(errno));
    else if (S_ISDIR(st.st_mode)) snprintf(why, cap, "%s", strerror(EISDIR));
    else if (!(text = malloc(room + 1))) snprintf(why, cap, "out of memory");
    while (text) {
        n += fread(text + n, 1, room - n, f);
        if (n < room) break;
        char *more = n <= max ? realloc(text, room * 2 + 1) : NULL;
        if (!more) {
            snprintf(why, cap, n <= max ? "out of memory" : "it has more than %zu MiB", max >> 20);
            free(text);
            text = NULL;
        } else {
            text = more;
            room *= 2;
        }
    }
    if (text && (ferror(f) || n > max)) {
        snprintf(why, cap, "%s", ferror(f) ? strerror(errno) : "it is too large");
        free(text);
        text = NULL;
    }
    if (f) fclose(f);
    if (text) text[*size = n] = 0;
    return text;
}

bool sim_library(const char *kind, char *path, size_t cap)
{
    char exe[1024];
    struct stat st;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) return false;
    exe[n] = 0;
    char *slash = strrchr(exe, '/');
    if (!slash) return false;
    *slash = 0;
    static const char *const places[] = {"sim", "../share/usf", "../../sim", "../../../sim"};     /* the tests' programs lie deeper */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int len = snprintf(path, cap, "%s/%s/%s", exe, places[i], kind);
        if (len > 0 && (size_t)len < cap && !stat(path, &st) && S_ISDIR(st.st_mode)) return true;
    }
    return false;
}
