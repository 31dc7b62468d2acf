// tests/share/tasks.cc - the header in C++, and a program that is not run under usf.  SPDX-License-Identifier: Apache-2.0
#include <usf/usf.h>

#include <cstdio>

int main()
{
    std::printf("%d %d %d %d\n", usf_task_is_scheduled(), usf_task_set_priority(1), usf_task_set_deadline(1), usf_task_set_affinity(USF_PLACE_ANY, 0, 0));
}
