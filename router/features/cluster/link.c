#include "router/features/cluster/link.h"

#include <assert.h>
#include <netdb.h>
#include <string.h>

#include "core/base/memory.h"
#include "io/log.h"
#include "router/engine/shard/feature.h"
#include "router/features/cluster/inbound_request.h"
#include "router/features/cluster/outbound_request.h"
#include "router/features/feature_list.h"
#include "router/registry/claim_table.h"

// --- Trying

// A quarter of a pause is left to chance, so that hubs that lost one server don't come all at once.
static uint64_t jitter_ms(struct link *link, uint32_t pause_ms) {
    const struct siphash_key *key = &link->shard->hub->settings.secrets.tables;
    link->rolls++;
    assert(pause_ms >= LINK_PAUSE_MS_MIN);
    return siphash_table(key, &link->rolls, sizeof link->rolls) % (pause_ms / 4);
}

// The next one has its turn after a pause.
static void rest(struct link *link) {
    struct shard *shard = link->shard;
    assert(!link->peer && link->socket < 0);
    link->state = LINK_RESTING;
    if (shard->phase != HUB_SERVING)
        return;
    uint32_t pause_ms = link->pause_ms;
    link->pause_ms = 2 * pause_ms < LINK_PAUSE_MS_MAX ? 2 * pause_ms : LINK_PAUSE_MS_MAX;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + pause_ms - jitter_ms(link, pause_ms));
    if (++link->resolving.next < link->resolving.answer.count)
        return; // the server is at another address, too
    link_resolver_forget(&link->resolving);
    link->server = (link->server + 1) % link->server_count;
}

void link_fail(struct link *link) {
    stats_count(&link->shard->stats, COUNT_DIALS_FAILED);
    rest(link);
}

static void dial_at(struct link *link, const struct sockaddr_storage *address, uint32_t bytes) {
    struct shard *shard = link->shard;
    assert(!link->peer && link->socket < 0 && bytes > 0);
    int fresh = io_connect(shard->io, (const struct sockaddr *)address, bytes,
                           FEATURE_TOKEN(FEATURE_CLUSTER, CLUSTER_TOKEN_LINK));
    if (fresh < 0) {
        link_fail(link);
        return;
    }
    link->state = LINK_DIALLING;
    link->socket = fresh;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + CLUSTER_GREETING_MS);
}

static void dial_resolved(struct link *link) {
    const struct link_resolver *resolving = &link->resolving;
    assert(resolving->next < resolving->answer.count);
    dial_at(link, &resolving->answer.addresses[resolving->next].address,
            resolving->answer.addresses[resolving->next].bytes);
}

static void resolve(struct link *link) {
    struct shard *shard = link->shard;
    assert(link->shard->index == 0);
    if (!link_resolver_ask(&link->resolving, shard->io, &link_server(link)->url)) {
        link_fail(link); // who looks names up has ended, which was said
        return;
    }
    link->state = LINK_RESOLVING;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + CLUSTER_GREETING_MS);
}

void link_dial(struct link *link) {
    const struct cluster_server *server = link_server(link);
    assert(link->state == LINK_RESTING);
    if (link->shard->phase != HUB_SERVING)
        return;
    if (server->bytes)
        dial_at(link, &server->address, server->bytes);
    else if (link->resolving.answer.count)
        dial_resolved(link);
    else
        resolve(link);
}

const char *link_resolved(struct shard *shard, const struct io_event *event) {
    struct link *link = shard->link;
    struct link_resolver *resolving = &link->resolving;
    bool was_there = resolving->resolver != NULL, fresh = link_resolver_hear(resolving, shard->io, event);
    if (was_there && !resolving->resolver)
        return "who looks names up has ended: servers that are known by their names can't be found any more";
    if (!fresh || link->state != LINK_RESOLVING)
        return NULL;
    wheel_disarm(&link->timer);
    link->state = LINK_RESTING;
    if (resolving->answer.count) {
        dial_resolved(link);
        return NULL;
    }
    return resolving->answer.fault ? gai_strerror(resolving->answer.fault) : "its name has no address";
}

