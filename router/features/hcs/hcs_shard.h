// The state of HCS streaming on a shard: its sessions, its peers that are clients of sessions on any shard, and the
// mail between shards.
#pragma once

#include <stdint.h>

#include "core/agents/name_map.h"
#include "core/base/list.h"
#include "core/base/text.h"
#include "core/base/wheel.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/post.h"
#include "router/features/feature_list.h"

struct account;

// A peer that is a client of sessions.
struct hcs_viewer {
    struct peer *peer;
    struct list streams;  // struct hcs_client.by_peer
    struct list over;     // in hcs_shard.over while the peer is over (core/hcs/hcs_flow.h)
    struct list drained;  // in hcs_shard.drained until update_over checks whether the peer still is over
    uint64_t quota_bytes; // memory of the peer's clients, in bytes
    uint32_t taken;       // io_ack_mark at the last look at the kernel
    uint32_t taken_ms;    // the last look at which `taken` had changed; a tick
    bool is_stuck;        // the peer has taken nothing for STUCK_READER_MS
    // Without a users file: counts the sessions that the peer has opened, also after it has left. One reference.
    struct account *account;
};

// The feature's own options (hcs.c).
enum hcs_option {
    HCS_OPTION_SESSIONS_MAX,      // sessions that haven't ended; as many ended sessions a shard
    HCS_OPTION_HISTORY_BYTES_MAX, // chunks of a session, in bytes
    HCS_OPTION_SILENCE_NS,
    HCS_OPTION_LINGER_NS
};

static inline uint64_t hcs_option(const struct shard *shard, enum hcs_option option) {
    return shard->settings->own[FEATURE_HCS][option];
}

enum hcs_counter {
    HCS_DROP_REFUSED,
    HCS_DROP_ENDED,
    HCS_DROP_SEQ,
    HCS_DROP_ATOMIC,
    HCS_DROP_MICRO,
    HCS_DROP_FLUSHED,
    HCS_DROP_GONE,
    HCS_COUNT_FRAMES,
    HCS_COUNT_DELIVERED,
    HCS_COUNT_ERRORS,
    HCS_COUNT_BEGUN,
    HCS_COUNT_ENDED,
    HCS_COUNTERS
};

enum hcs_gauge {
    HCS_GAUGE_SESSIONS,
    HCS_GAUGE_PAUSED,
    HCS_GAUGE_CLIENTS,
    HCS_GAUGE_CLIENTS_OVER,
    HCS_GAUGE_HISTORY,
    HCS_GAUGES
};

struct hcs_shard {
    // Sessions.
    struct name_map by_id;
    struct name_map by_handle; // the key has 8 bytes
    struct name_map by_client; // the key is struct hcs_client.key: 16 bytes
    struct list live;          // sessions that haven't ended: struct hcs_session.link
    struct list ended;         // sessions that have ended, oldest end first
    uint32_t ended_count;
    uint32_t client_count; // clients of all these sessions
    uint64_t handles;      // the last handle of a session
    uint64_t ids;          // session names that this shard has made
    uint64_t footprint;    // bytes of all histories, with the parcels' structs
    // Clients that have paused and have held chunks, longest first: struct hcs_client.holding.
    struct list holding;
    // Clients.
    struct list over;        // struct hcs_viewer.over
    struct list drained;     // struct hcs_viewer.drained
    struct timer look_timer; // armed while a peer is over
    uint64_t tags;           // the last tag of a client
    uint32_t out; // clients and HTTP frames of this shard that haven't come back from sessions' shards
};

struct hcs_hub {
    _Atomic uint32_t sessions; // sessions of all shards that haven't ended
};

static inline struct hcs_hub *hcs_hub_of(const struct shard *shard) {
    return shard->hub->states[FEATURE_HCS];
}
// Returns the shard's state.
static inline struct hcs_shard *hcs_of(const struct shard *shard) {
    return shard->states[FEATURE_HCS];
}
// Returns a peer's state; NULL: the peer hasn't been a client of a session.
static inline struct hcs_viewer *hcs_viewer_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_HCS);
}

// Implement feature.open, feature.close and feature.peer_freed.
bool hcs_shard_open(struct shard *shard);
void hcs_shard_close(struct shard *shard);
void hcs_shard_peer_freed(struct shard *shard, struct peer *peer);

// --- Mail: frames and clients between shards, or from a shard to itself
//
// Frames and clients always go by mail, so that their effects keep the order of the frames, and none happens in the
// middle of other work.

enum hcs_mail_kind {
    // Of a client:
    HCS_MAIL_JOIN,       // to the session's shard, to join
    HCS_MAIL_HOME,       // back to the client's shard: it has left the session
    HCS_MAIL_OPENED,     // it has joined, for its on_streamed
    HCS_MAIL_LEAVE,      // its peer has left
    HCS_MAIL_LEFT,       // the answer to HCS_MAIL_LEAVE
    HCS_MAIL_REPORT,     // the REPORT_ bits of its peer have changed
    HCS_MAIL_HEARD,      // the answer to HCS_MAIL_REPORT
    HCS_MAIL_HTTP_FRAME, // a frame that came over HTTP, for the session's shard
    HCS_MAIL_DONE,       // the answer to HCS_MAIL_HTTP_FRAME, with its outcome
    // Of a parcel:
    HCS_MAIL_FRAME,  // a frame for the session's shard, from mail.connection
    HCS_MAIL_GIVE,   // a frame for a client
    HCS_MAIL_FLUSH,  // chunks in a client's queue must be dropped
    HCS_MAIL_TELL,   // a frame for mail.connection; mail.detail: passes a full queue
    HCS_MAIL_START,  // a start for the producer mail.connection; hub_id is the session's handle
    HCS_MAIL_TURNED, // the start comes back: the producer's queue is full
};
enum { HCS_TIMER_SESSION, HCS_TIMER_LOOK };

void hcs_mail_post(struct shard *shard, uint32_t to, struct mail *mail, enum hcs_mail_kind kind);
// Returns the shard of the session with this name.
uint32_t hcs_shard_of_session(const struct shard *shard, const char *id, size_t bytes);
// Sends a connection a frame, and takes the parcel. A `required` frame passes a full queue.
void hcs_mail_send(struct shard *shard, uint64_t connection, struct parcel *parcel, bool required);
// Handles HCS_MAIL_TELL.
void hcs_mail_arrived(struct shard *shard, struct parcel *parcel);
// Returns a frame with the line breaks that the peer's wire needs, and takes the parcel. Returns NULL without memory:
// then the peer is closed.
struct parcel *hcs_mail_fit(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Queues a frame for a peer of this shard. Takes the parcel.
void hcs_mail_queue(struct shard *shard, struct peer *peer, struct parcel *parcel);
