// The state of HCS streaming on a shard: the sessions that live here, and its peers that are clients of some, here or
// elsewhere.
#pragma once

#include <stdint.h>

#include "core/agents/name_map.h"
#include "core/base/list.h"
#include "core/base/wheel.h"
#include "router/engine/shard/peer.h"
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
