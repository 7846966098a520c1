// The state of the link to other hubs, for all parts of the cluster.
#pragma once

#include <assert.h>

#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "core/base/reconnect_backoff.h"
#include "core/base/wheel.h"
#include "io/host_lookup.h"
#include "router/engine/message/remote_mail.h"
#include "router/engine/shard/peer.h"
#include "router/features/cluster/cluster_members.h"
#include "router/features/cluster/nats_subscriptions.h"
#include "router/features/cluster_settings/cluster_settings.h"
#include "router/features/feature_list.h"

// The feature's own counters: X(enumerator, name behind "cluster_", help, the engine's counter after which it is
// shown).
// clang-format off
#define CLUSTER_EACH_COUNTER(X)                                                                                                                \
    X(LINKS_OPENED, "links_opened", "Links to a NATS server that came to be.", COUNT_APPROVALS_REFUSED)                                        \
    X(LINKS_LOST, "links_lost", "Links to a NATS server that were lost.", COUNT_APPROVALS_REFUSED)                                             \
    X(DIALS_FAILED, "dials_failed", "Tries to reach a NATS server that came to nothing.", COUNT_APPROVALS_REFUSED)                             \
    X(FAULTS, "server_faults", "What the NATS server called a fault.", COUNT_APPROVALS_REFUSED)                                                \
    X(REQUESTS_SENT, "requests_sent", "Requests that went to other hubs.", COUNT_APPROVALS_REFUSED)                                            \
    X(REQUESTS_UNHEARD, "requests_unheard", "Requests to other hubs for which nobody was there.", COUNT_APPROVALS_REFUSED)                     \
    X(REQUESTS_NOT_TAKEN, "requests_not_taken", "Requests to other hubs that none has said to have in time.", COUNT_APPROVALS_REFUSED)         \
    X(REQUESTS_LOST, "requests_lost", "Requests whose hub was gone before it answered.", COUNT_APPROVALS_REFUSED)                              \
    X(REQUESTS_RECEIVED, "requests_received", "Requests and notifications that came from other hubs.", COUNT_APPROVALS_REFUSED)                \
    X(ANSWERS_LATE, "answers_late", "Answers of other hubs to what had ended, or from one that hasn't the request.", COUNT_EVENTS_DROPPED)     \
    X(NAMES_YIELDED, "names_yielded", "Agents that were held at another hub, too, and given up here.", COUNT_EVENTS_DROPPED)                   \
    X(UNREADABLE, "messages_unreadable", "Messages of the NATS server that could not be read, or were for nobody here.", COUNT_EVENTS_DROPPED)
// clang-format on
enum cluster_counter {
#define X(name, ...) CLUSTER_COUNT_##name,
    CLUSTER_EACH_COUNTER(X)
#undef X
        CLUSTER_COUNTERS
};

enum cluster_gauge { CLUSTER_GAUGE_NATS, CLUSTER_GAUGE_HUBS, CLUSTER_GAUGE_HUBS_UNSERVED, CLUSTER_GAUGES };

// SECURING lasts until the turn's end. Bytes that have come behind INFO by then end the link: before TLS anybody may
// have sent them.
enum link_state {
    LINK_RESTING,
    LINK_RESOLVING,
    LINK_DIALLING,
    LINK_GREETING,
    LINK_SECURING,
    LINK_JOINING,
    LINK_UP
};

// Kinds of the cluster's own tokens and timers (FEATURE_TOKEN, FEATURE_KIND). The link's socket has its token until a
// peer takes the socket.
enum { CLUSTER_TOKEN_LINK, CLUSTER_TOKEN_RESOLVER };
enum { CLUSTER_TIMER_LINK };

enum {
    LINK_STOOD_MS = 2000, // a link that is UP for this time resets the pauses between dials
    // Times of the protocol between hubs.
    CLUSTER_TICK_MS = 250,
    CLUSTER_BEAT_MS = 1000,
    CLUSTER_NOT_TAKEN_MS = 2500,
    CLUSTER_STILL_MS = 2000,
    CLUSTER_GONE_MS = 3500,
    CLUSTER_CLAIM_MS = 700,
    CLUSTER_CLAIM_AGAIN_MS = 1000,
    // Names are published once more after this time: two servers may be apart unnoticed for CLUSTER_GONE_MS.
    CLUSTER_CLAIM_LATE_MS = 5000,
    CLUSTER_CONFIRM_MS = 900, // how long a registration waits for the server's PONG: 1 s at most, with a tick
    CLUSTER_LIST_MS = 1000,
    CLUSTER_PING_MS = 2000,
    CLUSTER_PONG_MS = 5000,
    CLUSTER_GREETING_MS = 2000, // the time in which a server must have accepted the hub
    CLUSTER_HELD_MS_MAX = 25 * 3600 * 1000,
};

// Numbers of claims and lists begin here, above all numbers of requests.
#define LINK_NUMBERS_FROM (UINT64_C(1) << 53)

// --- Requests between hubs: outbound and inbound

