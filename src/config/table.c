/* src/config/table.c - the rows of the option table.  SPDX-License-Identifier: Apache-2.0 */
#include "config/option.h"
#include "config/env.h"
#include "shm/shm.h"

#define FIELD(f) .field = offsetof(struct usf_settings, f)
#define MS 1000000u
#define US 1000u

const struct usf_option usf_options[] = {
    {.name = "instance", .letter = 'i', .env = USF_ENV_INSTANCE, .type = OPT_NAME, FIELD(instance),
     .flags = OPT_F_EXPORT, .arg = "NAME", .def = SHM_DEFAULT_NAME,
     .help = "the scheduler to join; made if there is none of that name",
     .more = "All programs of one user that name the same instance share its cores."},
    {.name = "cpus", .letter = 'c', .env = USF_ENV_CPUS, .type = OPT_CPULIST, FIELD(cpus),
     .flags = OPT_F_EXPORT, .arg = "LIST", .def = "",
     .help = "CPUs to run on, like 0-3,8; default: all that may be used",
     .more = "A new instance gets these CPUs. In an instance that exists the program is limited to them."},
    {.name = "policy", .env = USF_ENV_POLICY, .type = OPT_POLICY, FIELD(policy),
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "POLICY", .def = "coop",
     .help = "scheduling policy: a name from 'usf policy list', or the path of a shared object"},
    {.name = "quantum", .env = USF_ENV_QUANTUM, .type = OPT_NUMBER, FIELD(quantum_ns), .unit = "ms",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "MS", .min = 1, .max = 10000, .scale = MS, .def = "20",
     .help = "time after which a core serves another process, at its next scheduling point"},
    {.name = "poll", .env = USF_ENV_POLL, .type = OPT_NUMBER, FIELD(poll_ns), .unit = "us",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "US", .min = 0, .max = 100000, .scale = US, .zero = SHM_NO_POLL, .def = "200",
     .help = "longest time that an idle core polls before it sleeps"},
    {.name = "progress", .env = USF_ENV_PROGRESS, .type = OPT_NUMBER, FIELD(progress_ns), .unit = "ms",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "MS", .min = 1, .max = 60000, .scale = MS, .def = "20",
     .help = "a thread without a scheduling point for so long is made to yield, if others wait"},
    {.name = "lend", .env = USF_ENV_LEND, .type = OPT_NUMBER, FIELD(lend_ns), .unit = "us",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "US", .min = 1, .max = 1000000, .scale = US, .def = "50",
     .help = "time in a system call after which waiting threads get the core",
     .more = "Whoever becomes ready then takes it at once; if nobody does, the monitor, up to a millisecond later."},
    {.name = "lock", .env = USF_ENV_LOCK, .type = OPT_CHOICE, FIELD(lock_kind),
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "KIND", .choices = "plain|dtlock", .def = "plain",
     .help = "the scheduler's lock"},
    {.name = "thread-cache", .env = USF_ENV_THREAD_CACHE, .type = OPT_CHOICE, FIELD(thread_cache),
     .flags = OPT_F_EXPORT, .arg = "on|off", .choices = "off|on", .def = "on",
     .help = "keep ended threads for later pthread_create"},
    {.name = "shared-code", .env = USF_ENV_SHARED_CODE, .type = OPT_CHOICE, FIELD(shared_code),
     .flags = OPT_F_EXPORT, .arg = "on|off", .choices = "off|on", .def = "on",
     .help = "map libc's code from a patched copy in the cache",
     .more = "Programs start sooner and share that memory. Uprobes that are placed on libc while a program runs do not fire in it."},
    {.name = "cache-dir", .env = USF_ENV_CACHE_DIR, .type = OPT_PATH, FIELD(cache_dir),
     .flags = OPT_F_EXPORT, .arg = "DIR", .def = "",
     .help = "where what was learned about libraries is kept; default: $XDG_CACHE_HOME/usf"},
    {.name = "monitor-linger", .env = USF_ENV_MONITOR_LINGER, .type = OPT_NUMBER, FIELD(monitor_linger_ns), .unit = "ms",
     .flags = OPT_F_EXPORT, .arg = "MS", .min = 0, .max = 3600000, .scale = MS, .def = "1000",
     .help = "how long an instance that nobody uses is kept"},
    {.name = "verbose", .letter = 'v', .env = USF_ENV_VERBOSE, .type = OPT_NUMBER, FIELD(verbose),
     .flags = OPT_F_EXPORT | OPT_F_BARE | OPT_F_COUNT, .arg = "N", .min = 0, .max = 3, .scale = 1, .def = "0",
     .help = "say what is done; more with -vv"},
    {.name = "stats", .env = USF_ENV_STATS, .type = OPT_REPORT, FIELD(stats),
     .flags = OPT_F_BARE, .arg = "FILE", .def = "off",
     .help = "print statistics at the end, to stderr or FILE",
     .more = "A FILE that ends in .json gets them as JSON."},
    {.name = "keep-env", .env = USF_ENV_KEEP_ENV, .type = OPT_CHOICE, FIELD(keep_env),
     .flags = OPT_F_BARE, .arg = "on|off", .choices = "off|on", .def = "off",
     .help = "leave the wait policies in the environment (OMP_WAIT_POLICY and its like) alone"},
    {.name = "share", .env = USF_ENV_SHARE, .type = OPT_SHARE, FIELD(share),
     .flags = 0, .arg = "WITH", .choices = "process|user|group|public", .def = "user",
     .help = "with whom the cores are shared: this run alone, or all that name the instance, of the user or of others, too",
     .more = "'process' makes an instance for this program and what it starts; --instance overrides it elsewhere. "
             "'group', or 'group:GROUP', shares with the members of the effective group, or of GROUP (a name or a number), 'public' with "
             "all users. Those must trust each other wholly (SECURITY.md): each asks for it, and root takes no part. Other commands "
             "call such an instance gGID:NAME or public:NAME."},
};
const unsigned usf_nr_options = sizeof usf_options / sizeof usf_options[0];
