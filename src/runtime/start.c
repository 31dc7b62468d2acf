/* src/runtime/start.c - the preloaded library starts.  SPDX-License-Identifier: Apache-2.0
 *
 * The library is linked -z initfirst: this runs before any other constructor.  Whatever goes wrong
 * here costs one line on standard error; the program then runs unscheduled. */
#include <errno.h>

#include "policy/policy.h"
#include "runtime/runtime.h"
#include "sched/carrier.h"
#include "sharing/sharing.h"
#include "teams/teams.h"
#include "threads/threads.h"
#include "trace/trace.h"

static void look_at_object(const struct gate_object *o)
{
    rt_object_loaded(o);
    if (!rt.sched.kernel) teams_object_loaded(o);
}

static void each_object(const struct gate_object *o, void *arg) { (void)arg; look_at_object(o); }

/* What the others would go by is not right either. */
static void on_bug(void)
{
    if (rt.shm.h) shm_condemn(rt.shm.h);
    rt_desert();
}

/* A waker may use a call that is not patched: waiters then look for themselves now and then. */
static void count_unpatched(void)
{
    if (rt.sched.proc != USF_NONE) rt.sched.procs[rt.sched.proc].unpatched = usf_gate_stats.unpatched;
    if (usf_gate_stats.unpatched) rt.sync.recheck_ns = 100000000u;
}

static void object_loaded(const struct gate_object *o)
{
    look_at_object(o);
    count_unpatched();
}

static const struct usf_policy_ops *user_policy(char *why, unsigned cap)
{
    if (!rt.shm.h->policy_path[0]) return 0;
    if (!shm_is_shared(rt.settings.instance)) return policy_load_same(rt.shm.h->policy_path, &rt.shm.h->policy_hash, why, cap);
    usf_format(why, cap, "%s", SHARING_NO_OBJECTS);
    return 0;
}

static bool open_instance(void)
{
    static struct shm_config c;
    struct usf_settings *o = &rt.settings;
    char why[256] = "";
    c = (struct shm_config){
        .name = o->instance, .cpus = o->cpus, .policy = o->policy.name, .policy_path = o->policy.path, .quantum_ns = o->quantum_ns,
        .poll_max_ns = o->poll_ns, .progress_ns = o->progress_ns, .lend_ns = o->lend_ns, .slice_ns = o->slice_ns,
        .blind = o->topology_blind,
        .tool = o->tool, .linger_ns = o->monitor_linger_ns, .settle = o->pidns != 0, .only_in = o->pidns,
    };
    if (o->has_owner && o->owner != os_geteuid()) {
        usf_say("started by user %u and run as user %u: it runs unscheduled", o->owner, os_geteuid());
        return false;
    }
    rt.user = os_geteuid();
    /* Without a monitor an instance would stay for ever: only a process that can start one makes it. */
    int r = shm_open_instance(&c, o->tool[0] && !rt_self.self.joining, &rt.shm);       /* a late one makes none: it has lost its own */
    if (r < 0) {
        usf_warn_about(r == -EXDEV ? RT_OTHER_CONTAINER : rt.shm.why, "%s: it runs unscheduled", rt.shm.why);
        return false;
    }
    /* What the segment names as the tool is another user's, or another container's. */
    if (shm_is_shared(o->instance) || rt.shm.h->pidns != rt.shm.pidns)
        monitor_use_own((struct monitor_own){o->tool, o->instance, rt.shm.dev, rt.shm.ino});
    sched_bind(&rt.sched, rt.shm.h);
    rt.sched.namespace = rt.shm.namespace;
    rt.sched.remote_pin = atomic_load(&rt.shm.h->namespace[rt.shm.namespace].ns) == rt.shm.pidns;
    rt.sched.weight = (uint32_t)o->weight;
    rt.sched.priority = (int32_t)o->priority;
    rt.sched.flags = o->no_gang ? USF_GROUP_NO_GANG : 0;
    rt.sched.instance = rt.shm.name;
    rt.sched.follow = trace_follow;
    rt.sync.sched = &rt.sched;
    const struct usf_policy_ops *user = 0;
    if (rt.shm.h->policy_path[0] && rt_self.self.joining) usf_format(why, sizeof why, "a policy's object can be loaded only when a program starts");
    else user = user_policy(why, sizeof why);
    if (why[0] || sched_use_policy(&rt.sched, user, why, sizeof why)) {
        usf_warn("%s: it runs unscheduled", why);
        return false;
    }
    return true;
}

static void own_cpus(void)
{
    struct os_cpuset *want = &rt.settings.cpus;
    os_getaffinity(0, &rt.cpus);
    if (!os_cpu_count(want)) return;
    struct os_cpuset both = rt.cpus;
    for (int i = 0; i < OS_CPUSET_WORDS; i++) both.w[i] &= want->w[i];
    if (!os_cpu_count(&both) || !__builtin_memcmp(&both, &rt.cpus, sizeof both)) return;
    rt.cpus = both;
    os_setaffinity(0, &both);       /* policy `linux` binds no thread later */
}

/* This process may have run another program before, whose threads are gone whatever its records
 * say. */
static void forget_last_program(void)
{
    rt.pid = os_getpid();
    rt.start_time = os_start_time(rt.pid);
    if (!shm_replace(rt.shm.h, rt.shm.namespace, rt.pid, rt.start_time)) return;
    monitor_keep(rt.shm.h, rt.shm.namespace);
    sched_tell_monitor(rt.sched.h);
}

