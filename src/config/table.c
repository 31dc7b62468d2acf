/* src/config/table.c - the rows of the option table.  SPDX-License-Identifier: Apache-2.0 */
#include "config/option.h"
#include "config/env.h"
#include "shm/shm.h"

#define FIELD(f) .field = offsetof(struct usf_settings, f)
#define MS 1000000u
#define US 1000u

const struct usf_option usf_options[] = {
    {.name = "instance", .group = OPT_G_COMMON, .letter = 'i', .env = USF_ENV_INSTANCE, .type = OPT_NAME, FIELD(instance),
     .flags = OPT_F_EXPORT, .arg = "NAME", .def = SHM_DEFAULT_NAME,
     .help = "the instance to join; it is created if it does not exist",
     .more = "An instance is a scheduler. All programs of one user in the same instance share its cores."},
    {.name = "cpus", .group = OPT_G_COMMON, .letter = 'c', .env = USF_ENV_CPUS, .type = OPT_CPULIST, FIELD(cpus),
     .flags = OPT_F_EXPORT, .arg = "LIST", .def = "",
     .help = "CPUs to run on, like 0-3,8; default: all available",
     .more = "A new instance gets these CPUs. In an existing instance they limit the program."},
    {.name = "policy", .group = OPT_G_COMMON, .letter = 'p', .env = USF_ENV_POLICY, .type = OPT_POLICY, FIELD(policy),
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "POLICY", .def = "coop",
     .help = "scheduling policy: a name from 'usf policy list', or the path of a shared object with a '/'"},
    {.name = "quantum", .group = OPT_G_PLACEMENT, .env = USF_ENV_QUANTUM, .type = OPT_NUMBER, FIELD(quantum_ns), .unit = "ms",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "TIME", .min = 1, .max = 10000, .scale = MS, .def = "20",
     .help = "time for which a core serves one process before it turns to the next one, at a scheduling point"},
    {.name = "slice", .group = OPT_G_PLACEMENT, .env = USF_ENV_SLICE, .type = OPT_NUMBER, FIELD(slice_ns), .unit = "ms",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "TIME", .min = 1, .max = 10000, .scale = MS, .def = "10",
     .help = "time slice of the policies that have one (gang, fl)"},
    {.name = "topology-blind", .group = OPT_G_PLACEMENT, .env = USF_ENV_BLIND, .type = OPT_CHOICE, FIELD(topology_blind),
     .flags = OPT_F_EXPORT | OPT_F_INST | OPT_F_BARE, .arg = "on|off", .choices = "off|on", .def = "off",
     .help = "policies ignore NUMA nodes and caches (for comparisons)"},
    {.name = "poll", .group = OPT_G_WAITING, .env = USF_ENV_POLL, .type = OPT_NUMBER, FIELD(poll_ns), .unit = "us",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "TIME", .min = 0, .max = 100000, .scale = US, .zero = SHM_NO_POLL, .def = "200",
     .help = "how long an idle core polls before it sleeps"},
    {.name = "progress", .group = OPT_G_WAITING, .env = USF_ENV_PROGRESS, .type = OPT_NUMBER, FIELD(progress_ns), .unit = "ms",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "TIME", .min = 1, .max = 60000, .scale = MS, .def = "5",
     .help = "preempt a thread that reaches no scheduling point for this long while other threads wait"},
    {.name = "lend", .group = OPT_G_WAITING, .env = USF_ENV_LEND, .type = OPT_NUMBER, FIELD(lend_ns), .unit = "us",
     .flags = OPT_F_EXPORT | OPT_F_INST, .arg = "TIME", .min = 1, .max = 1000000, .scale = US, .def = "50",
     .help = "time in a blocking system call after which waiting threads get the core",
     .more = "A thread that becomes ready later takes the core at once. Otherwise the monitor gives it to a waiting thread, up to a millisecond later."},
    {.name = "weight", .group = OPT_G_PLACEMENT, .env = USF_ENV_WEIGHT, .type = OPT_NUMBER, FIELD(weight),
     .flags = OPT_F_EXPORT, .arg = "N", .min = 1, .max = 10000, .scale = 1, .def = "100",
     .help = "share of the cores for this program and its children, relative to other programs",
     .more = "The policy decides what a weight means. 'usf policy weight' changes the weight of a running program and of its future children."},
    {.name = "priority", .group = OPT_G_PLACEMENT, .env = USF_ENV_PRIORITY, .type = OPT_LEVEL, FIELD(priority),
     .flags = OPT_F_EXPORT, .arg = "N", .max = 1000, .def = "0",
     .help = "priority of this program and its children: higher runs first",
     .more = "With policies that use priorities, programs of higher priority run first as long as they have ready threads. 'usf policy priority' "
             "changes the priority of a running program and of its future children."},
    {.name = "no-gang", .group = OPT_G_PLACEMENT, .env = USF_ENV_NO_GANG, .type = OPT_CHOICE, FIELD(no_gang),
     .flags = OPT_F_EXPORT | OPT_F_BARE, .arg = "on|off", .choices = "off|on", .def = "off",
     .help = "do not coschedule this program's threads"},
    {.name = "malleable", .group = OPT_G_PLACEMENT, .env = USF_ENV_MALLEABLE, .type = OPT_CHOICE, FIELD(malleable),
     .flags = OPT_F_EXPORT | OPT_F_BARE, .arg = "auto|on|off", .choices = "auto|on|off", .def = "auto",
     .help = "size OpenMP's default teams by the program's share of the cores, at each parallel region",
     .more = "Works with policies that give programs a share (equi, speedup, gang). 'auto': where OpenMP allows it, that is, after OMP_DYNAMIC=true or "
             "omp_set_dynamic. 'on': always. A program that assumes equal team sizes may then compute a different result."},
    {.name = "affinity", .group = OPT_G_PLACEMENT, .env = USF_ENV_AFFINITY, .type = OPT_CHOICE, FIELD(affinity),
     .flags = OPT_F_EXPORT, .arg = "KIND", .choices = "auto|hint|strict", .def = "auto",
     .help = "whether a thread's affinity mask is a hint or a limit while threads wait for cores",
     .more = "'hint': the policy prefers the CPUs of the mask. 'strict': the thread runs on these CPUs only. 'auto': a hint, but strict for a thread "
             "bound to one CPU in a program that asks on which CPU a thread runs (sched_getcpu, restartable sequences)."},
    {.name = "attach", .group = OPT_G_WAITING, .env = USF_ENV_ATTACH, .type = OPT_CHOICE, FIELD(attach_late),
     .flags = OPT_F_EXPORT, .arg = "now|late", .choices = "now|late", .def = "late",
     .help = "when the program's children take part in the instance",
     .more = "'now': when they start. 'late': with their second thread, with a call that asks for it, or after 160 ms of CPU "
             "time (10 ms if they share memory with other processes). That makes short children cheaper."},
    {.name = "float", .group = OPT_G_WAITING, .env = USF_ENV_FLOAT, .type = OPT_FLOAT, FIELD(floats),
     .flags = OPT_F_EXPORT, .arg = "on|off|off:NAME,...", .choices = "off|on", .def = "on",
     .help = "switch between waiting threads of a program without the kernel",
     .more = "A thread that waits leaves its kernel thread to another thread of the program. docs/threads.md lists what a thread keeps of its own. "
             "'off:java,node': off for the programs that 'usf ps' shows with these names, on for the others."},
    {.name = "without", .group = OPT_G_WAITING, .env = USF_ENV_WITHOUT, .type = OPT_CHOICE, FIELD(without),
     .flags = OPT_F_EXPORT, .arg = "WHAT", .choices = "none|probes|kernel|lend|contend|leases|delay|hints|all", .def = "none",
     .help = "switch a fast path off, to measure what it brings",
     .more = "'probes': look whether another thread's spin loop would end. 'kernel': leave threads that only pass data on to the kernel. "
             "'lend': keep the core in short calls; without, each call gives it up. "
             "'contend': leave cores alone that other programs keep busy. 'leases': yield without the scheduler lock. "
             "'delay': woken threads go on a little later if others need not wait for them then. "
             "'hints': a thread whose calls find nothing, again and again, yields its core."},
    {.name = "thread-cache", .group = OPT_G_WAITING, .env = USF_ENV_THREAD_CACHE, .type = OPT_CHOICE, FIELD(thread_cache),
     .flags = OPT_F_EXPORT, .arg = "on|off", .choices = "off|on", .def = "on",
     .help = "reuse ended threads for later calls of pthread_create"},
    {.name = "verbose", .group = OPT_G_OUTPUT, .letter = 'v', .env = USF_ENV_VERBOSE, .type = OPT_NUMBER, FIELD(verbose),
     .flags = OPT_F_EXPORT | OPT_F_BARE | OPT_F_COUNT, .arg = "N", .min = 0, .max = 3, .scale = 1, .def = "0",
     .help = "print what usf does; -vv prints more"},
    {.name = "stats", .group = OPT_G_OUTPUT, .env = USF_ENV_STATS, .type = OPT_REPORT, FIELD(stats),
     .flags = OPT_F_BARE, .arg = "FILE", .def = "off",
     .help = "print statistics at the end, to stderr or FILE",
     .more = "A FILE that ends in .json is written as JSON."},
    {.name = "keep-env", .group = OPT_G_OUTPUT, .env = USF_ENV_KEEP_ENV, .type = OPT_CHOICE, FIELD(keep_env),
     .flags = OPT_F_BARE, .arg = "on|off", .choices = "off|on", .def = "off",
     .help = "do not set the wait-policy variables of parallel runtimes (OMP_WAIT_POLICY and others)"},
    {.name = "static-tls", .group = OPT_G_OUTPUT, .env = USF_ENV_STATIC_TLS, .type = OPT_NUMBER, FIELD(static_tls),
     .flags = 0, .arg = "KIB", .min = 0, .max = 65536, .scale = 1024, .def = "0",
     .help = "room for thread-local storage of libraries that are loaded many times (library contexts)",
     .more = "Each copy of a library with static thread-local storage, as libgomp has, takes some of it, in each thread. It sets glibc.rtld.optional_static_tls "
             "in GLIBC_TUNABLES, unless that is there. 0: what libc sets aside itself, which is enough for some ten copies."},
    {.name = "shared-code", .group = OPT_G_OUTPUT, .env = USF_ENV_SHARED_CODE, .type = OPT_CHOICE, FIELD(shared_code),
     .flags = OPT_F_EXPORT, .arg = "on|off", .choices = "off|on", .def = "on",
     .help = "map libc's code from a patched copy in the cache directory",
     .more = "Programs start sooner and share that memory. A uprobe that is placed on libc while a program runs does not fire in that program."},
    {.name = "cache-dir", .group = OPT_G_OUTPUT, .env = USF_ENV_CACHE_DIR, .type = OPT_PATH, FIELD(cache_dir),
     .flags = OPT_F_EXPORT, .arg = "DIR", .def = "",
     .help = "where the analysis of libraries is cached; default: $XDG_CACHE_HOME/usf or ~/.cache/usf"},
    {.name = "monitor-linger", .group = OPT_G_OUTPUT, .env = USF_ENV_MONITOR_LINGER, .type = OPT_NUMBER, FIELD(monitor_linger_ns), .unit = "ms",
     .flags = OPT_F_EXPORT, .arg = "TIME", .min = 0, .max = 3600000, .scale = MS, .def = "1000",
     .help = "how long an unused instance is kept"},
    {.name = "share", .group = OPT_G_COMMON, .env = USF_ENV_SHARE, .type = OPT_SHARE, FIELD(share),
     .flags = 0, .arg = "WITH", .choices = "process|user|group|public", .def = "user",
     .help = "which programs may share the cores: those of this run, of this user, of a group, or of all users",
     .more = "'process' creates an instance for this program and its children; --instance overrides it elsewhere. "
             "'group', or 'group:GROUP', shares with the members of the effective group, or of GROUP (a name or a number); 'public' shares with "
             "all users. These users must trust each other fully (SECURITY.md): each of them has to give the option, and root takes no part. "
             "Other commands call such an instance gGID:NAME or public:NAME."},
    {.name = "contexts", .group = OPT_G_PLACEMENT, .env = USF_ENV_CONTEXTS, .type = OPT_CONTEXTS, FIELD(contexts),
     .flags = 0, .arg = "LIST", .def = "",
     .help = "CPUs of the program's library contexts, by name, like 'small=0-5; large=6-23'",
     .more = "They replace what the program gives a context of that name. A name that no context has is without effect; -v lists the contexts with their CPUs. "
             "The variable works for programs that are not started by 'usf run', too. 'usf tune --share' finds the best CPUs."},
    {.name = "profile", .group = OPT_G_COMMON, .env = USF_ENV_PROFILE, .type = OPT_FILE, FIELD(profile),
     .flags = 0, .arg = "FILE", .def = "",
     .help = "take options and environment variables from a profile, which 'usf tune' writes",
     .more = "Options on the command line and in the environment override those of the profile, and the profile overrides the configuration files. A "
             "variable that is set keeps its value."},
};
const unsigned usf_nr_options = sizeof usf_options / sizeof usf_options[0];
