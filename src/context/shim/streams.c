/* src/context/shim/streams.c - files and folders that the C++ runtime opens.
 * SPDX-License-Identifier: Apache-2.0
 *
 * libstdc++ is one for the process, and opens files by itself.  Its functions that open are not in
 * the context's libraries, which call them by name: so they call those here.  A file that the
 * context has a text of its own for is opened as /proc/self/fd/N; the rest is libstdc++'s.
 * libstdc++ is not needed here: its functions are looked up when they are first called.  The rules
 * of shim.c hold here. */
#include "context/shim/shim.h"

static void *runtime(void **kept, const char *symbol)
{
    void *f = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (f) return f;
    f = usf_shim_calls->runtime(symbol);
    __atomic_store_n(kept, f, __ATOMIC_RELAXED);
    return f;
}

/* The function of libstdc++ as one of this type. */
#define RUNTIME(type, symbol) ({ static void *kept_; (type *)runtime(&kept_, symbol); })

/* ---- files ------------------------------------------------------------------------------------------- */

/* std::ios_base::openmode */
enum { APP = 1, OUT = 16, TRUNC = 32 };

/* The path to open in place of `path`. */
static const char *own_path(struct file_path *o, const char *path, unsigned mode)
{
    o->fd = -1;
    if (!may_be_special(path) || mode & (APP | OUT | TRUNC)) return path;
    return CALL(file_path, path, o);
}

static void end_own(const struct file_path *o)
{
    if (o->fd >= 0) usf_shim_calls->file_path_end(o);
}

typedef void *open_function(void *self, const char *path, unsigned mode);
typedef void construct_function(void *self, const char *path, unsigned mode);
typedef void construct_base_function(void *self, void *vtt, const char *path, unsigned mode);

/* Of a class, by its mangled name: open(const char *, mode), and with a std::string of the present
 * and the former kind, which both begin with the address of their characters. */
#define STRING "RKNSt7__cxx1112basic_stringIcS1_SaIcEEE"
#define MODE "St13_Ios_Openmode"
#define CLASS(name) "_ZNSt" name "IcSt11char_traitsIcEE"
#define NAMED(f, mangled) __asm__(mangled)
#define OPEN(class, mangled) \
    SHIM void *open_##class(void *self, const char *path, unsigned mode) NAMED(open, CLASS(mangled) "4openEPKc" MODE); \
    SHIM void *open_##class##_text(void *self, const char *const *path, unsigned mode) NAMED(open, CLASS(mangled) "4openE" STRING MODE); \
    SHIM void *open_##class##_former(void *self, const char *const *path, unsigned mode) NAMED(open, CLASS(mangled) "4openERKSs" MODE); \
    SHIM void *open_##class(void *self, const char *path, unsigned mode) \
    { \
        struct file_path o; \
        void *result = RUNTIME(open_function, CLASS(mangled) "4openEPKc" MODE)(self, own_path(&o, path, mode), mode); \
        end_own(&o); \
        return result; \
    } \
    SHIM void *open_##class##_text(void *self, const char *const *path, unsigned mode) { return open_##class(self, *path, mode); } \
    SHIM void *open_##class##_former(void *self, const char *const *path, unsigned mode) { return open_##class(self, *path, mode); }

/* Constructors: of a whole object, and of the part of a derived one, which has a table of virtual
 * bases as well. */
#define CONSTRUCT(class, mangled) \
    SHIM void make_##class(void *self, const char *path, unsigned mode) NAMED(make, CLASS(mangled) "C1EPKc" MODE); \
    SHIM void make_##class##_text(void *self, const char *const *path, unsigned mode) NAMED(make, CLASS(mangled) "C1E" STRING MODE); \
    SHIM void make_##class##_former(void *self, const char *const *path, unsigned mode) NAMED(make, CLASS(mangled) "C1ERKSs" MODE); \
    SHIM void base_##class(void *self, void *vtt, const char *path, unsigned mode) NAMED(base, CLASS(mangled) "C2EPKc" MODE); \
    SHIM void base_##class##_text(void *self, void *vtt, const char *const *path, unsigned mode) NAMED(base, CLASS(mangled) "C2E" STRING MODE); \
    SHIM void base_##class##_former(void *self, void *vtt, const char *const *path, unsigned mode) NAMED(base, CLASS(mangled) "C2ERKSs" MODE); \
    SHIM void make_##class(void *self, const char *path, unsigned mode) \
    { \
        struct file_path o; \
        RUNTIME(construct_function, CLASS(mangled) "C1EPKc" MODE)(self, own_path(&o, path, mode), mode); \
        end_own(&o); \
    } \
    SHIM void base_##class(void *self, void *vtt, const char *path, unsigned mode) \
    { \
        struct file_path o; \
        RUNTIME(construct_base_function, CLASS(mangled) "C2EPKc" MODE)(self, vtt, own_path(&o, path, mode), mode); \
        end_own(&o); \
    } \
    SHIM void make_##class##_text(void *self, const char *const *path, unsigned mode) { make_##class(self, *path, mode); } \
    SHIM void make_##class##_former(void *self, const char *const *path, unsigned mode) { make_##class(self, *path, mode); } \
    SHIM void base_##class##_text(void *self, void *vtt, const char *const *path, unsigned mode) { base_##class(self, vtt, *path, mode); } \
    SHIM void base_##class##_former(void *self, void *vtt, const char *const *path, unsigned mode) { base_##class(self, vtt, *path, mode); }

