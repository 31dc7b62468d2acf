/* tests/spin/progress.c - stands for the library of OpenMPI: a progress function that finds nothing to do.
 * SPDX-License-Identifier: Apache-2.0 */
volatile long progress_calls, progress_events;

int opal_progress(void);
int opal_progress(void)
{
    progress_calls++;
    return progress_events != 0;
}
