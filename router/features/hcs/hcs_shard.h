// HCS streaming on a shard: the sessions that live here, its peers that are clients of some, here or elsewhere, and the
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
    struct list over;     // in hcs_shard.over while it is over (core/hcs/hcs_flow.h)
    struct list drained;  // in hcs_shard.drained while it is to be looked at whether it still is
    uint64_t quota_bytes; // of those clients
    uint32_t taken;       // io_acked, when the kernel was last asked
    uint32_t taken_ms;    // when that last was another one
    bool is_stuck;        // it has taken nothing for long
    // Without users: in which the sessions count that it has opened, also when it has gone. One reference.
    struct account *account;
};

// The feature's own options (hcs.c).
enum hcs_option {
    HCS_OPTION_SESSIONS_MAX,      // that live; as many on a shard that have ended
    HCS_OPTION_HISTORY_BYTES_MAX, // of chunks, a session
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
    struct name_map by_handle; // 8 bytes
    struct name_map by_client; // its connection and its session's handle: 16 bytes
    struct list live;          // struct hcs_session.link
    struct list ended;         // likewise, those that ended first first
    uint32_t ended_count;
    uint32_t client_count; // of all sessions, live or ended
    uint64_t handles;      // that were given out
    uint64_t ids;          // that were made up
    uint64_t footprint;    // of all histories, with what the chunks take besides
    struct list
        holding; // struct hcs_client.holding: those who have paused and for whom chunks are held, longest first
    // Clients.
    struct list over;        // struct hcs_viewer.over
    struct list drained;     // struct hcs_viewer.drained
    struct timer look_timer; // armed while anybody is over
    uint64_t tags;           // of clients, that were given out
    uint32_t out;            // clients and errands that this shard made and that haven't come home
};

struct hcs_hub {
    _Atomic uint32_t sessions; // that live, counted by all shards
};

static inline struct hcs_hub *hcs_hub_of(const struct shard *shard) {
    return shard->hub->states[FEATURE_HCS];
}
// The shard's.
static inline struct hcs_shard *hcs_of(const struct shard *shard) {
    return shard->states[FEATURE_HCS];
}
// A peer's; NULL: the peer was a client of no session yet.
static inline struct hcs_viewer *hcs_viewer_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_HCS);
}

// As feature.open, feature.close and peer_freed.
bool hcs_shard_open(struct shard *shard);
void hcs_shard_close(struct shard *shard);
void hcs_shard_peer_freed(struct shard *shard, struct peer *peer);

// --- Mail: the travel of frames and clients between shards, and from a shard to itself
//
// Both always travel by mail, so that the effects of a frame come after those of earlier frames, and nothing happens in
// the middle of other work.

enum hcs_mail_kind {
    // A client, as it travels:
    HCS_MAIL_JOIN,       // to the session's shard, to join
    HCS_MAIL_HOME,       // back: it isn't one any more
    HCS_MAIL_OPENED,     // it has joined, which its transport wants to know
    HCS_MAIL_LEAVE,      // its peer has gone
    HCS_MAIL_LEFT,       // that comes home
    HCS_MAIL_REPORT,     // it is over, or stuck, or not any more
    HCS_MAIL_HEARD,      // that comes home
    HCS_MAIL_HTTP_FRAME, // a frame that came over HTTP, for the session's shard
    HCS_MAIL_DONE,       // back, with what became of it
    // Of a parcel:
    HCS_MAIL_FRAME,  // a frame for the session's shard, from mail.connection
    HCS_MAIL_GIVE,   // a frame for a client
    HCS_MAIL_FLUSH,  // what waits for a client is dropped
    HCS_MAIL_TELL,   // a frame for mail.connection; mail.detail: it can't be refused
    HCS_MAIL_START,  // a start for the producer mail.connection; hub_id is the session's handle
    HCS_MAIL_TURNED, // it comes back: the producer takes no more
};
enum { HCS_TIMER_SESSION, HCS_TIMER_LOOK };

void hcs_mail_post(struct shard *shard, uint32_t to, struct mail *mail, enum hcs_mail_kind kind);
// The shard on which a session of this name lives.
uint32_t hcs_mail_return(const struct shard *shard, const char *id, size_t bytes);
// Sends a connection a frame, which is taken over. A frame that is `owed` passes a full queue.
void hcs_mail_send(struct shard *shard, uint64_t connection, struct parcel *parcel, bool required);
// HCS_MAIL_TELL.
void hcs_mail_arrived(struct shard *shard, struct parcel *parcel);
// Takes a frame, and gives one back whose line breaks are what the peer's wire makes of them; NULL where memory is
// short: the peer is closed.
struct parcel *hcs_mail_fit(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Queues a frame for a peer of this shard. Takes the parcel.
void hcs_mail_queue(struct shard *shard, struct peer *peer, struct parcel *parcel);
