// Rights in a cluster, by the model of users (users_model.h). All hubs have one users file, which changes. A hub with
// another users file is served by no hub.
#include "tests/sim/clusters.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/rights/users.h"
#include "tests/sim/kernel.h"

static struct model *now(unsigned site) {
    return &stage.models[site][stage.edition[site]];
}

// --- Files

// Nothing is limited here, and credentials stay but for what take_credential says.
static void settle_section(struct model_section *section, bool gated) {
    unsigned kept = 0;
    section->rate = section->bytes = section->fanout = section->connections = section->pending = 0;
    for (unsigned at = 0; at < section->count; at++)
        if (gated || section->lines[at].right != IS_HELD)
            section->lines[kept++] = section->lines[at];
    section->count = kept;
}

// Of a hub with a gate, the last user may approve.
static void settle(struct model *model, const struct model *before, bool gated) {
    model->gated = gated;
    for (unsigned role = 0; role < MODEL_ROLES; role++)
        settle_section(&model->roles[role], gated);
    for (unsigned user = 0; user < MODEL_USERS; user++) {
        struct model_user *settled = &model->users[user];
        settle_section(&settled->own, gated);
        settled->generation[0] = before ? before->users[user].generation[0] : 1;
        settled->generation[1] = 0;
        settled->has_uid = false;
        settled->absent = before && before->users[user].absent;
    }
    if (gated)
        model->users[MODEL_USERS - 1].own.admin = 1;
}

// Every other user may much, at all hubs.
static void give_much(struct model *model) {
    static const struct model_line much[] = {{MAY_REGISTER, false, "*"},     {MAY_OFFER, false, "@*"},
                                             {MAY_OFFER, false, "method:*"}, {MAY_CALL, false, "*"},
                                             {MAY_CALL, false, "@*"},        {MAY_CALL, false, "method:*"},
                                             {MAY_PUBLISH, false, "*"},      {MAY_SUBSCRIBE, false, "*"}};
    for (unsigned user = 0; user < MODEL_USERS; user += 2) {
        struct model_section *own = &model->users[user].own;
        own->count = own->count < MODEL_LINES - 8 ? own->count : MODEL_LINES - 8;
        for (unsigned at = 0; at < sizeof much / sizeof *much; at++)
            own->lines[own->count++] = much[at];
    }
}

void rights_choose(void) {
    struct random *random = &stage.random;
    struct model base;
    stage.by_users = random_chance(random, 450);
    if (!stage.by_users)
        return;
    model_make(&base, random, true);
    give_much(&base);
    settle(&base, NULL, stage.gated[0]);
    if (random_chance(random, 300))
        base.users[random_below(random, MODEL_USERS - 1)].absent = true;
    for (unsigned site = 0; site < SITES_MAX; site++) {
        stage.known[site] = true;
        *now(site) = base;
    }
}

void rights_realm(unsigned site, struct realm *realm) {
    static char text[MODEL_TEXT_BYTES + 8];
    size_t bytes = stage.known[site] ? model_write(now(site), text) : 0;
    if (site == stage.apart) {
        memcpy(text + bytes, "# apart\n", 8);
        bytes += 8;
    }
    if (!realm_make(realm, text, bytes, stage.gated[site] ? GOVERNANCE_MANUAL : 0))
        kernel_fail("there is no memory for a realm");
}

static void complain(void *context, const struct users_fault *fault) {
    kernel_fail("line %u of %s can't be used: %s", fault->line, (const char *)context, fault->expected);
}

struct users *rights_read(unsigned site, const struct users *before) {
    static const struct siphash_key key = {{1, 2}};
    static char text[MODEL_TEXT_BYTES];
    if (!stage.known[site])
        return NULL;
    struct users *users = users_read(text, model_write(now(site), text), &key, before, complain, text);
    if (!users)
        kernel_fail("there is no memory for users");
    return users;
}

