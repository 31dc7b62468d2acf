/* nosv/error.h - error codes of the tasking API.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_ERROR_H
#define NOSV_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum nosv_err {
    NOSV_SUCCESS = 0,
    NOSV_ERR_INVALID_CALLBACK = -1,
    NOSV_ERR_INVALID_METADATA_SIZE = -2,
    NOSV_ERR_INVALID_OPERATION = -3,
    NOSV_ERR_INVALID_PARAMETER = -4,
    NOSV_ERR_NOT_INITIALIZED = -5,
    NOSV_ERR_OUT_OF_MEMORY = -6,
    NOSV_ERR_OUTSIDE_TASK = -7,
    NOSV_ERR_UNKNOWN = -8,
    NOSV_ERR_BUSY = -9,
    NOSV_ERR_TIMEOUT = -10,
    NOSV_ERR_MAX = -11
} nosv_err_t;

const char *nosv_get_error_string(int err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