void link_give_up(struct link *link) {
    if (link->state == LINK_RESOLVING) { // what comes of it is too late
        wheel_disarm(&link->timer);
        link_fail(link);
        return;
    }
    assert(link->state == LINK_DIALLING && link->socket >= 0);
    io_shutdown(link->shard->io, link->socket, SHUT_RDWR);
}

// A socket that connects becomes a peer's, unless the hub has begun to end.
void link_connected(struct shard *shard, const struct io_event *event) {
    struct link *link = shard->link;
    assert(link && link->state == LINK_DIALLING);
    int fresh = link->socket;
    link->socket = -1;
    wheel_disarm(&link->timer);
    if (event->result < 0 || shard->phase != HUB_SERVING) {
        io_close_socket(shard->io, fresh);
        link_fail(link);
        return;
    }
    atomic_fetch_add_explicit(&shard->hub->connections[shard->index], 1, memory_order_relaxed);
    peer_open(shard, fresh, link->transport, false);
    if (!link->peer)
        link_fail(link);
}

// --- The peer

// Each link has a number of its own, so that nothing of the one before is taken for its.
static void take_name(struct link *link) {
    struct hub *hub = link->shard->hub;
    char node[NODE_BYTES];
    assert(link->shard->index == 0);
    hub_node(hub, node);
    uint32_t number = atomic_fetch_add_explicit(&hub->link_number, 1, memory_order_relaxed) + 1;
    hub_name_write(&link->hub, node, number);
    shard_set_hub(link->shard);
}

void link_entered(struct link *link, struct peer *peer) {
    assert(!link->peer && peer->name);
    link->peer = peer;
    link->state = LINK_GREETING;
    link->has_left = link->is_missing = false;
    link->pings = link->pongs = 0;
    link->entered_ms = shard_now_ms(link->shard);
    take_name(link);
    wheel_arm(&link->shard->wheel, &link->timer, link->entered_ms + CLUSTER_TICK_MS);
}

void link_welcomed(struct link *link) {
    struct shard *shard = link->shard;
    const struct nats_url *url = &link_server(link)->url;
    assert(link->state == LINK_JOINING && link->peer);
    link->state = LINK_UP;
    link_resolver_forget(&link->resolving); // the next time its name may mean another place
    link->beat_ms = link->up_ms = link->turned_ms = shard_now_ms(shard);
    stats_count(&shard->stats, COUNT_LINKS_OPENED);
    char server[CLUSTER_SERVER_TEXT_BYTES];
    cluster_server_text(url, server);
    log_write(LOG_LINK_UP, LOG_FIELDS(log_text(server)), "cluster: link to %s stands, as hub %.*s", server,
              link->hub.bytes, link->hub.text);
}

// Who takes hubs in and sends them away at once is gone to after pauses, as who takes none in.
static bool has_stood(const struct link *link) {
    assert(link->state < LINK_UP || shard_now_ms(link->shard) >= link->up_ms);
    return link->state == LINK_UP && shard_now_ms(link->shard) - link->up_ms >= LINK_STOOD_MS;
}

// All beyond it has gone: what other hubs asked here is cancelled, what was asked there ends on its sources' shards.
static void forget_members(struct link *link) {
    struct list *all = &link->members.all;
    assert(link->shard->index == 0);
    while (!list_empty(all)) {
        struct cluster_member *member = list_entry(all->next, struct cluster_member, link);
        outbound_request_forget(&link->outbound, member);
        inbound_request_lose(link, member);
        cluster_members_remove(&link->members, member);
    }
    outbound_request_forget_all(&link->outbound);
    inbound_request_forget_all(&link->inbound);
    stats_gauge(&link->shard->stats, GAUGE_HUBS, 0);
    stats_gauge(&link->shard->stats, GAUGE_HUBS_UNSERVED, 0);
    atomic_store_explicit(&link->shard->hub->hubs_unserved, 0, memory_order_relaxed);
}

