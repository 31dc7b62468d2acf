/* tests/blocking/files.c - locks and leases of files.  SPDX-License-Identifier: Apache-2.0 */
#include "blocking.h"
#include <signal.h>
#include <sys/file.h>

static void make_file(void)
{
    char name[] = "/tmp/usf-blocking-XXXXXX";
    MUST(w.fd[0] = mkstemp(name));
    w.path = strdup(name);
    MUST(w.fd[1] = open(name, O_RDWR));
}

static void make_flocked(void)
{
    make_file();
    MUST(flock(w.fd[0], LOCK_EX));
}
static long do_flock(void) { return flock(w.fd[1], LOCK_EX); }
static void flock_free(void) { MUST(flock(w.fd[0], LOCK_UN)); }

static struct flock whole(int type) { return (struct flock){.l_type = (short)type, .l_whence = SEEK_SET}; }

static void make_ofd_locked(void)
{
    struct flock l = whole(F_WRLCK);
    make_file();
    MUST(fcntl(w.fd[0], F_OFD_SETLK, &l));
}
static long do_setlkw(void) { struct flock l = whole(F_WRLCK); return fcntl(w.fd[1], F_SETLKW, &l); }
static long do_ofd_setlkw(void) { struct flock l = whole(F_RDLCK); return fcntl(w.fd[1], F_OFD_SETLKW, &l); }
static long do_lockf(void) { return lockf(w.fd[1], F_LOCK, 0); }
static void ofd_free(void) { struct flock l = whole(F_UNLCK); MUST(fcntl(w.fd[0], F_OFD_SETLK, &l)); }

/* Who opens or cuts a leased file waits until the lease is given up. */
static void make_leased(void)
{
    make_file();
    close(w.fd[1]);
    w.fd[1] = -1;
    signal(SIGIO, SIG_IGN);
    if (fcntl(w.fd[0], F_SETLEASE, F_WRLCK)) skip("no leases here");
}
static long do_open(void) { return w.fd[1] = open(w.path, O_RDWR), w.fd[1] < 0 ? -1 : 0; }
static long do_truncate(void) { return truncate(w.path, 0); }
static void give_up_lease(void) { MUST(fcntl(w.fd[0], F_SETLEASE, F_UNLCK)); }

const struct blocking file_cases[] = {
    {"flock", SYS_flock, 0, make_flocked, do_flock, flock_free, 0},
    {"fcntl-setlkw", SYS_fcntl, 0, make_ofd_locked, do_setlkw, ofd_free, POINT},
    {"fcntl-ofd-setlkw", SYS_fcntl, 0, make_ofd_locked, do_ofd_setlkw, ofd_free, POINT},
    {"lockf", SYS_fcntl, 0, make_ofd_locked, do_lockf, ofd_free, POINT},
    {"lease-open", SYS_openat, 0, make_leased, do_open, give_up_lease, POINT},
    {"lease-truncate", SYS_truncate, 0, make_leased, do_truncate, give_up_lease, 0},
    {0},
};
