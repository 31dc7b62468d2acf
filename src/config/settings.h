/* src/config/settings.h - the resolved options, as numbers.  SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tool and the preloaded library; nothing here calls libc. */
#ifndef USF_CONFIG_SETTINGS_H
#define USF_CONFIG_SETTINGS_H

#include "config/contexts.h"
#include "os/os.h"
#include "shm/layout.h"

#define USF_PATH_MAX 1024u

struct usf_policy_choice {
    char name[32];                      /* built-in policy, or "" */
    char path[USF_POLICY_PATH_MAX];     /* user's object, or "" */
};

/* A fast path that is switched off, to measure what it brings. */
enum usf_without {
    USF_WITHOUT_NONE, USF_WITHOUT_PROBES, USF_WITHOUT_BY_KERNEL, USF_WITHOUT_LENDING, USF_WITHOUT_CONTENTION,
    USF_WITHOUT_LEASES, USF_WITHOUT_DELAYS, USF_WITHOUT_HINTS,
    USF_WITHOUT_ALL
};
enum usf_share { USF_SHARE_PROCESS, USF_SHARE_USER, USF_SHARE_GROUP, USF_SHARE_PUBLIC };
struct usf_share_choice {
    uint32_t with;                      /* enum usf_share */
    char group[64];                     /* name or number, "": the effective group */
};

struct usf_float_choice {
    uint32_t on;                        /* 0, 1 */
    char off_for[256];                  /* names of programs with commas between: off for these; else "" */
};

struct usf_settings {
    char instance[USF_NAME_MAX];
    struct os_cpuset cpus;              /* empty: all that the process may use */
    struct usf_policy_choice policy;
    uint64_t quantum_ns, poll_ns /* SHM_NO_POLL: none */, progress_ns, lend_ns, slice_ns;     /* as struct shm_config has them */
    uint32_t topology_blind;            /* 0, 1 */
    uint64_t static_tls;                /* bytes; 0: as libc has it */
    uint64_t weight;                    /* as struct usf_pol_group has them, */
    int64_t priority;
    uint32_t no_gang;                   /* ... 0, 1 */
    uint32_t malleable;                 /* enum teams_mode */
    uint32_t affinity;                  /* RT_AFFINITY_*: 0 auto, 1 hint, 2 strict */
    uint64_t monitor_linger_ns;
    uint32_t attach_late;               /* 0, 1 */
    uint32_t thread_cache;              /* 0, 1 */
    struct usf_float_choice floats;
    uint32_t without;                   /* enum usf_without */
    uint32_t shared_code;               /* 0, 1 */
    uint32_t keep_env;                  /* 0, 1 */
    struct usf_share_choice share;
    uint64_t verbose;                   /* 0-3 */
    char cache_dir[USF_PATH_MAX];       /* "": keep nothing */
    char stats[USF_PATH_MAX];           /* "": none, "-": stderr, else a file name */
    char contexts[USF_CONTEXTS_MAX];    /* "": none */
    char profile[USF_PATH_MAX];         /* "": none */
    /* of the library only */
    uint32_t run;                       /* index + 1 in the run table, 0: none */
    bool has_owner;
    uint32_t owner;                     /* user that `usf run` ran as */
    uint32_t pidns;                     /* os_pidns_inode of `usf run`, 0: unknown */
    char tool[256];                     /* path of the usf tool, as in struct usf_header; "": unknown */
};

/* Is the program in the list?  By its name as `usf ps` shows it, of which the kernel keeps 15
 * characters. */
bool float_is_off_for(const struct usf_float_choice *choice, const char *program);

/* Read the settings from the environment, in a program that is about to be scheduled: no libc, no
 * allocation; what is malformed is said once and replaced by the default.  The struct is large:
 * give it static storage. */
void config_inproc_read(char **envp, struct usf_settings *out);

#endif
