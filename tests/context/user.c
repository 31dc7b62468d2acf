/* tests/context/user.c - makes a context of each argument and prints its CPUs.  SPDX-License-Identifier: Apache-2.0
 *
 * NAME, or NAME=CPUS as the program gives them, or NAME=CPUS:CPUS, the second list by usf_context_set_cpus; ".": one without a name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usf/context.h"

static void print(usf_context_t *c)
{
    char list[256];
    usf_context_get_cpus(c, list, sizeof list);
    printf("%s: %s\n", usf_context_name(c), list);
}

static void make(char *name)
{
    char *cpus = strchr(name, '='), *later = cpus ? strchr(cpus, ':') : 0;
    if (cpus) *cpus++ = 0;
    if (later) *later++ = 0;
    usf_context_t *c = usf_context_create(&(struct usf_context_options){.name = strcmp(name, ".") ? name : 0, .cpus = cpus});
    if (!c || (later && usf_context_set_cpus(c, later))) printf("%s: error: %s\n", name, usf_context_error());
    else print(c);
}

int main(int argc, char **argv)
{
    alarm(60);
    for (int i = 1; i < argc; i++) make(argv[i]);
    return 0;
}
