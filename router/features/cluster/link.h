// The link to other hubs, on shard 0: which server is dialled when, and how it stands.
//
//     RESTING ──its time──▶ (RESOLVING ─▶) DIALLING ──connected──▶ GREETING ──INFO──▶ (SECURING ─▶) JOINING ──PONG──▶ UP
//        ▲                          │        │                        │                            │               │
//        └──────────────────────────┴────────┴──── failed, or lost ───┴────────────────────────────┴───────────────┘
//
// From GREETING on it is a peer (features/cluster/nats_receive.c); lost is when that peer is closed.
//
// Where its server says that it will go, the link is dropped at once, and another server is taken.
#pragma once

#include "core/base/text.h"
#include "core/base/wheel.h"
#include "router/engine/shard/cluster_server.h"
#include "router/engine/shard/peer.h"
#include "router/features/cluster/acks.h"
#include "router/features/cluster/fallback_watch.h"
#include "router/features/cluster/inflight.h"
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
    LINK_STOOD_MS = 2000,    // a link that was UP for so long has been one: the pauses begin anew
    LINK_GREETING_MS = 2000, // who isn't known as a NATS server by then is left
    LINK_SILENCE_MS = 2000,  // then it is asked for a sign of life
    LINK_DEATH_MS = 5000,    // then it is lost
    LINK_LOOK_MS = 500,
    LINK_WAKE_MS =
        50, // so long after this hub stood still itself what the kernel holds is heard before anybody is judged
    LINK_NAMES_KEPT = 16,
    LINK_HOLDER_MS = 700,  // so long other hubs have to say that they hold a name
    LINK_CONFIRM_MS = 900, // so long a registration waits for the server's word: at most 1 s
    LINK_BEAT_MS = 1000,   // so often this hub beats, and asks others for what they have
    LINK_SEEK_MS = 1000,   // a request that no hub took by then is asked after
    LINK_MISSED_MS = 2500, // of a hub that was silent for so long the server is asked whether it is there
    LINK_DENY_MS = 2500,   // and ends no sooner, so that whoever is there has been heard
    LINK_INQUIRE_MS = 900, // so long other hubs have to say who is there, likewise
    LINK_QUIET_MS = 10000, // a hub that has said nothing for so long is there no more
};

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
    bool has_left;         // it has said that it goes
    struct peer *peer;     // from GREETING on
    bool is_pinged;        // since it was last heard, for a sign of life
    uint64_t pings, pongs; // that were said, that were heard
    uint64_t beat_ms;      // when it last said that it is there, and asked others
    uint64_t entered_ms;   // since when it has a peer
    uint64_t looked_ms;    // when it was looked at last, once it is UP
    uint64_t up_ms;        // since when it is UP
    uint64_t inquiries;    // that were asked
    uint64_t recalls; // the request that is cancelled by what is queued next (outbound_cancel.h); 0: none
    uint64_t beats;   // that were said
    bool has_named;   // what agents here name was told, and wasn't nothing
    uint64_t holders_asked;   // likewise, of names
    bool unsettled;           // of a neighbour it may be so that names are held there and here
    char hub[HUB_NAME_BYTES]; // this one's name, as long as the peer lives
    // Names that it had before: what was said under them may be on its way still, and come back.
    char hubs_before[LINK_NAMES_KEPT][HUB_NAME_BYTES];
    uint32_t names;                      // that there were
    uint8_t nonce[NKEY_NONCE_BYTES_MAX]; // that the server wants to have signed
    uint32_t nonce_bytes;                // 0: it doesn't
    // What the server called a fault, or was wrong with it, last, and when that was logged.
    uint64_t fault_hash, fault_ms;
    struct nats_subscriptions presence;
    struct inflight inflight;
    // Room for whom a subject names, while what came there is routed; NULL: none yet.
    struct attachment *attached;
    // While a unit is being read: the request that it answers; 0: it answers none.
    uint64_t answers;
    bool has_answered; // and whether it did
    bool defers;       // likewise: what it asks another hub answers, too
    struct acks acks;
    struct fallback_watch fallback_watch;
};

// Begins to dial, where there are other hubs. False when memory is used up.
bool link_open(struct shard *shard, const struct transport *transport);
// Lets go of all that it has, after the last turn. NULL is allowed.
void link_free(struct shard *shard);
// IO_RECEIVED with TOKEN_RESOLVER. Why the name that was asked for can't be looked up, static text, and then the server is to be left by
// link_fail; NULL: it could, or nobody waits for that any more.
const char *link_resolved(struct shard *shard, const struct io_event *event);
// IO_CONNECTED with TOKEN_LINK.
void link_connected(struct shard *shard, const struct io_event *event);
// Its pause is over: dials the next server. The one that is dialled is given up.
void link_dial(struct link *link);
void link_give_up(struct link *link);
// The server can't be dialled: the next one has its turn.
void link_fail(struct link *link);
// The hub ends: nobody is dialled any more.
void link_stop(struct shard *shard);
// Whether it has nothing under way but its peer.
bool link_at_rest(const struct shard *shard);

const struct cluster_server *link_server(const struct link *link);

// Whose peer this is; NULL: it is being closed.
struct link *link_of(const struct shard *shard, const struct peer *peer);
// The peer's transport says: it has come, its server has said that it knows the hub, it is being closed.
void link_entered(struct link *link, struct peer *peer);
void link_welcomed(struct link *link);
void link_lost(struct link *link);
// Whether this hub has said so itself, under the name that it has or had.
bool link_is_own(const struct link *link, const char hub[HUB_NAME_BYTES]);