OPEN(filebuf, "13basic_filebuf")
OPEN(ifstream, "14basic_ifstream")
OPEN(fstream, "13basic_fstream")
CONSTRUCT(ifstream, "14basic_ifstream")
CONSTRUCT(fstream, "13basic_fstream")

/* ---- folders ------------------------------------------------------------------------------------------- */

/* std::filesystem::directory_iterator and recursive_directory_iterator: the first word is null at
 * the end.  An entry begins with its path, and that with the address of its characters.  The
 * iterator goes on over entries that are hidden from the context, and does not go into them. */
struct iterator { void *folder; };
typedef const char *const *entry_function(const struct iterator *);
typedef struct iterator *next_function(struct iterator *);
typedef struct iterator *increment_function(struct iterator *, void *error);
typedef void begin_function(struct iterator *, const char *const *path, unsigned char options, void *error);

/* prefix: of the mangled name, up to the class.  `stay` is executed before a hidden entry is
 * passed. */
#define ITERATOR(class, prefix, mangled, path, stay) \
    static void pass_##class(struct iterator *it, void *error) \
    { \
        while (it->folder && CALL(hides, *RUNTIME(entry_function, "_ZNK" prefix mangled "deEv")(it))) { \
            stay; \
            if (error) RUNTIME(increment_function, "_ZN" prefix mangled "9incrementERSt10error_code")(it, error); \
            else RUNTIME(next_function, "_ZN" prefix mangled "ppEv")(it); \
        } \
    } \
    SHIM void begin_##class(struct iterator *it, const char *const *at, unsigned char options, void *error) \
    NAMED(begin, "_ZN" prefix mangled "C1ERKN" path "4pathENS_17directory_optionsEPSt10error_code"); \
    SHIM struct iterator *increment_##class(struct iterator *it, void *error) NAMED(increment, "_ZN" prefix mangled "9incrementERSt10error_code"); \
    SHIM struct iterator *next_##class(struct iterator *it) NAMED(next, "_ZN" prefix mangled "ppEv"); \
    SHIM void begin_##class(struct iterator *it, const char *const *at, unsigned char options, void *error) \
    { \
        RUNTIME(begin_function, "_ZN" prefix mangled "C1ERKN" path "4pathENS_17directory_optionsEPSt10error_code")(it, at, options, error); \
        pass_##class(it, error); \
    } \
    SHIM struct iterator *increment_##class(struct iterator *it, void *error) \
    { \
        struct iterator *r = RUNTIME(increment_function, "_ZN" prefix mangled "9incrementERSt10error_code")(it, error); \
        if (r) pass_##class(it, error); \
        return r; \
    } \
    SHIM struct iterator *next_##class(struct iterator *it) \
    { \
        RUNTIME(next_function, "_ZN" prefix mangled "ppEv")(it); \
        pass_##class(it, 0); \
        return it; \
    }
typedef void end_function(struct iterator *);
#define NOT_INTO(prefix) RUNTIME(end_function, "_ZN" prefix "28recursive_directory_iterator25disable_recursion_pendingEv")(it)

#define PRESENT "St10filesystem7__cxx11"
#define FORMER "St10filesystem"
ITERATOR(folder, PRESENT, "18directory_iterator", "S0_", )
ITERATOR(tree, PRESENT, "28recursive_directory_iterator", "S0_", NOT_INTO(PRESENT))
ITERATOR(former_folder, FORMER, "18directory_iterator", "S_", )
ITERATOR(former_tree, FORMER, "28recursive_directory_iterator", "S_", NOT_INTO(FORMER))
