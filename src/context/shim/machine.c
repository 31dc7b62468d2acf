/* src/context/shim/machine.c - listings of folders, and memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules of shim.c hold here.  Names with 64 are the same functions on this architecture. */
#undef _FILE_OFFSET_BITS
#include "context/shim/shim.h"

#include <fcntl.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"     /* readdir_r */

#define AS64(type, name, name64, ...) extern SHIM type name64 __VA_ARGS__ __attribute__((alias(#name)))
typedef int filter(const struct dirent *);
typedef int order(const struct dirent **, const struct dirent **);
typedef int filter64(const struct dirent64 *);
typedef int order64(const struct dirent64 **, const struct dirent64 **);
typedef int failed(const char *, int);

SHIM DIR *opendir(const char *path) { return CALL(opendir, path); }
SHIM DIR *fdopendir(int fd) { return CALL(fdopendir, fd); }
SHIM struct dirent *readdir(DIR *dir) { return CALL(readdir, dir); }
SHIM int readdir_r(DIR *dir, struct dirent *entry, struct dirent **result) { return CALL(readdir_r, dir, entry, result); }
SHIM int closedir(DIR *dir) { return CALL(closedir, dir); }
SHIM int scandir(const char *path, struct dirent ***list, filter *f, order *o) { return CALL(scandirat, AT_FDCWD, path, list, f, o); }
SHIM int scandirat(int at, const char *path, struct dirent ***list, filter *f, order *o) { return CALL(scandirat, at, path, list, f, o); }
SHIM int glob(const char *pattern, int flags, failed *f, glob_t *found) { return CALL(glob, pattern, flags, f, found); }
SHIM int nftw(const char *path, __nftw_func_t f, int fds, int flags) { return CALL(nftw, path, f, fds, flags); }
SHIM int ftw(const char *path, __ftw_func_t f, int fds) { return CALL(ftw, path, f, fds); }
SHIM FTSENT *fts_read(FTS *fts) { return CALL(fts_read, fts); }

AS64(struct dirent64 *, readdir, readdir64, (DIR *));
AS64(int, readdir_r, readdir64_r, (DIR *, struct dirent64 *, struct dirent64 **));
AS64(int, scandir, scandir64, (const char *, struct dirent64 ***, filter64 *, order64 *));
AS64(int, scandirat, scandirat64, (int, const char *, struct dirent64 ***, filter64 *, order64 *));
AS64(int, glob, glob64, (const char *, int, failed *, glob64_t *));
AS64(int, nftw, nftw64, (const char *, __nftw64_func_t, int, int));
AS64(int, ftw, ftw64, (const char *, __ftw64_func_t, int));
AS64(FTSENT64 *, fts_read, fts64_read, (FTS64 *));

SHIM int sysinfo(struct sysinfo *info) { return CALL(sysinfo, info); }
SHIM long get_phys_pages(void) { return CALL(sysconf, _SC_PHYS_PAGES); }
SHIM long get_avphys_pages(void) { return CALL(sysconf, _SC_AVPHYS_PAGES); }
