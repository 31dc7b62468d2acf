/* src/cli/share.c - with whom a run shares its cores: --share.  SPDX-License-Identifier: Apache-2.0
 *
 * The answer becomes a part of the instance's name (shm.h), and goes to the program and what it
 * starts with that.  Sharing with other users is each user's own choice: a file of the system does
 * not make it. */
#include "cli/cli.h"
#include "cli/instance.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_name(struct config *c, const char *name, enum config_origin origin)
{
    struct config_value *v = &c->v[option_by_name("instance", -1) - usf_options];
    if (strlen(name) >= sizeof c->s.instance)
        return cli_usage("the instance's name '%s' is longer than %u characters", name, USF_NAME_MAX - 1);
    snprintf(c->s.instance, sizeof c->s.instance, "%s", name);
    free(v->text);
    v->text = xasprintf("%s", name);
    v->origin = origin;
    return -1;
}

/* A name that no other instance has. */
static int for_this_run(struct config *c, const struct config_value *share)
{
    char name[USF_NAME_MAX];
    if (config_value_of(c, "instance")->origin == ORIGIN_CLI)
        return share->origin == ORIGIN_CLI ? cli_usage("--share process and --instance exclude each other") : -1;
    snprintf(name, sizeof name, "run-%d-%lx", getpid(), os_now());
    return set_name(c, name, share->origin);
}

/* By name or number.  False: there is none. */
static bool find_group(const char *word, uint32_t *gid)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(word, &end, 10);
    if (*word >= '0' && *word <= '9' && !*end && !errno && n < UINT32_MAX) return *gid = (uint32_t)n, true;
    const struct group *g = *word ? getgrnam(word) : NULL;
    if (g) *gid = g->gr_gid;
    else if (!*word) *gid = getegid();
    return g || !*word;
}

static int with_others(struct config *c, const struct config_value *share, const char *plain)
{
    char name[USF_NAME_MAX + 16], shown[64];
    uint32_t gid;
    const struct usf_share_choice *w = &c->s.share;
    const struct config_value *inst = config_value_of(c, "instance");
    if (w->with == USF_SHARE_PUBLIC) snprintf(name, sizeof name, "public:%s", plain);
    else if (find_group(w->group, &gid)) snprintf(name, sizeof name, "g%u:%s", gid, plain);
    else return cli_usage("%s: there is no group '%s'", share->where, text_clean(w->group, shown, sizeof shown));
    if (plain != c->s.instance && inst->origin == ORIGIN_CLI && strcmp(name, c->s.instance))
        return cli_usage("--share %s and --instance %s exclude each other", share->text, c->s.instance);
    return set_name(c, name, share->origin > inst->origin ? share->origin : inst->origin);
}

/* The system's administrator may choose all but this. */
static bool is_systems(const struct config_value *v, bool shared)
{
    if (!shared || v->origin != ORIGIN_SYSTEM) return false;
    usf_warn("%s: '%s' is passed over: only users themselves choose to share with other users", v->where, v->text);
    return true;
}

int share_choose(struct config *c)
{
    const struct config_value *share = config_value_of(c, "share"), *inst = config_value_of(c, "instance");
    struct shm_scope s;
    char plain[USF_NAME_MAX];
    shm_scope_of(c->s.instance, &s);
    snprintf(plain, sizeof plain, "%s", s.plain);
    if (is_systems(share, c->s.share.with > USF_SHARE_USER)) c->s.share.with = USF_SHARE_USER;
    if (is_systems(inst, s.level != SHM_USER)) {
        int r = set_name(c, plain, inst->origin);
        if (r >= 0) return r;
        shm_scope_of(c->s.instance, &s);
    }
    if (c->s.share.with == USF_SHARE_PROCESS) return for_this_run(c, share);
    /* A whole name, as an outer run hands it on, has its answer with it. */
    if (s.level != SHM_USER && inst->origin >= share->origin && inst->origin != ORIGIN_CLI) return -1;
    if (s.level != SHM_USER && share->origin == ORIGIN_DEFAULT) return -1;
    if (c->s.share.with > USF_SHARE_USER) return with_others(c, share, s.level == SHM_USER ? c->s.instance : s.plain);
    if (s.level == SHM_USER) return -1;
    if (inst->origin == ORIGIN_CLI && share->origin == ORIGIN_CLI)
        return cli_usage("--share %s and --instance %s exclude each other", share->text, c->s.instance);
    return inst->origin == ORIGIN_CLI ? -1 : set_name(c, plain, share->origin);
}
