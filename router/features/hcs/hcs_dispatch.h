// Handles what comes for a session, on the session's shard: starts, which join the session or begin one, and frames of
// the producer and of clients. Frames of other peers are refused.
#pragma once

#include <assert.h>

#include "core/base/limits.h"
#include "router/features/hcs/hcs_types.h"

// --- Frames

typedef void hcs_http_done(struct shard *shard, struct peer *peer, void *context, struct parcel *error);

// A frame that was the body of an HTTP request, and its outcome.
struct hcs_http_frame {
    struct mail mail;
    uint64_t connection; // the request's connection
    const struct user *user;
    struct parcel *parcel; // the frame, to the session's shard
    struct parcel *error;  // the frame that refuses it, on the way back, or NULL
    bool failed;           // there was no memory for `error`
    hcs_http_done *on_done;
    void *context;
};

// Handles HCS_MAIL_FRAME. Takes the parcel, whose first piece is the whole body.
void hcs_dispatch_frame(struct shard *shard, struct parcel *parcel);
// Handles HCS_MAIL_HTTP_FRAME.
void hcs_dispatch_http_frame(struct shard *shard, struct hcs_http_frame *http_frame);

// --- Starts
//
// A start makes its client join an existing session, or a new session, for which a producer is chosen.

// The id of a start that waits in its producer's queue (parcel.stream). Ids of starts are above all tags of clients and
// all hub ids.
#define HCS_OPEN_ID_BIT ((uint64_t)1 << 63)
static inline uint64_t hcs_open_id(uint32_t shard, uint64_t handle) {
    assert(shard < SHARDS_MAX && handle < HCS_OPEN_ID_BIT >> HUB_ID_SHARD_BITS);
    return HCS_OPEN_ID_BIT | handle << HUB_ID_SHARD_BITS | shard;
}
static inline bool hcs_open_is_id(uint64_t id) {
    return id & HCS_OPEN_ID_BIT;
}

// Handles HCS_MAIL_JOIN.
void hcs_open_join(struct shard *shard, struct hcs_client *client);
// Handle HCS_MAIL_START, on the producer's shard, and HCS_MAIL_TURNED.
void hcs_open_arrived(struct shard *shard, struct parcel *parcel);
void hcs_open_turned(struct shard *shard, struct parcel *parcel);

// --- Access: whether a user may be a client of a session
//
// The current rights decide, not the rights at the session's begin.

enum hcs_access {
    HCS_ACCESS_ALLOWED,
    HCS_ACCESS_DENIED, // the user lacks the right `call`
    // A `hold` of the user names the producer, and the gate can't hold a stream (docs/gate.md)
    HCS_ACCESS_HELD
};
// Returns the text for a client that has no access; static.
const char *hcs_access_text(enum hcs_access access);
// Returns whether the user may be a client. `user` is client->user: NULL without a users file, and perhaps of an
// earlier edition.
enum hcs_access hcs_access_check(const struct shard *shard, const struct hcs_session *session,
                                 const struct user *user);
// Counts a start that was refused for this reason, and writes it to the journal. `target` is the target of the start;
// with 0 bytes there is none.
void hcs_access_note_refused(struct shard *shard, uint64_t source, const struct user *user,
                             enum hcs_access access, const char *target, size_t target_bytes);
// Removes clients that may not be clients any more, after rights have changed. Each gets an error first.
void hcs_access_review(struct shard *shard);
