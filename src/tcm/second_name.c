/* src/tcm/second_name.c - nothing: libtcm.so of the wheel only needs libtcm.so.1.  SPDX-License-Identifier: Apache-2.0 */
