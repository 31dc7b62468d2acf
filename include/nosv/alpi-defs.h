/* nosv/alpi-defs.h - the features of ALPI that the library has.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ALPI_DEFS_H
#define ALPI_DEFS_H

#ifndef ALPI_FEATURE_BLOCKING
#define ALPI_FEATURE_BLOCKING 1
#define ALPI_FEATURE_EVENTS 2
#define ALPI_FEATURE_RESOURCES 4
#define ALPI_FEATURE_SUSPEND 8
#endif

#ifndef ALPI_SUPPORTED_FEATURES
#define ALPI_SUPPORTED_FEATURES \
    (ALPI_FEATURE_BLOCKING | ALPI_FEATURE_EVENTS | ALPI_FEATURE_RESOURCES | ALPI_FEATURE_SUSPEND)
#endif

#endif
