/* src/arch/x86_64/context/versions.c - the levels of x86-64 that this processor has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "context/search.h"

#include <stdbool.h>
#include <sys/platform/x86.h>

/* By glibc's own macros: clang's __builtin_cpu_supports knows no levels before version 17. */
unsigned search_versions(const char *names[SEARCH_VERSIONS])
{
    bool v2 = CPU_FEATURE_ACTIVE(CMPXCHG16B) && CPU_FEATURE_ACTIVE(LAHF64_SAHF64) && CPU_FEATURE_ACTIVE(POPCNT) && CPU_FEATURE_ACTIVE(SSE3)
              && CPU_FEATURE_ACTIVE(SSSE3) && CPU_FEATURE_ACTIVE(SSE4_1) && CPU_FEATURE_ACTIVE(SSE4_2);
    bool v3 = v2 && CPU_FEATURE_ACTIVE(AVX) && CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI1) && CPU_FEATURE_ACTIVE(BMI2)
              && CPU_FEATURE_ACTIVE(F16C) && CPU_FEATURE_ACTIVE(FMA) && CPU_FEATURE_ACTIVE(LZCNT) && CPU_FEATURE_ACTIVE(MOVBE);
    bool v4 = v3 && CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) && CPU_FEATURE_ACTIVE(AVX512CD)
              && CPU_FEATURE_ACTIVE(AVX512DQ) && CPU_FEATURE_ACTIVE(AVX512VL);
    unsigned n = 0;
    if (v4) names[n++] = "glibc-hwcaps/x86-64-v4/";
    if (v3) names[n++] = "glibc-hwcaps/x86-64-v3/";
    if (v2) names[n++] = "glibc-hwcaps/x86-64-v2/";
    return n;
}
