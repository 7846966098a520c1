#include "router/features/cluster/nats_handshake.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/nats_server.h"
#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/link_servers.h"
#include "router/features/cluster/name_claim.h"
#include "router/features/cluster/nats_connect.h"
#include "router/features/cluster/nats_fault.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/registry.h"

// All shards are told, and that it ends, when it does.
static bool announce(struct shard *shard, struct peer *peer) {
    assert(!peer->leave_order);
    peer->leave_order = order_create(shard, ORDER_LEAVE, peer->name);
    struct order *order = peer->leave_order ? order_create(shard, ORDER_LINK, peer->name) : NULL;
    if (order)
        registry_submit(shard, order);
    return order != NULL;
}

void nats_handshake_welcome(struct shard *shard, struct link *link) {
    if (link->state != LINK_JOINING)
        return;
    assert(link->peer->state == PEER_OPEN);
    link_welcomed(link);
    name_claim_link_stands(link);
    heartbeat_beat(link);
    if (link->peer->state == PEER_OPEN && !announce(shard, link->peer))
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

static void learn_servers(struct link *link, const uint8_t *bytes, struct span urls) {
    struct json_walk walk;
    char url[NATS_URL_HOST_BYTES_MAX + 16];
    assert(link->shard->index == 0);
    if (!urls.bytes)
        return;
    json_walk_begin(&walk, bytes, urls);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t count =
            item.type == JSON_STRING ? json_string_decode(bytes, item.value, url, sizeof url) : SIZE_MAX;
        if (count != SIZE_MAX)
            link_servers_learn(link, url, count);
    }
}

// Why a server is left: without headers there is nothing to be said, and who asks for TLS is shown no credential without it.
// NULL: it isn't.
static const char *fault_of(const struct link *link, const struct nats_info *info, bool secure) {
    assert(link->shard->index == 0);
    if (!info->headers)
        return "it knows no headers";
    if (!secure)
        return NULL;
    if (!info->tls_required && !info->tls_available)
        return "it offers no TLS";
    return link->shard->hub->settings.cluster->authorities ? NULL
                                                           : "it asks for TLS, and --nats-ca isn't given";
}

static void keep_nonce(struct link *link, const uint8_t *bytes, struct span nonce) {
    size_t count =
        nonce.bytes ? json_string_decode(bytes, nonce, (char *)link->nonce, sizeof link->nonce) : 0;
    link->nonce_bytes = count <= sizeof link->nonce ? (uint32_t)count : 0;
}

// A password, or a token: whoever is dialled is told it. (A key but signs.) What is said before TLS anybody may have said, who then could
// name a server of his own.
static bool tells_secret(const struct cluster_server *server) {
    return server->url.password[0] || server->url.token[0];
}

void nats_handshake_info(struct shard *shard, struct link *link, const uint8_t *bytes, struct span argument) {
    struct nats_info info;
    assert(link->shard->index == 0);
    if (!nats_info_read(bytes, argument, &info)) {
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    bool secure = info.tls_required || link_server(link)->url.secure;
    const char *fault = link->state == LINK_GREETING ? fault_of(link, &info, secure) : NULL;
    if (fault) {
        nats_fault_found(link, fault);
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    if (!(link->state == LINK_GREETING && secure && tells_secret(link_server(link))))
        learn_servers(link, bytes, info.connect_urls);
    atomic_store_explicit(&shard->hub->link_payload_bytes_max, info.payload_bytes_max, memory_order_relaxed);
    if (info.lame_duck) {
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    if (link->state != LINK_GREETING)
        return;
    keep_nonce(link, bytes, info.nonce);
    link->state = secure ? LINK_SECURING : LINK_JOINING;
    if (!secure)
        nats_connect(link);
}

// What came behind INFO came from anybody: it must not be taken for what the server says over TLS. What the hub has to say waits
// until the server has shown who it is.
void nats_handshake_secure(struct link *link) {
    struct shard *shard = link->shard;
    struct peer *peer = link->peer;
    struct connection *connection = &peer->connection;
    struct secure_source *authorities = shard->hub->settings.cluster->authorities;
    assert(link->state == LINK_SECURING && authorities);
    bool is_clean =
        !peer->partial && !connection->direct && !connection->shipment && outbox_empty(&connection->outbox);
    if (!is_clean) {
        peer_close(shard, peer, COUNTERS_COUNT);
    } else if (!connection_secure_dialled(connection, authorities, &shard->buffers,
                                          link_server(link)->shown)) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    } else {
        link->state = LINK_JOINING;
        peer_watch(shard, peer);
        nats_connect(link);
    }
}

void nats_handshake_resolved(struct shard *shard, const struct io_event *event) {
    const char *fault = link_resolved(shard, event);
    if (!fault)
        return;
    struct link *link = shard->link;
    nats_fault_found(link, fault);
    if (link->state == LINK_RESOLVING) // not in vain, until its time is up
        link_give_up(link);
    else if (link->state == LINK_RESTING && !timer_armed(&link->timer))
        link_fail(link);
}
