/* src/tasks/error.c - what error codes mean.  SPDX-License-Identifier: Apache-2.0 */
#include "tasks/tasks.h"

TK_API const char *nosv_get_error_string(int err)
{
    static const char *const text[] = {
        [-NOSV_SUCCESS] = "success",
        [-NOSV_ERR_INVALID_CALLBACK] = "a callback is missing, or is not allowed for such a type",
        [-NOSV_ERR_INVALID_METADATA_SIZE] = "the metadata is larger than NOSV_MAX_METADATA_SIZE",
        [-NOSV_ERR_INVALID_OPERATION] = "the task cannot do that, or not in this state",
        [-NOSV_ERR_INVALID_PARAMETER] = "an argument is null or out of range",
        [-NOSV_ERR_NOT_INITIALIZED] = "nosv_init has not been called, or nosv_shutdown has",
        [-NOSV_ERR_OUT_OF_MEMORY] = "out of memory",
        [-NOSV_ERR_OUTSIDE_TASK] = "the calling thread executes no task: see nosv_attach",
        [-NOSV_ERR_UNKNOWN] = "the call is not possible here",
        [-NOSV_ERR_BUSY] = "what is asked for is in use",
        [-NOSV_ERR_TIMEOUT] = "the time is over",
    };
    if (err > 0 || err <= NOSV_ERR_MAX) return "not an error code of nosv";
    return text[-err];
}
