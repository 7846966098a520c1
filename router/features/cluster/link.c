#include "router/features/cluster/link.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/log/log_event.h"
#include "core/log/log_secret.h"
#include "io/log.h"
#include "router/engine/shard/feature.h"
#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/inbound_request.h"
#include "router/features/cluster/outbound_request.h"
#include "router/registry/claim_table.h"

// --- Faults

enum { FAULT_BYTES_MAX = 256 };

// Returns the server's name for the log.
static const char *name_of(struct link *link) {
    const struct nats_url *url = &link_server(link)->url;
    snprintf(link->server_text, sizeof link->server_text, "%s:%u", url->host, url->port);
    return link->server_text;
}

void link_note_fault(struct link *link, const char *what) {
    const struct siphash_key *key = &link->shard->hub->start_settings.secrets.tables;
    struct link_fault *last = &link->faults[link->server];
    const char *server = name_of(link);
    // The hash includes the server, since another server may have this index later.
    uint64_t now_ms = shard_now_ms(link->shard), hash = siphash_table(key, what, (uint32_t)strlen(what)) ^
                                                        siphash_table(key, server, (uint32_t)strlen(server));
    link->has_fault = true;
    if (last->ms && now_ms - last->ms < (hash == last->hash ? 60 * 1000u : 1000u))
        return;
    *last = (struct link_fault){hash, now_ms};
    log_write(LOG_LINK_FAULT, LOG_FIELDS(log_text(server)), "cluster: server %s: %s", server, what);
}

void link_note_error(struct link *link, const uint8_t *bytes, uint32_t count) {
    const struct nats_url *url = &link_server(link)->url;
    char said[FAULT_BYTES_MAX], text[4 * FAULT_BYTES_MAX + 1];
    count = count < FAULT_BYTES_MAX ? count : FAULT_BYTES_MAX;
    stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_FAULTS));
    memcpy(said, bytes, count);
    size_t left = log_hide_secret(said, count, url->password, strlen(url->password), true);
    left = log_hide_secret(said, left, url->token, strlen(url->token), true);
    text[log_escape((const uint8_t *)said, left, text)] = '\0';
    link_note_fault(link, text);
}

// --- Dialling

// Waits for the next dial: of the server's next address, or else of the next server.
static void rest(struct link *link) {
    struct shard *shard = link->shard;
    assert(!link->peer && link->socket < 0);
    link->state = LINK_RESTING;
    if (shard->phase != HUB_SERVING)
        return;
    uint32_t pause_ms = reconnect_backoff_next(&link->backoff, &shard->hub->start_settings.secrets.tables);
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + pause_ms);
    if (host_lookup_advance(&link->lookup))
        return; // the server has another address
    link->server = (link->server + 1) % link->server_count;
}

void link_fail(struct link *link) {
    assert(!link->peer);
    stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_DIALS_FAILED));
    rest(link);
}

static void dial_at(struct link *link, const struct sockaddr *address, uint32_t bytes) {
    struct shard *shard = link->shard;
    assert(!link->peer && link->socket < 0 && bytes > 0);
    link->has_fault = false;
    int fresh = io_connect(shard->io, address, bytes, FEATURE_TOKEN(FEATURE_CLUSTER, CLUSTER_TOKEN_LINK));
    if (fresh < 0) {
        link_note_fault(link, strerror(-fresh));
        link_fail(link);
        return;
    }
    link->state = LINK_DIALLING;
    link->socket = fresh;
    wheel_arm(&shard->wheel, &link->timer, shard_now_ms(shard) + CLUSTER_GREETING_MS);
}

static void resolve(struct link *link) {
    const struct nats_url *url = &link_server(link)->url;
    static_assert(sizeof url->host == RESOLVER_HOST_BYTES_MAX + 1, "a name fits");
    if (!host_lookup_ask(&link->lookup, url->host, url->port)) {
        link_note_fault(link, host_lookup_fault(&link->lookup));
        link_fail(link);
        return;
    }
    link->state = LINK_RESOLVING;
    wheel_arm(&link->shard->wheel, &link->timer, shard_now_ms(link->shard) + CLUSTER_GREETING_MS);
}

