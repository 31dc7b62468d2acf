/* src/cli/shim.c - usf shim: stub libraries for library contexts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "context/search.h"
#include "context/share.h"
#include "context/stub_file.h"
#define STUB_FORMAT_ONLY
#include "context/stub.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTEXT_LIBRARY "libusf-context.so.0"

struct library_file {
    char path[PATH_MAX];        /* absolute; its last part may be a link, so that the library can be updated */
    struct stat st;
    struct elf elf;
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- reading -------------------------------------------------------------------------------------- */

static bool make_absolute(const char *name, char path[PATH_MAX])
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *base = base_of(name);
    snprintf(folder, sizeof folder, "%.*s", base > name ? (int)(base - name) : 1, base > name ? name : ".");
    return realpath(folder, real) && snprintf(path, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", base) < PATH_MAX;
}

static int open_library(const char *name, char path[PATH_MAX])
{
    char found[PATH_MAX];
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) return make_absolute(name, path) ? fd : (close(fd), -1);
    if (strchr(name, '/') || errno != ENOENT) return -1;
    fd = search_open(0, name, getenv("LD_LIBRARY_PATH"), found);
    if (fd >= 0 && make_absolute(found, path)) return fd;
    if (fd >= 0) close(fd);
    errno = ENOENT;
    return -1;
}

/* The file's bytes in memory of our own: a mapped file that shrinks would be a SIGBUS.  Null: read;
 * else what is wrong with it. */
static const char *read_library(struct library_file *l, int fd)
{
    size_t n = 0;
    ssize_t r = 0;
    if (fstat(fd, &l->st)) return strerror(errno);
    if (!S_ISREG(l->st.st_mode)) return "not a file";
    size_t size = (size_t)l->st.st_size;
    uint8_t *p = malloc(size + 1);
    if (!p) return "out of memory";
    while (n < size && (r = pread(fd, p + n, size - n, (off_t)n)) > 0) n += (size_t)r;
    if (r < 0) return strerror(errno);
    if (n > 32 && (strncmp((char *)p, "/* GNU ld script", 16) == 0)) return "a script for the link editor: give the library that it names";
    return elf_open(&l->elf, p, n);
}

/* 0, or -1, said. */
static int load(struct library_file *l, const char *name)
{
    size_t size;
    char shown[256];
    text_clean(name, shown, sizeof shown);
    int fd = open_library(name, l->path);
    if (fd < 0) return usf_warn("%s cannot be opened: %s", shown, strerror(errno)), -1;
    const char *why = read_library(l, fd);
    close(fd);
    if (why) return usf_warn("%s: %s", shown, why), -1;
    if (elf_note(&l->elf, STUB_NOTE_NAME, STUB_NOTE_TYPE, &size)) return usf_warn("%s is a stub already: give the library itself", shown), -1;
    const struct share_rule *rule = share_rule_of(l->elf.soname ? l->elf.soname : base_of(name));
    if (rule) return usf_warn("%s is shared by all contexts and the program, so that a stub would change nothing (%s)", shown, rule->reason), -1;
    return 0;
}

/* ---- choosing ------------------------------------------------------------------------------------- */

/* Weak functions that a shared library exports as well, such as parts of libstdc++ which the
 * compiler has put into both, are that library's: contexts have no copies of them. */
static void leave_shared(const struct elf *e, const char *path, uint8_t *left_out)
{
    const struct search_from from = {.path = path, .runpath = 0};
    for (size_t i = 0; i < e->nr_dyn; i++) {
        char found[PATH_MAX];
        struct library_file *shared;
        const char *name = elf_string(e, e->dyn[i].d_un.d_val);
        if (e->dyn[i].d_tag != DT_NEEDED || !share_is(name)) continue;
        int fd = search_open(&from, name, getenv("LD_LIBRARY_PATH"), found);
        if (fd < 0 || !(shared = calloc(1, sizeof *shared))) continue;
        bool good = !read_library(shared, fd);
        close(fd);
        for (size_t k = 1; good && k < e->nr_sym; k++) {
            const char *symbol = e->str + e->sym[k].st_name;
            unsigned bind = ELF64_ST_BIND(e->sym[k].st_info);
            if (bind == STB_WEAK || bind == STB_GNU_UNIQUE) left_out[k] |= elf_exports(&shared->elf, symbol, elf_hash(symbol));
        }
        free(shared->elf.at);
        free(shared);
    }
}

/* _ZTV, _ZTI, _ZTS, _ZTT: virtual tables and type information. */
static bool is_class_data(const char *name) { return strncmp(name, "_ZT", 3) == 0 && name[3] && strchr("VIST", name[3]); }

