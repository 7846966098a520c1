// The link to other hubs, as all parts of the cluster know it: how it stands, and what is known by it.
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
#include "router/features/cluster/cluster_settings.h"
#include "router/features/cluster/nats_subscriptions.h"
#include "router/features/feature_list.h"

// The feature's own counters: X(enumerator, name behind "cluster_", help, the engine's counter behind which it is shown).
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

// Kinds of the cluster's own tokens and timers (FEATURE_TOKEN, FEATURE_KIND). The link's socket has one until it is a peer's.
enum { CLUSTER_TOKEN_LINK, CLUSTER_TOKEN_RESOLVER };
enum { CLUSTER_TIMER_LINK };

enum {
    LINK_STOOD_MS = 2000, // a link that was UP for so long has been one: the pauses begin anew
    // As the contract between hubs has them.
    CLUSTER_TICK_MS = 250, // from one look to the next; and a request that takes longer is acknowledged
    CLUSTER_BEAT_MS = 1000,
    CLUSTER_NOT_TAKEN_MS = 2500,
    CLUSTER_STILL_MS = 2000,
    CLUSTER_GONE_MS = 3500,
    CLUSTER_CLAIM_MS = 700,
    CLUSTER_CLAIM_AGAIN_MS = 1000,
    CLUSTER_CLAIM_LATE_MS = 5000, // and once more: servers may be apart for CLUSTER_GONE_MS, and nobody knows
    CLUSTER_CONFIRM_MS = 900, // so long a registration waits for the server's word: at most 1 s, with a tick
    CLUSTER_LIST_MS = 1000,
    CLUSTER_PING_MS = 2000,
    CLUSTER_PONG_MS = 5000,
    CLUSTER_GREETING_MS = 2000, // who isn't known as a NATS server by then is left
    CLUSTER_HELD_MS_MAX = 25 * 3600 * 1000,
};

// Claims and lists have numbers from here on: no request has one of them.
#define LINK_NUMBERS_FROM (UINT64_C(1) << 53)

// --- Requests between hubs: this one's at others, others' here

struct outbound_request {
    union {
        struct hash_node node; // of outbound_requests.by_number
        struct remote_end end; // once it is over, as it travels
    };
    struct list link; // in outbound_requests.untaken, or among what its taker owes
    uint64_t number;
    uint64_t sent_ms;
    struct cluster_member *taker; // the hub that has it; NULL: none has said so yet
    bool is_cancelled;            // its source waits for its answer still
};

struct outbound_requests {
    struct hash_table by_number;
    struct list unacked; // oldest first
    struct freelist freelist;
    uint64_t secret; // of the hash
    struct quota *quota;
};

// Where a request is answered.
struct reply_place {
    struct cluster_member *hub; // that asked; NULL: a client did
    uint64_t number;            // under which it did; 0: a client did
    const uint8_t *reply;       // of a client
    uint32_t reply_bytes;
};

struct inbound_request {
    struct list by_hub;        // among what its hub has asked, or what no hub has
    struct list untold;        // in inbound_requests.untold, until its hub knows that it was taken
    struct hash_node node;     // of inbound_requests.by_number, where a hub asked
    struct exchange *exchange; // whose answer is its
    struct reply_place place;  // a client's subject lies behind this
    uint64_t came_ms;
    struct nats_subscription *subscription; // under which it came; NULL: that is gone
    uint8_t reply[];
};

struct inbound_requests {
    struct hash_table by_number;
    struct list untold;          // oldest first
    struct list client_requests; // of clients
    struct freelist freelist;
    uint64_t secret; // of the hash
    struct quota *quota;
};

// --- The link

// The last fault that a server named or showed, and when the fault was logged.
struct link_fault {
    uint64_t hash, ms;
};

struct link {
    struct shard *shard;
    const struct transport *transport; // that is spoken there
    enum link_state state;
    // The servers of the settings, and behind them those that a server has named.
    struct cluster_server servers[2 * CLUSTER_SERVERS_MAX];
    uint32_t server_count, server;                 // the one that is dialled, or that the link is to
    struct host_lookup lookup;                     // of a server whose host is a name: where it is
    char server_text[NATS_URL_HOST_BYTES_MAX + 8]; // as the log names it
    int socket;                                    // while it is DIALLING
    struct reconnect_backoff backoff;              // the pause before the next dial
    struct timer timer;
    bool has_left;                     // it has said that it goes
    bool listens;                      // somebody here has subscribed to presence, as its last beat said
    bool is_missing;                   // other hubs have lost events for subscribers here, who are to be told
    struct peer *peer;                 // from GREETING on
    struct hub_name hub;               // this hub's name, as long as the peer lives
    struct realm realm, former;        // under which names are subscribed
    uint64_t pings, pongs;             // that were said, that were heard
    uint64_t pinged_ms, unanswered_ms; // when the last PING was said; since when one waits for its PONG
    uint64_t entered_ms, up_ms;        // since when it has a peer; since when it is UP
    uint64_t beat_ms, turned_ms;       // when it last beat; when the shard's last turn began
    uint64_t numbers;                  // of claims and lists, that were given
    uint64_t claimed_serial, late_serial; // of agents: up to which names were said again, and once more
    uint8_t nonce[NKEY_NONCE_BYTES_MAX];  // that the server wants to have signed
    uint32_t nonce_bytes;                 // 0: it doesn't
    struct link_fault faults[2 * CLUSTER_SERVERS_MAX]; // of each server
    bool has_fault;                                    // the dial or link under way has shown one
    struct nats_subscriptions subscriptions;
    struct cluster_members members;
    struct outbound_requests outbound;
    struct inbound_requests inbound;
    struct attachment *target; // room for whom a subject names
};

// Returns the server that is dialled, or that the link is to.
static inline const struct cluster_server *link_server(const struct link *link) {
    assert(link->server < link->server_count);
    return &link->servers[link->server];
}

// Whether other hubs can be spoken to.
static inline bool link_is_open(const struct link *link) {
    return link->state == LINK_UP && link->peer && link->peer->state == PEER_OPEN;
}

// The shard's; NULL: it isn't shard 0, or there are no other hubs.
static inline struct link *cluster_of(const struct shard *shard) {
    return shard->states[FEATURE_CLUSTER];
}
// The same, if this is its peer; NULL: it is being closed.
static inline struct link *link_of(const struct shard *shard, const struct peer *peer) {
    struct link *link = cluster_of(shard);
    assert(link && peer);
    return link->peer == peer ? link : NULL;
}
