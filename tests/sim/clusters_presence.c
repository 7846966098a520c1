// Presence over hubs. A subscriber to all agents knows in the end which agents are there, and at which hub. Of a hub
// that has gone all agents have left.
#include "tests/sim/clusters.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/kernel.h"

// A name that was claimed so soon after somebody subscribed at another hub may be no news there.
#define SETTLING_NS UINT64_C(3000000000)
enum { ALL_EVENTS = 1 << 3 }; // of cluster_patterns

void told_begin(unsigned by) {
    struct guest *guest = &stage.guests[by];
    guest->hears = (guest->listening & ALL_EVENTS) != 0;
    guest->heard_ns = stage.fleet.now_ns;
    guest->heard_edition = stage.edition[guest->site];
    memset(guest->told, 0, sizeof guest->told);
}

void told_miss(unsigned by) {
    stage.guests[by].hears = false;
}

// As hubs name it now; empty: it has no link, or doesn't run.
static const struct hub_name *hub_of(unsigned site) {
    static const struct hub_name none;
    const struct site *at = &stage.fleet.sites[site];
    return at->runs ? &at->world.shards[0]->remote_link.hub : &none;
}

static bool is_told(const struct told *told, const char *hub) {
    return told->is_there && strcmp(told->hub, hub) == 0;
}

// Returns the place where the guest was told of this name at this hub, or a free place.
static struct told *told_at(struct guest *guest, unsigned name, const char *hub) {
    struct told *found = NULL;
    for (unsigned at = 0; at < TOLD_MAX; at++)
        if (is_told(&guest->told[name][at], hub))
            return &guest->told[name][at];
        else if (!guest->told[name][at].is_there)
            found = &guest->told[name][at];
    return found;
}

static void note(unsigned by, unsigned name, const char *hub, bool came) {
    struct told *told = told_at(&stage.guests[by], name, hub);
    sums.presence++;
    if (!told) {
        told_miss(by);
        return;
    }
    snprintf(told->hub, sizeof told->hub, "%s", hub);
    told->is_there = came;
}

// A child that is its own hub's alone is told of there.
static void check_kid(unsigned by, struct bit agent, bool is_remote) {
    unsigned site = SITES_MAX;
    if (agent.count == 7 && memcmp(agent.bytes, "\"kid-", 5) == 0)
        site = agent.bytes[5] - '0';
    if (is_remote && site < SITES_MAX && stage.kid_kinds[site] == KID_EACH)
        kernel_fail("guest %u was told of a child that another hub has for itself", by);
}

void told_hear(unsigned by, struct bit body) {
    struct bit agent = naive_find(body, "params.data.agentId"), hub = naive_find(body, "params.data.hub");
    bool came = bit_is(naive_find(body, "params.event"), "\"hub-agent-registered\"");
    char text[HUB_NAME_BYTES_MAX + 1] = "";
    if (!agent.bytes || !naive_find(body, came ? "params.data.governanceLevel" : "params.data.reason").bytes)
        kernel_fail("guest %u was told of an agent badly", by);
    if (hub.bytes && (hub.count < 3 || hub.count - 2 > HUB_NAME_BYTES_MAX))
        kernel_fail("guest %u was told of an agent at no hub", by);
    if (hub.bytes)
        snprintf(text, sizeof text, "%.*s", (int)hub.count - 2, (const char *)hub.bytes + 1);
    const struct hub_name *own = hub_of(stage.guests[by].site);
    if (hub.bytes && own->bytes && strncmp(text, own->text, own->bytes) == 0)
        kernel_fail("guest %u was told of an agent here as of another hub's", by);
    check_kid(by, agent, hub.bytes != NULL);
    for (unsigned name = 0; name < NAMES; name++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\"", model_agents[name]);
        if (bit_is(agent, quoted))
            note(by, name, text, came);
    }
}

// --- The end

// Returns whether the guest must know all. A hub's news may have been lost between two servers or for want of memory,
// and a change of rights is told to nobody.
static bool knows_all(const struct guest *guest) {
    bool any = false;
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++)
        any |= stage.fleet.sites[site].world.hub->events_dropped != 0;
    return guest->hears && guest->http_owner.cable && stage.fleet.options.brokers.count == 1 &&
           !stage.had_scarce && !any && guest->heard_edition == stage.edition[guest->site];
}

static void check_name(unsigned by, unsigned name) {
    const struct guest *guest = &stage.guests[by];
    unsigned holder = stage_holder(name);
    char hub[HUB_NAME_BYTES_MAX + 1] = "nowhere";
    bool is_there = holder < stage.guest_count, is_own = holder == by, any = false;
    unsigned site = is_there ? stage.guests[holder].site : guest->site;
    if (is_there)
        snprintf(hub, sizeof hub, "%.*s", site == guest->site ? 0 : hub_of(site)->bytes, hub_of(site)->text);
    for (unsigned at = 0; at < TOLD_MAX; at++) {
        const struct told *told = &guest->told[name][at];
        any |= is_told(told, hub);
        if (told->is_there && strcmp(told->hub, hub) != 0)
            kernel_fail("guest %u was told that %s is at hub \"%s\", and never that it left; it is at \"%s\"",
                        by, model_agents[name], told->hub, hub);
    }
    bool is_news = is_there && stage.guests[holder].since_ns[name] > guest->heard_ns + SETTLING_NS;
    bool is_seen = is_there && !is_own && stage_together(site, guest->site) &&
                   rights_sees(guest->site, guest->user, name, stage.guests[holder].offers[name]);
    if (is_seen && is_news && !any)
        kernel_fail("guest %u was never told of %s, which is at hub \"%s\"", by, model_agents[name], hub);
    sums.presence_sure += is_seen && any;
}

void told_check(void) {
    for (unsigned by = 0; by < stage.guest_count; by++)
        for (unsigned name = 0; name < NAMES && knows_all(&stage.guests[by]); name++)
            check_name(by, name);
}