struct outbound_request {
    union {
        struct {
            struct hash_node node; // in outbound_requests.by_number
            struct list link;      // in outbound_requests.unacked, or in its taker's `outbound`
            uint64_t number;
            uint64_t sent_ms;
            struct cluster_member *taker; // the hub that has taken the request; NULL: no hub has said so yet
            bool is_cancelled; // the request was cancelled, and its source still waits for the answer
        };
        struct remote_end end; // the mail that reports the request's end
    };
};
static_assert(sizeof(struct outbound_request) == 64, "an answer finds its request in one cache line");

struct outbound_requests {
    struct hash_table by_number;
    struct list unacked; // requests without a taker, oldest first
    struct freelist freelist;
    uint64_t secret; // secret of the hash
    struct quota *quota;
};

// Where a request must be answered: at a hub, or at a client of the server.
struct reply_place {
    struct cluster_member *hub; // the hub that sent the request; NULL: a client did
    uint64_t number;            // the hub's number of the request; 0: a client sent it
    const uint8_t *reply;       // the client's reply subject; NULL for a hub
    uint32_t reply_bytes;
};

struct inbound_request {
    struct list by_hub;        // in its hub's `inbound`, or in inbound_requests.client_requests
    struct list untold;        // in inbound_requests.untold until its hub knows that the request was taken
    struct hash_node node;     // in inbound_requests.by_number, for a request of a hub
    struct exchange *exchange; // the exchange whose answer is sent back
    struct reply_place place;  // a client's subject is stored in `reply`
    uint64_t came_ms;
    struct nats_subscription *subscription; // the subscription of its subject, or NULL
    uint8_t reply[];
};

struct inbound_requests {
    struct hash_table by_number;
    struct list untold;          // requests whose hubs don't know yet that they were taken, oldest first
    struct list client_requests; // requests of clients
    uint64_t secret;             // secret of the hash
    struct quota *quota;
};

// --- The link

// The last logged fault of a server, and when it was logged.
struct link_fault {
    uint64_t hash, ms;
};

struct link {
    struct shard *shard;
    const struct transport *transport; // the transport of the link's peer
    enum link_state state;
    // The servers of the settings first, then servers that a server has named.
    struct cluster_server servers[2 * CLUSTER_SERVERS_MAX];
    uint32_t server_count, server;                 // `server`: the one that is dialled or linked
    struct host_lookup lookup;                     // addresses of a server whose host is a name
    char server_text[NATS_URL_HOST_BYTES_MAX + 8]; // the server's name in the log
    int socket;                                    // the socket that connects while DIALLING; else -1
    struct reconnect_backoff backoff;              // gives the pause before the next dial
    struct timer timer;
    bool has_left;              // this hub has announced its end
    bool listens;               // this hub's last beat said that a client is subscribed to presence
    bool is_missing;            // other hubs have dropped events; subscribers here aren't told yet
    struct peer *peer;          // from GREETING on; else NULL
    struct hub_name hub;        // this hub's name while the link has a peer
    struct realm realm, former; // REALMs under which names are subscribed
    uint64_t pings, pongs;      // PINGs sent, PONGs received
    // When the last PING was sent; since when a PING waits for its PONG.
    uint64_t pinged_ms, unanswered_ms;
    uint64_t entered_ms, up_ms; // since when there is a peer; since when the link is UP
    // When this hub beat last; when the shard's last turn began.
    uint64_t beat_ms, turned_ms;
    uint64_t numbers; // the last number of a claim or list
    // Serials of the last agents whose names were published again after CLUSTER_CLAIM_AGAIN_MS, and after
    // CLUSTER_CLAIM_LATE_MS.
    uint64_t claimed_serial, late_serial;
    uint8_t nonce[NKEY_NONCE_BYTES_MAX];               // the server's nonce, which the hub must sign
    uint32_t nonce_bytes;                              // 0: the server has sent no nonce
    struct link_fault faults[2 * CLUSTER_SERVERS_MAX]; // one for each server
    bool has_fault;                                    // the current dial or link has logged a fault
    struct nats_subscriptions subscriptions;
    struct cluster_members members;
    struct outbound_requests outbound;
    struct inbound_requests inbound;
    struct attachment *target; // room for the target that a subject names
};

// Returns the server that is dialled or linked.
static inline const struct cluster_server *link_server(const struct link *link) {
    assert(link->server < link->server_count);
    return &link->servers[link->server];
}

// Returns whether messages to other hubs can be sent.
static inline bool link_is_open(const struct link *link) {
    return link->state == LINK_UP && link->peer && link->peer->state == PEER_OPEN;
}

// Returns the shard's link; NULL: this isn't shard 0, or there is no cluster.
static inline struct link *cluster_of(const struct shard *shard) {
    return shard->states[FEATURE_CLUSTER];
}
// Returns the shard's link if `peer` is its peer; NULL: the peer is being closed.
static inline struct link *link_of(const struct shard *shard, const struct peer *peer) {
    struct link *link = cluster_of(shard);
    assert(link && peer);
    return link->peer == peer ? link : NULL;
}
