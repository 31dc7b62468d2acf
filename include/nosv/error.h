/* nosv/error.h - error codes of the tasking API.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_ERROR_H
#define NOSV_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ==== nosv_get_error_string - error codes ====
 *
 * The functions of <nosv.h>, <nosv/hwinfo.h> and <nosv/memory.h> that return int return a value of
 * enum nosv_err or, where their text says so, a count or an id, which is not negative. Errors are
 * negative. errno means nothing after these calls. The functions of <nosv/compat.h> return errno
 * codes, the functions of <nosv/alpi.h> return values of enum alpi_error.
 *
 * A mistake of the caller gives an error code and changes nothing. It never ends the program. */

/* What went wrong. */
typedef enum nosv_err {
    NOSV_SUCCESS = 0,                    /* nothing: the call has done its work */
    NOSV_ERR_INVALID_CALLBACK = -1,      /* a type lacks its run callback, or has one it must not have */
    NOSV_ERR_INVALID_METADATA_SIZE = -2, /* more than NOSV_MAX_METADATA_SIZE bytes */
    NOSV_ERR_INVALID_OPERATION = -3,     /* the task or the calling task cannot do that */
    NOSV_ERR_INVALID_PARAMETER = -4,     /* a null pointer or a value out of range */
    NOSV_ERR_NOT_INITIALIZED = -5,       /* no nosv_init of this process is in force */
    NOSV_ERR_OUT_OF_MEMORY = -6,         /* memory or threads are exhausted */
    NOSV_ERR_OUTSIDE_TASK = -7,          /* the calling thread executes no task */
    NOSV_ERR_UNKNOWN = -8,               /* no other code fits; the text of the function names the case */
    NOSV_ERR_BUSY = -9,                  /* what the call needs is in use */
    NOSV_ERR_TIMEOUT = -10,              /* the time was over before the wait could end */
    NOSV_ERR_MAX = -11                   /* one below the last code */
} nosv_err_t;

/* Text that describes an error code, in English, without a newline. Codes that do not exist have a
 * text as well; the result is never NULL. The text is constant: do not free or change it.
 *
 * Context: any thread, before nosv_init and after nosv_shutdown too. Signal-safe. */
const char *nosv_get_error_string(int err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