void link_dial(struct link *link) {
    const struct address *own = &link_server(link)->address;
    uint32_t bytes = own->bytes;
    assert(link->state == LINK_RESTING);
    if (link->shard->phase != HUB_SERVING)
        return;
    const struct sockaddr *address =
        bytes ? (const struct sockaddr *)&own->storage : host_lookup_address(&link->lookup, &bytes);
    if (address)
        dial_at(link, address, bytes);
    else
        resolve(link);
}

void link_give_up(struct link *link) {
    bool is_resolving = link->state == LINK_RESOLVING;
    if (link->shard->phase == HUB_SERVING)
        link_note_fault(link,
                        is_resolving ? host_lookup_fault(&link->lookup) : "it doesn't answer within 2 s");
    if (is_resolving) { // a later answer of the resolver is ignored
        wheel_disarm(&link->timer);
        link_fail(link);
        return;
    }
    assert(link->state == LINK_DIALLING && link->socket >= 0);
    io_shutdown(link->shard->io, link->socket, SHUT_RDWR);
}

void link_resolved(struct shard *shard, const struct io_event *event) {
    struct link *link = cluster_of(shard);
    enum host_lookup_step step = host_lookup_take(&link->lookup, event);
    uint32_t bytes;
    if (step != HOST_LOOKUP_OPEN && link->state == LINK_RESOLVING) {
        if (!host_lookup_address(&link->lookup, &bytes)) {
            link_give_up(link);
            return;
        }
        wheel_disarm(&link->timer);
        link->state = LINK_RESTING;
        link_dial(link);
    } else if (step == HOST_LOOKUP_GONE) {
        link_note_fault(link, host_lookup_fault(&link->lookup));
    }
}

// Hands a connected socket to a new peer, unless the hub has begun to end.
void link_connected(struct shard *shard, const struct io_event *event) {
    struct link *link = cluster_of(shard);
    assert(link && link->state == LINK_DIALLING);
    int fresh = link->socket;
    link->socket = -1;
    wheel_disarm(&link->timer);
    if (event->result < 0 || shard->phase != HUB_SERVING) {
        if (!link->has_fault && shard->phase == HUB_SERVING)
            link_note_fault(link, strerror(-event->result));
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

void link_entered(struct link *link, struct peer *peer) {
    struct hub *hub = link->shard->hub;
    char node[NODE_BYTES];
    assert(!link->peer && peer->connection_id);
    link->peer = peer;
    link->state = LINK_GREETING;
    link->has_left = link->is_missing = link->listens = false;
    link->pings = link->pongs = 0;
    link->entered_ms = shard_now_ms(link->shard);
    hub_node(hub, node);
    // Each link has its own number, so that messages of the link before are recognized.
    hub_name_write(&link->hub, node,
                   atomic_fetch_add_explicit(&hub->link_number, 1, memory_order_relaxed) + 1);
    shard_set_hub(link->shard);
    wheel_arm(&link->shard->wheel, &link->timer, link->entered_ms + CLUSTER_TICK_MS);
}

void link_welcomed(struct link *link) {
    struct shard *shard = link->shard;
    const char *server = name_of(link);
    assert(link->state == LINK_JOINING && link->peer);
    link->state = LINK_UP;
    host_lookup_forget(&link->lookup); // the name is looked up again for the next dial
    link->beat_ms = link->up_ms = link->turned_ms = shard_now_ms(shard);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_LINKS_OPENED));
    log_write(LOG_LINK_UP, LOG_FIELDS(log_text(server)), "cluster: link to %s stands, as hub %.*s", server,
              link->hub.bytes, link->hub.text);
}

// Removes all members. Requests of other hubs are cancelled. Requests to other hubs end on their sources' shards.
static void forget_members(struct link *link) {
    assert(link->shard->index == 0);
    LIST_EACH (struct cluster_member, member, &link->members.all, link) {
        outbound_request_forget(&link->outbound, &member->outbound);
        inbound_request_lose(link, member);
        remote_presence_lose(link->shard, &member->presence, &member->hub);
        cluster_members_remove(&link->members, member);
    }
    outbound_request_forget(&link->outbound, &link->outbound.unacked);
    inbound_request_forget_all(&link->inbound);
    heartbeat_count(link);
}