void link_lost(struct link *link) {
    struct shard *shard = link->shard;
    const struct nats_url *url = &link_server(link)->url;
    bool was_up = link->state == LINK_UP;
    if (has_stood(link))
        link->pause_ms = LINK_PAUSE_MS_MIN;
    assert(link->peer && link->socket < 0);
    stats_gauge(&shard->stats, GAUGE_CLUSTER_LINK, 0);
    wheel_disarm(&link->timer);
    forget_members(link);
    link->peer = NULL;
    nats_subscriptions_forget(&link->subscriptions);
    stats_count(&shard->stats, was_up ? COUNT_LINKS_LOST : COUNT_DIALS_FAILED);
    if (was_up) {
        char server[CLUSTER_SERVER_TEXT_BYTES];
        cluster_server_text(url, server);
        log_write(LOG_LINK_DOWN, LOG_FIELDS(log_text(server)), "cluster: link to %s lost", server);
    }
    rest(link);
}

// --- Its life

static struct link *make(struct shard *shard, const struct transport *transport) {
    const struct siphash_key *key = &shard->hub->settings.secrets.tables;
    struct link *link = memory_take_zeroed(1, sizeof *link);
    assert(shard->index == 0);
    if (!link)
        return NULL;
    link->shard = shard;
    link->transport = transport;
    link->socket = -1;
    link->pause_ms = LINK_PAUSE_MS_MIN;
    link->numbers = LINK_NUMBERS_FROM;
    timer_init(&link->timer, FEATURE_KIND(FEATURE_CLUSTER, CLUSTER_TIMER_LINK));
    nats_subscriptions_init(&link->subscriptions, key, &shard->quota);
    cluster_members_init(&link->members, key, &shard->quota);
    outbound_request_init(&link->outbound, key, &shard->quota);
    inbound_request_init(&link->inbound, key, &shard->quota);
    link->target = memory_take_zeroed(1, sizeof *link->target + 1 + AGENT_ID_BYTES_MAX);
    return link;
}

static void drop(struct link *link) {
    assert(!link->peer && link->socket < 0);
    wheel_disarm(&link->timer);
    outbound_request_deinit(&link->outbound);
    inbound_request_deinit(&link->inbound); // they know under which name they came
    cluster_members_deinit(&link->members);
    nats_subscriptions_deinit(&link->subscriptions);
    memory_give(link->target);
    memory_give(link);
}

bool link_open(struct shard *shard, const struct transport *transport) {
    const struct cluster_settings *settings = shard->hub->settings.cluster;
    assert(shard->index == 0 && !shard->link);
    if (!settings)
        return true;
    struct link *link = make(shard, transport);
    if (!link)
        return false;
    shard->claims = claim_table_create(&shard->hub->settings.secrets.tables);
    if (!shard->claims || !link->target) {
        claim_table_destroy(shard->claims);
        shard->claims = NULL;
        drop(link);
        return false;
    }
    memcpy(link->servers, settings->servers, sizeof settings->servers);
    link->server_count = settings->server_count;
    link->resolving.resolver = settings->resolver;
    shard->link = link;
    link_dial(link);
    return true;
}

void link_free(struct shard *shard) {
    struct link *link = shard->link;
    if (!link)
        return;
    drop(link);
    claim_table_destroy(shard->claims);
    shard->claims = NULL;
    shard->link = NULL;
}

void link_stop(struct shard *shard) {
    struct link *link = shard->link;
    assert(shard->phase != HUB_SERVING);
    if (!link)
        return;
    link_resolver_stop(&link->resolving, shard->io);
    if (link->state == LINK_RESTING)
        wheel_disarm(&link->timer);
    if (link->state == LINK_DIALLING || link->state == LINK_RESOLVING)
        link_give_up(link);
}

bool link_at_rest(const struct shard *shard) {
    const struct link *link = shard->link;
    return !link || (!link->peer && link->state == LINK_RESTING && !link->resolving.is_heard);
}
