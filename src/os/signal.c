/* src/os/signal.c - signals.  SPDX-License-Identifier: Apache-2.0 */
#include "os/os.h"
#include "os/syscall.h"
#include <signal.h>
#include <string.h>

int os_kill(int32_t pid, int sig) { return (int)usf_syscall(__NR_kill, pid, sig); }

int os_signal_thread(int32_t pid, int32_t tid, int sig, uint64_t value)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = sig;
    info.si_code = SI_QUEUE;
    info.si_pid = os_getpid();
    info.si_uid = (uid_t)usf_syscall(__NR_getuid);
    info.si_value.sival_ptr = (void *)value;
    return (int)usf_syscall(__NR_rt_tgsigqueueinfo, pid, tid, sig, &info);
}