// Wants a guest whose credential has gone to be disconnected. Its requests at other hubs go on, and their answers reach
// nobody.
static void check_credential(unsigned by) {
    struct guest *guest = &stage.guests[by];
    if (guest->user == NOBODY || guest->generation == rights_generation(guest->site, guest->user))
        return;
    if (guest->http_owner.way != SOCKET || !guest->http_owner.is_closed)
        kernel_fail("guest %u, user %d, is still there, and its credential is not", by, guest->user);
    guest_leave(by);
}

void rights_recalled(unsigned site) {
    for (unsigned by = 0; by < stage.guest_count; by++) {
        struct guest *guest = &stage.guests[by];
        if (guest->site != site || !guest->http_owner.cable)
            continue;
        check_credential(by);
        for (unsigned at = 0; at < PATTERNS; at++)
            if (!rights_may_hear(site, guest->user, 1U << at))
                guest->listening &= ~(1U << at);
        guest->watching &= rights_is_admin(site, guest->user);
        for (unsigned name = 0; name < NAMES; name++)
            if (guest->holds[name] && !rights_may_register(site, guest->user, stage.edition[site], name,
                                                           guest->offers[name], guest->levels[name], true))
                kernel_fail("guest %u at hub %u keeps %s, which it may not have any more", by, site,
                            model_agents[name]);
    }
}

// A credential goes that somebody has shown, of whom something may be away.
static void take_credential(unsigned by) {
    const struct guest *guest = &stage.guests[by];
    unsigned site = guest->site;
    if (!guest->http_owner.cable || !random_chance(&stage.random, 600))
        return;
    for (unsigned other = 0; other < SITES_MAX; other++)
        now(other)->users[guest->user].generation[0]++;
    sums.revoked++;
    for (unsigned tag = 0; tag < stage.letter_count; tag++) {
        const struct letter *letter = &stage.letters[tag];
        sums.revoked_away += letter->kind == KIND_REQUEST && letter->copies && !letter->ended &&
                             letter->source == by && letter->life == guest->life && letter->by < GUESTS_MAX &&
                             stage.guests[letter->by].site != site;
    }
}

unsigned rights_generation(unsigned site, int user) {
    return stage.known[site] ? now(site)->users[user].generation[0] : 0;
}

bool rights_reload(unsigned by) {
    if (!stage.by_users || stage.scarce || stage.edition[0] + 1 == EDITIONS_MAX)
        return false;
    struct model fresh = *now(0);
    model_change(&fresh, &stage.random);
    settle(&fresh, now(0), stage.gated[0]);
    for (unsigned site = 0; site < SITES_MAX; site++) {
        stage.edition[site]++;
        *now(site) = fresh;
    }
    take_credential(by);
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++)
        if (stage.fleet.sites[site].runs)
            kernel_signal(stage.fleet.sites[site].world.kernel, SIGHUP);
    stage.changed_ns = stage.fleet.now_ns;
    stage_disturb(false);
    sums.reloads++;
    return true;
}

int rights_any_user(unsigned by) {
    unsigned site = stage.guests[by].site;
    if (!stage.known[site])
        return NOBODY;
    if (stage.gated[site] && by % GUESTS_A_SITE == GUESTS_A_SITE - 1)
        return MODEL_USERS - 1;
    for (;;) {
        unsigned user = random_below(&stage.random, MODEL_USERS);
        if (!now(site)->users[user].absent)
            return (int)user;
    }
}

// --- Judging

static bool calls(const struct model *model, unsigned user, const struct letter *letter) {
    const char *method = letter_method(letter);
    char kid[16];
    if (letter->kind == KIND_NEWS)
        return model_may(model, user, MAY_PUBLISH, AN_EVENT, letter_event(letter));
    if (model_denies(model, user, MAY_CALL, A_METHOD, method))
        return false;
    switch (letter->address) {
    case TO_AGENT:
        return model_may(model, user, MAY_CALL, AN_AGENT, model_agents[letter->name]);
    case TO_KID:
        snprintf(kid, sizeof kid, "kid-%u", letter->name);
        return model_may(model, user, MAY_CALL, AN_AGENT, kid);
    case TO_NOBODY:
        return model_may(model, user, MAY_CALL, AN_AGENT, "nobody");
    case TO_TEAM:
        return model_may(model, user, MAY_CALL, A_CAPABILITY, "c1");
    default:
        return model_may(model, user, MAY_CALL, A_METHOD, method);
    }
}

