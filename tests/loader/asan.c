/* tests/loader/asan.c - contexts in a program that AddressSanitizer watches.  SPDX-License-Identifier: Apache-2.0
 * usage: loader-asan FOLDER good|heap|global|freed; all but `good` make a mistake in a context's library. */
#include <pthread.h>

#include "tests/loader/cases.h"

static void *in_a_thread(void *text)
{
    free(text);         /* allocated by a context's library */
    return malloc(10);
}

static void good(void)
{
    usf_context_t *c[] = {make(0, 0), make(0, 0)};
    for (int i = 0; i < 2; i++) {
        void *watched = open_in(c[i], "libwatched.so"), *state = open_in(c[i], "libstate.so"), *more;
        int (*catches)(void (*)(const char *)) = (int (*)(void (*)(const char *)))dlsym(open_in(c[i], "libthrows.so"), "throws_catches");
        pthread_t thread;
        CHECK_EQ(IN(watched, watched_table)(3), 4);
        char *text = IN(watched, watched_copy)("a text");
        CHECK(!strcmp(text, "a text"));
        CHECK_EQ(IN(watched, watched_read)(text), 'a');
        CHECK_EQ(IN(state, state_count)(), 102);
        CHECK_EQ(catches((void (*)(const char *))dlsym(open_in(c[!i], "libthrows.so"), "throws_error")), 1);
        CHECK_EQ(IN(state, state_thread)(&thread, in_a_thread, text), 0);
        CHECK(!pthread_join(thread, &more));
        free(more);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3 && realpath(argv[1], folder));
    good();
    void *h = open_in(make(0, 0), "libwatched.so");
    char *text = IN(h, watched_copy)("a text");
    if (!strcmp(argv[2], "heap")) IN(h, watched_read)(text + 7);
    if (!strcmp(argv[2], "global")) IN(h, watched_table)(4);
    free(text);
    if (!strcmp(argv[2], "freed")) IN(h, watched_read)(text);
    return 0;
}