/* An instance ends when no process has taken part for a while, perhaps just between our opening and
 * joining it: then it is made anew. */
#define STALE_TRIES 4

static int join_instance(bool new_program)
{
    for (int tries = 0;; tries++) {
        if (new_program) forget_last_program();
        int r = rt_join_instance(tries < STALE_TRIES);
        if (r != -ESTALE || tries == STALE_TRIES) return r;
        shm_close(&rt.shm);
        if (!open_instance()) return -ENOENT;
    }
}

static void no_cache(const char *why) { usf_say("thread cache off: %s", why); }

/* A thread that is kept: what is remembered of the one that it was goes. */
static void fresh_thread(void)
{
    teams_fresh_thread();
    carrier_fresh(&rt.sched, &rt_self.self);
    rt_self.user_us = rt_self.system_us = 0;
    rt_drop_attributes(&rt_self);
}

/* Valgrind preloads a library of its own into what it executes. */
static bool is_in_valgrind(char **envp)
{
    for (; envp && *envp; envp++)
        if (rt_after(*envp, "LD_PRELOAD="))
            for (const char *s = *envp; *s; s++)
                if (rt_after(s, "/vgpreload_")) return true;
    return false;
}

static bool set_up_gate(char **envp)
{
    int r = gate_init(rt.settings.cache_dir[0] ? rt.settings.cache_dir : 0);
    if (r < 0) {
        usf_warn("the gate cannot be set up (error %d): it runs unscheduled", -r);
        return false;
    }
    if (!gate_has_cache()) rt.settings.cache_dir[0] = 0;
    usf_gate_share = rt.settings.shared_code;
    usf_on_bug = on_bug;
    rt_install_calls();
    rt_install_watched();
    rt_install_futex();
    rt_install_waits();
    rt_install_life();
    rt_install_signals();
    rt_install_stack();
    rt_install_affinity();
    rt_install_optout();
    rt_install_threads();
    rt_spin_init();
    rt.sched.no_kernel_run = rt_is_without(USF_WITHOUT_BY_KERNEL);
    rt.sched.no_contention = rt_is_without(USF_WITHOUT_CONTENTION);
    rt.sched.no_leases = rt_is_without(USF_WITHOUT_LEASES);
    rt.sync.no_delays = rt_is_without(USF_WITHOUT_DELAYS);
    teams_init((enum teams_mode)rt.settings.malleable, envp);
    rt_signals_init();
    rt_float_init();
    return true;
}

static bool patch(void)
{
    gate_hold_writer(true);
    gate_patch_loaded();
    gate_for_each_object(each_object, 0);
    if (!usf_gate_stats.patched) {
        gate_hold_writer(false);
        usf_warn("its code cannot be written, neither through /proc/self/mem nor in place: it runs unscheduled");
        return false;
    }
    gate_on_load(object_loaded);
    gate_hold_writer(false);
    return true;
}

/* The process takes part, and its code is patched. */
static void begin(void)
{
    count_unpatched();
    rt_tell_early_sites();
    rt.on = true;
    if (!rt.sched.kernel) rt_install_share();
    threads_is_off = no_cache;
    threads_is_fresh = fresh_thread;
    const char *off = threads_init(rt.settings.thread_cache && !rt.sched.kernel);
    if (off) no_cache(off);
}

/* What the start has put off. */
static bool start_anew(void)
{
    own_cpus();
    if (!open_instance() || !set_up_gate(0)) return false;
    rt_note_cpuset();
    if (!patch()) return false;
    rt_stack_reinstate(&rt_self);
    rt_signals_adopt();
    rt_install_share();
    return true;
}

bool rt_start_late(bool plain, uint64_t below)
{
    if (plain && !start_anew()) return usf_gate_stats.patched;
    rt_signals_let_end(below);      /* it may have to wait for a core */
    rt_set_state(&rt_self, RT_AT(RT_NEW) | RT_AT(RT_ALONE), RT_NEW);
    bool joined = !join_instance(plain);
    rt_float_returns(&rt_self, below);
    if (joined) begin();
    else rt_unpin();
    return true;
}

static void read_settings(char **envp)
{
    config_inproc_read(envp, &rt.settings);
    if (!*rt.settings.floats.off_for) return;
    usf_syscall(__NR_prctl, 16 /* PR_GET_NAME */, rt.comm);
    if (float_is_off_for(&rt.settings.floats, rt.comm)) rt.settings.floats.on = 0;
}

__attribute__((constructor)) static void usf_start(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    rt_warned_init(envp);
    read_settings(envp);
    usf_verbose = (int)rt.settings.verbose;
    if (is_in_valgrind(envp)) {     /* it executes no code that is patched, and hands on only what it knows of the kernel */
        usf_warn("Valgrind executes this program: it runs unscheduled");
        return;
    }
    if (rt_late_begin(envp)) {
        if (os_cpu_count(&rt.settings.cpus)) own_cpus();
        rt_install_share();             /* a question about CPUs makes it join */
        return;
    }
    own_cpus();
    if (!open_instance() || !set_up_gate(envp)) return;
    rt_note_cpuset();                   /* each process that takes part looks whether that has changed */
    if (join_instance(true)) {
        rt_unpin();
        return;
    }
    if (!patch()) {
        rt_depart();
        rt_unpin();
        return;
    }
    begin();
}
