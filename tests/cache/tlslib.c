/* tests/cache/tlslib.c - a library with thread-local variables, loaded while threads are kept.
 * SPDX-License-Identifier: Apache-2.0 */
static int target;
__thread int lib_initialised = 4711;
__thread int lib_zero;
__thread char lib_large[70000];
__thread int *lib_pointer = &target;

int lib_check_and_spoil(void);
int lib_check_and_spoil(void)
{
    int fresh = lib_initialised == 4711 && lib_zero == 0 && lib_pointer == &target;
    for (unsigned i = 0; i < sizeof lib_large; i++)
        fresh &= lib_large[i] == 0;
    lib_initialised = 1;
    lib_zero = 2;
    lib_pointer = &lib_zero;
    for (unsigned i = 0; i < sizeof lib_large; i++)
        lib_large[i] = (char)(i | 1);
    return fresh;
}