/* Says which data symbols there are. */
static void tell_data(const struct elf *e, const uint8_t *left_out, const char *library, bool included)
{
    char names[400] = "", classes[120] = "";
    unsigned n = 0, nr_classes = 0, said = 0;
    size_t used = 0;
    for (size_t i = 1; i < e->nr_sym; i++) {
        const char *name = e->str + e->sym[i].st_name;
        if (left_out[i] || stub_kind(e, i) != STUB_DATA) continue;
        n++;
        nr_classes += is_class_data(name);
        if (said == 8 || used + strlen(name) + 3 > sizeof names) continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", said++ ? ", " : "", name);
    }
    if (!n) return;
    if (nr_classes) snprintf(classes, sizeof classes, " (%u of them describe C++ classes)", nr_classes);
    const char *more = said < n ? ", ..." : "";
    if (included) usf_warn("%u data symbol%s%s %s those of the program's own copy of %s, in contexts as well: %s%s", n, n == 1 ? "" : "s", classes, n == 1 ? "is" : "are", library, names, more);
    else usf_warn("%u data symbol%s%s %s not in the stub: %s%s. Programs that use data of the library need --data", n, n == 1 ? "" : "s", classes, n == 1 ? "is" : "are", names, more);
}

/* ---- writing -------------------------------------------------------------------------------------- */

/* Where the library for contexts is, if the dynamic linker does not look there by itself: beside
 * this tool, or where it is installed. */
static char *find_runpath(void)
{
    static const char *const places[] = {"", "/../lib", "/../lib/x86_64-linux-gnu", "/../lib64"};
    static const char *const known[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"};
    char self[PATH_MAX], found[PATH_MAX], folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return NULL;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        char *place = xasprintf("%s%s", self, places[i]), *file = xasprintf("%s/" CONTEXT_LIBRARY, place);
        bool there = access(file, R_OK) == 0 && realpath(place, folder);
        free(file);
        free(place);
        if (!there) continue;
        for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
            if (realpath(known[k], found) && strcmp(found, folder) == 0) return NULL;
        return xasprintf("%s", folder);
    }
    return NULL;
}

/* A stub may be replaced by a newer one.  Nothing else may. */
static bool may_replace(const char *out, const struct library_file *l)
{
    struct library_file old = {0};
    size_t size;
    int fd = open(out, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT;
    bool may = !read_library(&old, fd) && elf_note(&old.elf, STUB_NOTE_NAME, STUB_NOTE_TYPE, &size) && (old.st.st_dev != l->st.st_dev || old.st.st_ino != l->st.st_ino);
    close(fd);
    free(old.elf.at);
    return may;
}

/* A program that runs has the old file until it ends. */
static int write_file(const char *out, const void *file, size_t size)
{
    char *temporary = xasprintf("%s.%d.new", out, (int)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777), error = 0;
    size_t n = 0;
    ssize_t r = 0;
    while (fd >= 0 && n < size && (r = write(fd, (const char *)file + n, size - n)) > 0) n += (size_t)r;
    if (fd < 0 || n < size || close(fd) || rename(temporary, out)) error = errno ? errno : EIO;
    if (error && fd >= 0) unlink(temporary);
    free(temporary);
    if (error) usf_warn("%s cannot be written: %s", out, strerror(error));
    return error ? CLI_FAILED : CLI_OK;
}

static int make(struct library_file *l, const char *out, const char *soname, bool data)
{
    void *file = NULL;
    uint32_t nr = 0;
    const char *own = l->elf.soname ? l->elf.soname : base_of(l->path);
    char *runpath = find_runpath();
    uint8_t *left_out = calloc(l->elf.nr_sym + 1, 1);
    const struct stub_request request = {.original = l->path, .original_name = own, .soname = soname ? soname : own, .runpath = runpath, .needs_original = data};
    if (!left_out) return usf_warn("out of memory"), CLI_FAILED;
    if (!out) out = request.soname;
    leave_shared(&l->elf, l->path, left_out);
    size_t size = stub_make(&file, &nr, &l->elf, left_out, &request);
    int code = CLI_FAILED;
    if (!size) usf_warn("%s: out of memory, or more functions than a stub can have", l->path);
    else if (!nr) usf_warn("%s exports no functions: there is nothing that a stub could pass on", l->path);
    else if (!may_replace(out, l)) usf_warn("%s exists, and is no stub: it stays as it is. Give another name by --output", out);
    else code = write_file(out, file, size);
    if (code == CLI_OK) {
        tell_data(&l->elf, left_out, own, data);
        printf("%s: stub of %s, %u function%s\n", out, l->path, nr, nr == 1 ? "" : "s");
    }
    free(left_out);
    free(runpath);
    free(file);
    return code;
}

int cmd_shim(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_args before, after;
    static struct library_file l;
    int code = cli_parse(self, &before, argc, argv);
    if (code >= 0) return code;
    const char *name = argv[before.rest];
    if (!name) return cli_usage("usf shim: which library?");
    argc -= before.rest;
    argv += before.rest;
    if ((code = cli_parse(self, &after, argc, argv)) >= 0 || (code = cli_no_more(&after, argc, argv)) >= 0) return code;
    const char *out = cli_flag(&after, "output"), *soname = cli_flag(&after, "soname");
    if (!out) out = cli_flag(&before, "output");
    if (!soname) soname = cli_flag(&before, "soname");
    if (out && !*out) return cli_usage("--output needs a value: FILE");
    if (soname && (!*soname || strchr(soname, '/'))) return cli_usage("--soname: a name without slashes, such as libfoo.so.1");
    bool data = cli_flag(&after, "data") || cli_flag(&before, "data");
    if (load(&l, name)) return CLI_FAILED;
    code = make(&l, out, soname, data);
    free(l.elf.at);
    return code;
}
