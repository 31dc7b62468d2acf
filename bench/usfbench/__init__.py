# bench/usfbench - the parts of the benchmark runner.  SPDX-License-Identifier: Apache-2.0
