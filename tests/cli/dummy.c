/* tests/cli/dummy.c - stands for libusf.so where the tool is tested, not the library.  SPDX-License-Identifier: Apache-2.0 */
extern const int usf_dummy;
const int usf_dummy = 1;
