// The link to other hubs, as all parts of the cluster know it: how it stands, and what is known by it.
#pragma once

#include <assert.h>

#include "core/base/wheel.h"
#include "router/engine/shard/cluster_server.h"
#include "router/engine/shard/peer.h"
#include "router/features/cluster/cluster_members.h"
#include "router/features/cluster/hub_requests.h"
#include "router/features/cluster/link_resolver.h"
#include "router/features/cluster/nats_subscriptions.h"

// SECURING lasts until the turn's end: nothing may have come behind the INFO of a server to which TLS begins.
enum link_state {
    LINK_RESTING,
    LINK_RESOLVING,
    LINK_DIALLING,
    LINK_GREETING,
    LINK_SECURING,
    LINK_JOINING,
    LINK_UP
};

enum {
    LINK_PAUSE_MS_MIN = 100, // between one try and the next, doubling
    LINK_PAUSE_MS_MAX = 2000,
    LINK_STOOD_MS = 2000, // a link that was UP for so long has been one: the pauses begin anew
    // As the contract between hubs has them.
    CLUSTER_TICK_MS = 250, // from one look to the next; and a request that takes longer is acknowledged
    CLUSTER_BEAT_MS = 1000,
    CLUSTER_NOT_TAKEN_MS = 2500,
    CLUSTER_STILL_MS = 2000,
    CLUSTER_GONE_MS = 3500,
    CLUSTER_CLAIM_MS = 700,
    CLUSTER_CLAIM_AGAIN_MS = 1000,
    CLUSTER_CONFIRM_MS = 900, // so long a registration waits for the server's word: at most 1 s, with a tick
    CLUSTER_LIST_MS = 1000,
    CLUSTER_PING_MS = 2000,
    CLUSTER_PONG_MS = 5000,
    CLUSTER_GREETING_MS = 2000, // who isn't known as a NATS server by then is left
    CLUSTER_HELD_MS_MAX = 25 * 3600 * 1000,
};

// Claims and lists have numbers from here on: no request has one of them.
#define LINK_NUMBERS_FROM (UINT64_C(1) << 53)

struct link {
    struct shard *shard;
    const struct transport *transport; // that is spoken there
    enum link_state state;
    // Those of the settings, and behind them what servers have named, the last of them in the place of the oldest.
    struct cluster_server servers[2 * CLUSTER_SERVERS_MAX];
    uint32_t server_count, server;  // the one that is dialled, or that the link is to
    uint32_t learned;               // that servers have named
    struct link_resolver resolving; // of a server whose host is a name: where it is
    int socket;                     // while it is DIALLING
    uint32_t pause_ms;              // before the next try, unless the link has stood
    uint64_t rolls;                 // of the dice
    struct timer timer;
    bool has_left;                     // it has said that it goes
    bool is_missing;                   // other hubs have lost events for subscribers here, who are to be told
    struct peer *peer;                 // from GREETING on
    struct hub_name hub;               // this hub's name, as long as the peer lives
    struct realm realm, former;        // under which names are subscribed
    uint64_t pings, pongs;             // that were said, that were heard
    uint64_t pinged_ms, unanswered_ms; // when the last PING was said; since when one waits for its PONG
    uint64_t entered_ms, up_ms;        // since when it has a peer; since when it is UP
    uint64_t beat_ms, turned_ms;       // when it last beat; when the shard's last turn began
    uint64_t numbers;                  // of claims and lists, that were given
    uint64_t said_serial;              // of agents: up to which names were said again
    uint8_t nonce[NKEY_NONCE_BYTES_MAX]; // that the server wants to have signed
    uint32_t nonce_bytes;                // 0: it doesn't
    // What the server called a fault, or was wrong with it, last, and when that was logged.
    uint64_t fault_hash, fault_ms;
    struct nats_subscriptions subscriptions;
    struct cluster_members members;
    struct outbound_requests outbound;
    struct inbound_requests inbound;
    struct attachment *target; // room for whom a subject names
};

// That it is dialled at, or is to.
static inline const struct cluster_server *link_server(const struct link *link) {
    assert(link->server < link->server_count);
    return &link->servers[link->server];
}

// Whose peer this is; NULL: it is being closed.
static inline struct link *link_of(const struct shard *shard, const struct peer *peer) {
    struct link *link = shard->link;
    assert(link && peer);
    return link->peer == peer ? link : NULL;
}
