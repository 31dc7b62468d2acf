/* tests/survey/programs/omp.c - many short parallel loops.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

int main(void) {
    double s = 0;
    for (int k = 0; k < 400; k++) {
#pragma omp parallel for num_threads(8) reduction(+ : s)
        for (int i = 0; i < 200000; i++)
            s += (i ^ k) % 7;
    }
    printf("%.0f\n", s);
    return 0;
}