static enum judged judge(const struct model *model, const struct letter *letter) {
    if (letter->user == NOBODY || model->users[letter->user].absent)
        return JUDGED_UNKNOWN;
    return calls(model, (unsigned)letter->user, letter) ? JUDGED_ALLOWED : JUDGED_REFUSED;
}

bool rights_may_be(const struct letter *letter, unsigned site, enum judged judged) {
    if (!stage.known[site])
        return judged == JUDGED_ALLOWED;
    for (unsigned edition = letter->editions[site]; edition <= stage.edition[site]; edition++)
        if (judge(&stage.models[site][edition], letter) == judged)
            return true;
    return false;
}

bool rights_may_reach(const struct letter *letter, unsigned site, unsigned name) {
    if (!stage.known[site] || letter->user == NOBODY)
        return true;
    for (unsigned edition = letter->editions[site]; edition <= stage.edition[site]; edition++)
        if (!model_denies(&stage.models[site][edition], (unsigned)letter->user, MAY_CALL, AN_AGENT,
                          model_agents[name]))
            return true;
    return false;
}

static bool registers(const struct model *model, unsigned user, unsigned name, unsigned offers, int level) {
    bool methods = model_may(model, user, MAY_OFFER, A_METHOD, "m/1") &&
                   model_may(model, user, MAY_OFFER, A_METHOD, "m/2");
    return model_may(model, user, MAY_REGISTER, AN_AGENT, model_agents[name]) &&
           (!(offers & OFFERS_TEAM) || model_may(model, user, MAY_OFFER, A_CAPABILITY, "c1")) &&
           (!(offers & OFFERS_STREAMS) || model_may(model, user, MAY_OFFER, A_CAPABILITY, "hcs")) &&
           (!(offers & OFFERS_METHODS) || methods) &&
           (!(offers & OFFERS_TELLING) || model_may_hear(model, user, "m/2")) &&
           level <= model_level(model, user);
}

bool rights_may_register(unsigned site, int user, unsigned edition, unsigned name, unsigned offers, int level,
                         bool allowed) {
    if (!stage.known[site])
        return allowed;
    for (; edition <= stage.edition[site]; edition++)
        if (registers(&stage.models[site][edition], (unsigned)user, name, offers, level) == allowed)
            return true;
    return false;
}

bool rights_may_hear(unsigned site, int user, unsigned patterns) {
    for (unsigned at = 0; stage.known[site] && at < PATTERNS; at++)
        if (patterns >> at & 1 && !model_may_hear(now(site), (unsigned)user, cluster_patterns[at]))
            return false;
    return true;
}

bool rights_is_admin(unsigned site, int user) {
    return !stage.known[site] || model_admin(now(site), (unsigned)user);
}

// A member of its capabilities is one, whatever it says.
bool rights_sees(unsigned site, int who, unsigned name, unsigned offers) {
    static const char *const members[] = {"tasks", "methods", "events"};
    const struct model *model = now(site);
    unsigned user = (unsigned)who;
    if (!stage.known[site])
        return true;
    if (who == NOBODY || model->users[user].absent)
        return false;
    if (model_admin(model, user) || model_may(model, user, MAY_CALL, AN_AGENT, model_agents[name]))
        return true;
    bool any = offers & OFFERS_TEAM && model_may(model, user, MAY_CALL, A_CAPABILITY, "c1");
    any |= offers & OFFERS_STREAMS && model_may(model, user, MAY_CALL, A_CAPABILITY, "hcs");
    for (unsigned at = 0; at < sizeof members / sizeof *members; at++)
        any |= model_may(model, user, MAY_CALL, A_CAPABILITY, members[at]);
    any |= offers & OFFERS_METHODS && model_may(model, user, MAY_CALL, A_METHOD, "m/1");
    any |= offers & (OFFERS_METHODS | OFFERS_TELLING) && model_may(model, user, MAY_CALL, A_METHOD, "m/2");
    return any && !model_denies(model, user, MAY_CALL, AN_AGENT, model_agents[name]);
}
