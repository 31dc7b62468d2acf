/* src/inspect/why.h - what a thread waits for, in words.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_INSPECT_WHY_H
#define USF_INSPECT_WHY_H

#include "inspect/address.h"
#include "inspect/threadview.h"
#include "inspect/view.h"
#include "text/json.h"

/* Reads processes' maps once each. */
struct why_reader {
    const struct view *v;
    struct address_space as;    /* of the process asked for last; pid 0: none */
};
void why_begin(struct why_reader *r, const struct view *v);
void why_end(struct why_reader *r);

enum why_kind { WHY_NOTHING = 0, WHY_FUTEX, WHY_CALL, WHY_CORE, WHY_STOPPED, WHY_STARTING };
enum why_since { WHY_SINCE_UNKNOWN = 0, WHY_SINCE, WHY_AT_MOST };   /* AT_MOST: the wait began within that time */
struct why {
    enum why_kind kind;
    char text[700];             /* the whole answer, safe to print; "" for NOTHING */
    enum why_since since;
    uint64_t since_ns;          /* how long ago */
    uint64_t address;           /* FUTEX */
    struct place place;
    bool value_known;
    uint32_t value;             /* of the futex's word now */
    int32_t holder;             /* FUTEX: thread that holds the mutex which it looks like; CORE: that runs there; 0: unknown */
    uint64_t call;              /* CALL; UINT64_MAX: which is not known */
    int fd;                     /* ... its descriptor, or -1 */
    char target[300];           /* ... what that is */
    uint32_t core;              /* CORE: where it ran last, or USF_NONE */
    struct thread_view kernel;  /* state 0: not to be had */
};
void why_of(struct why_reader *r, const struct usf_task *t, struct why *w);
/* "12 ms", "<= 3.4 s", or "". */
void why_since_text(const struct why *w, char *buf, size_t cap);
void why_json(struct json *j, const char *key, const struct why *w);

#endif
