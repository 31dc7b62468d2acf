/* src/config/env.h - the environment variables of usf.  SPDX-License-Identifier: Apache-2.0
 *
 * One per option of the table (table.c); `usf run` exports those whose value is not the default,
 * the preloaded library reads them (inproc.c).  Formats:
 *
 *   USF_INSTANCE        name: [A-Za-z0-9._-], 1-47 characters; of one that other users share: gGID:NAME, public:NAME
 *   USF_CPUS            Linux cpulist, "0-3,8,10-14:2"; empty: all CPUs the process may use
 *   USF_POLICY          name of a built-in policy ([a-z0-9_-]{1,31}), or a path (it has a '/') of a shared object
 *   USF_QUANTUM         ms, whole number
 *   USF_SLICE           ms
 *   USF_TOPOLOGY_BLIND  on | off
 *   USF_POLL            us
 *   USF_PROGRESS        ms
 *   USF_LEND            us
 *   USF_WEIGHT          1-10000; 100: normal
 *   USF_PRIORITY        -1000 to 1000; 0: normal
 *   USF_NO_GANG         on | off
 *   USF_MALLEABLE       auto | on | off
 *   USF_AFFINITY        auto | hint | strict
 *   USF_FLOAT           on | off | off:NAME,..., names of programs as `usf ps` shows them
 *   USF_WITHOUT         none | probes | kernel | lend | contend | leases | delay | hints | all
 *   USF_ATTACH          late | now
 *   USF_THREAD_CACHE    on | off
 *   USF_SHARED_CODE     on | off
 *   USF_CACHE_DIR       absolute path; empty: nothing is kept
 *   USF_MONITOR_LINGER  ms
 *   USF_VERBOSE         0-3
 *   USF_STATS           read by `usf run` alone, never exported by it: a file name, or - for stderr
 *   USF_KEEP_ENV        on | off; read by `usf run` alone
 *   USF_SHARE           process | user | group | group:GROUP | public; read by `usf run` alone
 *   USF_CONTEXTS        NAME=CPUS; NAME=CPUS: contexts.h; read by libusf-context.so, whether or not the program runs under `usf run`
 *   USF_PROFILE         file name; read by `usf run`, and by libusf-context.so without it
 *
 * An empty variable counts as not set.  Beside the options:
 *
 *   USF_RUN             exported by `usf run --stats`: index + 1 in the instance's run table
 *   USF_OWNER           exported by `usf run`: the user it ran as; programs of others run unscheduled
 *   USF_TOOL            exported by `usf run`: its path, to start the monitor of an instance that is made anew
 *   USF_PIDNS           exported by `usf run`: its pid namespace; programs in others do not enter an instance on their own
 *   USF_TREE            exported by `usf run`: a number of its own, so that its programs say a warning once
 *   USF_POINTS          plan of the perturbation points (base/base.h), debug builds only
 *   USF_SYSTEM_CONFIG   path read in place of /etc/usf.toml
 *   USF_FLAGS, USF_SEED, USF_SHOW, USF_TEST_*   of the project's own tests
 */
#ifndef USF_CONFIG_ENV_H
#define USF_CONFIG_ENV_H

#define USF_ENV_PREFIX         "USF_"

#define USF_ENV_INSTANCE       "USF_INSTANCE"
#define USF_ENV_CPUS           "USF_CPUS"
#define USF_ENV_POLICY         "USF_POLICY"
#define USF_ENV_QUANTUM        "USF_QUANTUM"
#define USF_ENV_SLICE          "USF_SLICE"
#define USF_ENV_BLIND          "USF_TOPOLOGY_BLIND"
#define USF_ENV_POLL           "USF_POLL"
#define USF_ENV_PROGRESS       "USF_PROGRESS"
#define USF_ENV_LEND           "USF_LEND"
#define USF_ENV_STATIC_TLS     "USF_STATIC_TLS"
#define USF_ENV_WEIGHT         "USF_WEIGHT"
#define USF_ENV_PRIORITY       "USF_PRIORITY"
#define USF_ENV_NO_GANG        "USF_NO_GANG"
#define USF_ENV_MALLEABLE      "USF_MALLEABLE"
#define USF_ENV_AFFINITY       "USF_AFFINITY"
#define USF_ENV_FLOAT          "USF_FLOAT"
#define USF_ENV_WITHOUT        "USF_WITHOUT"
#define USF_ENV_ATTACH         "USF_ATTACH"
#define USF_ENV_THREAD_CACHE   "USF_THREAD_CACHE"
#define USF_ENV_SHARED_CODE    "USF_SHARED_CODE"
#define USF_ENV_CACHE_DIR      "USF_CACHE_DIR"
#define USF_ENV_MONITOR_LINGER "USF_MONITOR_LINGER"
#define USF_ENV_VERBOSE        "USF_VERBOSE"
#define USF_ENV_STATS          "USF_STATS"
#define USF_ENV_KEEP_ENV       "USF_KEEP_ENV"
#define USF_ENV_SHARE          "USF_SHARE"
#define USF_ENV_CONTEXTS       "USF_CONTEXTS"
#define USF_ENV_PROFILE        "USF_PROFILE"

#define USF_ENV_RUN            "USF_RUN"
#define USF_ENV_OWNER          "USF_OWNER"
#define USF_ENV_TOOL           "USF_TOOL"
#define USF_ENV_PIDNS          "USF_PIDNS"
#define USF_ENV_TREE           "USF_TREE"
#define USF_ENV_POINTS         "USF_POINTS"
#define USF_ENV_SYSTEM_CONFIG  "USF_SYSTEM_CONFIG"
#define USF_ENV_OF_TESTS       "USF_FLAGS", "USF_SEED", "USF_SHOW"
#define USF_ENV_TEST_PREFIX    "USF_TEST_"

#endif