void link_lost(struct link *link) {
    struct shard *shard = link->shard;
    const char *server = name_of(link);
    bool was_up = link->state == LINK_UP;
    // Only a link that stood for LINK_STOOD_MS resets the pauses. Otherwise a server that accepts the hub and closes
    // the link at once would be dialled without pauses.
    if (was_up && shard_now_ms(shard) - link->up_ms >= LINK_STOOD_MS)
        reconnect_backoff_reset(&link->backoff);
    assert(link->peer && link->socket < 0);
    stats_gauge(&shard->stats, GAUGE_REMOTE_LINK, 0);
    wheel_disarm(&link->timer);
    forget_members(link);
    link->peer = NULL;
    nats_subscriptions_forget(&link->subscriptions);
    stats_count(&shard->stats, was_up ? FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_LINKS_LOST)
                                      : FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_DIALS_FAILED));
    if (was_up)
        log_write(LOG_LINK_DOWN, LOG_FIELDS(log_text(server)), "cluster: link to %s lost", server);
    else if (!link->has_fault && shard->phase == HUB_SERVING)
        link_note_fault(link, "it ends the connection, or greets the hub with no INFO within 2 s");
    rest(link);
}

// --- Begin and end

static struct link *make(struct shard *shard, const struct transport *transport) {
    const struct siphash_key *key = &shard->hub->start_settings.secrets.tables;
    struct link *link = memory_take_zeroed(1, sizeof *link + sizeof *link->target + 1 + AGENT_ID_BYTES_MAX);
    assert(shard->index == 0);
    if (!link)
        return NULL;
    link->shard = shard;
    link->transport = transport;
    link->socket = -1;
    reconnect_backoff_reset(&link->backoff);
    link->numbers = LINK_NUMBERS_FROM;
    link->target = (struct attachment *)(link + 1);
    timer_init(&link->timer, FEATURE_KIND(FEATURE_CLUSTER, CLUSTER_TIMER_LINK));
    nats_subscriptions_init(&link->subscriptions, key, &shard->quota);
    cluster_members_init(&link->members, shard->hub->start_settings.cluster.name, key, &shard->quota);
    outbound_request_init(&link->outbound, key, &shard->quota);
    inbound_request_init(&link->inbound, key, &shard->quota);
    return link;
}

bool link_open(struct shard *shard, const struct transport *transport) {
    const struct cluster_settings *settings = shard->hub->start_settings.cluster.settings;
    struct claim_table *claims = claim_table_create(&shard->hub->start_settings.secrets.tables);
    struct link *link = claims ? make(shard, transport) : NULL;
    if (!link) {
        claim_table_destroy(claims);
        return false;
    }
    memcpy(link->servers, settings->servers, sizeof settings->servers);
    link->server_count = settings->server_count;
    host_lookup_init(&link->lookup, shard->io, shard->hub->start_settings.resolvers[FEATURE_CLUSTER],
                     FEATURE_TOKEN(FEATURE_CLUSTER, CLUSTER_TOKEN_RESOLVER));
    shard->claims = claims;
    shard->states[FEATURE_CLUSTER] = link;
    link_dial(link);
    return true;
}

void link_end(struct shard *shard) {
    struct link *link = cluster_of(shard);
    if (!link)
        return;
    assert(!link->peer && link->socket < 0);
    wheel_disarm(&link->timer);
    outbound_request_deinit(&link->outbound);
    inbound_request_deinit(&link->inbound); // requests refer to subscriptions, so they go first
    cluster_members_deinit(&link->members);
    nats_subscriptions_deinit(&link->subscriptions);
    claim_table_destroy(shard->claims);
    shard->claims = NULL;
}

void link_stop(struct shard *shard) {
    struct link *link = cluster_of(shard);
    assert(shard->phase != HUB_SERVING);
    if (!link)
        return;
    host_lookup_stop(&link->lookup);
    if (link->state == LINK_RESTING)
        wheel_disarm(&link->timer);
    if (link->state == LINK_DIALLING || link->state == LINK_RESOLVING)
        link_give_up(link);
}

bool link_at_rest(const struct shard *shard) {
    const struct link *link = cluster_of(shard);
    return !link || (!link->peer && link->state == LINK_RESTING && !link->lookup.receives);
}
